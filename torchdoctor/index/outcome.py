"""What a refresh has to say beside the changed rows."""

from __future__ import annotations

from torchdoctor.records import field, record


@record(frozen=True, slots=True)
class Outcome:
    """Lines for the user: what is read in the tables and not on the page, what contradicts, and what else to know."""

    lacking: list[str] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def contradict(self, row: str, column: str, ours: str, theirs: str) -> None:
        """Note a cell that was read and is shown otherwise."""
        self.contradictions.append(f"{row}: {column} is {ours or 'empty'} in the tables, the index shows {theirs}")
