"""The numbers that CUDA answers: their names, texts, usual causes, and the finding each one proves."""

from __future__ import annotations

from torchdoctor.tables.loading import TableFile
from torchdoctor.tables.numbered import NumberedError as CudaError
from torchdoctor.tables.numbered import NumberedErrors

FILE = TableFile("cuda_errors.csv", CudaError, ("code",), "Numbers that CUDA answers: text, cause, finding.")

__all__ = ["FILE", "CudaError", "CudaErrors"]


class CudaErrors(NumberedErrors):
    """Look-ups over the numbers."""

    def in_text(self, text: str) -> CudaError | None:
        """The row whose text, the longest that fits, an error message quotes behind torch's "CUDA error:"."""
        _, _, said = text.partition("CUDA error: ")
        fitting = [row for row in self.rows if said and said.startswith(row.text)]
        return max(fitting, key=lambda row: len(row.text), default=None)
