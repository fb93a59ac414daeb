"""Which findings count: what a policy ignores, or does not select, is set aside with what it explains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from torchdoctor.facts import Request
from torchdoctor.findings import Finding, Ignored
from torchdoctor.intent import Ignore
from torchdoctor.records import replace

_NOT_SELECTED = "not selected"


def set_aside(findings: Iterable[Finding], request: Request) -> tuple[tuple[Finding, ...], tuple[Ignored, ...]]:
    """What counts, and what is set aside; an expired ignore sets nothing aside."""
    found = tuple(findings)
    named = {item.finding.id: item for item in _named(found, request)}
    pairs = [(finding, _why(finding, named)) for finding in found]
    kept = tuple(_root(finding, named) for finding, why in pairs if why is None)
    return kept, tuple(why for _, why in pairs if why is not None)


def _named(findings: Sequence[Finding], request: Request) -> Iterator[Ignored]:
    """The findings that are named themselves."""
    for finding in findings:
        named = next(
            (item for item in request.ignores if not is_over(item, request) and _is(finding.id, item.id)), None
        )
        if named:
            yield Ignored(finding, named.reason or f"ignored by {named.source}", named.until)
        elif request.select and not any(_is(name, word) for name in _line(finding) for word in request.select):
            yield Ignored(finding, _NOT_SELECTED)


def is_over(item: Ignore, request: Request) -> bool:
    """Whether its last day has passed."""
    return bool(item.until) and item.until < request.today


def _why(finding: Finding, named: Mapping[str, Ignored]) -> Ignored | None:
    """Why it is set aside: it is named, or what explains it is ignored; a cause not selected takes nothing along."""
    if finding.id in named:
        return replace(named[finding.id], finding=finding)
    cause = named.get(finding.explained_by or "")
    if cause and cause.reason != _NOT_SELECTED:
        return Ignored(finding, f"explained by {finding.explained_by}", cause.until)
    return None


def _root(finding: Finding, named: Mapping[str, Ignored]) -> Finding:
    """A finding whose cause is set aside stands for itself."""
    return replace(finding, explained_by=None) if finding.explained_by in named else finding


def _line(finding: Finding) -> tuple[str, ...]:
    """Its own id and that of its cause: a cause brings what it explains."""
    return (finding.id, finding.explained_by) if finding.explained_by else (finding.id,)


def _is(name: str, word: str) -> bool:
    return fnmatchcase(name, word)
