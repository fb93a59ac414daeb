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
    """A GPU is slower than its model can be or than its equals; or any device is slower than it was."""
    result = summarise(need(facts.trial.bench))
    baseline = facts.request.baseline
    earlier = baseline if isinstance(baseline, BenchResult) else None
    slow = [verdict for verdict in verdicts(result, tables, earlier) if verdict.slow]
    for device in dict.fromkeys(verdict.figure.device for verdict in slow):
        yield _finding(facts, result, [verdict for verdict in slow if verdict.figure.device == device])


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
        remedies=(_remedy(facts, result, worst.figure.device),),
        fixable_by="user" if worst.figure.device == "cpu" else "admin",
        confidence="likely",
        row=Row("gpu_peaks", row.key, row.source) if row else None,
    )


def _remedy(facts: Facts, result: BenchResult, name: str) -> Remedy:
    """Where to look; each maker has a tool of its own, and a CPU has none."""
    device = result.device(name)
    backend = device.backend if device else ""
    if backend == "cpu":
        text = "See what takes the processor: other programs, a quota of the container, its power plan, its heat"
        commands = ("nproc", "uptime") if value_or(facts.os.name, "") == "linux" else ()
        return Remedy(Text(text), commands=commands)
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
