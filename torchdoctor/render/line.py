"""One line of a report for people."""

from __future__ import annotations

from typing import NamedTuple

from torchdoctor.patterns import lazily

# What GitHub, Azure and TeamCity obey in a log: at the beginning of a line, or anywhere in it.
_MARKED_COMMAND = r"(?<=#)(?=#(?:\[|vso\[|teamcity\[))"
_COMMAND = lazily(rf"^\s*(?=::)|{_MARKED_COMMAND}")
_IN_JSON = lazily(rf"{_MARKED_COMMAND}#|[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BEYOND_ASCII = lazily(r"[^\x00-\x7f]")


class Line(NamedTuple):
    """One line of output and the style a terminal may give it."""

    text: str
    style: str = ""


def on_one_line(text: str) -> str:
    """The text without line breaks; what a terminal or the log of a build service would obey is shown instead."""
    if not text.isprintable():
        text = "".join(map(_shown, text))
    return _COMMAND.sub(r"\g<0>\\", text)


def harmless_json(text: str) -> str:
    """JSON that means the same, in which nothing is left that a terminal or a build service would obey."""
    return _IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def ascii_json(text: str) -> str:
    """JSON that means the same in ASCII alone."""
    return _BEYOND_ASCII.sub(lambda match: _in_utf_16(match[0]), text)


def _in_utf_16(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _shown(character: str) -> str:
    if character in "\n\r\t":
        return " "
    return character if character.isprintable() else character.encode("unicode_escape").decode("ascii")
