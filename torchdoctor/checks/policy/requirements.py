"""What a policy requires and this host is not, and what a policy ignored up to a day that has passed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, NotKnownError
from torchdoctor.findings import UNEXPLAINED, Finding, Fixer, Remedy, Text
from torchdoctor.tables import Tables

if TYPE_CHECKING:
    from torchdoctor.checks.judged import Judged
    from torchdoctor.intent import Ignore

_GPUS = "gpus"
_BY_ADMIN = ("driver", _GPUS, "compute-capability", "shm-gb")


@check("requirement-unmet", severity="error", after=("no-gpu",))
def requirement_unmet(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A requirement of the policy does not hold."""
    if not facts.request.requires:
        return
    from torchdoctor.checks.requirements import judged

    missing = ""
    for item in judged(facts):
        if item.holds is False:
            yield _unmet(facts, item)
        elif item.holds is None:
            missing = missing or item.missing
    if missing:
        raise NotKnownError(missing)


def _unmet(facts: Facts, item: Judged) -> Finding:
    requirement = item.requirement
    key = requirement.key.removeprefix("require.")
    wanted = f">={requirement.wanted}" if key == "shm-gb" else requirement.wanted
    fixable_by: Fixer = "admin" if key in _BY_ADMIN else "user"
    return Finding(
        summary=Text("the policy requires {key} {wanted}, and it is {value}", key=key, wanted=wanted, value=item.value),
        why=Text("{source} requires it of every host that is checked.", source=requirement.source or "A policy"),
        evidence=(
            seen(facts, item.fact, item.value),
            seen(facts, requirement.key, requirement.wanted, requirement.source),
        ),
        remedies=(
            Remedy(
                Text("Change the host, or the key {key} of the policy", key=requirement.key),
                commands=("torchdoctor check --show-config",),
            ),
        ),
        fixable_by=fixable_by,
        explained_by=None if key == _GPUS else UNEXPLAINED,  # that there is no GPU at all is told already
    )


@check("ignore-expired", severity="info")
def ignore_expired(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The last day of an ignore in the policy has passed."""
    today = facts.request.today
    for item in facts.request.ignores:
        if item.until and item.until < today:
            yield _expired(facts, item)


def _expired(facts: Facts, item: Ignore) -> Finding:
    return Finding(
        summary=Text("the policy ignored {id} until {until}", id=item.id, until=item.until),
        why=Text("The reason it gave: {reason}. From the day after, such a finding counts again.", reason=item.reason),
        evidence=(seen(facts, "ignore-until", f"{item.id}, {item.until}", item.source),),
        remedies=(Remedy(Text("Take the entry out of {source}, or give it a new day", source=item.source)),),
        explained_by=UNEXPLAINED,
    )
