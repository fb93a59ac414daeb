"""The levels that x86-64 processors are named by, and the instruction sets each has."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed
from torchdoctor.tables.loading import TableFile, TableRow


@record(frozen=True, slots=True, eq=False, repr=False)
class CpuLevel(TableRow):
    """One level: ``flags`` are all it has, by the names of /proc/cpuinfo."""

    level: str = cell(filled)
    flags: tuple[str, ...] = cell(listed(str))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``x86-64-v3``."""
        return self.level


FILE = TableFile(
    "cpu_levels.csv",
    CpuLevel,
    ("level",),
    "Levels of x86-64 processors (x86-64-v3 ...): the instruction sets each has.",
)


class CpuLevels:
    """Look-ups over the levels."""

    def __init__(self, rows: Iterable[CpuLevel]) -> None:
        self.rows: tuple[CpuLevel, ...] = tuple(rows)

    def flags(self, name: str) -> tuple[str, ...]:
        """Return the instruction sets of a level such as ``x86-64-v3``; none for another name."""
        return next((row.flags for row in self.rows if row.level == name), ())
