"""Package indexes by id: the only place where their addresses stand."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, one_of
from torchdoctor.tables.loading import TableFile, TableRow


@record(frozen=True, slots=True, eq=False, repr=False)
class Index(TableRow):
    """One index. ``url`` is a template; it is empty for PyPI, which every tool asks by itself."""

    id: str = cell(filled)
    url: str = cell(str)
    kind: str = cell(one_of("default", "torch", "jetson", "amd"))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the id."""
        return self.id


FILE = TableFile("indexes.csv", Index, ("id",), "Package indexes: id and address template.")


class Indexes:
    """Look-ups over the indexes."""

    def __init__(self, rows: Iterable[Index]) -> None:
        self.rows: tuple[Index, ...] = tuple(rows)
        self._by_id = {row.id: row for row in self.rows}

    def find(self, id: str) -> Index | None:  # noqa: A002 - an id is an id
        """Return the index of this id."""
        return self._by_id.get(id)

    def url(self, id: str, **fields: object) -> str:  # noqa: A002 - as above
        """Return the address of an index, its template filled; empty for PyPI. Raise ``KeyError`` for an unknown id."""
        return self._by_id[id].url.format_map(fields)
