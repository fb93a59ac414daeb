"""``torchdoctor fleet``: many hosts' reports merged: the odd ones out, the slow, the sick and the missing."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchdoctor.commands.common import (
    add_output_options,
    deliver,
    in_github_job,
    note,
    open_tables,
    parse_formats,
    put,
    try_outputs,
)
from torchdoctor.commands.policy import add_policy_options, counted, request_of
from torchdoctor.errors import UsageError
from torchdoctor.render.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torchdoctor.fleet.merge import Fleet
    from torchdoctor.report import Report

_OWN = ("text", "json", "html")  # which show more of a fleet than its findings
_FORMATS = (*FORMATS, "html")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "reports",
        nargs="+",
        metavar="DIR|FILE|-",
        help="reports (check --format json=DIR/$(hostname).json), folders of them, JSON lines (*.jsonl, or - for "
        "stdin); a file's name is the host's",
    )
    parser.add_argument(
        "--expect",
        metavar="FILE|LIST",
        help="the hosts that have to be there: a file of names, or a list such as node[001-064]",
    )
    parser.add_argument("--golden", metavar="FILE", help="hold all against this report, not against the majority")
    add_policy_options(parser, shows=False, requires=False)
    add_output_options(parser, _FORMATS)


def run(options: argparse.Namespace) -> int:
    """Merge, deliver."""
    formats = parse_formats(options.format, _FORMATS)
    own = [(name, path) for name, path in formats if name in _OWN]
    others = [_asked(name, path) for name, path in formats if name not in _OWN]
    options.format = others or (["github"] if not options.format and in_github_job() else [])
    request = request_of(options)
    try_outputs(options, *(path for _, path in own))
    from torchdoctor.fleet.findings import report_of

    fleet = _merged(options)
    report = counted(report_of(fleet, open_tables(options.tables).edition), request)
    for name, path in own:
        _give(fleet, report, name, path, options)
    if options.format:
        return deliver(report, options)
    from torchdoctor.report import exit_status

    return exit_status(report, options.fail_on)


def _asked(name: str, path: str | None) -> str:
    return name if path is None else f"{name}={path}"


def _merged(options: argparse.Namespace) -> Fleet:
    from torchdoctor.fleet.merge import merge
    from torchdoctor.fleet.sources import Sources, hosts_of

    sources = Sources(options.reports)
    expected = hosts_of(options.expect) if options.expect is not None else None
    fleet = merge(sources, expected, _golden(options.golden) if options.golden else None)
    if not fleet.hosts:
        why = f": {fleet.unreadable[0][0]}: {fleet.unreadable[0][1]}" if fleet.unreadable else ""
        raise UsageError(f"none of the {len(fleet.unreadable)} files is a report{why}")
    for name, why in fleet.unreadable[:10]:
        note(f"note: {name} is left out: {why}")
    return fleet


def _golden(path: str) -> tuple[str, Mapping[str, Any]]:
    from torchdoctor.fleet.sources import read_report

    report = read_report(path)
    if isinstance(report, str):
        raise UsageError(f"--golden {path}: {report}")
    return Path(path).name, report


def _give(fleet: Fleet, report: Report, name: str, path: str | None, options: argparse.Namespace) -> None:
    verbosity = -1 if options.quiet else int(options.verbose)
    if name == "json":
        from torchdoctor.render.fleet_text import render_json

        put(render_json(fleet, report), path, is_json=True)
        return
    if name == "html":
        from torchdoctor.render.fleet_html import render as page

        put(page(fleet, report, options.fail_on), path)
        return
    from torchdoctor.render.fleet_text import render
    from torchdoctor.render.output import show

    lines = render(fleet, report, verbosity, options.fail_on)
    if path is None:
        show(lines, plain=options.plain, colour=options.color)
    else:
        put("".join(f"{line.text}\n" for line in lines), path)
