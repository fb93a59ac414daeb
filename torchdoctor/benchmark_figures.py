"""The figures of the mini training benchmark: what was measured on which device, with its spread and certainty."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb

from torchdoctor.records import record

CONFIDENCE = 0.95
KNEE = 0.95  # of the best rate: with so many workers more are not worth it


@record(frozen=True, slots=True)
class Conditions:
    """What a GPU ran at during a series: medians of what was read, every throttle reason, the fastest PCIe link."""

    clock_mhz: float | None = None
    power_w: float | None = None
    power_limit_w: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] = ()
    pcie_gen: int | None = None
    pcie_width: int | None = None


@record(frozen=True, slots=True)
class Figure:
    """One series: seconds per step as median, quartiles and confidence interval of the median, and the rates."""

    name: str  # overhead, throughput, matmul, copy, h2d-pinned, h2d-pageable, d2h-pinned
    device: str
    dtype: str
    seconds: float
    quartiles: tuple[float, float]
    interval: tuple[float, float]
    samples: int
    settled: bool
    items_per_step: float | None = None
    flops_per_step: float | None = None
    bytes_per_step: float | None = None
    conditions: Conditions = Conditions()

    @property
    def work(self) -> float:
        """What a step does, in the unit that the figure is about: images, operations or bytes; else steps."""
        return self.items_per_step or self.flops_per_step or self.bytes_per_step or 1.0

    @property
    def rate(self) -> float:
        """Work per second, by the median."""
        return self.work / self.seconds

    @property
    def rates(self) -> tuple[float, float]:
        """Work per second at the slow and at the fast end of the confidence interval."""
        return self.work / self.interval[1], self.work / self.interval[0]


@record(frozen=True, slots=True)
class BenchDevice:
    """A measured device, as torch describes it."""

    device: str
    backend: str  # cpu, cuda, rocm, mps, xpu
    model: str | None = None
    units: int | None = None
    threads: int | None = None
    memory: int | None = None
    pci: str | None = None
    uuid: str | None = None
    busy: str = ""  # measured all the same, because that was asked for


@record(frozen=True, slots=True)
class Loss:
    """How a short training went. A loss that is no number is None; so is a mark that could not be given."""

    device: str
    first: float | None
    last: float | None
    cpu_first: float | None
    cpu_last: float | None
    finite: bool
    fell: bool | None  # None: cut short by the time allowed
    agrees: bool | None  # None: there was no second run to compare with
    accuracy: float | None


@record(frozen=True, slots=True)
class Waiting:
    """The share of the training's time that went by waiting for data."""

    device: str
    waiting_share: float
    workers: int
    pin: bool


@record(frozen=True, slots=True)
class SweepRow:
    """Batches per second with some workers; None: not tried, for the reason given."""

    workers: int
    pin: bool
    batches_per_s: float | None
    reason: str = ""


@record(frozen=True, slots=True)
class Sweep:
    """How the number of workers changes the rate of a DataLoader; not ``complete`` where it was cut short."""

    rows: tuple[SweepRow, ...]
    usable_cpus: int
    shm_free: int | None = None
    complete: bool = True

    @property
    def recommended(self) -> SweepRow | None:
        """The fewest workers, within the usable processors, that come near the best rate: the knee of the curve.

        None where the sweep was cut short: the best may be among those that were not tried.
        """
        if not self.complete:
            return None
        tried = [(row.batches_per_s, row) for row in self.rows if row.batches_per_s and row.workers <= self.usable_cpus]
        best = max((rate for rate, _ in tried), default=0.0)
        near = [(row.workers, -rate, row) for rate, row in tried if rate >= KNEE * best]
        return min(near, key=lambda item: item[:2])[2] if near else None


@record(frozen=True, slots=True)
class Missing:
    """Something that was not measured, or failed, and why."""

    device: str
    reason: str
    stage: str = ""
    failed: bool = False


@record(frozen=True, slots=True, kw_only=True)
class BenchResult:
    """Everything that one run measured; ``seconds`` None: it did not come to its end."""

    devices: tuple[BenchDevice, ...] = ()
    figures: tuple[Figure, ...] = ()
    losses: tuple[Loss, ...] = ()
    waits: tuple[Waiting, ...] = ()
    sweep: Sweep | None = None
    missing: tuple[Missing, ...] = ()
    profile: str = ""
    seconds: float | None = None

    def device(self, name: str) -> BenchDevice | None:
        """The device of a name such as ``cuda:0``."""
        return next((device for device in self.devices if device.device == name), None)


def median_interval(times: Sequence[float]) -> tuple[float, float]:
    """The confidence interval of the median by order statistics: no assumption on how the times are spread.

    With fewer than six times no interval is that sure; the whole range is given then.
    """
    ordered = sorted(times)
    rank = _rank(len(ordered))
    return ordered[rank], ordered[-1 - rank]


@cache
def _rank(count: int) -> int:
    """How many of the smallest and of the largest values may be left out: the binomial tail says how likely."""
    allowed, tail, rank = (1 - CONFIDENCE) / 2 * 2**count, 1, 0
    while tail <= allowed:
        rank += 1
        tail += comb(count, rank)
    return max(0, rank - 1)


def quartiles(times: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile."""
    ordered, last = sorted(times), len(times) - 1

    def at(share: float) -> float:
        low = int(share * last)
        high = min(low + 1, last)
        return ordered[low] + (share * last - low) * (ordered[high] - ordered[low])

    return at(0.25), at(0.75)
