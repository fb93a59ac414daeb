"""Everything a recording's pasted texts say; a recording of a live host has none, and then nothing here costs time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torchdoctor.facts import ErrorText, Package, Quoted, Variables, is_known
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording
from torchdoctor.records import replace
from torchdoctor.tables import Tables

if TYPE_CHECKING:
    from torchdoctor.redact import Redactor


def read_pasted(recording: Recording, tables: Tables) -> Iterator[Said]:
    """The statements of all pasted texts, without what names a person, a machine or a secret."""
    if not recording.texts:
        return
    from torchdoctor.readers.pasted_texts import read_texts
    from torchdoctor.redact import Identity, Redactor

    redactor = Redactor(Identity())
    for said in read_texts(recording.texts, tables):
        yield said._replace(value=_redacted(said.value, redactor))


def _redacted(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, tuple) and value and all(isinstance(item, str) for item in value):
        return tuple(redactor.text(item) for item in value)
    if isinstance(value, Variables):
        return Variables(redactor.value(dict(value.values)), complete=value.complete)
    if isinstance(value, Quoted):
        return Quoted(tuple(_error(error, redactor) for error in value.errors), redactor.text(value.last_error))
    if isinstance(value, Package) and is_known(value.location) and value.location:
        return replace(value, location=redactor.text(str(value.location)))
    return value


def _error(error: ErrorText, redactor: Redactor) -> ErrorText:
    return replace(error, text=redactor.text(error.text), values=redactor.value(dict(error.values)))
