"""Which finding a failed smoke test is, by its own name or by the library it proves, and by the words of its error."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, one_of
from torchdoctor.tables.loading import TableFile, TableRow


def lower(text: str) -> str:
    """Read words in lower case."""
    if text != text.lower():
        raise ValueError(f"not in lower case: {text[:60]!r}")
    return text


@record(frozen=True, slots=True, eq=False, repr=False)
class SmokeFinding(TableRow):
    """One library (or probe, or any error at all) and its finding.

    ``text``, in lower case, are words that the error must hold; empty where any failure of it is the finding.
    """

    kind: str = cell(one_of("library", "probe", "error"))
    name: str = cell(filled)
    text: str = cell(lower)
    finding: str = cell(filled)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings."""
        return f"{self.kind} {self.name} {self.text}".rstrip()


FILE = TableFile(
    "smoke_findings.csv", SmokeFinding, ("kind", "name", "text"), "Smoke tests: the finding of a failed one."
)


class SmokeFindings:
    """Look-ups over the rows."""

    def __init__(self, rows: Iterable[SmokeFinding]) -> None:
        self.rows: tuple[SmokeFinding, ...] = tuple(rows)

    def of(self, probe: str, library: str, error: str) -> str:
        """The finding of a failed probe: by words before names, by its own name before its library's; or empty.

        Of several words the longest count: a cause behind a text that many causes share.

        The words of a row of the kind ``error`` mean the same wherever they are said.
        """
        said = error.lower()
        names = (("probe", probe), ("library", library.removesuffix(".so")))
        fitting = [
            row for row in self.rows if (row.kind == "error" or (row.kind, row.name) in names) and row.text in said
        ]
        best = max(fitting, key=lambda row: (bool(row.text), row.kind == "probe", len(row.text)), default=None)
        return best.finding if best else ""
