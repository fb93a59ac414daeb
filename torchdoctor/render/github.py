"""What a job of GitHub Actions is told: annotations in the log, and outputs for later steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from torchdoctor.findings import SEVERITIES, Finding
from torchdoctor.render.formats import View
from torchdoctor.render.labels import place_of
from torchdoctor.render.line import on_one_line
from torchdoctor.report import Report, fails

MOST = 10  # of one kind and step are shown; of a whole job 50
SUMMARY_BYTES = 1024 * 1024  # of a whole step
_LONGEST = 4000  # characters of a message, after which it is cut
_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}
_MESSAGE = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(report: Report, view: View) -> str:
    """At most ten annotations, the worst first. A mere remark is one only where it counts or has a place in a file."""
    unknown = [_unknown(report)] if report.status == "unknown" else []
    telling = [
        item for item in report.findings if item.severity != "info" or fails(item, view.fail_on) or place_of(item)[0]
    ]
    telling.sort(key=lambda finding: SEVERITIES.index(finding.severity or "info"))
    lines = [*unknown, *map(_annotation, telling)]
    return "".join(f"{line}\n" for line in lines[:MOST])


def told(items: Iterable[tuple[str, str, str]]) -> str:
    """Annotations of what is no finding, at most ten: severity, title and message of each, the worst first."""
    lines = (
        _command(_COMMANDS[severity], {"title": f"torchdoctor: {title}"}, on_one_line(message))
        for severity, title, message in items
    )
    return "".join(f"{line}\n" for line in islice(lines, MOST))


def outputs(values: Mapping[str, str], delimiter: str) -> str:
    """Lines for the file of outputs; the delimiter must be one that nobody can foresee."""
    return "".join(f"{name}<<{delimiter}\n{value}\n{delimiter}\n" for name, value in values.items())


def _unknown(report: Report) -> str:
    return _command("error", {"title": "torchdoctor: unknown"}, on_one_line(str(report.unknown_because)))


def _annotation(finding: Finding) -> str:
    file, line = place_of(finding)
    places = {"file": file, "line": str(line or "")} if file else {}
    message = "\n".join(map(on_one_line, _message(finding)))
    return _command(_COMMANDS[str(finding.severity)], {**places, "title": f"torchdoctor: {finding.id}"}, message)


def _message(finding: Finding) -> Iterator[str]:
    yield str(finding.summary)
    yield str(finding.why)
    for remedy in finding.remedies:
        yield f"{str(remedy.text).rstrip('.')}:" if remedy.commands else str(remedy.text)
        yield from (f"    {command}" for command in remedy.commands)


def _command(name: str, properties: Mapping[str, str], message: str) -> str:
    given = ",".join(f"{key}={on_one_line(value).translate(_PROPERTY)}" for key, value in properties.items() if value)
    return f"::{name} {given}::{message[:_LONGEST].translate(_MESSAGE)}"
