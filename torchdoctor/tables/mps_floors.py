"""The oldest macOS on which each torch release can use the Apple GPU, which its own messages state wrongly."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, one_of, optional
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import Version


@record(frozen=True, slots=True, eq=False, repr=False)
class MpsFloor(TableRow):
    """A run of releases. ``message_names`` is the macOS that their message asks for; empty where nobody noted it."""

    torch_min: Version = cell(Version.parse)
    torch_max: Version = cell(Version.parse)
    macos_min: Version = cell(Version.parse)
    message_names: Version | None = cell(optional(Version.parse))
    confidence: str = cell(one_of("read", "inferred"))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``torch 2.9.0 to 2.11.0``."""
        return f"torch {self.torch_min} to {self.torch_max}"


FILE = TableFile(
    "mps_floors.csv",
    MpsFloor,
    ("torch_min",),
    "Apple GPUs: the macOS that each torch release needs for them, and the one that its message names.",
)


class MpsFloors:
    """Look-ups over the floors."""

    def __init__(self, rows: Iterable[MpsFloor]) -> None:
        self.rows: tuple[MpsFloor, ...] = tuple(rows)

    def of(self, torch: Version) -> MpsFloor | None:
        """Return the row of a release; None for one that is not known."""
        return next((row for row in self.rows if row.torch_min <= torch <= row.torch_max), None)

    def newest_on(self, macos: Version) -> MpsFloor | None:
        """Return the row of the newest releases whose Apple GPU support runs on this macOS, or None."""
        return next((row for row in reversed(self.rows) if macos.reaches(row.macos_min)), None)
