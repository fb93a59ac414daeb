"""Conditions of a table row on the facts of a host: ``os.name = windows and torch.build = cpu``.

Clauses joined by ``and``, each a path, an operator and a value. A path is a fact's dotted path, ``package.NAME``,
``env.NAME``, ``value.GROUP`` (what the quoted error names) or ``shown`` (the id of another known error in the paste).
An unknown fact makes a clause false, unless the clause asks for just that.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from torchdoctor.facts import ErrorText, Facts, Unknown, is_known

_CLAUSE = re.compile(r"\s*([\w.\[\]-]+)\s+(=|!=|<=|>=|<|>|~)\s+(.+?)\s*$")
_NUMBERS = re.compile(r"\d+")
_COMPARE: Mapping[str, Callable[[object, object], bool]] = {
    "<": lambda one, other: one < other,  # type: ignore[operator]
    "<=": lambda one, other: one <= other,  # type: ignore[operator]
    ">": lambda one, other: one > other,  # type: ignore[operator]
    ">=": lambda one, other: one >= other,  # type: ignore[operator]
}


class ConditionError(ValueError):
    """A condition that cannot be read."""


def holds(condition: str, facts: Facts, error: ErrorText) -> bool:
    """Whether every clause of a condition is true of a host and of the error that was quoted."""
    return all(_true(*clause, facts, error) for clause in clauses(condition))


def clauses(condition: str) -> Iterator[tuple[str, str, str]]:
    """The path, operator and value of every clause. Raise ``ConditionError`` for what is none."""
    for part in re.split(r"\s+and\s+", condition):
        match = _CLAUSE.match(part)
        if not match:
            raise ConditionError(f"{part!r} is no clause: PATH OPERATOR VALUE")
        yield match[1], match[2], match[3]


def _true(path: str, operator: str, wanted: str, facts: Facts, error: ErrorText) -> bool:
    values = list(_values(path, facts, error))
    are_known = [value for value in values if is_known(value)]
    if wanted in {"known", "unknown"}:
        return bool(are_known) == ((wanted == "known") == (operator == "="))
    if operator == "!=":
        return bool(are_known) and all(not _equal(value, wanted) for value in are_known)
    return any(_compare(value, operator, wanted) for value in are_known)


def _values(path: str, facts: Facts, error: ErrorText) -> Iterator[object]:
    """Every value that a path has: one for most, one for each GPU or quoted error."""
    head, _, tail = path.replace("[]", "").partition(".")
    if head == "value":
        yield error.values.get(tail, Unknown(f"{tail} in the message"))
    elif head == "shown":
        yield from (other.id for other in facts.quoted.errors if other.id != error.id)
    elif head == "package":
        package = facts.packages.find(tail)
        yield package if package is None or isinstance(package, Unknown) else package.version
    elif head == "env":
        yield facts.env.get(tail)
    elif head == "gpus":
        yield from _of_gpus(facts, tail)
    else:
        group = getattr(facts, head)
        yield getattr(group, tail) if tail else group


def _of_gpus(facts: Facts, field: str) -> Iterator[object]:
    """A fact of every GPU, or without a field how many there are; a loaded driver that lists none proves nothing."""
    gpus = facts.gpus
    if gpus is None or isinstance(gpus, Unknown):
        yield gpus
    elif field:
        yield from (getattr(gpu, field) for gpu in gpus)
    elif gpus or facts.driver.module_loaded is not True:
        yield len(gpus) or None


def _equal(value: object, wanted: str) -> bool:
    word = {"true": "yes", "false": "no"}.get(wanted.lower(), wanted.lower())
    return (value in (None, ()) and word == "none") or _word(value) == word


def _word(value: object) -> str:
    if isinstance(value, bool):  # 1 is no True here
        return "yes" if value else "no"
    return "none" if value is None else str(value).lower()


def _compare(value: object, operator: str, wanted: str) -> bool:
    if operator == "=":
        return _equal(value, wanted)
    if operator == "~":
        return wanted.lower() in _word(value)
    one, other = _numbers(_word(value)), _numbers(wanted)
    return bool(one and other) and _COMPARE[operator](one, other)


def _numbers(text: str) -> tuple[int, ...]:
    """The numbers of a version, trailing zeros gone, so that 2.0 equals 2."""
    numbers = [int(number) for number in _NUMBERS.findall(text)]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
