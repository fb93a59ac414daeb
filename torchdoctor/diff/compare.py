"""What differs between two reports, the most telling first, and the cause where a finding rests on what differs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from torchdoctor.diff.sides import LISTS, Side, Told
from torchdoctor.findings import Text
from torchdoctor.records import record

# What changes from one minute to the next, or says how it was asked rather than what is there.
PASSING = {
    "memory.available", "gpus[].memory_free", "python.chosen_because", "python.other", "python.command",
    "python.prefix_length", "trial.import_seconds", "trial.waited",
}  # fmt: skip
# The most telling first; of what is not named the order is that of the report.
_ORDER = (
    "torch.installed", "torch.build", "torch.version", "torch", "driver.version", "driver", "gpus", "os.libc", "os",
    "python.tag", "python.version", "python", "env", "packages", "trial", "smoke", "place", "cpu", "memory", "tools",
)  # fmt: skip
_LEAST = ("torch.locations", "torch.requires", "torch.wheel_tag", "python.executable", "gpus[].pci_address")
# What differs because another fact does, and is not told besides.
FOLLOWS = {
    "torch.full": ("torch.version", "torch.build"),
    "torch.cuda": ("torch.build",),
    "torch.wheel_tag": ("torch.version", "python.tag"),
    "torch.requires": ("torch.version", "torch.build"),
    "packages.torch": ("torch.version", "torch.build"),
    "python.version": ("python.tag",),
    "driver.library_version": ("driver.version",),
    "os.distribution": ("os.version",),
}
_RANKS = {"fail": 3, "unknown": 2, "warn": 1, "ok": 0}
_MOST_FACTS = 3
_FEWEST = 3  # topics of which both tell, for two hosts to be called alike
NOT_SET = None  # a name that is missing from a list which names everything


@record(frozen=True, slots=True)
class Difference:
    """One fact that both tell, each another value of it."""

    fact: str
    a: Any
    b: Any

    @property
    def name(self) -> str:
        """The fact as evidence names it: without the number of the GPU."""
        return _unnumbered(self.fact)

    @property
    def topic(self) -> str:
        """What it is a fact of: torch, driver, gpus ..."""
        return _topic(self.fact)


@record(frozen=True, slots=True)
class Cause:
    """The finding of one side alone, and the facts it rests on that differ."""

    text: Text
    finding: str
    facts: tuple[str, ...]
    sick: str  # a or b


@record(frozen=True, slots=True)
class Alone:
    """One side, and the findings that the other has not."""

    key: str  # a or b
    side: Side
    other: Side
    findings: tuple[Told, ...]

    @property
    def telling(self) -> list[Told]:
        """Those that are more than a remark and no consequence of another, errors first."""
        loud = [finding for finding in self.findings if finding.is_loud and not finding.explained_by]
        return sorted(loud, key=lambda finding: finding.severity != "error")

    def values(self, item: Difference) -> tuple[str, str]:
        """The value of this side, then that of the other."""
        return shown_pair(item.a, item.b) if self.key == "a" else shown_pair(item.b, item.a)


@record(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two reports compared."""

    a: Side
    b: Side
    differences: tuple[Difference, ...]
    only_a: tuple[Told, ...]
    only_b: tuple[Told, ...]
    worst: Told | None  # of the findings of one side alone, the worse side's first
    untold_a: tuple[str, ...]  # facts that the other one tells
    untold_b: tuple[str, ...]
    cause: Cause | None = None
    remark: Cause | None = None  # where nothing is wrong that rests on what differs: what is remarked of it

    @property
    def common(self) -> int:
        """How many facts both tell, passing ones aside."""
        return sum(path in self.b.facts and _unnumbered(path) not in PASSING for path in self.a.facts)

    @property
    def is_open(self) -> bool:
        """Whether nothing differs, and what both tell is too little to say that the hosts are alike."""
        if not self.is_equal:
            return False
        told = [{_topic(path) for path in side.facts} for side in (self.a, self.b)]
        both = len(told[0] & told[1])
        return (both < _FEWEST and 2 * both < max(map(len, told))) or self.a.status != self.b.status

    @property
    def is_equal(self) -> bool:
        """Whether nothing that both tell differs."""
        return not (self.differences or self.only_a or self.only_b)

    @property
    def is_empty(self) -> bool:
        """Whether there was nothing to compare."""
        return self.is_equal and not any(path in self.b.facts for path in self.a.facts)


def compare(a: Side, b: Side) -> Comparison:
    """Compare two reports."""
    sides = _worse_first(Alone("a", a, b, _only(a, b)), Alone("b", b, a, _only(b, a)))
    differences = tuple(sorted(_differences(a, b), key=lambda item: rank(item.fact)))
    cause = _cause(differences, [(alone, alone.telling) for alone in sides])
    if cause:
        differences = _led_by(cause, differences)
    return Comparison(
        a=a,
        b=b,
        differences=tuple(item for item in differences if not _follows(item, differences, cause)),
        only_a=_only(a, b),
        only_b=_only(b, a),
        worst=next((finding for alone in sides for finding in alone.telling), None),
        untold_a=_untold(a, b),
        untold_b=_untold(b, a),
        cause=cause,
        remark=None if cause else _cause(differences, [(alone, alone.findings) for alone in sides]),
    )


