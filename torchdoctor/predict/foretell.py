"""From a recording and the hosts asked about to a report: one prediction a host, and what holds on all of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from torchdoctor.facts import Request
from torchdoctor.findings import Finding, Prediction, Severity
from torchdoctor.policy.setting_aside import set_aside
from torchdoctor.predict.changes import Trials, changes
from torchdoctor.predict.one_build import one_build
from torchdoctor.predict.placed import without_host
from torchdoctor.predict.targets import Target
from torchdoctor.predict.verdict import Judged, judge, why
from torchdoctor.prescribe.prescribe import keeping, with_commands
from torchdoctor.prescribe.remedy_commands import with_written_commands
from torchdoctor.prescribe.writing import Writing
from torchdoctor.reading import facts_of
from torchdoctor.recording import Recording
from torchdoctor.records import replace
from torchdoctor.report import Report
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables


def foretell(
    recording: Recording, targets: Sequence[Target], tables: Tables, request: Request, writing: Writing
) -> Report:
    """The report on what is examined, with a prediction for every target. Pure, as ``pipeline.examine`` is."""
    image = facts_of(recording, tables, request)
    bare = replace(without_host(image), request=_of_no_host(request))
    own, _ = run_checks(bare, tables)
    judged = {target.key: (target, judge(image, target, tables)) for target in targets}
    trials = Trials(image, tables)
    predictions = _named(targets, {key: predict(item, writing, trials) for key, item in judged.items()}, own)
    bare = replace(bare, request=replace(bare.request, targets=predictions))
    found, outcomes = run_checks(bare, tables)
    findings, ignored = set_aside(with_written_commands(found, bare, writing), request)
    here = [item for item in judged.values() if item[1].verdict != "unknown" and not item[1].is_elsewhere]
    in_the_way = [*own, *(finding for _, item in here for finding in item.roots)]
    prescription = keeping(bare, in_the_way, writing, tables) or one_build(here, image, writing, tables)
    return Report(
        facts=bare,
        findings=with_commands(findings, prescription),
        outcomes=tuple(outcomes),
        tables_date=tables.edition,
        live=bool(recording.answers),
        install=prescription.install,
        no_install=prescription.refusal,
        ignored=ignored,
    )


def _of_no_host(request: Request) -> Request:
    """What a policy requires of a host is judged on each target."""
    return replace(request, require_gpu=False, requires=(), baseline=None)


def _named(
    targets: Sequence[Target], told: Mapping[object, Prediction], own: Sequence[Finding]
) -> tuple[Prediction, ...]:
    """A prediction for every target; targets of which the same was said were judged once."""
    everywhere = {(finding.id, finding.severity) for finding in own}
    return tuple(
        replace(item, name=target.name, target=target.said, cause=_cause(item, everywhere))
        for target in targets
        for item in (told[target.key],)
    )


def _cause(item: Prediction, everywhere: Collection[tuple[str, Severity | None]]) -> str:
    """The finding behind the verdict, where it is there whatever the target is."""
    severity: Severity = "error" if item.verdict == "will-not-run" else "warning"
    return item.cause if (item.cause, severity) in everywhere else ""


def predict(item: tuple[Target, Judged], writing: Writing, trials: Trials) -> Prediction:
    """Whether the image runs on one target, why, and what would make it run."""
    target, judged = item
    single = changes(judged, target, writing, trials)
    return Prediction(
        name=target.name,
        target=target.said,
        verdict=judged.verdict,
        why=why(judged, target, trials.tables),
        findings=_ordered(judged),
        cause=next((finding.id for finding in _ordered(judged)), ""),
        change=single[0].text if single else None,
        commands=single[0].commands if single else (),
        other_changes=tuple(other.text for other in single[1:]),
        missing=judged.how_to_say if judged.verdict == "unknown" else "",
    )


def _ordered(judged: Judged) -> tuple[Finding, ...]:
    """What is worth a word, the reason of the verdict first."""
    loud = [item for item in judged.findings if item.severity != "info"]
    return tuple(sorted(loud, key=lambda item: (item.explained_by is not None, item.severity != "error")))
