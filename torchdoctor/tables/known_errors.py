"""Texts of errors: how each is recognised, what it means, and what to do.

The file is large and a paste matches few of its entries, so the words and ids are read first and the rest of an entry
only when it is asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

from torchdoctor.errors import TableError
from torchdoctor.findings import Command, showing
from torchdoctor.records import fields, record
from torchdoctor.tables.loading import TableRow

FILE = "known_errors.toml"
ABOUT = "Texts of errors: pattern, examples, cause, finding, confirmation, remedy."
RULES = """\
A pattern is searched in text whose white space is collapsed; `words` are looked for first, and every match holds one of
them. Tier 1 is a specific cause, 2 one of several, 3 a wrapper or a consequence, 4 a notice; inside a tier the first in
the text wins. `when` rows are tried in order: the first whose `if` holds of the host replaces the fields it names, so
that facts overrule a text. A condition is `PATH OPERATOR VALUE`, joined by `and`: a fact (`os.name = windows`),
`package.NAME`, `env.NAME`, `value.GROUP` of the pattern, `value.loader` (the package that a trace shows loading a
library), `shown` (another entry); `=`, `!=`, `<`, `<=`, `>`, `>=`, `~` (contains); the values `none`, `known`,
`unknown`. In `commands` `{ show = "NAME" }` prints a variable (`*` at an end: any text) as the reader's shell does
that. `pod` replaces `fix` in a pod of Kubernetes."""
GROUPS = ("install", "import", "driver", "distributed", "compile", "accel", "training")
SPECIFIC, AMBIGUOUS, WRAPPER, NOTICE = 1, 2, 3, 4

_MARK = "\n[[entry]]\n"
_ID = re.compile(r'^id = "([a-z0-9-]{2,60})"$', re.MULTILINE)
_WORDS = re.compile(r"^words = (\[.*\])$", re.MULTILINE)
_OPTIONAL: Mapping[str, Any] = {
    "commands": (), "installs": False, "beware": "", "facts": (), "when": (), "suppresses": (), "also": (),
    "echoes": (), "severity": "", "confirm": "", "finding": "", "torch": "all", "pod": "",
}  # fmt: skip


@record(frozen=True, slots=True, eq=False, repr=False)
class KnownError(TableRow):
    """One text. ``finding`` is empty for a wrapper, which tells that something failed and never what."""

    id: str
    group: str
    tier: int  # 1 one cause, 2 several causes, 3 a wrapper or consequence, 4 a notice
    title: str
    words: tuple[str, ...]  # one of them is in every text that matches; without blanks and digits
    pattern: str  # searched in text whose white space is collapsed
    examples: tuple[str, ...]
    finding: str
    severity: str  # empty: the usual one of the finding
    cause: str
    confirm: str
    commands: tuple[Command, ...]  # those that confirm the cause
    fix: str
    pod: str  # the fix in a pod of Kubernetes, where that is another
    installs: bool  # whether the prescribed install command is the remedy
    beware: str  # wrong advice that circulates, put right
    facts: tuple[str, ...]  # what has to be known of the host to choose the remedy
    when: tuple[Mapping[str, Any], ...]  # facts that overrule the text: the fields to change, beside "if"
    torch: str
    suppresses: tuple[str, ...]  # entries that are a consequence of this one
    echoes: tuple[str, ...]  # findings that this error shows as well, as consequences of its own
    also: tuple[str, ...]  # other entries that its examples match
    source: tuple[str, ...]
    confidence: str
    checked: str

    @property
    def key(self) -> str:
        """The row's name in findings."""
        return self.id


class KnownErrors:
    """The entries of the file, parsed one at a time."""

    def __init__(self, text: str) -> None:
        head, *self._chunks = text.split(_MARK)
        self._line = head.count("\n") + 2
        self._parsed: dict[int, KnownError] = {}

    @cached_property
    def _places(self) -> dict[str, int]:
        return {self._named(place): place for place in range(len(self._chunks))}

    def _named(self, place: int) -> str:
        match = _ID.search(self._chunks[place])
        if not match:
            raise self._error(place, "an entry without an id")
        return match[1]

    @property
    def ids(self) -> tuple[str, ...]:
        """The id of every entry, in the order of the file."""
        return tuple(self._places)

    def find(self, id: str) -> KnownError | None:  # noqa: A002 - an id is an id
        """The entry of an id."""
        place = self._places.get(id)
        return None if place is None else self._at(place)

    def __iter__(self) -> Iterator[KnownError]:
        return (self._at(place) for place in range(len(self._chunks)))

    def candidates(self, has: Callable[[bytes], bool]) -> Iterator[KnownError]:
        """The entries of which some word is in a text, as ``has`` answers."""
        present = set(filter(has, self._vocabulary))
        return (self._at(place) for place, words in enumerate(self._words) if not present.isdisjoint(words))

    @cached_property
    def _vocabulary(self) -> tuple[bytes, ...]:
        return tuple(dict.fromkeys(word for words in self._words for word in words))

    @cached_property
    def _words(self) -> list[list[bytes]]:
        """The words of every entry."""
        matches = map(_WORDS.search, self._chunks)
        return [[word.encode() for word in json.loads(match[1])] if match else [] for match in matches]

    def _at(self, place: int) -> KnownError:
        if place not in self._parsed:
            self._parsed[place] = self._parse(place)
        return self._parsed[place]

    def _parse(self, place: int) -> KnownError:

        from torchdoctor import toml

        try:
            data = toml.loads(self._chunks[place])
        except toml.TOMLDecodeError as error:
            raise self._error(place, str(error)) from None
        wrong = _wrong(data)
        if wrong:
            raise self._error(place, wrong)
        values: dict[str, Any] = {name: _frozen(value) for name, value in {**_OPTIONAL, **data}.items()}
        return KnownError(**values)

    def _error(self, place: int, what: str) -> TableError:
        line = self._line + sum(chunk.count("\n") + 2 for chunk in self._chunks[:place])
        return TableError(f"{FILE}:{line}: {what}")


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(map(_frozen, value))
    if isinstance(value, dict):
        return showing(value["show"]) if "show" in value else {name: _frozen(item) for name, item in value.items()}
    return value


def _wrong(data: Mapping[str, Any]) -> str:
    """What is wrong with an entry, or nothing."""
    names = [item.name for item in fields(KnownError)]
    for name in data:
        if name not in names:
            return f"{name} is no field: {', '.join(names)}"
    for name in names:
        if name not in data and name not in _OPTIONAL:
            return f"{name} is missing"
    if data["group"] not in GROUPS or data["tier"] not in range(SPECIFIC, NOTICE + 1):
        return f"group {data['group']!r} or tier {data['tier']!r} is none"
    if not all(word and not re.search(r"[\s\d]", word) for word in data["words"]):
        return "a word holds no blanks and no digits"
    try:
        re.compile(data["pattern"])
    except re.error as error:
        return f"pattern: {error}"
    return "" if all("if" in row for row in data.get("when", ())) else 'a row of when needs "if"'
