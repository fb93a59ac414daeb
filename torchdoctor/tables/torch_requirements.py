"""Known faults between torch versions and packages whose limits torch's metadata does not state."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import Version


@record(frozen=True, slots=True, eq=False, repr=False)
class TorchRequirement(TableRow):
    """``subject`` up to ``subject_max`` goes wrong beside ``other`` from ``other_min`` on."""

    subject: str = cell(filled)
    subject_max: Version = cell(Version.parse)
    other: str = cell(filled)
    other_min: Version = cell(Version.parse)
    effect: str = cell(filled)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``torch numpy``."""
        return f"{self.subject} {self.other}"


FILE = TableFile(
    "torch_requirements.csv",
    TorchRequirement,
    ("subject", "other"),
    "Limits between packages that their metadata does not state.",
)


class TorchRequirements:
    """Look-ups over the limits."""

    def __init__(self, rows: Iterable[TorchRequirement]) -> None:
        self.rows: tuple[TorchRequirement, ...] = tuple(rows)

    def broken(self, subject: str, version: Version, other: str, other_version: Version) -> TorchRequirement | None:
        """Return the limit that this pair of versions breaks, or None."""
        for row in self.rows:
            if (
                (row.subject, row.other) == (subject, other)
                and version <= row.subject_max
                and other_version >= row.other_min
            ):
                return row
        return None
