"""The numbers that CUDA answers: their names, texts, usual causes, and the finding each one proves."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date
from torchdoctor.tables.loading import TableFile, TableRow


@record(frozen=True, slots=True, eq=False, repr=False)
class CudaError(TableRow):
    """One number of the runtime or the driver. ``finding`` is empty where the number alone proves none."""

    code: int = cell(int)
    name: str = cell(filled)
    text: str = cell(filled)
    finding: str = cell(str)
    cause: str = cell(filled)
    fix: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the number."""
        return str(self.code)


FILE = TableFile("cuda_errors.csv", CudaError, ("code",), "Numbers that CUDA answers: text, cause, finding.")


class CudaErrors:
    """Look-ups over the numbers."""

    def __init__(self, rows: Iterable[CudaError]) -> None:
        self.rows: tuple[CudaError, ...] = tuple(rows)
        self._by_code = {row.code: row for row in self.rows}

    def find(self, code: int) -> CudaError | None:
        """The row of a number."""
        return self._by_code.get(code)

    def in_text(self, text: str) -> CudaError | None:
        """The row whose text an error message quotes behind "CUDA error:", as torch prints it."""
        _, _, said = text.partition("CUDA error: ")
        return next((row for row in self.rows if said and said.startswith(row.text)), None)
