"""The text that node_exporter's textfile collector reads: the same series after every run, so that alerts resolve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from torchdoctor.findings import SEVERITIES
from torchdoctor.render.formats import View
from torchdoctor.render.labels import labels
from torchdoctor.render.line import on_one_line
from torchdoctor.report import Report, exit_status

_STATUSES = ("ok", "warn", "fail", "unknown")
_OUTCOMES = ("passed", "found", "skipped", "crashed")


def render(report: Report, view: View) -> str:
    """Gauges without time stamps, which the collector refuses; when this was is a gauge of its own."""
    severities = Counter(str(finding.severity) for finding in report.findings)
    outcomes = Counter(str(item.outcome) for item in report.outcomes)
    ids = {finding.id for finding in report.findings}
    listed = sorted({item.id for item in report.outcomes} | ids)
    lines = (
        *_gauge("info", "What was examined, by what.", [(labels(report), 1)]),
        *_gauge("status", "1 for the verdict of the last run.", _each("status", _STATUSES, {report.status: 1})),
        *_gauge("exit_status", "Exit status of the last run.", [({}, exit_status(report, view.fail_on))]),
        *_gauge("finding", "1 where the last run found it.", _each("id", listed, dict.fromkeys(ids, 1))),
        *_gauge("findings", "Findings of the last run.", _each("severity", SEVERITIES, severities)),
        *_gauge("set_aside", "Findings that a policy sets aside.", [({}, len(report.ignored))]),
        *_gauge("checks", "Checks of the last run.", _each("outcome", _OUTCOMES, outcomes)),
        *_targets(report),
        *_gauge("last_run_timestamp_seconds", "When the last run ended.", [({}, round(view.now))]),
    )
    return "".join(f"{line}\n" for line in lines)


def _targets(report: Report) -> Iterable[str]:
    """Only where hosts were asked about, which are the same ones in the next run."""
    runs = [({"target": item.name}, int(item.verdict.startswith("runs"))) for item in report.targets]
    return _gauge("target_runs", "1 for a host on which it will run.", runs) if runs else ()


def _each(label: str, names: Iterable[str], values: Mapping[str, int]) -> list[tuple[Mapping[str, str], int]]:
    return [({label: name}, values.get(name, 0)) for name in names]


def _gauge(name: str, meaning: str, samples: Iterable[tuple[Mapping[str, str], int]]) -> Iterable[str]:
    yield f"# HELP torchdoctor_{name} {meaning}"
    yield f"# TYPE torchdoctor_{name} gauge"
    for names, value in samples:
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in names.items())
        yield f"torchdoctor_{name}{{{inside}}} {value}" if inside else f"torchdoctor_{name} {value}"


def _escaped(text: str) -> str:
    return on_one_line(text).replace("\\", "\\\\").replace('"', '\\"')
