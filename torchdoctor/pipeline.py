"""The whole flow, top to bottom: recording -> facts -> findings -> prescription -> report. Rendering comes after."""

from __future__ import annotations

from torchdoctor.facts import Facts, Request
from torchdoctor.prescribe.prescribe import prescribe, with_commands
from torchdoctor.prescribe.remedy_commands import with_written_commands
from torchdoctor.prescribe.writing import Writing
from torchdoctor.readers.assemble import assemble
from torchdoctor.readers.derive import derive
from torchdoctor.readers.statement import Statements
from torchdoctor.recording import Recording
from torchdoctor.report import Report
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables


def facts_of(recording: Recording, tables: Tables, request: Request) -> Facts:
    """Read a recording, live or pasted: what its texts and answers say, then what follows from the tables."""
    statements = [*_answers(recording, tables), *_texts(recording, tables)]
    return derive(assemble(statements, request), tables)


def _answers(recording: Recording, tables: Tables) -> Statements:
    from torchdoctor.readers.live import read_live

    return read_live(recording, tables) if recording.answers else iter(())


def _texts(recording: Recording, tables: Tables) -> Statements:
    if not recording.texts:
        return iter(())  # and the many patterns of the text readers stay uncompiled
    from torchdoctor.readers.pasted import read_pasted

    return read_pasted(recording, tables)


def examine(recording: Recording, tables: Tables, request: Request, writing: Writing) -> Report:
    """Turn a recording into a report. Pure: the same recording gives the same report, byte for byte."""
    facts = facts_of(recording, tables, request)
    findings, outcomes = run_checks(facts, tables)
    prescription = prescribe(facts, findings, writing, tables)
    told = with_written_commands(findings, facts, writing.shell)
    return Report(
        facts=facts,
        findings=with_commands(told, prescription),
        outcomes=tuple(outcomes),
        tables_date=tables.edition,
        live=bool(recording.answers),
        install=prescription.install,
        no_install=prescription.refusal,
        change=prescription.change,
    )
