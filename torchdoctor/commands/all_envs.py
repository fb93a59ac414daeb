"""``check --all-envs``: every environment that can be found and holds a torch, one line each; the worst decides."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from torchdoctor import __version__
from torchdoctor.commands.common import INTERRUPTED, UNKNOWN, in_github_job, parse_formats, put
from torchdoctor.commands.here import record_here
from torchdoctor.errors import UsageError
from torchdoctor.render.line import Line, harmless_json, on_one_line
from torchdoctor.render.output import show
from torchdoctor.report import exit_status

if TYPE_CHECKING:
    from torchdoctor.asked import Asked
    from torchdoctor.environments import Environment
    from torchdoctor.recording import Recording
    from torchdoctor.report import Report

SCHEMA = "torchdoctor.environments/1"
_WORST_FIRST = ("fail", "unknown", "warn", "info", "ok")
_WORDS = {"warn": "warning"}  # as the first word of a report has it
_MOST = 20  # environments without a torch that are named
_MOST_TARGETS = 3  # hosts of --for that are named with their reason
_FORMATS = ("text", "json", "github", "quiet")
_SEVERITIES = {"fail": "error", "unknown": "error", "warn": "warning", "info": "info"}

Examine = Callable[["Recording"], "Report"]


class Examined(NamedTuple):
    """One environment with its report, or with why it could not be asked."""

    environment: Environment
    report: Report | None
    error: str = ""

    @property
    def status(self) -> str:
        """The status of its report."""
        return self.report.status if self.report else "unknown"

    def state(self, fail_on: str) -> str:
        """The status, or info where it is ok and a mere remark counts."""
        is_failed = self.report is not None and exit_status(self.report, fail_on)
        return "info" if is_failed and self.status == "ok" else self.status


def check_all(options: argparse.Namespace, asked: Asked | None, examine: Examine) -> int:
    """Examine them one after another, deliver, and return the worst exit status."""
    formats = parse_formats(options.format, _FORMATS)
    if not options.format and in_github_job():
        formats.append(("github", None))
    for name in ("python", "record"):
        if getattr(options, name, None):
            raise UsageError(f"check: --{name} is of one Python, and --all-envs examines many: leave one of them out")
    from torchdoctor.environments import environments_here

    found = environments_here()
    with_torch = [item for item in found if item.has_torch]
    asked = asked if options.all_envs == "run" and not options.static else None
    results = [_examined(item, options, asked, examine) for item in with_torch]
    without = [item for item in found if item not in with_torch]
    for name, path in formats:
        if name == "json":
            put(_json(results, without), path, is_json=True)
        elif name == "github":
            put(_annotations(results, options.fail_on), path)
        elif name == "quiet":
            put("", path)
        elif path is None:
            show(_lines(results, without, options), plain=options.plain, colour=options.color)
        else:
            put("".join(f"{line.text}\n" for line in _lines(results, without, options)), path)
    return _exit_status(results, options.fail_on)


def _examined(environment: Environment, options: argparse.Namespace, asked: Asked | None, examine: Examine) -> Examined:
    one = argparse.Namespace(**{**vars(options), "python": environment.python})
    try:
        return Examined(environment, _chosen(examine(record_here(one, asked)), environment.why))
    except UsageError as error:
        return Examined(environment, None, str(error))


def _chosen(report: Report, why: str) -> Report:
    """The report, with why this environment is among them: nobody named it."""
    from torchdoctor.records import replace

    python = replace(report.facts.python, chosen_because=why, other=None)
    return replace(report, facts=replace(report.facts, python=python))


def _worst(statuses: Collection[str]) -> str:
    return min(statuses or ["unknown"], key=_WORST_FIRST.index)


def _exit_status(results: Sequence[Examined], fail_on: str) -> int:
    if any(item.report and item.report.facts.trial.interrupted is True for item in results):
        return INTERRUPTED
    statuses = {exit_status(item.report, fail_on) if item.report else UNKNOWN for item in results} or {UNKNOWN}
    return next(status for status in (1, UNKNOWN, 0) if status in statuses)


def _annotations(results: Sequence[Examined], fail_on: str) -> str:
    """One for each environment that is not as it should be; and that there is none at all."""
    from torchdoctor.render.github import told

    if not results:
        return told([("error", "unknown", "none of the environments found holds a torch")])
    states = sorted(((item.state(fail_on), item) for item in results), key=lambda pair: _WORST_FIRST.index(pair[0]))
    return told(
        (_SEVERITIES[state], _shown(item.environment.python), f"{_word(state)}: {_about(item, fail_on)}")
        for state, item in states
        if state != "ok"
    )


def _lines(results: Sequence[Examined], without: Sequence[Environment], options: argparse.Namespace) -> list[Line]:
    lines = [_summary([item.state(options.fail_on) for item in results], without)]
    if not options.quiet:
        lines += [_line(item, options.fail_on) for item in results]
        for item in results if options.verbose else ():
            lines += _report(item, options.fail_on)
        if without:
            names = ", ".join(_shown(item.python) for item in without[:_MOST])
            more = f" and {len(without) - _MOST} more" if len(without) > _MOST else ""
            lines.append(Line(f"without torch, not examined: {names}{more}", "dim"))
    return [line._replace(text=on_one_line(line.text)) for line in lines]


def _summary(states: Sequence[str], without: Sequence[Environment]) -> Line:
    word = _word(_worst(states))
    if not states:
        return Line(f"{word}: none of {len(without)} environments found holds a torch", word)
    counts = [(states.count(state), _word(state)) for state in _WORST_FIRST]
    told = ", ".join(f"{count} {name}" for count, name in counts if count)
    return Line(f"{word}: {len(states)} environment{'s' if len(states) > 1 else ''} with torch: {told}", word)


def _line(item: Examined, fail_on: str) -> Line:
    word = _word(item.state(fail_on))
    why, about = item.environment.why, _about(item, fail_on)
    return Line(f"  {word:9}{_shown(item.environment.python)} ({why}): {about}", word)


def _about(item: Examined, fail_on: str) -> str:
    from torchdoctor.render.text import verdict

    if item.report is None:
        return f"cannot be asked: {item.error}"
    amiss = [f"{one.name}: {one.why}" for one in item.report.targets if one.verdict != "runs"]
    more = (f"and {len(amiss) - _MOST_TARGETS} more",) if len(amiss) > _MOST_TARGETS else ()
    return "; ".join((verdict(item.report, fail_on).partition(": ")[2], *amiss[:_MOST_TARGETS], *more))


def _report(item: Examined, fail_on: str) -> list[Line]:
    from torchdoctor.render.text import render

    return [Line(""), *render(item.report, 0, fail_on)] if item.report else []


def _word(status: str) -> str:
    return _WORDS.get(status, status)


def _json(results: Sequence[Examined], without: Sequence[Environment]) -> str:
    from torchdoctor.render.json_v1 import report_object

    def told(item: Environment) -> dict[str, Any]:
        return {"python": _shown(item.python), "found": item.why}

    answer = {
        "schema": SCHEMA,
        "torchdoctor": __version__,
        "status": _worst([item.status for item in results]),
        "environments": [
            {
                **told(item.environment),
                "status": item.status,
                "error": item.error or None,
                "report": report_object(item.report) if item.report else None,
            }
            for item in results
        ],
        "without_torch": [told(item) for item in without],
    }
    return harmless_json(json.dumps(answer, indent=1, ensure_ascii=False)) + "\n"


def _shown(python: str) -> str:
    """A path as a report may name it: no home folder of anybody."""
    home = str(Path.home())
    return f"~{python[len(home) :]}" if python.startswith(f"{home}/") else python
