"""Many hosts for people, and as JSON: what most of them are, who differs, who is missing, which device is slowest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from torchdoctor import __version__
from torchdoctor.fleet.findings import listed
from torchdoctor.fleet.merge import Fleet, Slow
from torchdoctor.records import fields, is_record
from torchdoctor.render.line import Line, harmless_json, on_one_line
from torchdoctor.render.text import finding_lines, verdict
from torchdoctor.report import Report

SCHEMA = "torchdoctor.fleet/1"
_MOST_FINDINGS, _MOST_USUAL = 30, 14
# What a line about all hosts names, where most of them agree on it.
_SHOWN = ("torch.full", "driver.version", "gpus", "python.version", "os.distribution", "os.kernel")


def render(fleet: Fleet, report: Report, verbosity: int, fail_on: str) -> list[Line]:
    """The lines; ``verbosity`` 1 leaves nothing out, -1 leaves the verdict alone."""
    word = {"warn": "warning"}.get(report.status, report.status)
    lines = [Line(verdict(report, fail_on), word)]
    if verbosity >= 0:
        lines += [*_summary(fleet), *_usual(fleet, verbosity), *_slowest(fleet)]
        shown = report.findings if verbosity > 0 else report.findings[:_MOST_FINDINGS]
        lines += [line for finding in shown for line in finding_lines(finding)]
        lines += _left_out(fleet, len(report.findings) - len(shown))
    return [line._replace(text=on_one_line(line.text)) for line in lines]


def _summary(fleet: Fleet) -> Iterator[Line]:
    differ = fleet.hosts - fleet.alike
    against = f"as {fleet.golden}" if fleet.golden else "alike"
    statuses = ", ".join(f"{count} {status}" for status, count in fleet.statuses.items())
    yield Line(f"{fleet.hosts} hosts: {fleet.alike} {against}, {differ} differ ({statuses})", "dim")
    if fleet.unexpected:
        yield Line(f"not in the list of --expect: {listed(fleet.unexpected)}", "dim")


def _usual(fleet: Fleet, verbosity: int) -> Iterator[Line]:
    names = _SHOWN if verbosity <= 0 else tuple(fleet.usual)
    known = [(name, fleet.usual[name]) for name in names if name in fleet.usual]
    for name, usual in known[:_MOST_USUAL] if verbosity <= 0 else known:
        share = f"  ({usual.count} of {usual.told})" if usual.told else ""
        yield Line(f"  {name} = {usual.value}{share}")


def _slowest(fleet: Fleet) -> Iterator[Line]:
    for item in fleet.slowest:
        yield Line(f"  slowest: {item.host} {item.device}, {_percent(item)}% of the median ({item.kind})")


def _percent(item: Slow) -> int:
    return round(100 * item.value / item.middle)


def _left_out(fleet: Fleet, findings: int) -> Iterator[Line]:
    if findings > 0:
        yield Line("")
        yield Line(f"{findings} more findings: -v shows them", "dim")
    for what, count in fleet.cut.items():
        yield Line(f"{count} more {what} are not listed", "dim")


def render_json(fleet: Fleet, report: Report) -> str:
    """The object ``torchdoctor.fleet/1``."""
    from torchdoctor.render.json_v1 import finding_object

    whole = {
        "schema": SCHEMA,
        "torchdoctor": __version__,
        "status": report.status,
        **_plain(fleet),
        "findings": [finding_object(finding) for finding in report.findings],
    }
    return harmless_json(json.dumps(whole, indent=1, ensure_ascii=False)) + "\n"


def _plain(thing: Any) -> Any:
    """Records as objects, tuples as lists."""
    if is_record(thing):
        return {member.name: _plain(getattr(thing, member.name)) for member in fields(thing)}
    if isinstance(thing, dict):
        return {name: _plain(value) for name, value in thing.items()}
    return [_plain(item) for item in thing] if isinstance(thing, (tuple, list)) else thing
