"""How a check is declared: a pure function of facts and tables that yields findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from torchdoctor.facts import Facts
from torchdoctor.findings import Evidence, Finding, Severity
from torchdoctor.records import record
from torchdoctor.tables import Tables

Rule = Callable[[Facts, Tables], Iterator[Finding]]


@record(frozen=True, slots=True)
class Check:
    """A rule with its finding id, usual severity, and the findings that would explain it away."""

    id: str
    severity: Severity
    family: str
    meaning: str
    rule: Rule
    parent: str = ""
    after: tuple[str, ...] = ()


CHECKS: dict[str, Check] = {}


def check(id: str, *, severity: Severity, parent: str = "", after: tuple[str, ...] = ()) -> Callable[[Rule], Rule]:  # noqa: A002 - an id is an id
    """Register a rule. Its docstring's first line is the meaning shown in lists; its package is the family."""

    def register(rule: Rule) -> Rule:
        if id in CHECKS:
            raise ValueError(f"two checks are named {id}")
        meaning = (rule.__doc__ or "").strip().splitlines()[0]
        CHECKS[id] = Check(id, severity, rule.__module__.split(".")[-2], meaning, rule, parent, after)
        return rule

    return register


def seen(facts: Facts, path: str, value: object, at: str = "") -> Evidence:
    """Evidence for a fact: the dotted path, the value as text, and where it was read."""
    return Evidence(path, _in_words(value), at or facts.source(path))


def _in_words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
