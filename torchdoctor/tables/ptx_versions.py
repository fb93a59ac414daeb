"""Which CUDA brought each version of PTX, the language that a driver compiles: an older driver refuses it."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import CudaVersion


@record(frozen=True, slots=True, eq=False, repr=False)
class PtxVersion(TableRow):
    """One version of the PTX instruction set, and the first CUDA whose driver compiles it."""

    ptx: str = cell(filled)
    cuda: CudaVersion = cell(CudaVersion.parse)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the version."""
        return self.ptx


FILE = TableFile("ptx_versions.csv", PtxVersion, ("ptx",), "PTX versions and the first CUDA that compiles each.")


class PtxVersions:
    """Look-ups over the versions."""

    def __init__(self, rows: Iterable[PtxVersion]) -> None:
        self.rows: tuple[PtxVersion, ...] = tuple(rows)
        self._by_name = {row.ptx: row for row in self.rows}

    def cuda(self, ptx: str) -> CudaVersion | None:
        """Return the first CUDA whose driver compiles this version; None for one that the table does not know."""
        row = self._by_name.get(ptx)
        return row.cuda if row else None
