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
        from torchdoctor.render.bench_text import bench_lines  # its modules are many, and few runs have a benchmark

        yield from bench_lines(trial.bench, report.facts.request.baseline)


def _counts(probes: tuple[Probe, ...]) -> str:
    counts = Counter(probe.outcome for probe in probes)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in _MARKS if counts[outcome])


def _detail(probe: Probe) -> str:
    said = probe.error or probe.reason
    return f": {said.splitlines()[0][:120]}" if said else f" ({probe.seconds:.2f} s, {probe.library})"
