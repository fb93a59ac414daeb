"""What became of one requirement of a policy."""

from __future__ import annotations

from torchdoctor.facts import Unknown
from torchdoctor.intent import Requirement
from torchdoctor.records import record


@record(frozen=True, slots=True)
class Judged:
    """Whether a requirement holds (None: cannot be told), by which fact, what it is, and what is not known."""

    requirement: Requirement
    holds: bool | None
    fact: str
    value: str = ""
    missing: str = ""
    counts: bool = True  # False: it is not asked where it cannot be told


def unknown_in(requirement: Requirement, fact: str, missing: Unknown) -> Judged:
    """A requirement on a fact that is not known."""
    return Judged(requirement, None, fact, missing=missing.what)
