"""Whether the GPUs are as fast as they can be: from the benchmark, against peaks, equals and an earlier run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.benchmark import summarise
from torchdoctor.benchmark_figures import BenchResult
from torchdoctor.benchmark_verdicts import Verdict, verdicts
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Text
from torchdoctor.tables import Tables

_POWER_SHARE = 0.8  # of an equal GPU's limit: single cards differ by less
_COMMANDS = {
    "cuda": ("nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE,CLOCK", "nvidia-smi"),
    "rocm": ("rocm-smi",),
}
_WORDS = {
    "peak": "its peak",
    "memory": "its memory bandwidth",
    "pcie": "its PCIe link",
    "equal": "an equal GPU",
    "baseline": "the earlier run",
}


@check("slow-gpu", severity="warning", after=("kernel-fault", "gpu-lost"))
def slow_gpu(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """A GPU is slower or gets less power than its equals, or is slower than its model can be or than it was."""
    yield from _capped(facts)
    result = summarise(need(facts.trial.bench))
    baseline = facts.request.baseline
    earlier = baseline if isinstance(baseline, BenchResult) else None
    slow = [verdict for verdict in verdicts(result, tables, earlier) if verdict.slow]
    for device in dict.fromkeys(verdict.figure.device for verdict in slow):
        yield _finding(facts, result, [verdict for verdict in slow if verdict.figure.device == device])


def _capped(facts: Facts) -> Iterator[Finding]:
    """A GPU whose power limit is far below that of equal ones beside it, whatever was measured."""
    limits = [
        (name, watts)
        for gpu in value_or(facts.gpus, ())
        if (name := value_or(gpu.name, "")) and (watts := value_or(gpu.power_limit, 0))
    ]
    for name in dict.fromkeys(name for name, _ in limits):
        equal = [watts for other, watts in limits if other == name]
        if min(equal) < _POWER_SHARE * max(equal):
            yield _short_of_power(facts, name, equal)


def _short_of_power(facts: Facts, name: str, limits: Sequence[int]) -> Finding:
    return Finding(
        summary=Text(
            "a {name} may use {low} W and an equal one {high} W", name=name, low=min(limits), high=max(limits)
        ),
        why=Text(
            "Every step of a training on several GPUs waits for the slowest. Somebody set the limit, or the driver set "
            "it because the power supply, its cables or the board give no more; torch has no part in it."
        ),
        evidence=(seen(facts, "gpus[].power_limit", " ".join(f"{watts} W" for watts in limits), facts.source("gpus")),),
        remedies=(
            Remedy(
                Text("Compare the limit in force with the default, and see what asks for less"),
                commands=("nvidia-smi -q -d POWER,PERFORMANCE",),
            ),
            Remedy(
                Text(
                    "Set the default again; if that is refused, look at cables, supplies and the chassis' power policy"
                ),
                commands=(f"sudo nvidia-smi -i {limits.index(min(limits))} -pl {max(limits)}",),
                risk="changes-system",
            ),
        ),
        fixable_by="admin",
        confidence="likely",
    )


def _finding(facts: Facts, result: BenchResult, slow: Sequence[Verdict]) -> Finding:
    worst = min(slow, key=lambda verdict: verdict.ratio / verdict.threshold)
    row = worst.row
    return Finding(
        summary=Text(
            "{device} reaches {share} % of {against} ({figure})",
            device="the CPU" if worst.figure.device == "cpu" else worst.figure.device,
            share=round(worst.ratio * 100),
            against=_WORDS[worst.against],
            figure=worst.figure.name,
        ),
        why=Text(
            "Measured over expected lies under {threshold} %, and the spread of the measurement does not reach it.",
            threshold=round(worst.threshold * 100),
        ),
        evidence=tuple(_evidence(facts, verdict) for verdict in slow),
        remedies=(_remedy(result, worst.figure.device),),
        fixable_by="user" if worst.figure.device == "cpu" else "admin",
        confidence="likely",
        row=Row("gpu_peaks", row.key, row.source) if row else None,
    )


def _remedy(result: BenchResult, name: str) -> Remedy:
    """Where to look; each maker has a tool of its own, and a CPU has none."""
    device = result.device(name)
    backend = device.backend if device else ""
    if backend == "cpu":
        text = "See what takes the processor: other programs, a quota of the container, its power plan, its heat"
        return Remedy(Text(text), commands=("nproc", "uptime"))
    text = "See what holds it back: clock, power limit, temperature, PCIe width, other processes"
    return Remedy(Text(text), commands=_COMMANDS.get(backend, ()))


def _evidence(facts: Facts, verdict: Verdict) -> Evidence:
    figure, at = verdict.figure, verdict.conditions
    said = f"{figure.name} {figure.dtype or ''} {figure.rate:.4g} of {verdict.expected:.4g} per second".replace(
        "  ", " "
    )
    clock = f" at {at.clock_mhz:.0f} MHz" if at.clock_mhz else ""
    throttle = f", throttled: {', '.join(at.throttle)}" if at.throttle else ""
    return seen(facts, "trial.bench", said + clock + throttle, "benchmark")
