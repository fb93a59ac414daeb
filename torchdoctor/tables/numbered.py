"""What tables of numbered errors share: CUDA, HIP, NCCL and NVML answers, Xids, the exit status of a process."""

from __future__ import annotations

from collections.abc import Iterable

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, iso_date, listed
from torchdoctor.tables.loading import TableRow


@record(frozen=True, slots=True, eq=False, repr=False)
class NumberedError(TableRow):
    """One number. ``finding`` is empty where the number alone proves none; ``also`` are findings it may be instead."""

    code: int = cell(int)
    name: str = cell(filled)  # several names of one number stand between " / "
    text: str = cell(filled)
    finding: str = cell(str)
    also: tuple[str, ...] = cell(listed(filled))
    cause: str = cell(filled)
    fix: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the number."""
        return str(self.code)

    @property
    def names(self) -> tuple[str, ...]:
        """Every name of the number."""
        return tuple(self.name.split(" / "))


class NumberedErrors:
    """Look-ups over the numbers of one table."""

    def __init__(self, rows: Iterable[NumberedError]) -> None:
        self.rows: tuple[NumberedError, ...] = tuple(rows)
        self._by_code = {row.code: row for row in self.rows}

    def find(self, code: int) -> NumberedError | None:
        """The row of a number."""
        return self._by_code.get(code)

    def named(self, name: str) -> NumberedError | None:
        """The row of a name, whatever its case."""
        wanted = name.casefold()
        return next((row for row in self.rows if wanted in (known.casefold() for known in row.names)), None)

    def quoted(self, fragment: str) -> tuple[NumberedError, ...]:
        """The rows whose text holds a fragment; a text that begins with it, or is begun by it, comes first."""
        wanted = " ".join(fragment.casefold().split())
        held = [row for row in self.rows if wanted and wanted in row.text.casefold()]
        return tuple(sorted(held, key=lambda row: not row.text.casefold().startswith(wanted)))

    def names(self) -> tuple[str, ...]:
        """Every name of every number."""
        return tuple(name for row in self.rows for name in row.names)

    def near(self, code: int, count: int = 3) -> tuple[int, ...]:
        """The known numbers nearest to one."""
        return tuple(sorted(sorted(self._by_code, key=lambda known: abs(known - code))[:count]))
