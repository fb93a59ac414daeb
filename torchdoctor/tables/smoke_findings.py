"""Which finding a failed smoke test is, by the library it proves or by its own name."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, one_of
from torchdoctor.tables.loading import TableFile, TableRow


@record(frozen=True, slots=True, eq=False, repr=False)
class SmokeFinding(TableRow):
    """One library (or probe) and its finding."""

    kind: str = cell(one_of("library", "probe"))
    name: str = cell(filled)
    finding: str = cell(filled)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings."""
        return f"{self.kind} {self.name}"


FILE = TableFile("smoke_findings.csv", SmokeFinding, ("kind", "name"), "Smoke tests: the finding of a failed one.")


class SmokeFindings:
    """Look-ups over the rows."""

    def __init__(self, rows: Iterable[SmokeFinding]) -> None:
        self.rows: tuple[SmokeFinding, ...] = tuple(rows)
        self._finding = {(row.kind, row.name): row.finding for row in self.rows}

    def of(self, probe: str, library: str) -> str:
        """The finding of a failed probe; its own name decides before its library. Empty: none of its own."""
        return self._finding.get(("probe", probe)) or self._finding.get(("library", library.removesuffix(".so")), "")
