"""The Xids of the NVIDIA kernel module: what a number in the kernel log says of the GPU."""

from __future__ import annotations

from torchdoctor.tables.loading import TableFile
from torchdoctor.tables.numbered import NumberedError

FILE = TableFile("xids.csv", NumberedError, ("code",), "Xids of the kernel log: what happened, what the GPU needs.")
