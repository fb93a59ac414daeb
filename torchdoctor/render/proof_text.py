"""What running torch showed, in a few lines: the smoke tests and the benchmark's figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from torchdoctor.facts import Probe
from torchdoctor.render.line import Line
from torchdoctor.report import Report

_MARKS = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}


def proof_lines(report: Report, verbosity: int) -> Iterator[Line]:
    """The counts and the figures; every test with -v."""
    trial = report.facts.trial
    if isinstance(trial.probes, tuple) and trial.probes:
        yield Line(f"smoke tests: {_counts(trial.probes)}", "dim")
        for probe in trial.probes if verbosity > 0 else ():
            yield Line(f"  {_MARKS.get(probe.outcome, probe.outcome):8}{probe.id} on {probe.device}{_detail(probe)}")
    if isinstance(trial.bench, tuple):
        yield from _bench(trial.bench)


def _counts(probes: tuple[Probe, ...]) -> str:
    counts = Counter(probe.outcome for probe in probes)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in _MARKS if counts[outcome])


def _detail(probe: Probe) -> str:
    said = probe.error or probe.reason
    return f": {said.splitlines()[0][:120]}" if said else f" ({probe.seconds:.2f} s, {probe.library})"


def _bench(events: tuple[object, ...]) -> Iterator[Line]:
    from torchdoctor.benchmark import summarise

    result = summarise(event for event in events if isinstance(event, dict))
    for figure in result.figures:
        low, high = sorted(figure.rates)
        unit = "images/s" if figure.items_per_step else "operations/s" if figure.flops_per_step else "bytes/s"
        spread = f" ({low:.3g} to {high:.3g})" if low < high else ""
        dtype = f" {figure.dtype}" if figure.dtype else ""
        yield Line(f"benchmark: {figure.name}{dtype} on {figure.device}: {figure.rate:.3g} {unit}{spread}", "dim")
    recommended = result.sweep.recommended if result.sweep else None
    if recommended:
        yield Line(f"benchmark: DataLoader with {recommended.workers} workers, pin_memory={recommended.pin}", "dim")
