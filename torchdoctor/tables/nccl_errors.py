"""The results that NCCL and RCCL return."""

from __future__ import annotations

from torchdoctor.tables.loading import TableFile
from torchdoctor.tables.numbered import NumberedError

FILE = TableFile("nccl_errors.csv", NumberedError, ("code",), "Results of NCCL: text, cause, finding.")
