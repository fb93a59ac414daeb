"""``torchdoctor tables refresh``: print what an index shows beyond the tables, and write it only when asked to."""

from __future__ import annotations

import argparse
from pathlib import Path

from torchdoctor.commands.common import note, open_tables, put
from torchdoctor.commands.tables_verify import located
from torchdoctor.errors import UsageError
from torchdoctor.index.client import Client, IndexReadError, checked_base
from torchdoctor.index.diff import difference
from torchdoctor.index.refresh import Refresh, refresh
from torchdoctor.index.store import store
from torchdoctor.tables import Tables
from torchdoctor.tables.overlay import target_folder

_LINES = 20
_READ_ERROR = 1


def run_refresh(options: argparse.Namespace) -> int:
    """Compare; write only a difference that contradicts nothing that was read and breaks no rule."""
    base = _base(options.source)
    folder = target_folder(options.tables)
    tables = _tables(options.tables, folder, write=options.write)
    day = _today()
    try:
        found = refresh(Client(options.timeout), base, tables, day)
    except IndexReadError as error:
        note(f"tables refresh: {error}; nothing was changed")
        return _READ_ERROR
    put("".join(f"{line}\n" for sheet in reversed(found.sheets) for line in difference(sheet)), None)
    _tell(found, tables)
    if found.faults:
        note("nothing was written: the result would break the rules above")
        return 1
    _write(found, tables, folder, day, write=options.write)
    return 1 if found.outcome.contradictions else 0


def _base(source: str | None) -> str:
    if not source:
        raise UsageError("tables refresh: from which index? (--from INDEX)")
    try:
        return checked_base(source)
    except ValueError as error:
        raise UsageError(f"--from: {error}") from error


def _tables(asked: str | None, folder: Path | None, *, write: bool) -> Tables:
    """A folder to write into need not be there yet."""
    if write and folder is not None and not folder.exists():
        return Tables(over=folder)
    return open_tables(asked)


def _today() -> str:
    from datetime import datetime, timezone

    return datetime.now(timezone.utc).date().isoformat()


def _tell(found: Refresh, tables: Tables) -> None:
    outcome = found.outcome
    _some("not on the index, and kept", outcome.lacking)
    _some("note", outcome.remarks)
    for line in outcome.contradictions:
        note(f"contradiction, not changed: {line}")
    for fault in found.faults:
        note(f"fault: {located(fault, tables)}")


def _some(what: str, lines: list[str]) -> None:
    for line in lines[:_LINES]:
        note(f"{what}: {line}")
    if len(lines) > _LINES:
        note(f"{what}: {len(lines) - _LINES} more")


def _write(found: Refresh, tables: Tables, folder: Path | None, day: str, *, write: bool) -> None:
    if not found.changed:
        note("no difference")
        return
    counts = ", ".join(f"{sum(1 for _ in sheet.touched())} in {sheet.file.name}" for sheet in found.changed)
    if not write:
        note(f"rows added or changed: {counts}; --write puts them into {folder or '--tables DIR'}")
        return
    if folder is None:
        raise UsageError("tables refresh: no folder to write into is known here: name one (--tables DIR)")
    try:
        paths = store(found.changed, tables, folder, day)
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error.strerror or error}") from error
    note(f"rows added or changed: {counts}; written: {', '.join(map(str, paths))}")
