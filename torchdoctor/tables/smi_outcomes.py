"""How nvidia-smi fails: its texts and exit statuses, and the word for each outcome."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed, yes_no
from torchdoctor.tables.loading import TableFile, TableRow


@record(frozen=True, slots=True, eq=False, repr=False)
class SmiOutcome(TableRow):
    """One way to fail: a regular expression on the text, the statuses seen with it, and what it means."""

    outcome: str = cell(filled)
    pattern: str = cell(str)
    exit_status: tuple[int, ...] = cell(listed(int))
    status_suffices: bool = cell(yes_no)
    meaning: str = cell(filled)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the outcome."""
        return self.outcome


FILE = TableFile(
    "nvidia_smi_outcomes.csv",
    SmiOutcome,
    ("outcome", "pattern"),
    "Failures of nvidia-smi: text, exit status, outcome.",
)


class SmiOutcomes:
    """Look-ups over the outcomes."""

    def __init__(self, rows: Iterable[SmiOutcome]) -> None:
        self.rows: tuple[SmiOutcome, ...] = tuple(rows)

    def classify(self, text: str, rc: int | None) -> str | None:
        """Return the outcome for a text and an exit status (None: not known); the text decides first."""
        for row in self.rows:
            if row.pattern and re.search(row.pattern, text):
                return row.outcome
        return next((row.outcome for row in self.rows if row.status_suffices and rc in row.exit_status), None)

    def rows_of(self, outcome: str) -> tuple[SmiOutcome, ...]:
        """Return the rows of one outcome."""
        return tuple(row for row in self.rows if row.outcome == outcome)
