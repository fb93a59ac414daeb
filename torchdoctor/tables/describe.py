"""Describe the folder of tables: prints compat_tables/README.md from the tables themselves."""

from __future__ import annotations

import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import torchdoctor.tables
from torchdoctor.records import fields
from torchdoctor.tables import known_errors
from torchdoctor.tables.loading import TableFile, find_root, read_text

_INTRODUCTION = """\
# Compatibility tables

What torchdoctor knows, as data. One CSV file per table: a header, one row a line, LF, UTF-8, sorted by key, quoted only
where needed; the texts of errors are TOML, see the end. Every row says where it comes from (`source`) and on which day
that was checked (`checked`). A list is separated by single spaces; an empty cell means none or not known, and `notes`
says why. Confidence: `measured` on the real thing, `read` in a source, `recalled`, `inferred`, `unknown`.

Each table has one module in `torchdoctor/tables/` whose dataclass is its schema: the fields are the columns. `DATE`
holds the newest `checked` of them all. To change a fact, edit its row and run the tests: they name the file and the
line of whatever does not fit. This page is written by `python -m torchdoctor.tables.describe`.
"""
_SHOWN_SOURCES = 5


def table_files() -> tuple[TableFile[Any], ...]:
    """Return every table of the package, by file name."""
    modules = (import_module(f"torchdoctor.tables.{found.name}") for found in iter_modules(torchdoctor.tables.__path__))
    files = (getattr(module, "FILE", None) for module in modules)
    return tuple(sorted((file for file in files if isinstance(file, TableFile)), key=lambda file: file.name))


def describe(root: Path) -> str:
    """Return the text of the README for the tables of a folder."""
    files = table_files()
    rows = {file.name: [cells for _, cells in file.lines(read_text(root, file.name))] for file in files}
    lines = [_INTRODUCTION, "| table | rows | key | about |", "|---|---|---|---|"]
    lines += [f"| {file.name} | {len(rows[file.name])} | {', '.join(file.key)} | {file.about} |" for file in files]
    for file in files:
        lines += ["", f"## {file.name}", "", f"Columns: {', '.join(f'`{name}`' for name in file.columns)}.", ""]
        lines.append(f"Sources: {_sources(file, rows[file.name])}.")
    lines += ["", f"## {known_errors.FILE}", "", *_texts(root)]
    return "\n".join(lines) + "\n"


def _texts(root: Path) -> list[str]:
    """The section on the one file that is no CSV: many lines an entry, patterns and tracebacks unescaped."""
    entries = list(known_errors.KnownErrors(read_text(root, known_errors.FILE)))
    groups = Counter(entry.group for entry in entries)
    counted = ", ".join(f"{groups[group]} {group}" for group in known_errors.GROUPS)
    names = ", ".join(f"`{item.name}`" for item in fields(known_errors.KnownError))
    return [f"{known_errors.ABOUT} {len(entries)} entries: {counted}.", "", f"Fields: {names}.", "", known_errors.RULES]


def _sources(file: TableFile[Any], rows: list[list[str]]) -> str:
    place = file.columns.index("source")
    counted = Counter(source for cells in rows for source in cells[place].split(" ; "))
    ranked = sorted(counted, key=lambda source: (-counted[source], source))
    more = len(ranked) - _SHOWN_SOURCES
    return "; ".join(ranked[:_SHOWN_SOURCES]) + (f"; and {more} more" if more > 0 else "")


if __name__ == "__main__":
    sys.stdout.write(describe(find_root()))
