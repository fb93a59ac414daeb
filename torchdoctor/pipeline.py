"""The whole flow, top to bottom: recording -> facts -> findings -> prescription -> report. Rendering comes after."""

from __future__ import annotations

from torchdoctor.code_view import code_rows
from torchdoctor.facts import Request
from torchdoctor.findings import Finding, Ignored
from torchdoctor.prescribe.prescribe import prescribe, with_commands
from torchdoctor.prescribe.remedy_commands import with_written_commands
from torchdoctor.prescribe.writing import Writing
from torchdoctor.reading import facts_of
from torchdoctor.recording import Recording
from torchdoctor.report import Report
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables


def examine(recording: Recording, tables: Tables, request: Request, writing: Writing) -> Report:
    """Turn a recording into a report. Pure: the same recording gives the same report, byte for byte."""
    facts = facts_of(recording, tables, request)
    found, outcomes = run_checks(facts, tables)
    prescription = prescribe(facts, found, writing, tables, recording)
    told = with_written_commands(found, facts, writing)
    findings, ignored = _set_aside(with_commands(told, prescription), request)
    return Report(
        facts=facts,
        findings=findings,
        ignored=ignored,
        outcomes=tuple(outcomes),
        tables_date=tables.edition,
        live=bool(recording.answers),
        install=prescription.install,
        no_install=prescription.refusal,
        change=prescription.change,
        code=code_rows(facts, tables),
    )


def _set_aside(findings: tuple[Finding, ...], request: Request) -> tuple[tuple[Finding, ...], tuple[Ignored, ...]]:
    """Apart from what counts: what the request ignores."""
    if not request.ignores and not request.select:
        return findings, ()
    from torchdoctor.policy.setting_aside import set_aside

    return set_aside(findings, request)
