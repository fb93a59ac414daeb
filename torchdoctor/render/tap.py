"""TAP 14, the Test Anything Protocol: one test point a check, what was found in a YAML block under it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from torchdoctor.findings import Finding
from torchdoctor.render.cases import Case, cases
from torchdoctor.render.formats import View
from torchdoctor.render.labels import place_of
from torchdoctor.render.line import on_one_line
from torchdoctor.report import Report


def render(report: Report, view: View) -> str:
    """The whole stream; the plan stands first."""
    found = cases(report, view.fail_on)
    lines = ["TAP version 14", f"1..{len(found)}"]
    for number, case in enumerate(found, 1):
        lines += _point(number, case)
    return "".join(f"{line}\n" for line in lines)


def _point(number: int, case: Case) -> Iterator[str]:
    word = "not ok" if case.outcome in {"failed", "errored"} else "ok"
    name = f"{case.family}: {_plain(case.name)}" if case.family else _plain(case.name)
    skip = f" # SKIP {_plain(case.about)}" if case.outcome == "skipped" else ""
    yield f"{word} {number} - {name}{skip}"
    if case.about and not skip:
        yield "  ---"
        yield from (_finding(case.finding) if case.finding else _members((("summary", case.about),)))
        yield "  ..."


def _finding(finding: Finding) -> Iterator[str]:
    file, line = place_of(finding)
    yield from _members(
        (
            ("summary", str(finding.summary)),
            ("severity", str(finding.severity)),
            ("confidence", finding.confidence),
            ("file", file),
            ("line", str(line or "")),
            ("why", str(finding.why)),
        )
    )
    yield from _list("seen", [f"{item.fact} = {item.value}" for item in finding.evidence])
    yield from _list("do", [f"{remedy.text}" for remedy in finding.remedies])
    yield from _list("commands", [str(command) for remedy in finding.remedies for command in remedy.commands])


def _members(pairs: tuple[tuple[str, str], ...]) -> Iterator[str]:
    yield from (f"  {name}: {_quoted(value)}" for name, value in pairs if value)


def _list(name: str, values: list[str]) -> Iterator[str]:
    if values:
        yield f"  {name}:"
        yield from (f"    - {_quoted(value)}" for value in values)


def _quoted(text: str) -> str:
    """A string in double quotes, as YAML and Python's escapes agree on it; in ASCII."""
    return json.dumps(on_one_line(text), ensure_ascii=False).encode("ascii", "backslashreplace").decode("ascii")


def _plain(text: str) -> str:
    """TAP 14 has an escape for the mark of a directive, which readers of TAP 13 do not know: there shall be none."""
    return on_one_line(text).replace("#", "\\x23").replace("\\", "\\\\")
