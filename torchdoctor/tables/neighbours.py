"""Libraries that live beside torch and bring a demand of their own: a cuDNN major, a backend, a torch minor version."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed, one_of, optional, yes_no
from torchdoctor.tables.loading import TableFile
from torchdoctor.values import Version


@record(frozen=True, slots=True, eq=False)
class Neighbour:
    """The releases of a package from ``version_min`` up to, not including, ``version_below``, and what they need.

    ``cudnn`` is the major version they load; ``backends`` are the torch backends they have code for (empty: any);
    ``torch_minor`` says that they belong to the torch of their own major and minor version. ``torch_pin`` is the one
    torch that they accept, or ``any`` where they accept just one and the table does not know which.
    """

    name: str = cell(filled)
    version_min: Version = cell(Version.parse)
    version_below: Version | None = cell(optional(Version.parse))
    cudnn: int | None = cell(optional(int))
    backends: tuple[str, ...] = cell(listed(one_of("cuda", "rocm", "xpu", "cpu")))
    torch_minor: bool = cell(yes_no)
    torch_pin: str = cell(str)
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``ctranslate2 4.0``."""
        return f"{self.name} {self.version_min}"

    def covers(self, version: Version) -> bool:
        """Whether this row speaks of the release."""
        return self.version_min <= version and (self.version_below is None or version < self.version_below)


FILE = TableFile(
    "torch_neighbours.csv",
    Neighbour,
    ("name", "version_min"),
    "Libraries beside torch that need a cuDNN major, one backend, or one torch.",
)


class Neighbours:
    """Look-ups over the neighbours."""

    def __init__(self, rows: Iterable[Neighbour]) -> None:
        self.rows: tuple[Neighbour, ...] = tuple(rows)

    def names(self) -> tuple[str, ...]:
        """Return the packages of the table."""
        return tuple(dict.fromkeys(row.name for row in self.rows))

    def pinning(self) -> tuple[str, ...]:
        """Return the packages of which each release accepts one torch alone."""
        return tuple(dict.fromkeys(row.name for row in self.rows if row.torch_pin))

    def find(self, name: str, version: Version) -> Neighbour | None:
        """Return the row of an installed release; None when the table does not speak of it."""
        return next((row for row in self.rows if row.name == name and row.covers(version)), None)
