"""A table as text that can be changed: rows of cells by key, written back in the canonical form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.tables import Tables
from torchdoctor.tables.loading import TableFile, read_text

Cells = dict[str, str]
Key = tuple[str, ...]


class Sheet:
    """The rows of one table, the overlay's over the others, and which of them were touched."""

    def __init__(self, file: TableFile[Any], tables: Tables) -> None:
        self.file = file
        self._laid = self._read(tables.over) if tables.over else {}
        self.before: Mapping[Key, Cells] = {**self._read(tables.root), **self._laid}
        self.rows: dict[Key, Cells] = {key: dict(cells) for key, cells in self.before.items()}

    def _read(self, folder: Any) -> dict[Key, Cells]:
        if not (folder / self.file.name).is_file():
            return {}
        columns = self.file.columns
        rows = (
            dict(zip(columns, cells, strict=True)) for _, cells in self.file.lines(read_text(folder, self.file.name))
        )
        return {self._key(cells): cells for cells in rows}

    def _key(self, cells: Mapping[str, str]) -> Key:
        return tuple(cells[name] for name in self.file.key)

    def find(self, *key: str) -> Cells | None:
        """The row of a key, to be read or changed."""
        return self.rows.get(key)

    def add(self, **cells: str) -> None:
        """Put in a new row; what is not given is empty."""
        row = {name: cells.get(name, "") for name in self.file.columns}
        self.rows[self._key(row)] = row

    def touched(self) -> Iterator[Key]:
        """The keys of the rows that are new or changed, in the order of the file."""
        for key in self.file.in_order(self.rows):
            if self.rows[key] != self.before.get(key):
                yield key

    def text(self, *, whole: bool) -> str:
        """The file: all rows, or only those that lie over the tables."""
        kept = self.rows if whole else {*self._laid, *self.touched()}
        return self.file.written([[*self.rows[key].values()] for key in kept])
