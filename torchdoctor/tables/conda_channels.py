"""The channels of conda that hold torch, and with which release one of them ended."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, optional, yes_no
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import Version


@record(frozen=True, slots=True, eq=False, repr=False)
class CondaChannel(TableRow):
    """One channel; ``last_torch`` is the last release it got, where it has ended and that is known."""

    name: str = cell(filled)
    last_torch: Version | None = cell(optional(Version.parse))
    ended: bool = cell(yes_no)
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the channel."""
        return self.name


FILE = TableFile("conda_channels.csv", CondaChannel, ("name",), "Channels of conda that hold torch, and which ended.")


class CondaChannels:
    """Look-ups over the channels."""

    def __init__(self, rows: Iterable[CondaChannel]) -> None:
        self.rows: tuple[CondaChannel, ...] = tuple(rows)

    def find(self, name: str) -> CondaChannel | None:
        """Return the channel of this name or address; None for one that holds no torch."""
        wanted = name.rstrip("/").rpartition("/")[2].lower()
        return next((row for row in self.rows if row.name == wanted), None)
