"""Programs that run where the examined Python is.

They are handed over as text on standard input (``torchdoctor.live``) and never imported by the product: standard
library only, syntax of Python 3.8 (annotations are strings, so even 3.6 can answer), few imports, no GPU knowledge.
"""
