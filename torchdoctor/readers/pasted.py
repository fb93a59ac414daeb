"""Everything a recording's pasted texts say; a recording of a live host has none, and then nothing here costs time."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording
from torchdoctor.tables import Tables


def read_pasted(recording: Recording, tables: Tables) -> Iterator[Said]:
    """The statements of all pasted texts."""
    if not recording.texts:
        return
    from torchdoctor.readers.pasted_texts import read_texts

    yield from read_texts(recording.texts, tables)
