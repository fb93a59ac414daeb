"""Errors that a text names by a number or a constant alone: the row of the table of numbers that tells of it.

A pattern's group has the name of a table, or that and "_named": ``nccl_errors`` in ``NCCL error (?P<nccl_errors>5)``.
"""

from __future__ import annotations

from torchdoctor.facts import ErrorText
from torchdoctor.tables import Tables
from torchdoctor.tables.exit_statuses import ExitStatuses
from torchdoctor.tables.numbered import NumberedError, NumberedErrors
from torchdoctor.tables.windows_errors import WindowsError

_WINDOWS = "windows_errors"
_KINDS = {
    "cuda_errors": "CUDA", "hip_errors": "HIP", "nccl_errors": "NCCL", "nvml_errors": "NVML",
    "exit_statuses": "exit status", _WINDOWS: "WinError",
}  # fmt: skip

NumberRow = NumberedError | WindowsError


def names_number(error: ErrorText) -> bool:
    """Whether the error is known by its number or constant alone."""
    return bool(_named(error)[0])


def row_of(error: ErrorText, tables: Tables) -> NumberRow | None:
    """The row of the number or constant; None for one that is in no table, or means different things."""
    name, said = _named(error)
    if not name:
        return None
    if name == _WINDOWS:
        return _windows(int(said), error.text, tables)
    table: NumberedErrors = getattr(tables, name)
    number = _number(said)
    if number is None:
        return table.named(said)
    return table.shown(number) if isinstance(table, ExitStatuses) else table.find(number)


def title_of(error: ErrorText, row: NumberRow) -> str:
    """The number, its name and its text in one line."""
    name = "" if isinstance(row, WindowsError) else f" ({row.names[-1]})"
    return f"{_KINDS[_named(error)[0]]} {row.code}{name}: {row.text}".rstrip(".")


def _named(error: ErrorText) -> tuple[str, str]:
    """The name of a table, and what the error names of it."""
    groups = ((group.removesuffix("_named"), said) for group, said in error.values.items())
    return next((pair for pair in groups if pair[0] in _KINDS), ("", ""))


def _number(named: str) -> int | None:
    """A number as it is printed: 5, -9, 0xC0000005."""
    digits = named.removeprefix("-")
    if digits.isdecimal():
        return int(named)
    return int(named, 16) if digits[:2] in {"0x", "0X"} else None


def _windows(code: int, text: str, tables: Tables) -> WindowsError | None:
    """The row for a library that the line names, else the one for any, else the only one there is."""
    rows = tables.windows_errors.find(code)
    named = [row for row in rows if any(_is_in(library, text) for library in row.library)]
    for_any = [row for row in rows if not row.library]
    chosen = named or for_any or rows
    return chosen[0] if len(chosen) == 1 else None


def _is_in(library: str, text: str) -> bool:
    return library.partition("*")[0].lower() in text.lower()
