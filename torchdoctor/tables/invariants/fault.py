"""What breaks a rule: which row of which file, and how it is said."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchdoctor.tables import Tables
from torchdoctor.tables.loading import TableRow


class Fault(NamedTuple):
    """One row that does not fit the others: its file, its key, and what is wrong with it."""

    file: str
    key: str
    text: str


Invariant = Callable[[Tables], Iterator[Fault]]


def fault(file: str, row: TableRow, text: str) -> Fault:
    """Name a row of a file."""
    return Fault(file, row.key, text)
