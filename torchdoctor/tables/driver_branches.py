"""NVIDIA driver branches: the CUDA each speaks, the GPUs it drives, its kernel modules, its end of life."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, date_or_empty, filled, iso_date, listed, optional, paired
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import CudaVersion, DriverVersion, GpuArch


@record(frozen=True, slots=True, eq=False, repr=False)
class DriverBranch(TableRow):
    """One branch. ``archs`` are the GPUs it drives; ``since`` names those that came with a later release of it.

    ``compat_from`` is the oldest branch whose hosts the branch's cuda-compat library accepts, where one was read.
    """

    branch: int = cell(int)
    cuda: CudaVersion = cell(CudaVersion.parse)
    kind: str = cell(filled)
    released: str = cell(filled)
    end_of_life: str = cell(date_or_empty)
    end_of_life_text: str = cell(filled)
    linux_last: DriverVersion | None = cell(optional(DriverVersion.parse))
    windows_from: int | None = cell(optional(int))
    windows_to: int | None = cell(optional(int))
    archs: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    since: Mapping[GpuArch, DriverVersion] = cell(paired(GpuArch.parse, DriverVersion.parse))
    open_archs: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    open_only: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    compat_from: int | None = cell(optional(int))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the branch number."""
        return str(self.branch)

    def supports(self, arch: GpuArch) -> bool:
        """Whether this branch drives GPUs of this compute capability."""
        return arch in self.archs

    def drives(self, arch: GpuArch, driver: DriverVersion) -> bool | None:
        """Whether this driver of the branch drives the GPU; None where its number leaves that open, as a bare 580."""
        since = self.since.get(arch)
        if not self.supports(arch) or since is None or driver.branch != self.branch or driver >= since:
            return self.supports(arch)
        return None if since.parts[: len(driver.parts)] == driver.parts else False

    def flavours(self, arch: GpuArch) -> tuple[str, ...]:
        """Return the kernel modules that drive this GPU: ``open``, ``proprietary``, both, or none when unsupported."""
        if arch not in self.archs:
            return ()
        if arch in self.open_only:
            return ("open",)
        return ("open", "proprietary") if arch in self.open_archs else ("proprietary",)

    def is_end_of_life(self, on: str) -> bool:
        """Whether NVIDIA's support had ended on this ISO date; a branch without a known end never has."""
        return bool(self.end_of_life) and self.end_of_life < on[: len(self.end_of_life)]


FILE = TableFile(
    "driver_branches.csv",
    DriverBranch,
    ("branch",),
    "NVIDIA driver branches: CUDA spoken, GPUs driven, kernel-module flavours, Windows numbers, end of life.",
)


class DriverBranches:
    """Look-ups over the branches."""

    def __init__(self, rows: Iterable[DriverBranch]) -> None:
        self.rows: tuple[DriverBranch, ...] = tuple(rows)
        self._by_number = {row.branch: row for row in self.rows}

    def by_number(self, branch: int) -> DriverBranch | None:
        """Return the branch of this Linux number."""
        return self._by_number.get(branch)

    def compat_from(self, driver: DriverVersion) -> DriverBranch | None:
        """Return the row that tells which hosts a cuda-compat of this driver takes; a newer one takes no older ones."""
        rows = [row for row in self.rows if row.compat_from and row.branch <= driver.branch]
        return rows[-1] if rows else None

    def of(self, driver: DriverVersion, os: str) -> DriverBranch | None:
        """Return the branch a driver belongs to; None for a number that no known branch has, such as a Jetson's 540."""
        number = driver.branch
        if os == "windows":
            for row in self.rows:
                if (
                    row.windows_from is not None
                    and row.windows_to is not None
                    and row.windows_from <= number <= row.windows_to
                ):
                    return row
        return self._by_number.get(number)

    def branches_supporting(self, arch: GpuArch) -> tuple[DriverBranch, ...]:
        """Return the branches that drive this GPU, oldest first."""
        return tuple(row for row in self.rows if row.supports(arch))
