"""Write changed tables: each file in one step, LF on every system."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from torchdoctor.index.sheet import Sheet
from torchdoctor.tables import Tables
from torchdoctor.tables.describe import describe

README, DATE = "README.md", "DATE"


def store(sheets: Iterable[Sheet], tables: Tables, folder: Path, day: str) -> tuple[Path, ...]:
    """Write the changed tables into a folder: whole into one that has a DATE, which moves on, else their rows alone."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = (folder / DATE).is_file()
    written = []
    for sheet in sheets:
        written.append(folder / sheet.file.name)
        _save(written[-1], sheet.text(whole=whole))
    if whole and written:
        written.append(folder / DATE)
        _save(written[-1], f"{max(day, tables.date)}\n")
    if whole and written and (folder / README).is_file():
        written.append(folder / README)
        _save(written[-1], describe(folder))
    return tuple(written)


def _save(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(text.encode("utf-8"))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
