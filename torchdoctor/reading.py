"""From a recording to facts: what its texts and answers say, then what follows from the tables."""

from __future__ import annotations

from torchdoctor.facts import Facts, Request
from torchdoctor.readers.assemble import assemble
from torchdoctor.readers.derive import derive
from torchdoctor.readers.statement import Statements
from torchdoctor.recording import Recording
from torchdoctor.tables import Tables


def facts_of(recording: Recording, tables: Tables, request: Request) -> Facts:
    """Read a recording, live or pasted."""
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
