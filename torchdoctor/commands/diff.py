"""``torchdoctor diff A B``: works there, not here. Two reports, recordings or pasted texts, side by side."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchdoctor.commands.common import ANSWER_FORMATS, UNKNOWN, open_tables, parse_formats, put
from torchdoctor.errors import UsageError

if TYPE_CHECKING:
    from torchdoctor.diff.compare import Comparison
    from torchdoctor.diff.sides import Side
    from torchdoctor.recording import Recording
    from torchdoctor.tables import Tables


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    files = "a report (check --format json=FILE), a recording (check --record FILE) or a pasted text; - for stdin"
    parser.add_argument("a", metavar="A.json", help=f"one host: {files}")
    parser.add_argument("b", metavar="B.json", help="the other, in the same forms")
    parser.epilog = "exit status: 0 equal; 1 different; 2 usage; 3 unknown: too little that both tell; 130 Ctrl-C"
    group = parser.add_argument_group("output")
    group.add_argument(
        "--format",
        action="append",
        metavar="FORMAT[=FILE]",
        help=f"{' or '.join(ANSWER_FORMATS)}, to stdout or a file; repeatable",
    )
    group.add_argument("-v", "--verbose", action="store_true", help="leave nothing out")
    group.add_argument("-q", "--quiet", action="store_true", help="the verdict alone")
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="as of check")
    group.add_argument("--plain", action="store_true", help="no colour")
    group.add_argument("--tables", metavar="DIR", help="use the compatibility tables in this folder")


def run(options: argparse.Namespace) -> int:
    """Read both, compare, print: 0 equal, 1 different, 3 too little that both tell."""
    formats = parse_formats(options.format)
    if options.a == options.b == "-":
        raise UsageError("diff: stdin can be read once: name a file for one of the two")
    tables = open_tables(options.tables)
    from torchdoctor.diff.compare import compare

    names = _names(options.a, options.b)
    comparison = compare(*(_side(path, name, tables) for path, name in zip((options.a, options.b), names, strict=True)))
    for form, path in formats:
        _give(comparison, form, path, options)
    if comparison.is_empty or comparison.is_open:
        return UNKNOWN
    return 0 if comparison.is_equal else 1


def _give(comparison: Comparison, form: str, path: str | None, options: argparse.Namespace) -> None:
    from torchdoctor.render import diff_text
    from torchdoctor.render.output import show

    if form == "json":
        put(diff_text.render_json(comparison), path, is_json=True)
        return
    lines = diff_text.render(comparison, -1 if options.quiet else int(options.verbose))
    if path is None:
        show(lines, plain=options.plain, colour=options.color)
    else:
        put("".join(f"{line.text}\n" for line in lines), path)


def _names(a: str, b: str) -> tuple[str, str]:
    """What the two are called: by their file names, or as they were given where those are the same."""
    one, other = ("stdin" if path == "-" else Path(path).name or path for path in (a, b))
    return (one, other) if one != other else (a, b)


def _side(path: str, name: str, tables: Tables) -> Side:
    from torchdoctor.diff.sides import BadReportError, side_of

    try:
        return side_of(name, _report(path, tables))
    except BadReportError as error:
        raise UsageError(f"{path}: not a report that can be compared: {error}") from error


def _report(path: str, tables: Tables) -> dict[str, Any]:
    """The report itself, or the one that a recording or a text gives."""
    from torchdoctor.commands.diagnose import load_one, recording_of
    from torchdoctor.readers.texts import schema_of

    text = load_one(path)
    schema, version = schema_of(text.text)
    if schema != "report":
        report = _judged(recording_of(path, text), tables)
        if not schema and not any(report["facts"].values()):
            raise UsageError(f"{path}: neither a report nor a recording, and as a text it tells nothing of a host")
        return report
    if version != 1:
        raise UsageError(f"{path}: a report of a newer torchdoctor; this one reads report/1: upgrade torchdoctor")
    try:
        report = json.loads(text.text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: not a report that can be read: {error}") from error
    return dict(report)


def _judged(recording: Recording, tables: Tables) -> dict[str, Any]:
    from torchdoctor.facts import Request
    from torchdoctor.pipeline import examine
    from torchdoctor.prescribe.writing import Writing
    from torchdoctor.render.json_v1 import report_object

    return report_object(examine(recording, tables, Request(), Writing()))
