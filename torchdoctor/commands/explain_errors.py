"""What the catalogue of error texts says of one entry, and which entries of a group a fragment belongs to."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.remedy_commands import written
from torchdoctor.tables import Tables
from torchdoctor.tables.known_errors import KnownError

_MOST = 5  # entries that one fragment may bring
_WIDTH = 160  # of a quoted example


def by_id(kind: str, wanted: str, tables: Tables) -> list[dict[str, Any]]:
    """The answer for the id of an entry; raise ``UsageError`` where there is none."""
    entry = tables.known_errors.find(wanted)
    if entry is not None:
        return [_answer(kind, entry)]
    if wanted.lstrip("-").isdecimal():
        raise UsageError(f"explain error takes an entry's id; for a number: torchdoctor explain cuda {wanted}")
    raise UsageError(_unknown(kind, wanted, tables.known_errors.ids))


def of_group(group: str, wanted: str, tables: Tables) -> list[dict[str, Any]]:
    """The answers for a fragment of a text: the entries of a group that match it or whose examples hold it."""
    if not wanted:
        return []
    found = [entry for entry in tables.known_errors if entry.group == group and _fits(entry, wanted)]
    return [_answer("error", entry) for entry in sorted(found, key=lambda entry: entry.tier)[:_MOST]]


def _fits(entry: KnownError, wanted: str) -> bool:
    low = wanted.casefold()
    held = any(low in " ".join(example.casefold().split()) for example in entry.examples)
    return held or re.search(entry.pattern, wanted) is not None


def _unknown(kind: str, wanted: str, ids: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    near = [*get_close_matches(wanted, ids, n=3), *(name for name in ids if wanted and wanted in name)]
    hint = f"; near it: {', '.join(list(dict.fromkeys(near))[:_MOST])}" if near else ""
    if " " in wanted:
        hint = "; for the text of an error: torchdoctor diagnose FILE or -"
    return f"explain {kind}: no entry is named {wanted[:60]!r} among {len(ids)}{hint}"


def _answer(kind: str, entry: KnownError) -> dict[str, Any]:
    return {
        "title": f"{kind} {entry.id}" + (f": {entry.title}" if entry.title else ""),
        "id": entry.id,
        "text": _first_line(entry.examples),
        "cause": entry.cause,
        "confirm": entry.confirm,
        "commands": list(written(entry.commands, shell="powershell" if os.name == "nt" else "posix")),
        "fix": entry.fix,
        "beware": entry.beware,
        "when": [_overruled(row) for row in entry.when],
        "findings": [entry.finding] if entry.finding else [],
        "source": f"known_errors.toml, checked {entry.checked}: {'; '.join(entry.source)}",
    }


def _first_line(examples: tuple[str, ...]) -> str:
    line = examples[0].strip().splitlines()[0].strip() if examples else ""
    return line if len(line) <= _WIDTH else f"{line[:_WIDTH]} ..."


def _overruled(row: Mapping[str, Any]) -> str:
    """What facts of the host change: the condition, then the finding or the cause that holds instead."""
    instead = [str(row[name]) for name in ("finding", "cause", "fix") if row.get(name)]
    return f"{row['if']}: {'; '.join(instead)}"
