"""The Xids of the NVIDIA kernel module: what a number in the kernel log says of the GPU."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell
from torchdoctor.tables.loading import TableFile
from torchdoctor.tables.numbered import NumberedError, NumberedErrors

GONE, FOLLOWS = 1, 5  # ranks: nothing on that GPU works any more; another Xid explains it


@record(frozen=True, slots=True, eq=False, repr=False)
class Xid(NumberedError):  # noqa: N818 - a row of a table, nothing that is raised
    """One Xid. Of several on a GPU the one of the lowest ``rank`` explains: 1 the GPU is gone, 2 its memory lost data,
    3 another part of it failed, 4 a program failed on it, 5 follows from another or is a mere record.
    """  # noqa: D205 - the ranks belong to one sentence

    rank: int = cell(int)


FILE = TableFile("xids.csv", Xid, ("code",), "Xids of the kernel log: what happened, what the GPU needs.")


class Xids(NumberedErrors):
    """Look-ups over the Xids."""

    def __init__(self, rows: Iterable[Xid]) -> None:
        kept = tuple(rows)
        super().__init__(kept)
        self._ranks = {row.code: row.rank for row in kept}

    def rank(self, code: int) -> int:
        """How much a number explains of the others; one that is not known explains as much as a program's fault."""
        return self._ranks.get(code, FOLLOWS - 1)
