"""How a check is declared: a pure function of facts and tables that yields findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torchdoctor.facts import Facts, NotKnownError
from torchdoctor.findings import Evidence, Finding, Severity
from torchdoctor.records import record
from torchdoctor.tables import Tables

Rule = Callable[[Facts, Tables], Iterator[Finding]]


@record(frozen=True, slots=True)
class Check:
    """A rule with its finding id, usual severity, and the findings that would explain it away."""

    id: str
    severity: Severity
    topic: str  # its file: host.python
    meaning: str
    rule: Rule
    parent: str = ""
    after: tuple[str, ...] = ()
    decides: bool = False
    spares_torch: bool = False
    by_admin: bool = False

    @property
    def family(self) -> str:
        """The package of its file."""
        return self.topic.partition(".")[0]


CHECKS: dict[str, Check] = {}


def check(
    id: str,  # noqa: A002 - an id is an id
    *,
    severity: Severity,
    parent: str = "",
    after: tuple[str, ...] = (),
    decides: bool = False,
    spares_torch: bool = False,
    by_admin: bool = False,
) -> Callable[[Rule], Rule]:
    """Register a rule. Its docstring's first line is the meaning shown in lists; its package is the family.

    ``decides``: where the rule knew all it needs and found nothing, a quoted error cannot prove the finding either.
    ``spares_torch``: it is about something beside torch, and torch itself is fine.
    ``by_admin``: a user without the rights of an administrator can do nothing about it.
    """

    def register(rule: Rule) -> Rule:
        if id in CHECKS:
            raise ValueError(f"two checks are named {id}")
        words = (rule.__doc__ or _as_words(id)).strip().splitlines()
        topic = _topic(rule.__module__)
        CHECKS[id] = Check(id, severity, topic, words[0], rule, parent, after, decides, spares_torch, by_admin)
        return rule

    return register


def _topic(module: str) -> str:
    return ".".join(module.split(".")[-2:])


def _as_words(id: str) -> str:  # noqa: A002 - an id is an id
    """What stands in for the meaning where Python was told to drop docstrings (-OO)."""
    return f"{id.replace('-', ' ').capitalize()}."


def seen(facts: Facts, path: str, value: object, at: str = "") -> Evidence:
    """Evidence for a fact: the dotted path, the value as text, and where it was read."""
    return Evidence(path, _in_words(value), at or facts.source(path))


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def told(module: str, id: str, meaning: str, *, severity: Severity, **options: Any) -> None:  # noqa: A002 - an id is an id
    """Register a finding that only the text of an error proves (see checks/quoted.py), for the family of a module."""
    if id in CHECKS:
        raise ValueError(f"two checks are named {id}")
    CHECKS[id] = Check(id, severity, _topic(module), meaning, told_by_a_text, **options)


def told_by_a_text(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The rule of such a finding: it has none of its own."""
    if not facts.quoted.errors:
        raise NotKnownError("text of an error")
    yield from ()
