"""The numbers that HIP answers on AMD GPUs."""

from __future__ import annotations

from torchdoctor.tables.loading import TableFile
from torchdoctor.tables.numbered import NumberedError

FILE = TableFile("hip_errors.csv", NumberedError, ("code",), "Numbers that HIP answers: text, cause, finding.")
