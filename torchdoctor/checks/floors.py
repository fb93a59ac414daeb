"""Floors of a policy for what the benchmark measures, each by the slowest GPU; without one, by the processor."""

from __future__ import annotations

from torchdoctor.benchmark import summarise
from torchdoctor.benchmark_figures import BenchResult, Figure
from torchdoctor.checks.judged import Judged
from torchdoctor.facts import Facts
from torchdoctor.intent import Requirement

_TERA, _GIGA = 1e12, 1e9
_WHOLE = "bench"  # the profile that measures every figure
_ASKED = "--require"  # the source of what was asked for this time
_OF = {
    "fp32-tflops": ("matmul", "fp32", _TERA),
    "tf32-tflops": ("matmul", "tf32", _TERA),
    "bf16-tflops": ("matmul", "bf16", _TERA),
    "fp16-tflops": ("matmul", "fp16", _TERA),
    "images-per-s": ("throughput", "fp32", 1.0),
    "memory-gbps": ("copy", "", _GIGA),
    "h2d-gbps": ("h2d-pinned", "", _GIGA),
    "d2h-gbps": ("d2h-pinned", "", _GIGA),
}
FLOORS = tuple(_OF)


def judged_floor(facts: Facts, item: Requirement) -> Judged:
    """By what a benchmark measured; where it did not measure that, the floor of a file is not asked."""
    events = facts.trial.bench
    result = summarise(events) if isinstance(events, tuple) else None
    name = item.key.removeprefix("bench.").removesuffix("-min")
    unit = _OF[name][2]
    figures = measured(result, name) if result else []
    if not figures:
        counts = item.source.startswith(_ASKED) or (result is not None and result.profile == _WHOLE)
        missing = f"figure {name} of a benchmark, which torchdoctor bench measures"
        return Judged(item, None, "trial.bench", missing=missing, counts=counts)
    slowest = min(figures, key=lambda figure: figure.rate)
    holds = slowest.rates[1] >= float(item.wanted) * unit  # the fast end: no floor fails for a spread
    return Judged(item, holds, "trial.bench", f"{slowest.rate / unit:.4g} on {slowest.device}")


def measured(result: BenchResult, name: str) -> list[Figure]:
    """The figures that a floor is about, one a device."""
    wanted, dtype, _ = _OF[name]
    found = [item for item in result.figures if item.name == wanted and (not dtype or item.dtype == dtype)]
    return [item for item in found if item.device != "cpu"] or found


def in_unit(figure: Figure, name: str) -> float:
    """The slow end of a figure in the unit of its floor."""
    return figure.rates[0] / _OF[name][2]
