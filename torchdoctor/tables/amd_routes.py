"""How an AMD GPU that no official build serves comes by torch all the same: by system and gfx id."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed, one_of
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import GfxId, PythonTag

OWN_INDEX, CPU, WRONG, DXG = "amd", "cpu", "wrong", "dxg"
_SURE = "read"


@record(frozen=True, slots=True, eq=False, repr=False)
class AmdRoute(TableRow):
    """One gfx id on one system.

    ``way``: amd (AMD's own index), dxg (the official wheel after work on the host), cpu (the processor is the better
    choice), wrong (it computes wrong numbers), none. ``extra`` is what the requirement on AMD's index names.
    """

    os: str = cell(one_of("linux", "windows", "wsl"))
    gfx: GfxId = cell(GfxId.parse)
    way: str = cell(one_of(OWN_INDEX, DXG, CPU, WRONG, "none"))
    extra: str = cell(str)
    pythons: tuple[PythonTag, ...] = cell(listed(PythonTag.parse))
    notes: str = cell(str)
    confidence: str = cell(one_of("read", "inferred"))
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``windows gfx1100``."""
        return f"{self.os} {self.gfx}"


FILE = TableFile(
    "amd_routes.csv",
    AmdRoute,
    ("os", "gfx"),
    "AMD GPUs that the official builds do not serve, or not alone: whose wheels do, by system and gfx id.",
)


class AmdRoutes:
    """Look-ups over the routes."""

    def __init__(self, rows: Iterable[AmdRoute]) -> None:
        self.rows: tuple[AmdRoute, ...] = tuple(rows)
        self._by_place = {(row.os, str(row.gfx)): row for row in self.rows}

    def of(self, os: str, gfx: object, *, wsl: bool = False) -> AmdRoute | None:
        """Return the route of a gfx id on a system; None where no source tells of one."""
        return self._by_place.get(("wsl" if wsl else os, str(gfx)))

    def computes_wrong(self, gfx: object) -> AmdRoute | None:
        """Return the row by which builds for this gfx id compute wrong numbers, whatever the system; else None."""
        return next((row for row in self.rows if row.way == WRONG and row.gfx == gfx and row.confidence == _SURE), None)
