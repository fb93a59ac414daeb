"""What torch's wheels for Windows ask of it: the Visual C++ runtime, room for their longest path, and whose Triton."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, one_of, optional
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import Version

LONGEST = 259  # characters of a path on a Windows without long paths; the 260th ends it


@record(frozen=True, slots=True, eq=False, repr=False)
class WindowsWheel(TableRow):
    """One release. ``vc_runtime_min`` is empty where no floor was seen to matter, ``longest_path`` unless measured.

    ``longest_path`` counts the characters below site-packages; ``triton_windows`` is the minor that fits.
    """

    torch: Version = cell(Version.parse)
    vc_runtime_min: Version | None = cell(optional(Version.parse))
    longest_path: int | None = cell(optional(int))
    triton_windows: Version | None = cell(optional(Version.parse))
    confidence: str = cell(one_of("measured", "inferred"))
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the release."""
        return str(self.torch)

    def fits_below(self, folder_length: int) -> bool:
        """Whether every file can be written below a site-packages folder of so many characters."""
        return self.longest_path is None or folder_length + 1 + self.longest_path <= LONGEST


FILE = TableFile(
    "windows_wheels.csv",
    WindowsWheel,
    ("torch",),
    "Wheels for Windows: the Visual C++ runtime they need, their longest path, the Triton that fits.",
)


class WindowsWheels:
    """Look-ups over the wheels."""

    def __init__(self, rows: Iterable[WindowsWheel]) -> None:
        self.rows: tuple[WindowsWheel, ...] = tuple(rows)

    def of(self, torch: Version) -> WindowsWheel | None:
        """Return the row of this very release, or None."""
        return next((row for row in self.rows if row.torch == torch), None)

    def too_deep(self, folder_length: int) -> tuple[WindowsWheel, ...]:
        """Return the releases whose longest path does not fit below such a folder, the newest last."""
        return tuple(row for row in self.measured() if not row.fits_below(folder_length))

    def measured(self) -> tuple[WindowsWheel, ...]:
        """Return the releases whose paths were measured, the newest last."""
        return tuple(sorted((row for row in self.rows if row.longest_path), key=lambda row: row.torch))
