"""Whether a figure is what the hardware can do: against its peak, against equal GPUs, against a saved run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from torchdoctor.benchmark_figures import BenchDevice, BenchResult, Conditions, Figure
from torchdoctor.records import record
from torchdoctor.tables import Tables
from torchdoctor.tables.gpu_peaks import GpuPeak

Against = Literal["peak", "memory", "pcie", "equal", "baseline"]

TENSOR, SIMPLE, AMD = 0.55, 0.5, 0.4  # of the peak at the measured clock: matrix products that are not slow
MEMORY, PCIE = 0.75, 0.75  # of the memory's and of the link's bandwidth
EQUAL = 0.9  # of the best among equal GPUs, and of a saved run
LEAST = 6  # samples: with fewer there is no confidence interval of the median
COMPARED = ("throughput", "matmul", "copy")  # between equal GPUs: not what depends on the host's side
PCIE_OLD = 2  # the last generation with ten bits on the wire for a byte; later ones send 128 of 130
TERA, GIGA = 1e12, 1e9


@record(frozen=True, slots=True)
class Verdict:
    """One comparison: ``ratio`` is measured over expected, ``slow`` when even the fast end lies under ``threshold``."""

    against: Against
    figure: Figure
    expected: float
    ratio: float
    threshold: float
    slow: bool
    at_measured_clock: bool = False
    clock_share: float | None = None  # the measured clock as a share of the rated one
    row: GpuPeak | None = None
    other: str = ""  # the device or the run it was compared with

    @property
    def conditions(self) -> Conditions:
        """Clock, power, temperature, throttle reasons and link while it ran: the evidence for a reason."""
        return self.figure.conditions


def verdicts(result: BenchResult, tables: Tables, baseline: BenchResult | None = None) -> tuple[Verdict, ...]:
    """Every comparison that can be made; a GPU that no table knows has figures and no verdict."""
    found = [verdict for figure in result.figures for verdict in _of_figure(figure, result, tables)]
    return (*found, *_between_equals(result), *(since(result, baseline) if baseline else ()))


def _of_figure(figure: Figure, result: BenchResult, tables: Tables) -> Iterator[Verdict]:
    device = result.device(figure.device)
    if device is None or device.backend == "cpu":
        return
    row = tables.gpu_peaks.of(device.model or "")
    if row is not None and row.judged and figure.name == "matmul":
        yield from _against_peak(figure, device, row)
    if row is not None and row.judged and figure.name == "copy":
        yield from _against_memory(figure, device, row)
    if figure.name in ("h2d-pinned", "d2h-pinned"):
        yield from _against_link(figure)


def _against_peak(figure: Figure, device: BenchDevice, row: GpuPeak) -> Iterator[Verdict]:
    """The peak at the clock it ran at, and with the units it has: a cut-down part is no slow part."""
    tflops = row.tflops(figure.dtype)
    if tflops is None or (row.devices > 1 and not device.units):
        return
    clock = figure.conditions.clock_mhz
    share = clock / row.boost_mhz if clock and row.boost_mhz else None
    units = device.units / row.units if device.units and row.units else 1.0
    limit = AMD if row.vendor == "amd" else SIMPLE if figure.dtype == "fp32" else TENSOR
    expected = tflops * TERA * units * (share or 1.0)
    yield _verdict("peak", figure, expected, limit, row=row, share=share)


def _against_memory(figure: Figure, device: BenchDevice, row: GpuPeak) -> Iterator[Verdict]:
    if row.mem_gbps is None or (row.devices > 1 and not device.units):
        return
    parts = row.devices if device.units and row.units and device.units * row.devices == row.units else 1
    yield _verdict("memory", figure, row.mem_gbps * GIGA / parts, MEMORY, row=row)


def _against_link(figure: Figure) -> Iterator[Verdict]:
    gen, width = figure.conditions.pcie_gen, figure.conditions.pcie_width
    if gen and width:
        yield _verdict("pcie", figure, lane_gbps(gen) * width * GIGA, PCIE)


def lane_gbps(gen: int) -> float:
    """GB/s of one PCIe lane, one way: gigatransfers a second, each a bit, less what the code on the wire takes."""
    if gen <= PCIE_OLD:
        return 2.5 * 2.0 ** (gen - 1) / 10
    return 8 * 2.0 ** (gen - PCIE_OLD - 1) * 128 / 130 / 8


def _between_equals(result: BenchResult) -> Iterator[Verdict]:
    """Each GPU against the best of its model on this host."""
    groups: dict[tuple[object, ...], list[Figure]] = {}
    for figure in result.figures:
        device = result.device(figure.device)
        if device is not None and device.backend != "cpu" and device.model and figure.name in COMPARED:
            groups.setdefault((device.model, device.units, figure.name, figure.dtype), []).append(figure)
    for figures in groups.values():
        best = max(figures, key=lambda figure: figure.rate)
        for figure in figures:
            if figure is not best and figure.device != best.device:
                yield _against_other("equal", figure, best, best.device)


def since(result: BenchResult, baseline: BenchResult) -> Iterator[Verdict]:
    """Each figure against the same one of a saved run, on the same device of the same model."""
    before = {(figure.name, figure.device, figure.dtype): figure for figure in baseline.figures}
    for figure in result.figures:
        saved = before.get((figure.name, figure.device, figure.dtype))
        now, then = result.device(figure.device), baseline.device(figure.device)
        if (
            saved
            and now
            and then
            and (now.model, now.backend) == (then.model, then.backend)
            and saved.work == figure.work
        ):
            yield _against_other("baseline", figure, saved, "baseline")


def _against_other(against: Against, figure: Figure, other: Figure, name: str) -> Verdict:
    """Slower than another figure, with no doubt left by the spread of either."""
    ratio = figure.rate / other.rate
    slow = ratio < EQUAL and figure.rates[1] < other.rates[0] and min(figure.samples, other.samples) >= LEAST
    return Verdict(against, figure, other.rate, ratio, EQUAL, slow, other=name)


def _verdict(
    against: Against,
    figure: Figure,
    expected: float,
    limit: float,
    *,
    row: GpuPeak | None = None,
    share: float | None = None,
) -> Verdict:
    slow = figure.rates[1] < limit * expected and figure.samples >= LEAST
    return Verdict(against, figure, expected, figure.rate / expected, limit, slow, share is not None, share, row=row)
