"""How the device code of each library serves each GPU of the host: a table in the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from torchdoctor.facts import value_or
from torchdoctor.render.line import Line
from torchdoctor.render.look import Look, Row, table
from torchdoctor.render.xray_text import WORDS
from torchdoctor.report import Report

if TYPE_CHECKING:
    from torchdoctor.code_view import CodeRow

_ABOUT_CODE = frozenset({"torch-arch-missing", "library-arch-missing", "companion-arch-missing"})


def code_lines(report: Report, verbosity: int, look: Look) -> Iterator[Line]:
    """A row for each library, a column for each GPU: all of them with -v, else what is missing where a finding says so.

    GPUs are numbered as the facts list them.
    """
    rows = [row for row in report.code or () if row.gpus]
    if verbosity <= 0:
        is_told = any(finding.id in _ABOUT_CODE for finding in report.findings)
        rows = [row for row in rows if is_told and not all(how == "native" for _, how in row.gpus)]
    if rows:
        yield Line("")
        columns = _columns(report, rows)
        yield from table(("device code", *columns.values()), [_row(row, columns) for row in rows], look)


def _columns(report: Report, rows: Sequence[CodeRow]) -> dict[int, str]:
    """The GPUs that any row speaks of, with what stands above their column."""
    gpus = value_or(report.facts.gpus, ())
    places = sorted({place for row in rows for place, _ in row.gpus})
    return {place: f"{place}: {value_or(gpus[place].name, '') or 'GPU'}" for place in places}


def _row(row: CodeRow, columns: dict[int, str]) -> Row:
    """How one library serves each GPU; one that it was not judged for leaves its cell empty."""
    told = {place: WORDS[how] for place, how in row.gpus}
    each = ", ".join(f"{word} on GPU {columns[place]}" for place, word in told.items())
    cells = (row.code.library, *(told.get(place, "") for place in columns))
    return Row(cells, f"device code of {row.code.library}: {each}")
