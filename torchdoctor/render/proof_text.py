"""What running torch showed, in a few lines: the smoke tests and the benchmark's figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from torchdoctor.checks.answers import exception_of, is_of_benchmark
from torchdoctor.facts import Facts, Probe
from torchdoctor.render.line import Line
from torchdoctor.report import Report

_MARKS = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}


def proof_lines(report: Report, verbosity: int) -> Iterator[Line]:
    """The counts and the figures; every test with -v."""
    trial = report.facts.trial
    if isinstance(trial.probes, tuple):
        tests = tuple(probe for probe in trial.probes if not is_of_benchmark(probe))
        told = _not_run(report.facts) or _counts(tests)
        if told:
            yield Line(f"smoke tests: {told}", "dim")
        for probe in tests if verbosity > 0 else ():
            yield Line(f"  {_MARKS.get(probe.outcome, probe.outcome):8}{probe.id} on {probe.device}{_detail(probe)}")
    if isinstance(trial.bench, tuple):
        from torchdoctor.render.bench_text import bench_lines  # its modules are many, and few runs have a benchmark

        yield from bench_lines(trial.bench, report.facts.request.baseline)


def _not_run(facts: Facts) -> str:
    """Why there are no tests to count: the import of torch, which is told as one of them, failed."""
    if facts.trial.imported is not False:
        return ""
    return "not run, torch is missing" if facts.torch.installed is False else "not run, torch cannot be imported"


def _counts(probes: tuple[Probe, ...]) -> str:
    counts = Counter(probe.outcome for probe in probes)
    return ", ".join(f"{counts[outcome]} {outcome}" for outcome in _MARKS if counts[outcome])


def _detail(probe: Probe) -> str:
    said = exception_of(probe.error) if probe.error else (probe.reason or "").partition("\n")[0]
    return f": {said[:120]}" if said else f" ({probe.seconds:.2f} s, {probe.library})"
