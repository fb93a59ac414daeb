"""The difference that a refresh would make, in the manner of ``diff -u``: short, one cell a line."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.index.sheet import Key, Sheet

_QUIET = ("source", "checked", "code_source")
_SHOWN = 100
_MANY = 3  # rows with the very same change are told together


def difference(sheet: Sheet) -> Iterator[str]:
    """Yield the lines for one table; nothing when it stays as it is."""
    changes: dict[tuple[str, ...], list[Key]] = {}
    for key in sheet.touched():
        changes.setdefault(tuple(_cells(sheet, key)), []).append(key)
    if changes:
        yield f"--- {sheet.file.name}"
        yield f"+++ {sheet.file.name}"
    for lines, keys in changes.items():
        yield from _hunks(lines, [" ".join(key) for key in keys])


def _hunks(lines: tuple[str, ...], names: list[str]) -> Iterator[str]:
    if len(names) > _MANY:
        yield f"@@ {len(names)} rows: {names[0]} ... {names[-1]} @@"
        yield from lines
        return
    for name in names:
        yield f"@@ {name} @@"
        yield from lines


def _cells(sheet: Sheet, key: Key) -> Iterator[str]:
    before, after = sheet.before.get(key), sheet.rows[key]
    if before is None:
        quiet = {*_QUIET, *sheet.file.key}
        news = (f"{column}={_short(value)}" for column, value in after.items() if value and column not in quiet)
        yield "+" + " ".join(news)
        return
    for column, value in after.items():
        if column not in _QUIET and value != before[column]:
            yield f"-{column}={_short(before[column])}"
            yield f"+{column}={_short(value)}"


def _short(value: str) -> str:
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."
