"""The hosts that ``--for`` asks about, as findings: so every format and the exit status know of them."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check
from torchdoctor.facts import Facts, NotKnownError
from torchdoctor.findings import UNEXPLAINED, Evidence, Finding, Prediction, Remedy, Text, standing_alone
from torchdoctor.records import replace
from torchdoctor.tables import Tables

_SOURCE = "target"


@check("target-cannot-run", severity="error")
def target_cannot_run(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """What is examined will not run on a host that was asked about."""
    for item in _asked(facts):
        if item.verdict == "will-not-run":
            yield Finding(
                summary=Text("{target} will not run it: {reason}", target=item.name, reason=item.why),
                why=_why(item),
                evidence=_evidence(item),
                remedies=_remedies(item),
                confidence=item.findings[0].confidence if item.findings else "certain",
                explained_by=item.cause or UNEXPLAINED,
            )


@check("target-impaired", severity="warning")
def target_impaired(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """What is examined will run on a host that was asked about, and something there is not in order."""
    for item in _asked(facts):
        if item.verdict == "runs-with-warnings":
            yield Finding(
                summary=Text("{target} will run it, but: {reason}", target=item.name, reason=item.why),
                why=_why(item),
                evidence=_evidence(item),
                remedies=_remedies(item),
                explained_by=item.cause or UNEXPLAINED,
            )


def _asked(facts: Facts) -> tuple[Prediction, ...]:
    """The predictions; skip where nobody asked about another host."""
    if not facts.request.targets:
        raise NotKnownError("description of another host (--for)")
    return facts.request.targets


def _why(item: Prediction) -> Text:
    """The reason of what was found first, in full."""
    return item.findings[0].why if item.findings else item.why


def _evidence(item: Prediction) -> tuple[Evidence, ...]:
    """What was said of the host, then what the first finding rests on."""
    said = " ".join(f"{key}={value}" for key, value in item.target.items())
    rest = item.findings[0].evidence if item.findings else ()
    return (Evidence("target", said, _SOURCE), *rest)


def _remedies(item: Prediction) -> tuple[Remedy, ...]:
    """The single changes that would make it run; where none is known, what the first finding says."""
    if item.change is None:
        told = item.findings[0].remedies if item.findings else ()
        return tuple(replace(one, text=standing_alone(one.text)) for one in told if not one.installs)
    return (Remedy(item.change, item.commands), *(Remedy(text) for text in item.other_changes))
