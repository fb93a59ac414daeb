"""One line as plugins of Nagios, Icinga and the node problem detector print it, and their four exit statuses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from torchdoctor.facts import value_or
from torchdoctor.findings import SEVERITIES
from torchdoctor.render.formats import View
from torchdoctor.render.line import on_one_line
from torchdoctor.report import Report, exit_status, fails

_STATES = ("OK", "WARNING", "CRITICAL", "UNKNOWN")
_OK, _WARNING, _CRITICAL, UNKNOWN = range(4)
_ROOM = 80  # characters that the node problem detector keeps


def render(report: Report, view: View) -> str:
    """The line: state, counts, ids of the root causes; behind the bar the figures."""
    state = status_of(report, view.fail_on)
    return f"{_about(report, state, view.fail_on)} | {' '.join(_figures(report))}\n"


def status_of(report: Report, fail_on: str) -> int:
    """CRITICAL at the threshold or above it, WARNING for what is milder and no mere remark, UNKNOWN between them."""
    if any(fails(finding, fail_on) for finding in report.findings):
        return _CRITICAL
    if exit_status(report, fail_on):
        return UNKNOWN
    return _WARNING if any(finding.severity != "info" for finding in report.findings) else _OK


def usage_line(message: str) -> str:
    """The line for a call that could not be carried out: a service that is not known to be well."""
    return f"TORCHDOCTOR UNKNOWN - {_plain(message)}\n"


def _about(report: Report, state: int, fail_on: str) -> str:
    start = f"TORCHDOCTOR {_STATES[state]} - "
    if state == UNKNOWN:
        return start + _plain(str(report.unknown_because))
    counting = [finding for finding in report.findings if finding.severity != "info" or fails(finding, fail_on)]
    counts = Counter(str(finding.severity) for finding in counting)
    told = [_counted(counts[name], name) for name in SEVERITIES if counts[name]]
    roots = [finding.id for finding in counting if finding.explained_by is None]
    return start + (", ".join(told) + _names(roots, _ROOM - len(start + ", ".join(told))) if told else "no findings")


def _counted(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 or name == "info" else f"{count} {name}s"


def _names(ids: list[str], room: int) -> str:
    """As many ids as fit, at least one, and how many more there are."""
    shown = list(dict.fromkeys(ids))
    total = len(shown)
    while len(shown) > 1 and len(_list_of(shown, total)) > room:
        shown.pop()
    return _list_of(shown, total)


def _list_of(shown: list[str], total: int) -> str:
    more = f" +{total - len(shown)}" if total > len(shown) else ""
    return f": {' '.join(shown)}{more}" if shown else ""


def _figures(report: Report) -> Iterator[str]:
    counts = Counter(str(finding.severity) for finding in report.findings)
    yield f"errors={counts['error']};;0"
    yield f"warnings={counts['warning']};0"
    gpus = value_or(report.facts.gpus, None)
    if gpus is not None:
        yield f"gpus={len(gpus)}"
    seconds = value_or(report.facts.trial.import_seconds, None)
    if seconds is not None:
        yield f"import={seconds:.3f}s"


def _plain(text: str) -> str:
    """No bar: what follows one is read as figures."""
    return on_one_line(text).replace("|", "/")
