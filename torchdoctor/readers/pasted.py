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
    from torchdoctor.readers.given_names import given_names
    from torchdoctor.readers.pasted_texts import read_texts
    from torchdoctor.redact import Redactor

    everything = list(read_texts(recording.texts, tables))
    shown = "\n".join(text for said in everything for text in _shown(said.value))
    redactor = Redactor(given_names([*(pasted.text for pasted in recording.texts), shown]))
    for said in everything:
        yield said._replace(value=_redacted(said.value, redactor))


def _shown(value: Any) -> Iterator[str]:
    """The lines that a report may quote: each gives away its own machine, wherever in a long log it stands."""
    if isinstance(value, Quoted):
        yield from (error.text for error in value.errors)
        yield value.last_error


def _redacted(value: Any, redactor: Redactor) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, tuple) and value and all(isinstance(item, str) for item in value):
        return tuple(redactor.text(item) for item in value)
    if isinstance(value, Variables):
        return Variables(redactor.value(dict(value.values)), complete=value.complete)
    if isinstance(value, Quoted):
        errors = tuple(_error(error, redactor) for error in value.errors)
        return replace(value, errors=errors, last_error=redactor.text(value.last_error))
    if isinstance(value, Package) and is_known(value.location) and value.location:
        return replace(value, location=redactor.text(str(value.location)))
    return value


def _error(error: ErrorText, redactor: Redactor) -> ErrorText:
    return replace(error, text=redactor.text(error.text), values=redactor.value(dict(error.values)))
