"""The C library that a Linux distribution's release ships, for reports that name only the distribution."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import Libc


@record(frozen=True, slots=True, eq=False, repr=False)
class OsRelease(TableRow):
    """One release. ``distribution`` is the lower-case words its name starts with; an empty ``release`` is any."""

    distribution: str = cell(filled)
    release: str = cell(str)
    libc: Libc = cell(Libc.parse)
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``ubuntu 22.04``."""
        return f"{self.distribution} {self.release}".strip()


FILE = TableFile(
    "os_releases.csv",
    OsRelease,
    ("distribution", "release"),
    "Linux distributions: the C library of each release.",
)


class OsReleases:
    """Look-ups over the releases."""

    def __init__(self, rows: Iterable[OsRelease]) -> None:
        self.rows: tuple[OsRelease, ...] = tuple(rows)

    def libc(self, distribution: str) -> Libc | None:
        """Return the C library behind a name such as ``Ubuntu 22.04.4 LTS``; None when it is not known."""
        row = self.find(distribution)
        return row.libc if row else None

    def find(self, distribution: str) -> OsRelease | None:
        """Return the row of a distribution's full name: the longest release number that fits."""
        lowered = distribution.strip().lower()
        number = re.search(r"\d+(?:\.\d+)*", lowered)
        fitting = [row for row in self.rows if _is_release(row, lowered, number[0] if number else "")]
        return max(fitting, key=lambda row: (len(row.distribution), len(row.release)), default=None)


def _is_release(row: OsRelease, lowered: str, number: str) -> bool:
    named = lowered == row.distribution or lowered.startswith(row.distribution + " ")
    return named and (not row.release or number == row.release or number.startswith(row.release + "."))
