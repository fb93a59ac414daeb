"""The numbers that NVML answers, which nvidia-smi prints as words and mostly as its exit status."""

from __future__ import annotations

from torchdoctor.tables.loading import TableFile
from torchdoctor.tables.numbered import NumberedError

FILE = TableFile("nvml_errors.csv", NumberedError, ("code",), "Numbers that NVML answers: text, cause, finding.")
