"""What passing an AMD GPU off as another, by HSA_OVERRIDE_GFX_VERSION, is known to do."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, one_of
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import GfxId

WORKS = "works"
_NEVER_ALONE = "recalled"


@record(frozen=True, slots=True, eq=False, repr=False)
class HsaOverride(TableRow):
    """One gfx id under one value of the variable; an empty ``override`` is any value."""

    gfx: GfxId = cell(GfxId.parse)
    override: str = cell(str)
    effect: str = cell(one_of(WORKS, "wrong", "hangs", "crashes"))
    confidence: str = cell(one_of("read", "recalled"))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``gfx1103 as 11.0.0``."""
        return f"{self.gfx} as {self.override or 'any other'}"


FILE = TableFile(
    "hsa_overrides.csv",
    HsaOverride,
    ("gfx", "override"),
    "HSA_OVERRIDE_GFX_VERSION: what it is known to do to an AMD GPU.",
)


class HsaOverrides:
    """Look-ups over the overrides."""

    def __init__(self, rows: Iterable[HsaOverride]) -> None:
        self.rows: tuple[HsaOverride, ...] = tuple(rows)

    def of(self, gfx: GfxId, override: str) -> HsaOverride | None:
        """Return the row of a GPU under a value of the variable, one of any value where no other fits; else None."""
        fitting = [row for row in self.rows if row.gfx == gfx and row.override in {override, ""}]
        return max(fitting, key=lambda row: row.override, default=None)

    def harm(self, gfx: GfxId, override: str) -> HsaOverride | None:
        """Return the row by which it does harm; one that is only recalled never tells that."""
        row = self.of(gfx, override)
        return row if row and row.effect != WORKS and row.confidence != _NEVER_ALONE else None
