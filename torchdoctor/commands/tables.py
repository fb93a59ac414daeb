"""``torchdoctor tables``: what is known, whether it holds together, and what an index shows beyond it."""

from __future__ import annotations

import argparse
from pathlib import Path

from torchdoctor.commands.common import ANSWER_FORMATS, note, open_tables, parse_formats, put
from torchdoctor.errors import UsageError
from torchdoctor.tables import Tables

_ACTIONS = ("list", "verify", "refresh")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "action",
        nargs="?",
        choices=_ACTIONS,
        default=_ACTIONS[0],
        help="list: what is known, how old, from where (default); verify: every table and every rule across them; "
        "refresh: what an index shows beyond them",
    )
    group = parser.add_argument_group("refresh")
    group.add_argument(
        "--from",
        dest="source",
        metavar="INDEX",
        help="the address of a wheel index, without project: its pages of torch, torchvision, torchaudio and triton "
        "are read (PEP 503, PEP 691); http, https or file",
    )
    group.add_argument(
        "--write", action="store_true", help="write the difference into --tables DIR, else into the user's own folder"
    )
    group.add_argument(
        "--timeout", type=float, default=60.0, metavar="SECONDS", help="deadline of one page (default: 60)"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--format",
        action="append",
        metavar="FORMAT[=FILE]",
        help=f"of the list: {' or '.join(ANSWER_FORMATS)}, to stdout or a file; repeatable",
    )
    output.add_argument(
        "--tables",
        metavar="DIR",
        help="the tables in this folder instead; without a DATE file in it, its rows lie over the tables",
    )


def run(options: argparse.Namespace) -> int:
    """Do one of the three."""
    if options.action != "refresh" and (options.source or options.write):
        raise UsageError(f"tables {options.action}: --from and --write belong to tables refresh")
    if options.action != "list" and options.format:
        raise UsageError(f"tables {options.action}: --format belongs to tables list")
    if options.action == "refresh":
        from torchdoctor.commands.tables_refresh import run_refresh

        return run_refresh(options)
    tables = open_tables(options.tables)
    return _verify(tables) if options.action == "verify" else _list(tables, options)


def _list(tables: Tables, options: argparse.Namespace) -> int:
    from torchdoctor.commands.tables_list import as_json, as_text, summaries

    found = summaries(tables)
    for name, path in parse_formats(options.format):
        put(as_json(tables, found) if name == "json" else as_text(tables, found), path)
    return 0


def _verify(tables: Tables) -> int:
    from torchdoctor.commands.tables_verify import located, verify

    checked = verify(tables)
    for fault in checked.faults:
        print(located(fault, tables))
    if checked.faults:
        note(f"{len(checked.faults)} faults in the tables of {_where(tables)}")
        return 1
    print(f"ok: {checked.files} tables, {checked.rows} rows, {checked.invariants} rules hold ({_where(tables)})")
    return 0


def _where(tables: Tables) -> str:
    over: Path | None = tables.over
    return f"{over} over {tables.root}" if over else str(tables.root)
