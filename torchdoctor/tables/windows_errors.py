"""The numbers of Windows behind "WinError": the number and the library decide, for the sentence is translated."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed
from torchdoctor.tables.loading import TableFile, TableRow


@record(frozen=True, slots=True, eq=False, repr=False)
class WindowsError(TableRow):
    """One number where it concerns some libraries; no library means any."""

    code: int = cell(int)
    library: tuple[str, ...] = cell(listed(filled))
    text: str = cell(filled)
    finding: str = cell(str)
    also: tuple[str, ...] = cell(listed(filled))
    cause: str = cell(filled)
    fix: str = cell(filled)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the number, and the first library."""
        return " ".join((str(self.code), *self.library[:1]))


FILE = TableFile(
    "windows_errors.csv", WindowsError, ("code", "library"), "Numbers of Windows, by library: text, cause, finding."
)


class WindowsErrors:
    """Look-ups over the numbers."""

    def __init__(self, rows: Iterable[WindowsError]) -> None:
        self.rows: tuple[WindowsError, ...] = tuple(rows)

    def find(self, code: int) -> tuple[WindowsError, ...]:
        """Every row of a number."""
        return tuple(row for row in self.rows if row.code == code)

    def codes(self) -> tuple[int, ...]:
        """The numbers there are."""
        return tuple(dict.fromkeys(row.code for row in self.rows))
