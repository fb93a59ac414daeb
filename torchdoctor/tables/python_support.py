"""Which Python versions have official torch wheels, from which torch to which."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, date_or_empty, filled, iso_date
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import PythonTag, Version


@record(frozen=True, slots=True, eq=False, repr=False)
class PythonSupport(TableRow):
    """One Python ABI: the first and last torch with wheels for it, and the month its own support ends."""

    python: PythonTag = cell(PythonTag.parse)
    first_torch: Version = cell(Version.parse)
    last_torch: Version = cell(Version.parse)
    end_of_life: str = cell(date_or_empty)
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the Python tag."""
        return str(self.python)


FILE = TableFile(
    "python_support.csv",
    PythonSupport,
    ("python",),
    "Python versions: first and last torch with wheels, end of life.",
)


class Pythons:
    """Look-ups over the Python versions; ``torch_versions`` is newest first, ``today`` the date of the tables."""

    def __init__(self, rows: Iterable[PythonSupport], torch_versions: Sequence[Version], today: str) -> None:
        self.rows: tuple[PythonSupport, ...] = tuple(sorted(rows, key=lambda row: row.python))
        self._recent = frozenset(torch_versions[:2])
        self._month = today[:7]

    def current(self) -> tuple[PythonTag, ...]:
        """Return the ordinary (GIL) Pythons in support that one of the two newest torch versions has wheels for."""
        return tuple(row.python for row in self.rows if self._is_current(row))

    def range(self, tag: PythonTag) -> PythonSupport | None:
        """From which torch to which this Python has wheels; None when it never had any."""
        return next((row for row in self.rows if row.python == tag), None)

    def _is_current(self, row: PythonSupport) -> bool:
        in_support = not row.end_of_life or row.end_of_life >= self._month
        return in_support and not row.python.free_threaded and row.last_torch in self._recent
