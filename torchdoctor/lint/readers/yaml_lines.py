"""The shape of an environment.yml, and no more of YAML: keys at the margin, lists of texts, one list inside (pip).

Anchors, tags, block texts and nested maps are left out, unread. PyYAML is no dependency: a file for conda needs none of
what it can do beyond this, and its parser can be made to take long.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from torchdoctor.lint.readers.toml_text import BrokenFileError

_KEY = re.compile(r"([A-Za-z_][\w-]{0,60})\s*:(?:\s+(.*))?$")
_ITEM = re.compile(r"(\s*)-(?:\s+(.*))?$")
_LONGEST = 4000


class Item(NamedTuple):
    """One text of a list, its line, and the key of the list inside that it stands in (``pip``)."""

    text: str
    line: int
    under: str = ""


def lists(text: str) -> dict[str, list[Item]]:
    """The lists under the keys at the margin; a single text counts as a list of one."""
    found: dict[str, list[Item]] = {}
    key, under, inner = "", "", -1
    for number, raw in enumerate(text.split("\n"), 1):
        line = _bare(raw)
        if not line.strip() or line.strip() in {"---", "..."}:
            continue
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise BrokenFileError("a tab in the indentation: YAML takes blanks alone", number)
        top = _KEY.match(line)
        if top:
            key, under, inner = top[1], "", -1
            found[key] = [Item(item, number) for item in _flow(top[2] or "")]
            continue
        item = _ITEM.match(line)
        if not item or not key:
            continue
        depth, content = len(item[1]), (item[2] or "").strip()
        if under and depth <= inner:
            under = ""
        nested = _KEY.match(content)
        if nested and not under:
            under, inner = nested[1], depth
            found[key] += [Item(value, number, under) for value in _flow(nested[2] or "")]
        elif content:
            found[key].append(Item(_unquoted(content), number, under))
    return found


def _bare(line: str) -> str:
    """Without the comment: a number sign at the beginning or behind a blank, outside of quotes."""
    line = line[:_LONGEST].rstrip()
    quote = ""
    for index, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and (index == 0 or line[index - 1] in " \t"):
            return line[:index].rstrip()
    return line


def _flow(value: str) -> list[str]:
    """A value behind a key: ``[a, b]`` or one text."""
    value = value.strip()
    if value.startswith("[") and value.endswith("]"):
        return [_unquoted(part.strip()) for part in value[1:-1].split(",") if part.strip()]
    return [_unquoted(value)] if value else []


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
