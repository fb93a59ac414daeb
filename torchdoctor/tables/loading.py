"""Find the folder of tables, read a CSV file, and turn each line into a row, with file and line in every error."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from io import StringIO
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any, Generic, TypeVar

from torchdoctor.errors import TableError
from torchdoctor.records import fields, record

R = TypeVar("R")
WITHOUT_OVERLAY = "to leave this folder out: TORCHDOCTOR_TABLES=none, and no --tables"


class TableRow:
    """What the rows of every table share: a name for findings, which is also how they print."""

    __slots__ = ()

    @property
    def key(self) -> str:
        """The row's name in findings."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.key}>"


def find_root() -> Path:
    """Return the folder of tables: inside the installed package, else at the top of the checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "compat_tables"
    return inside if inside.is_dir() else package.parent / "compat_tables"


def read_text(root: Path, name: str) -> str:
    """Return a file of the folder as text; raise ``TableError`` when there is none or it is not UTF-8."""
    try:
        return (root / name).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TableError(f"{name}: no such file in {root}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise TableError(f"{name}: cannot be read: {error}") from error


def newest_day(folder: Path) -> str:
    """The newest day on which a row in the CSV files of a folder was checked; empty without rows."""
    texts = (read_text(folder, path.name) for path in folder.glob("*.csv"))
    days = (row.get("checked") or "" for text in texts for row in csv.DictReader(text.splitlines()))
    return max((day for day in days if day[:4].isdecimal()), default="")


@record(frozen=True, slots=True)
class TableFile(Generic[R]):
    """One CSV file: its name, the dataclass that is its schema, the key columns, and what it is about."""

    name: str
    row: type[R]
    key: tuple[str, ...]
    about: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns in their order: the fields of the row's dataclass."""
        return tuple(column.name for column in self._fields())

    def load(self, root: Path, over: Path | None = None) -> tuple[R, ...]:
        """Read and validate the whole file, and the one of that name in ``over``, whose rows come first."""
        text = read_text(root, self.name)
        if over is None or not (over / self.name).is_file():
            return self.parse(text)
        self.parse(text)
        return self.parse(self.merged(text, self._overlaid(over)))

    def merged(self, text: str, over: str) -> str:
        """The rows of both texts, sorted; where both have a key, the row of ``over``."""
        key = itemgetter(*[self.columns.index(name) for name in self.key])
        rows = {key(cells): cells for part in (text, over) for _, cells in self.lines(part)}
        return self.written(rows.values())

    def _overlaid(self, over: Path) -> str:
        """The text of an overlay's file, validated: an error there names the whole path, and how to do without."""
        try:
            text = read_text(over, self.name)
            self.parse(text)
        except TableError as error:
            raise TableError(f"{over / str(error)}; {WITHOUT_OVERLAY}") from None
        return text

    def parse(self, text: str) -> tuple[R, ...]:
        """Validate the text of the file; raise ``TableError`` at the first thing that is wrong."""
        numbered = list(self.lines(text))
        self._reject_repeated_keys(numbered)
        make: Callable[..., R] = self.row
        parsers = [column.metadata["parse"] for column in self._fields()]
        columns = zip(*[cells for _, cells in numbered], strict=True)
        try:
            return tuple(map(make, *map(map, parsers, columns))) if numbered else ()
        except ValueError:
            raise self._wrong_cell(parsers, numbered) from None

    def lines(self, text: str) -> Iterator[tuple[int, list[str]]]:
        """Yield line numbers and raw cells after checking the header and the number of cells."""
        columns, reader = list(self.columns), csv.reader(text.splitlines(), strict=True)
        try:
            header = next(reader, [])
            if header != columns:
                wrong = f"the columns must be {','.join(columns)}, not {','.join(header)[:200]}"
                raise TableError(f"{self.name}:1: {wrong}")
            for cells in reader:
                if len(cells) != len(columns):
                    raise TableError(f"{self.name}:{reader.line_num}: {len(cells)} cells instead of {len(columns)}")
                yield reader.line_num, cells
        except csv.Error as error:
            raise TableError(f"{self.name}:{reader.line_num}: {error}") from None

    def canonical(self, text: str) -> str:
        """Write the same rows in the one accepted form: sorted by key, quoted only where needed, LF."""
        return self.written(cells for _, cells in self.lines(text))

    def in_order(self, keys: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """Sort keys as the rows of the file are sorted."""
        return sorted(keys, key=lambda key: [_natural(cell) for cell in key])

    def written(self, rows: Iterable[Sequence[str]]) -> str:
        """Write rows of cells in that form."""
        places = [self.columns.index(name) for name in self.key]
        ordered = sorted(rows, key=lambda cells: [_natural(cells[place]) for place in places])
        out = StringIO()
        csv.writer(out, lineterminator="\n").writerows(chain([self.columns], ordered))
        return out.getvalue()

    def _fields(self) -> tuple[Any, ...]:
        row: Any = self.row
        return fields(row)

    def _reject_repeated_keys(self, numbered: Sequence[tuple[int, list[str]]]) -> None:
        key, seen = itemgetter(*[self.columns.index(name) for name in self.key]), dict[object, int]()
        for line, cells in numbered:
            first = seen.setdefault(key(cells), line)
            if first != line:
                raise TableError(f"{self.name}:{line}: the same key as line {first}")

    def _wrong_cell(
        self, parsers: Sequence[Callable[[str], object]], numbered: Sequence[tuple[int, list[str]]]
    ) -> TableError:
        """Find which cell it was: looked for only after a failure, so that the usual case stays fast."""
        for line, cells in numbered:
            for column, parse, text in zip(self.columns, parsers, cells, strict=True):
                try:
                    parse(text)
                except ValueError as error:  # noqa: PERF203 - once, on the way to an error
                    return TableError(f"{self.name}:{line}: column {column}: {error}")
        return TableError(f"{self.name}: a row contradicts itself")


def _natural(text: str) -> list[tuple[int, str]]:
    """Order numbers inside a text by value: 2.9 before 2.10."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.findall(r"\d+|\D+", text)]
