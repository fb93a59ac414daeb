"""Knowing, and not knowing: what a fact may be, and how a rule asks for it."""

from __future__ import annotations

from typing import TypeVar

from torchdoctor.records import record

T = TypeVar("T")


@record(frozen=True, slots=True)
class Unknown:
    """A fact that this recording does not hold; ``what`` names it for people."""

    what: str

    def __bool__(self) -> bool:
        """Unknown is neither true nor false: asking is a mistake in a rule."""
        raise TypeError(f"asked whether an unknown fact is true: {self.what}")


class NotKnownError(Exception):
    """A check asked for a fact that is not in this recording; the runner turns it into a skip."""


class NotThereError(Exception):
    """A check asked for something this host does not have; the runner counts the check as passed."""


def known(fact: T | None | Unknown) -> T | None:
    """Return the value, or None when it was looked for and is absent; skip the check when it is unknown."""
    if isinstance(fact, Unknown):
        raise NotKnownError(fact.what)
    return fact


def need(fact: T | None | Unknown) -> T:
    """Return the value; skip the check when it is unknown, end it as passed when there is none."""
    value = known(fact)
    if value is None:
        raise NotThereError
    return value


def value_or(fact: T | None | Unknown, default: T) -> T:
    """Return the value, or ``default`` when it is absent or unknown: for words, never for a verdict."""
    return default if fact is None or isinstance(fact, Unknown) else fact


def is_known(fact: object) -> bool:
    """Whether the recording says anything about this fact, absence included."""
    return not isinstance(fact, Unknown)
