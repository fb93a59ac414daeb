"""The table of a policy within a larger TOML file: whether it is there, and the file with another one."""

from __future__ import annotations

import re
from typing import Any

_OURS = re.compile(r"\s*\[{1,2}\s*tool\s*\.\s*[\"']?torchdoctor[\"']?\s*[.\]]")
MARK = "# Written by torchdoctor "  # of the line above a table of ours
_HEADER = re.compile(r"\s*\[")


def has_policy(text: str) -> bool:
    """Whether the file has a table for torchdoctor; one that is no TOML may have."""
    try:
        return _tools(_parsed(text)).get("torchdoctor") is not None
    except ValueError:
        return "torchdoctor" in text


def with_policy(text: str, table: str) -> str:
    """The file with this table in place of the one it had; raise ``ValueError`` where that cannot be done safely."""
    before = _parsed(text)
    kept: list[str] = []
    ours = False
    for line in text.split("\n"):
        if _HEADER.match(line):
            ours = bool(_OURS.match(line))
        if not ours and not line.startswith(MARK):
            kept.append(line)
    if _tools(_parsed("\n".join(kept))).get("torchdoctor") is not None:
        raise ValueError("its table for torchdoctor is not in lines of its own")
    whole = "\n".join(kept).rstrip() + "\n\n" if any(kept) else ""
    after = _parsed(whole + table)
    if _without_ours(before) != _without_ours(after):
        raise ValueError("its table for torchdoctor stands between other lines")
    return whole + table


def _without_ours(table: dict[str, Any]) -> dict[str, Any]:
    tools = {name: value for name, value in _tools(table).items() if name != "torchdoctor"}
    return {**{name: value for name, value in table.items() if name != "tool"}, **({"tool": tools} if tools else {})}


def _tools(table: dict[str, Any]) -> dict[str, Any]:
    tools = table.get("tool")
    return tools if isinstance(tools, dict) else {}


def _parsed(text: str) -> dict[str, Any]:
    from torchdoctor import toml

    try:
        table: dict[str, Any] = toml.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return table
