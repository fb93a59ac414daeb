"""JUnit XML as Ant, Jenkins and GitLab read it: one suite, one test case a check."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from torchdoctor.render.cases import Case, cases
from torchdoctor.render.formats import View
from torchdoctor.render.labels import labels, place_of
from torchdoctor.render.line import on_one_line
from torchdoctor.render.text import finding_lines
from torchdoctor.render.text import render as render_text
from torchdoctor.report import Report

_ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})


def render(report: Report, view: View) -> str:
    """The document, in ASCII whatever it tells, so that no stream can spoil it."""
    found = cases(report, view.fail_on)
    lines = (
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<testsuites>",
        f" <testsuite {_counts(found)} {_when(view)}>",
        "  <properties>",
        *(f'   <property name="{name}" value="{_in_xml(value)}"/>' for name, value in labels(report).items()),
        "  </properties>",
        *(line for case in found for line in _case(case)),
        f"  <system-out>{_told(report, view)}</system-out>",
        "  <system-err></system-err>",
        " </testsuite>",
        "</testsuites>",
    )
    return "".join(f"{line}\n" for line in lines)


def _counts(found: list[Case]) -> str:
    count = Counter(case.outcome for case in found)
    return (
        f'name="torchdoctor" package="torchdoctor" id="0" tests="{len(found)}" failures="{count["failed"]}" '
        f'errors="{count["errored"]}" skipped="{count["skipped"]}"'
    )


def _when(view: View) -> str:
    """No name of a machine: a report tells none."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(view.now))
    return f'timestamp="{stamp}" hostname="localhost" time="0"'


def _case(case: Case) -> Iterator[str]:
    start = f'  <testcase name="{_in_xml(case.name)}" classname="{_classname(case)}" time="0"'
    if case.outcome == "passed":
        yield f"{start}/>"
        return
    yield f"{start}>"
    if case.outcome == "skipped":
        yield f'   <skipped message="{_in_xml(case.about)}"/>'
    else:
        element, kind = ("failure", _severity(case)) if case.outcome == "failed" else ("error", "unknown")
        yield f'   <{element} type="{kind}" message="{_in_xml(_message(case))}">{_details(case)}</{element}>'
    yield "  </testcase>"


def _classname(case: Case) -> str:
    return f"torchdoctor.{case.family}" if case.family else "torchdoctor"


def _severity(case: Case) -> str:
    return str(case.finding.severity) if case.finding else "error"


def _message(case: Case) -> str:
    """The place in a file stands here: Jenkins' xUnit plugin refuses a test case with an attribute for it."""
    file, line = place_of(case.finding) if case.finding else ("", 0)
    return f"{file}:{line}: {case.about}" if line else f"{file}: {case.about}" if file else case.about


def _details(case: Case) -> str:
    """The finding as the text report tells it; each line on its own, as harmless as there."""
    lines = finding_lines(case.finding) if case.finding else ()
    return "\n".join(_in_xml(line.text) for line in lines).strip("\n")


def _told(report: Report, view: View) -> str:
    return "\n".join(_in_xml(line.text) for line in render_text(report, 0, view.fail_on))


def _in_xml(text: str) -> str:
    """The text as XML 1.0 may hold it: what it forbids is shown as an escape."""
    return on_one_line(text).translate(_ENTITIES).encode("ascii", "xmlcharrefreplace").decode("ascii")
