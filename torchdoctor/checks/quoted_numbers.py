"""Known errors that name a number or a text of a table: the row tells the cause, the remedy and the finding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from torchdoctor.checks.number_rows import names_number, row_of, title_of
from torchdoctor.facts import ErrorText
from torchdoctor.findings import sentence
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.known_errors import AMBIGUOUS, NOTICE, WRAPPER, KnownError
from torchdoctor.tables.numbered import NumberedError

_XID, _CUDA = "xid", "cuda"


def from_tables(entry: KnownError, error: ErrorText, tables: Tables) -> KnownError:
    """The entry with the words of the row, when its pattern has a group ``xid`` or ``cuda`` that names one."""
    for group, find in _LOOK_UPS.items():
        row = find(error, tables) if group in error.values else None
        if row is not None:
            title = f"{row.name.split(' / ')[0] if group == _CUDA else f'Xid {row.code}'}: {row.text}"
            return replace(
                entry,
                title=title,
                finding=row.finding,
                tier=AMBIGUOUS if row.finding else WRAPPER,
                cause=sentence(row.cause),
                fix=sentence(row.fix or entry.fix),
                when=tuple({name: value for name, value in case.items() if name != "title"} for case in entry.when),
            )
    if _XID in error.values:
        return replace(entry, title=f"Xid {error.values[_XID]}, which the table does not know", tier=AMBIGUOUS)
    return _of_a_number(entry, error, tables)


def _of_a_number(entry: KnownError, error: ErrorText, tables: Tables) -> KnownError:
    """The entry with the words of the row, when all that the text names is a number: a wrapper, as it says no more."""
    row = row_of(error, tables)
    if row is None:
        return entry
    fix = sentence(row.fix) if row.fix else entry.fix
    return replace(
        entry, title=title_of(error, row), finding=row.finding, tier=WRAPPER, cause=sentence(row.cause), fix=fix
    )


def that_count(pairs: Sequence[tuple[KnownError, ErrorText]]) -> list[tuple[KnownError, ErrorText]]:
    """The entries without those for any sentence of CUDA whose line another one knows, and for any number beside it."""
    told = [(entry, error) for entry, error in pairs if _CUDA not in error.values and not names_number(error)]
    lines = {told_by for _, error in told for told_by in (error.source, error.wording)}
    is_told = any(entry.tier < NOTICE and not error.doubtful for entry, error in told)
    return [
        (entry, error)
        for entry, error in pairs
        if (entry, error) in told or not (lines & {error.source, error.wording} or (is_told and names_number(error)))
    ]


def _xid(error: ErrorText, tables: Tables) -> NumberedError | None:
    return tables.xids.find(int(error.values[_XID]))


def _cuda(error: ErrorText, tables: Tables) -> NumberedError | None:
    return tables.cuda_errors.in_text(f"CUDA error: {error.values[_CUDA]}")


_LOOK_UPS: Mapping[str, Callable[[ErrorText, Tables], NumberedError | None]] = {_XID: _xid, _CUDA: _cuda}
