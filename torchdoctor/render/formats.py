"""The formats of a report: one line about each, and where it is written. Only those asked for are imported."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchdoctor.report import Report


class Format(NamedTuple):
    """What a format is for, and the module of this package that writes it; none writes nothing."""

    meaning: str
    module: str
    is_json: bool = False


FORMATS = {
    "text": Format("for people; with colour on a terminal", "text"),
    "json": Format("torchdoctor.report/1, with everything that is known", "json_v1", is_json=True),
    "junit": Format("JUnit XML, one test case a check", "junit"),
    "github": Format("at most ten annotations of GitHub Actions, the worst first; all in the step summary", "github"),
    "gitlab": Format("code quality report of GitLab", "gitlab", is_json=True),
    "tap": Format("TAP 14, one test point a check", "tap"),
    "nagios": Format("one line with figures; on stdout, exit status 0, 1, 2, 3 for OK, WARNING, ...", "nagios"),
    "prometheus": Format("for the textfile collector: every finding id as 0 or 1", "prometheus"),
    "markdown": Format("for an issue: the report, fenced", "markdown"),
    "quiet": Format("nothing: the exit status alone", ""),
}


class View(NamedTuple):
    """How a report is to be shown: what makes it fail, how much of it, and when it was made (seconds since 1970)."""

    fail_on: str = "error"
    verbosity: int = 0
    now: float = 0.0


def rendered(name: str, report: Report, view: View) -> str:
    """The report in a format, as a file holds it."""
    item = FORMATS[name]
    if name == "text":
        from torchdoctor.render.text import render

        return "".join(f"{line.text}\n" for line in render(report, view.verbosity, view.fail_on))
    if name == "json":
        from torchdoctor.render.json_v1 import render as as_json

        return as_json(report)
    if not item.module:
        return ""
    render_it: Callable[[Report, View], str] = import_module(f"torchdoctor.render.{item.module}").render
    return render_it(report, view)
