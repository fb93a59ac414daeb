"""``torchdoctor tables list``: of each table what is known, how old it is and where it comes from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from torchdoctor.tables import Tables, known_errors
from torchdoctor.tables.describe import table_files
from torchdoctor.tables.loading import TableFile, read_text

# What "the newest" means, where the first column is ordered by age.
_NEWEST = {
    "torch_builds.csv": "torch", "conda_builds.csv": "torch", "cuda_drivers.csv": "CUDA", "cuda_toolkits.csv": "CUDA",
    "driver_branches.csv": "branch", "jetpacks.csv": "L4T", "python_support.csv": "Python", "ngc_images.csv": "image",
}  # fmt: skip


class Summary(NamedTuple):
    """One table: rows, the newest thing in it, the newest and oldest day of a check, sources, and rows laid over it.

    ``stale`` of those rows hide one that was checked later.
    """

    file: str
    about: str
    rows: int
    newest: str
    checked: str
    oldest: str
    sources: int
    overlay: int
    stale: int


def summaries(tables: Tables) -> tuple[Summary, ...]:
    """Read and sum up every table; raise ``TableError`` for one that is wrong."""
    return (*(_summary(file, tables) for file in table_files()), _of_texts(tables))


def _summary(file: TableFile[Any], tables: Tables) -> Summary:
    rows = file.load(tables.root, tables.over)
    own = {row.key: row.checked for row in file.load(tables.root)} if tables.over else {}
    laid = _overlaid(file, tables.over)
    stale = sum(own.get(row.key, "") > row.checked for row in laid)
    word, last = _NEWEST.get(file.name, ""), _last(file, rows)
    days = [row.checked for row in rows]
    sources = {source for row in rows for source in row.source.split(" ; ")}
    newest = f"{word} {last}" if word else ""
    return Summary(
        file.name, file.about, len(rows), newest, max(days, default=""), min(days, default=""), len(sources), len(laid),
        stale,
    )  # fmt: skip


def _last(file: TableFile[Any], rows: Sequence[Any]) -> str:
    keys = [tuple(str(getattr(row, name)) for name in file.key) for row in rows]
    return file.in_order(keys)[-1][0] if keys else ""


def _overlaid(file: TableFile[Any], over: Path | None) -> tuple[Any, ...]:
    return file.load(over) if over and (over / file.name).is_file() else ()


def _of_texts(tables: Tables) -> Summary:
    entries = list(known_errors.KnownErrors(read_text(tables.root, known_errors.FILE)))
    days = [entry.checked for entry in entries]
    sources = len({entry.source for entry in entries})
    ends = max(days, default=""), min(days, default="")
    return Summary(known_errors.FILE, known_errors.ABOUT, len(entries), "", *ends, sources, 0, 0)


def as_text(tables: Tables, found: Sequence[Summary]) -> str:
    """One line a table, in columns, below where they lie and how old they are."""
    head = ("table", "rows", "newest", "checked", "sources")
    cells = [(one.file, _rows(one), one.newest, one.checked, str(one.sources)) for one in found]
    widths = [max(len(row[place]) for row in (head, *cells)) for place in range(len(head))]
    lines = [f"tables of {tables.edition}: {tables.root}"]
    if tables.over:
        stale = sum(one.stale for one in found)
        lines.append(f"rows over them: {sum(one.overlay for one in found)} in {tables.over}")
        lines += [f"{stale} of these hide rows that were checked later: remove them there"] if stale else []
    lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in (head, *cells)]
    return "\n".join(lines) + "\n"


def _rows(one: Summary) -> str:
    return f"{one.rows} ({one.overlay} overlay)" if one.overlay else str(one.rows)


def as_json(tables: Tables, found: Sequence[Summary]) -> str:
    """The same for a program."""
    content = {
        "schema": "torchdoctor.tables/1",
        "tables": tables.edition,
        "folder": str(tables.root),
        "overlay": str(tables.over) if tables.over else None,
        "list": [
            {
                "table": one.file, "about": one.about, "rows": one.rows, "newest": one.newest or None,
                "checked": one.checked, "oldest": one.oldest, "sources": one.sources, "from_overlay": one.overlay,
                "stale": one.stale,
            }
            for one in found
        ],
    }  # fmt: skip
    return json.dumps(content, indent=1) + "\n"
