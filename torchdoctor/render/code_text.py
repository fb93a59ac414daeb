"""How the device code of each library serves each GPU of the host: a table in the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchdoctor.facts import value_or
from torchdoctor.render.line import Line
from torchdoctor.render.xray_text import WORDS
from torchdoctor.report import Report

if TYPE_CHECKING:
    from torchdoctor.code_view import CodeRow

_ABOUT_CODE = frozenset({"torch-arch-missing", "library-arch-missing", "companion-arch-missing"})
_WIDEST = 60


def code_lines(report: Report, verbosity: int) -> Iterator[Line]:
    """A row for each library, a column for each GPU: all of them with -v, else what is missing where a finding says so.

    GPUs are numbered as the facts list them.
    """
    rows = [row for row in report.code or () if row.gpus]
    if verbosity <= 0:
        is_told = any(finding.id in _ABOUT_CODE for finding in report.findings)
        rows = [row for row in rows if is_told and not all(how == "native" for _, how in row.gpus)]
    if rows:
        yield Line("")
        yield from _table(rows, _columns(report, rows))


def _columns(report: Report, rows: Sequence[CodeRow]) -> dict[int, str]:
    """The GPUs that any row speaks of, with what stands above their column."""
    gpus = value_or(report.facts.gpus, ())
    places = sorted({place for row in rows for place, _ in row.gpus})
    return {place: f"{place}: {value_or(gpus[place].name, '') or 'GPU'}" for place in places}


def _table(rows: Sequence[CodeRow], columns: dict[int, str]) -> Iterator[Line]:
    width = min(_WIDEST, max(len(row.code.library) for row in rows))
    widths = {place: max(len(head), *map(len, WORDS.values())) for place, head in columns.items()}
    yield Line(_joined("device code", width, columns, widths), "dim")
    for row in rows:
        cells = {place: WORDS[how] for place, how in row.gpus}
        yield Line(_joined(row.code.library, width, cells, widths))


def _joined(head: str, width: int, cells: dict[int, str], widths: dict[int, int]) -> str:
    """One line of the table; a GPU that a library was not judged for leaves its cell empty."""
    told = (f"{cells.get(place, ''):{size}}" for place, size in widths.items())
    return f"  {'  '.join((head.ljust(width), *told))}".rstrip()
