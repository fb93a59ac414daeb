"""What the ranks of one program tell of each other: where one fails by itself, the others' collectives fail too."""

from __future__ import annotations

from torchdoctor.checks.quoted import finding_of, shown_errors
from torchdoctor.facts import ErrorText, Facts
from torchdoctor.findings import Evidence, Finding, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.known_errors import AMBIGUOUS

_COLLECTIVE, _PROGRAM = "nccl-failure", "user-code"
_MOST = 3


def failed_with_a_rank(facts: Facts, tables: Tables) -> Finding | None:
    """The failed collective of a text that also shows an error of the program itself: its consequence."""
    failed = [error for error in facts.quoted.errors if _is_collective(error, tables)]
    if not failed or not any(
        finding_of(one) == _PROGRAM and not one.error.doubtful and one.entry.tier <= AMBIGUOUS
        for one in shown_errors(facts, tables)
    ):
        return None
    return Finding(
        summary=Text("a collective failed because a rank of the program had failed"),
        why=Text(
            "A rank that ends with an error of its own leaves the others waiting in a collective, which then times "
            "out or is refused. Neither NCCL nor the network is at fault."
        ),
        evidence=tuple(Evidence(f"error.{error.id}", error.text, error.source) for error in failed[:_MOST]),
        confidence="likely",
        severity="info",
        explained_by=_PROGRAM,
    )


def _is_collective(error: ErrorText, tables: Tables) -> bool:
    entry = tables.known_errors.find(error.id)
    return entry is not None and entry.finding == _COLLECTIVE and not error.doubtful
