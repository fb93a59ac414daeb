"""Reading a project's own files and judging what they ask for, before anything is installed.

``kinds.py`` knows a file by its name, ``readers/`` turn it into groups of pins, ``worlds.py`` says which of them meet
on one host, ``rules/`` judge each group, and ``run.py`` makes the report.
"""
