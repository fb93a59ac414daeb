"""What each nvcc compiles for, and which host compilers it accepts."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed, one_of
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import CudaVersion, GpuArch


@record(frozen=True, slots=True, eq=False, repr=False)
class Toolkit(TableRow):
    """The compilers of a run of CUDA versions, both ends included."""

    cuda_min: CudaVersion = cell(CudaVersion.parse)
    cuda_max: CudaVersion = cell(CudaVersion.parse)
    archs: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    variants: tuple[str, ...] = cell(listed(filled))  # 90a: arch-specific, 100f: family-specific
    gcc_max: int = cell(int)
    clang_below: int = cell(int)
    msc_min: int = cell(int)
    msc_max: int = cell(int)
    visual_studio: str = cell(filled)
    confidence: str = cell(one_of("measured", "inferred"))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``12.6`` or ``11.1-11.3``."""
        return str(self.cuda_min) if self.cuda_min == self.cuda_max else f"{self.cuda_min}-{self.cuda_max}"

    @property
    def arch_min(self) -> GpuArch:
        """The oldest architecture it compiles for."""
        return self.archs[0]

    @property
    def arch_max(self) -> GpuArch:
        """The highest architecture it compiles for."""
        return self.archs[-1]


FILE = TableFile(
    "cuda_toolkits.csv",
    Toolkit,
    ("cuda_min",),
    "nvcc by CUDA version: architectures, and the newest gcc, clang and MSVC it accepts.",
)


class Toolkits:
    """Look-ups over the toolkits."""

    def __init__(self, rows: Iterable[Toolkit]) -> None:
        self.rows: tuple[Toolkit, ...] = tuple(rows)

    def of(self, cuda: CudaVersion) -> Toolkit | None:
        """Return the row of a CUDA version; None when the table does not know it."""
        return next((row for row in self.rows if row.cuda_min <= cuda <= row.cuda_max), None)
