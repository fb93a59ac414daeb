"""Which driver each CUDA toolkit release asks for: exactly, and by minor-version compatibility."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, optional
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import CudaVersion, DriverVersion, Version


@record(frozen=True, slots=True, eq=False, repr=False)
class CudaRelease(TableRow):
    """One toolkit release. An empty minimum means that NVIDIA printed none or that none was found."""

    toolkit: Version = cell(Version.parse)
    release: str = cell(filled)
    linux_min: DriverVersion | None = cell(optional(DriverVersion.parse))
    windows_min: DriverVersion | None = cell(optional(DriverVersion.parse))
    linux_installer: DriverVersion | None = cell(optional(DriverVersion.parse))
    windows_installer: DriverVersion | None = cell(optional(DriverVersion.parse))
    linux_floor: DriverVersion = cell(DriverVersion.parse)
    windows_floor: DriverVersion = cell(DriverVersion.parse)
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the toolkit version."""
        return str(self.toolkit)

    @property
    def cuda(self) -> CudaVersion:
        """The release as ``major.minor``."""
        return CudaVersion(*self.toolkit.parts[:2])

    def floor(self, os: str) -> DriverVersion:
        """Return the oldest driver of this system that runs this CUDA by minor-version compatibility."""
        return self.windows_floor if os == "windows" else self.linux_floor

    def exact(self, os: str) -> DriverVersion | None:
        """Return the oldest driver of this system that speaks this CUDA itself."""
        return self.windows_min if os == "windows" else self.linux_min


FILE = TableFile(
    "cuda_drivers.csv",
    CudaRelease,
    ("toolkit",),
    "CUDA toolkit releases and the drivers they need: printed minimum, bundled driver, minor-version floor.",
)


class CudaDrivers:
    """Look-ups over the releases; ``os`` is ``linux`` or ``windows`` (a driver under WSL is a Windows one)."""

    def __init__(self, rows: Iterable[CudaRelease]) -> None:
        self.rows: tuple[CudaRelease, ...] = tuple(rows)
        self._first: dict[CudaVersion, CudaRelease] = {}
        for row in self.rows:
            self._first.setdefault(row.cuda, row)

    def floor(self, cuda: CudaVersion, os: str) -> DriverVersion | None:
        """Return the oldest driver that runs this CUDA at all; None when the table does not know this CUDA."""
        row = self.floor_row(cuda, os)
        return row.floor(os) if row else None

    def floor_row(self, cuda: CudaVersion, os: str) -> CudaRelease | None:  # noqa: ARG002 - one row holds both systems
        """Return the row that ``floor`` rests on."""
        return self._first.get(cuda)

    def exact(self, cuda: CudaVersion, os: str) -> DriverVersion | None:
        """Return the oldest driver printed for a release of this CUDA, which so speaks it; None when unknown."""
        printed = [row.exact(os) for row in self.rows if row.cuda == cuda]
        return min((driver for driver in printed if driver), default=None)