def _worse_first(a: Alone, b: Alone) -> tuple[Alone, Alone]:
    """Of two that are as bad, the second: it is mostly the one in question."""
    return (a, b) if _RANKS.get(a.side.status, 0) > _RANKS.get(b.side.status, 0) else (b, a)


def _led_by(cause: Cause, differences: Sequence[Difference]) -> tuple[Difference, ...]:
    """The topics of the cause first, and in each what the finding rests on."""
    topics = list(dict.fromkeys(item.topic for item in differences if item.fact in cause.facts))
    places = {topic: place for place, topic in enumerate(topics)}

    def place(item: Difference) -> tuple[int, bool]:
        return places.get(item.topic, len(places)), item.fact not in cause.facts

    return tuple(sorted(differences, key=place))


def _only(one: Side, other: Side) -> tuple[Told, ...]:
    ids = {finding.id for finding in other.findings}
    return tuple(finding for finding in one.findings if finding.id not in ids)


def _paths(one: Side, other: Side) -> Iterator[str]:
    """Every fact of either, but for passing ones; single GPUs only where both have as many."""
    same_gpus = one.facts.get("gpus") == other.facts.get("gpus")
    for path in dict.fromkeys((*one.facts, *other.facts)):
        if _unnumbered(path) not in PASSING and (same_gpus or not path.startswith("gpus[")):
            yield path


def _differences(a: Side, b: Side) -> Iterator[Difference]:
    for path in _paths(a, b):
        if a.tells(path) and b.tells(path):
            mine, theirs = a.facts.get(path, NOT_SET), b.facts.get(path, NOT_SET)
            if mine != theirs or type(mine) is not type(theirs):
                yield Difference(path, mine, theirs)


def _untold(one: Side, other: Side) -> tuple[str, ...]:
    """The facts that the other tells and this one does not; of a list the one word that names it."""
    paths = (path for path in _paths(one, other) if path in other.facts and not one.tells(path))
    return tuple(dict.fromkeys(path.partition(".")[0] if path.startswith(LISTS) else path for path in paths))


def rank(path: str) -> tuple[int, int]:
    """The place of a fact among those that differ: the most telling first."""
    name = _unnumbered(path)
    matches = (
        place for place, known in enumerate(_ORDER) if name == known or name.startswith((f"{known}.", f"{known}["))
    )
    return int(name in _LEAST), next(matches, len(_ORDER))


def _follows(item: Difference, differences: Sequence[Difference], cause: Cause | None) -> bool:
    differing = {other.fact for other in differences}
    return bool(differing.intersection(FOLLOWS.get(item.fact, ()))) and not (cause and item.fact in cause.facts)


def _cause(found: Sequence[Difference], sides: Sequence[tuple[Alone, Sequence[Told]]]) -> Cause | None:
    """The first of these findings, each of one side alone, that rests on what differs."""
    for alone, findings in sides:
        for finding in findings:
            if facts := _resting(finding, found):
                pairs = [(item.fact, *alone.values(item)) for item in facts]
                text = _sentence(finding, pairs, alone.side.name, alone.other.name)
                return Cause(text, finding.id, tuple(item.fact for item in facts), alone.key)
    return None


def _resting(finding: Told, found: Sequence[Difference]) -> list[Difference]:
    """The differences that a finding names as its evidence, in its order."""
    named = {item.fact: item for fact in finding.facts for item in found if _is_named(fact, item)}
    return list(named.values())[:_MOST_FACTS]


def _is_named(fact: str, item: Difference) -> bool:
    """Whether evidence names a difference; where the GPUs themselves differ, no single one of them is compared."""
    return fact in (item.fact, item.name) or (item.fact == "gpus" and fact.startswith("gpus["))


def _sentence(finding: Told, pairs: Sequence[tuple[str, str, str]], sick: str, well: str) -> Text:
    (fact, here, there), *others = pairs
    more = "".join(f"; {name} is {one} and {other}" for name, one, other in others)
    return Text(
        "{summary} ({id}) in {sick}: {fact} is {here} there and {there} in {well}{more}",
        summary=finding.summary, id=finding.id, sick=sick, fact=fact, here=here, there=there, well=well, more=more,
    )  # fmt: skip


def shown_pair(one: Any, other: Any) -> tuple[str, str]:
    """Both values as words; of two lists only what the other has not."""
    if isinstance(one, list) and isinstance(other, list):
        return _rest(one, other), _rest(other, one)
    return _word(one), _word(other)


def _rest(one: list[Any], other: list[Any]) -> str:
    rest = [_word(item) for item in one if item not in other]
    if not rest:
        return "none" if not one else "nothing besides"
    return ", ".join(rest)


def _word(value: Any) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, list):
        return ", ".join(map(_word, value))
    return str(value)


def _topic(path: str) -> str:
    return _unnumbered(path).partition(".")[0].removesuffix("[]")


def _unnumbered(path: str) -> str:
    return re.sub(r"\[\d+\]", "[]", path)
