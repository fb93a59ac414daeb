"""The torch that releases of companions ask for by name: in their metadata, or in the table of their README."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed, one_of
from torchdoctor.tables.loading import TableFile, TableRow


def _clause(text: str) -> str:
    if not text.startswith(("==", ">=", "<", "!=", "~=")) or not text[-1:].isalnum() | text.endswith(".*"):
        raise ValueError(f"not a clause of a version specifier: {text[:60]!r}")
    return text


@record(frozen=True, slots=True, eq=False, repr=False)
class CompanionPin(TableRow):
    """One release, as PyPI names it (``0.0.32.post2``), and the torch it asks for.

    ``torch`` are the clauses of a version specifier, all of which hold. ``stated`` says where it asks: in the
    ``metadata`` of its wheel for Linux x86_64, which installers obey, or in the ``readme`` alone.
    """

    name: str = cell(filled)
    version: str = cell(filled)
    torch: tuple[str, ...] = cell(listed(_clause))
    stated: str = cell(one_of("metadata", "readme"))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: ``xformers 0.0.32.post2``."""
        return f"{self.name} {self.version}"

    @property
    def spec(self) -> str:
        """The specifier: ``>=2.10.0,<2.11.0``."""
        return ",".join(self.torch)

    @property
    def is_bounded(self) -> bool:
        """Whether it asks for no torch newer than those it names."""
        return any(clause.startswith(("==", "<", "~=")) for clause in self.torch)


FILE = TableFile(
    "companion_pins.csv",
    CompanionPin,
    ("name", "version"),
    "The torch that releases of xformers, vllm and others ask for.",
)


class CompanionPins:
    """Look-ups over the pins."""

    def __init__(self, rows: Iterable[CompanionPin]) -> None:
        self.rows: tuple[CompanionPin, ...] = tuple(rows)
        self._by_name: dict[str, list[CompanionPin]] = {}
        for row in reversed(self.rows):
            self._by_name.setdefault(row.name, []).append(row)

    def names(self) -> tuple[str, ...]:
        """Return the packages of the table."""
        return tuple(sorted(self._by_name))

    def releases(self, name: str) -> tuple[CompanionPin, ...]:
        """Return every known release of a package, newest first: the file is sorted."""
        return tuple(self._by_name.get(name, ()))
