"""What to send to somebody who is to help: a ZIP file of redacted texts, listed before it is written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from json import dumps
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from torchdoctor.readers.given_names import given_names
from torchdoctor.recording import Answer, PastedText, Recording
from torchdoctor.redact import Identity, Redactor

_MEANINGS = {
    "report.html": "the report as a page",
    "report.md": "the report as a short text for an issue",
    "report.json": "the report with every fact, for torchdoctor diff and report --from",
    "recording.json": "what was seen, for torchdoctor diagnose",
}
_THEN = (1980, 1, 1, 0, 0, 0)  # the first day of ZIP files: the same contents are the same bytes
_READABLE = 0o644 << 16
_PIECE = 40_000  # letters; of more given_names reads the two ends alone


def redactor_for(recording: Recording | None, report: Mapping[str, Any] | None, own: Identity) -> Redactor:
    """One for everything that is told: it takes out this user and host, and whom the pasted texts name."""
    pasted = recording.texts if recording else ()
    named = given_names(piece for text in pasted for piece in _pieces(text.text))
    redactor = Redactor(own._replace(hosts=named.hosts, users=named.users))
    for text in (*(text.text for text in pasted), recording.to_json() if recording else "", dumps(report)):
        redactor.spare(text)
    return redactor


def _pieces(text: str) -> Iterator[str]:
    """A long text in parts that are looked through from end to end; a line stays in one piece."""
    start = 0
    while start < len(text):
        end = text.rfind("\n", start + 1, start + _PIECE) + 1 if len(text) - start > _PIECE else 0
        end = end or min(len(text), start + _PIECE)
        yield text[start:end]
        start = end


def redacted(recording: Recording, redactor: Redactor) -> Recording:
    """A recording without what names a person, a machine or a secret; one of a live host is so already."""
    answers = {
        key: Answer(redactor.value(item.value), item.absent, redactor.text(item.error))
        for key, item in recording.answers.items()
    }
    return Recording(answers, tuple(_text(text, redactor) for text in recording.texts))


def _text(text: PastedText, redactor: Redactor) -> PastedText:
    """Line by line: none is lost or won, so that the numbers of the lines stay right."""
    lines = (redactor.text(line) for line in text.text.split("\n"))
    gap = (text.omitted, text.omitted_after, text.omitted_lines)
    return PastedText(redactor.text(text.name), "\n".join(lines), *gap)


def listing(files: Mapping[str, str]) -> Iterator[str]:
    """A line for each file: its size in bytes, its name, what it is."""
    for name, content in files.items():
        yield f"{len(content.encode()):>10}  {name:15}  {_MEANINGS[name]}"


def zipped(files: Mapping[str, str]) -> bytes:
    """The files as a ZIP file."""
    stream = BytesIO()
    with ZipFile(stream, "w", ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = ZipInfo(name, _THEN)
            entry.compress_type, entry.external_attr = ZIP_DEFLATED, _READABLE
            archive.writestr(entry, content.encode())
    return stream.getvalue()
