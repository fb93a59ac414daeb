"""Which compiled code runs on which GPU: same major and lower or equal minor, with the Tegra exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed, optional
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import CudaVersion, GpuArch


@record(frozen=True, slots=True, eq=False, repr=False)
class CodeArch(TableRow):
    """Code of one architecture: the devices from ``device_from`` up to, not including, ``device_below`` run it."""

    code: GpuArch = cell(GpuArch.parse)
    device_from: GpuArch = cell(GpuArch.parse)
    device_below: GpuArch = cell(GpuArch.parse)
    also: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    except_devices: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    except_until_cuda: CudaVersion | None = cell(optional(CudaVersion.parse))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the code's architecture."""
        return str(self.code)

    def excludes(self, device: GpuArch, cuda: CudaVersion | None) -> bool:
        """Whether the device is an exception for code compiled with this CUDA; an unknown CUDA ends no exception."""
        ended = self.except_until_cuda is not None and cuda is not None and cuda >= self.except_until_cuda
        return device in self.except_devices and not ended

    def covers(self, device: GpuArch, cuda: CudaVersion | None) -> bool:
        """Whether the device runs this code natively."""
        in_range = self.device_from <= device < self.device_below
        return device in self.also or (in_range and not self.excludes(device, cuda))


FILE = TableFile(
    "code_coverage.csv",
    CodeArch,
    ("code",),
    "Device code and the GPUs that run it natively, with the Tegra exceptions and the CUDA version that ends them.",
)


class Coverage:
    """Look-ups over the rule. ``cuda`` is the version the code was compiled with."""

    def __init__(self, rows: Iterable[CodeArch]) -> None:
        self.rows: tuple[CodeArch, ...] = tuple(rows)
        self._by_code = {row.code: row for row in self.rows}

    def covers(self, code: GpuArch, device: GpuArch, cuda: CudaVersion | None) -> bool:
        """Whether a device runs code of this architecture; False for an architecture the table does not know."""
        row = self._by_code.get(code)
        return row is not None and row.covers(device, cuda)

    def knows(self, code: GpuArch) -> bool:
        """Whether the table has a row of code for this architecture."""
        return code in self._by_code

    def serves(
        self,
        codes: Sequence[GpuArch],
        ptx: Sequence[GpuArch],
        device: GpuArch,
        cuda: CudaVersion | None,
        driver_cuda: CudaVersion | None,
    ) -> str:
        """How a build serves a device: ``native``, ``ptx`` (compiled by the driver at first use), or an empty string.

        PTX counts only when the driver itself speaks at least the CUDA that made it.
        """
        if any(self.covers(code, device, cuda) for code in codes):
            return "native"
        can_compile = cuda is not None and driver_cuda is not None and driver_cuda >= cuda
        if can_compile and any(arch <= device for arch in ptx) and not self.is_exception(device, cuda):
            return "ptx"
        return ""

    def is_tegra(self, device: GpuArch) -> bool:
        """Whether this compute capability belongs to a Tegra chip (Jetson, Drive)."""
        return any(device in row.except_devices or device in row.also for row in self.rows)

    def is_exception(self, device: GpuArch, cuda: CudaVersion | None) -> bool:
        """Whether code that would fit by its numbers is not for this device: a Tegra, before the CUDA that ends it."""
        return any(row.excludes(device, cuda) for row in self.rows)
