"""What running torch showed, in a few lines: the smoke tests and the benchmark's figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from torchdoctor.checks.answers import exception_of, is_of_benchmark
from torchdoctor.facts import Facts, Probe
from torchdoctor.render.line import Line
from torchdoctor.render.look import Look, Row, table
from torchdoctor.report import Report

_MARKS = {"passed": "ok", "failed": "FAILED", "skipped": "skipped"}


def proof_lines(report: Report, verbosity: int, look: Look) -> Iterator[Line]:
    """The counts and the figures; every test with -v."""
    trial = report.facts.trial
    if isinstance(trial.probes, tuple):
        tests = tuple(probe for probe in trial.probes if not is_of_benchmark(probe))
        told = _not_run(report.facts) or _counts(tests)
        if told:
            yield Line(f"smoke tests: {told}", "dim")
        yield from _tests(tests, look) if verbosity > 0 else ()
    if isinstance(trial.bench, tuple):
        from torchdoctor.render.bench_text import bench_lines  # its modules are many, and few runs have a benchmark

        yield from bench_lines(trial.bench, report.facts.request.baseline, look)


def all_passed(facts: Facts) -> bool:
    """Whether nothing that was run failed or is worth more than a count: no benchmark was the purpose."""
    trial = facts.trial
    failed = isinstance(trial.probes, tuple) and any(probe.outcome == "failed" for probe in trial.probes)
    return not failed and (
        not isinstance(trial.bench, tuple) or (_is_aside(trial.bench) and not facts.request.baseline)
    )


def _is_aside(events: tuple[object, ...]) -> bool:
    """Whether the benchmark is the short one of a check, and came to its end."""
    told = [event for event in events if isinstance(event, dict)]
    done = any(event.get("kind") == "bench-done" and event.get("profile") == "check" for event in told)
    return done and all(event.get("kind") != "bench-failed" for event in told)


def counts(facts: Facts) -> str:
    """How many smoke tests passed, for the line of a healthy host."""
    probes = facts.trial.probes if isinstance(facts.trial.probes, tuple) else ()
    tests = tuple(probe for probe in probes if not is_of_benchmark(probe))
    return f"smoke tests: {_counts(tests)}" if tests else ""


def _tests(tests: tuple[Probe, ...], look: Look) -> Iterator[Line]:
    """One by one; on several devices as a table, with what failed or was skipped below its row."""
    devices = tuple(dict.fromkeys(probe.device for probe in tests))
    if len(devices) > 1 and not look.plain:
        names = dict.fromkeys(probe.id for probe in tests)
        rows = [_row([probe for probe in tests if probe.id == name], devices) for name in names]
        yield from table(("smoke test", *devices), rows, look)
        return
    for probe in tests:
        yield Line(_sentence(probe))


def _sentence(probe: Probe) -> str:
    return f"  {_MARKS.get(probe.outcome, probe.outcome):8}{probe.id} on {probe.device}{_detail(probe)}"


def _row(probes: Sequence[Probe], devices: tuple[str, ...]) -> Row:
    told = {probe.device: _cell(probe) for probe in probes}
    cells = (probes[0].id, *(told.get(device, "") for device in devices))
    remark = "; ".join(f"{probe.device}{_detail(probe)}" for probe in probes if probe.outcome != "passed")
    is_bad = any(probe.outcome == "failed" for probe in probes)
    sentence = f"{cells[0]}: {', '.join(f'{cell} on {device}' for device, cell in told.items())}"
    return Row(cells, f"  {sentence}", remark=remark, style="fail" if is_bad else "")


def _cell(probe: Probe) -> str:
    return f"ok {probe.seconds:.2f} s" if probe.outcome == "passed" else _MARKS.get(probe.outcome, probe.outcome)


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
