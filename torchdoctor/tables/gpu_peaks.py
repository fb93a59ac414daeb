"""What a GPU can do at best: dense TFLOPS by number format, memory bandwidth, and the clock they hold for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, one_of, optional, yes_no
from torchdoctor.tables.loading import TableFile, TableRow

_OTHER_CLOCKS = re.compile(r"\b(laptop|max-q|mobile|mig|grid|vgpu)\b", re.IGNORECASE)  # their power and slices differ


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(filled(text))
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None


@record(frozen=True, slots=True, eq=False, repr=False)
class GpuPeak(TableRow):
    """The figures of one model at ``boost_mhz``; ``devices`` is how many torch devices share them."""

    name_regex: re.Pattern[str] = cell(_pattern)
    vendor: str = cell(one_of("nvidia", "amd", "intel", "apple"))
    arch: str = cell(filled)
    units: int | None = cell(optional(int))  # SMs of NVIDIA, compute units of AMD, Xe cores of Intel
    boost_mhz: int | None = cell(optional(int))
    fp32: float | None = cell(optional(float))
    tf32: float | None = cell(optional(float))
    bf16: float | None = cell(optional(float))
    fp16_fp32acc: float | None = cell(optional(float))
    fp16_fp16acc: float | None = cell(optional(float))
    fp8: float | None = cell(optional(float))
    mem_gbps: float | None = cell(optional(float))
    mem_gb: int | None = cell(optional(int))
    power_w: int | None = cell(optional(int))
    devices: int = cell(int)
    judged: bool = cell(yes_no)  # no: an order of magnitude, under which nothing may be called slow
    method: str = cell(filled)
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the pattern of the GPU's name."""
        return self.name_regex.pattern

    def tflops(self, dtype: str) -> float | None:
        """The peak of a matrix product in ``fp32``, ``tf32``, ``bf16``, ``fp16`` or ``fp8``, as torch computes it."""
        rates = {"fp32": self.fp32, "tf32": self.tf32, "bf16": self.bf16, "fp16": self.fp16_fp32acc, "fp8": self.fp8}
        return rates.get(dtype)


FILE = TableFile(
    "gpu_peaks.csv",
    GpuPeak,
    ("name_regex",),
    "GPUs by name: dense TFLOPS by number format, memory bandwidth, units, rated clock and power.",
)


class GpuPeaks:
    """Look-ups over the peaks."""

    def __init__(self, rows: Iterable[GpuPeak]) -> None:
        self.rows: tuple[GpuPeak, ...] = tuple(rows)

    def of(self, name: str) -> GpuPeak | None:
        """Return the row of a device name as torch or NVML gives it; None for laptops, slices and unknown models."""
        if _OTHER_CLOCKS.search(name):
            return None
        found = [row for row in self.rows if row.name_regex.search(name)]
        return found[0] if len(found) == 1 else None
