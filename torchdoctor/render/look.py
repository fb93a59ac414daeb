"""How lines may look where they go: the room, the signs, and tables that become sentences where they do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchdoctor.render.line import Line

_LEAST, _MOST = 8, 24  # columns of a bar: with fewer it says nothing
_GAP = "  "


class Look(NamedTuple):
    """What there is room and use for.

    ``columns`` of the terminal (0: no terminal, as many as are needed); ``plain``: one fact a line, for a screen
    reader; ``blocks``: the terminal shows block characters.
    """

    columns: int = 0
    plain: bool = False
    blocks: bool = False


FILE = Look()  # what goes to a file or through a pipe


class Row(NamedTuple):
    """A row of a table, what it says as a sentence, the share that its bar shows (0 to 1), and a remark below it."""

    cells: tuple[str, ...]
    sentence: str
    share: float | None = None
    remark: str = ""
    style: str = ""


def table(heads: tuple[str, ...], rows: Sequence[Row], look: Look) -> Iterator[Line]:
    """The rows under their heads, without the columns that are empty; sentences where there is no room for it."""
    used = [at for at in range(len(heads)) if any(row.cells[at] for row in rows)]
    widths = [max(len(line[at]) for line in (heads, *(row.cells for row in rows))) for at in used]
    right = [all(row.cells[at][:1].isdigit() or not row.cells[at] for row in rows) for at in used]
    room = (look.columns or 200) - sum(widths) - len(_GAP) * (len(widths) + 1)
    if look.plain or room < 0:
        yield from (Line(_said(row), row.style) for row in rows)
        return
    yield Line(_joined([heads[at] for at in used], widths, right), "dim")
    for row in rows:
        shown = _joined([row.cells[at] for at in used], widths, right)
        yield Line(f"{shown:{sum(widths) + len(_GAP) * len(widths)}}{_bar(row.share, room, look)}".rstrip(), row.style)
        if row.remark:
            yield Line(f"{_GAP * 2}{row.remark}", "dim")


def _said(row: Row) -> str:
    return f"{row.sentence}, {row.remark}" if row.remark else row.sentence


def _joined(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = (
        cell.rjust(width) if to_right else cell.ljust(width)
        for cell, width, to_right in zip(cells, widths, right, strict=True)
    )
    return f"{_GAP}{_GAP.join(padded)}".rstrip()


def _bar(share: float | None, room: int, look: Look) -> str:
    """As long as the share says; nothing where there is too little room."""
    width = min(_MOST, room)
    if share is None or width < _LEAST:
        return ""
    full = round(min(max(share, 0.0), 1.0) * width)
    return _GAP + ("\u2588" if look.blocks else "#") * max(1, full)
