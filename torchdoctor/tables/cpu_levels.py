"""The levels and instruction sets that x86-64 processors are named by, and all the sets each brings along."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed
from torchdoctor.tables.loading import TableFile, TableRow


@record(frozen=True, slots=True, eq=False, repr=False)
class CpuLevel(TableRow):
    """One level, or one set: ``flags`` are all that a processor with it has, by the names of /proc/cpuinfo."""

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
    "Levels of x86-64 processors (x86-64-v3 ...) and single sets (avx2 ...): the instruction sets each brings along.",
)


class CpuLevels:
    """Look-ups over the levels."""

    def __init__(self, rows: Iterable[CpuLevel]) -> None:
        self.rows: tuple[CpuLevel, ...] = tuple(rows)

    def flags(self, name: str) -> tuple[str, ...]:
        """Return what a level such as ``x86-64-v3``, or a set such as ``avx2``, has; none for an unknown name."""
        row = next((row for row in self.rows if row.level == name), None)
        if row is None and any(name in row.flags for row in self.rows):
            return (name,)
        return row.flags if row else ()

    def is_whole(self, names: Collection[str]) -> bool:
        """Whether the names are a processor's whole list, as /proc/cpuinfo has it: it begins with what all have."""
        least = min((row.flags for row in self.rows if self.is_level(row.level)), key=len)
        return set(least) <= set(names)

    def is_level(self, name: str) -> bool:
        """Whether the name is that of a level, not of a single set: like a whole list it tells what is not there."""
        return any(row.level == name and name not in row.flags for row in self.rows)
