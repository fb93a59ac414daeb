"""Known errors that name a number or a text of a table: the row tells the cause, the remedy and the finding."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from torchdoctor.facts import ErrorText, Facts, value_or
from torchdoctor.findings import sentence
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.known_errors import AMBIGUOUS, WRAPPER, KnownError
from torchdoctor.tables.numbered import NumberedError

_XID = re.compile(r"\bXid \([^)]{0,60}\): (\d{1,4})\b")
_WORST = "gpu-lost"


def from_tables(entry: KnownError, error: ErrorText, facts: Facts, tables: Tables) -> KnownError:
    """The entry with the words of the row, when its pattern has a group ``xid`` or ``cuda`` that names one."""
    for group, find in _LOOK_UPS.items():
        row = find(error, facts, tables) if group in error.values else None
        if row is not None:
            return replace(
                entry,
                title=f"{row.name.split(' / ')[0]}: {row.text}" if group == "cuda" else f"Xid {row.code}: {row.text}",
                finding=row.finding,
                tier=AMBIGUOUS if row.finding else WRAPPER,
                cause=sentence(row.cause),
                fix=sentence(row.fix or entry.fix),
            )
    return entry


def is_any(error: ErrorText) -> bool:
    """Whether it is an entry for every sentence of CUDA, which counts only where no other entry knows the line."""
    return "cuda" in error.values


def _xid(error: ErrorText, facts: Facts, tables: Tables) -> NumberedError | None:
    """Of all Xids in the kernel log the one of a lost GPU, else the first that proves a finding, else the first."""
    lines = (error.text, *value_or(facts.driver.kernel_log, ()))
    numbers = dict.fromkeys(int(number) for line in lines for number in _XID.findall(line))
    rows = [row for number in numbers if (row := tables.xids.find(number))]
    return min(rows, key=lambda row: (row.finding != _WORST, not row.finding), default=None)


def _cuda(error: ErrorText, _facts: Facts, tables: Tables) -> NumberedError | None:
    return tables.cuda_errors.in_text(f"CUDA error: {error.values['cuda']}")


_LOOK_UPS: Mapping[str, Callable[[ErrorText, Facts, Tables], NumberedError | None]] = {"xid": _xid, "cuda": _cuda}
