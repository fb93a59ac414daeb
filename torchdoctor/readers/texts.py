"""Bytes to text: whatever a stranger pastes becomes lines of plain text, within a fixed amount of memory.

Nothing is trusted: the size, the encoding, terminal escapes, control characters and the kind of file may all be wrong.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import BinaryIO

from torchdoctor.readers.bounded import Bounded, read_rest, read_start
from torchdoctor.recording import PastedText

_SAMPLE = 64 * 1024
_ENDLESS = 200_000  # characters of a line
_PIECE = 50_000  # of those at its beginning and at its end that are kept

_SIGNATURES = {
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF8": "a GIF picture",
    b"%PDF": "a PDF file",
    b"PK\x03\x04": "a zip archive",
    b"\x1f\x8b": "a gzip archive",
    b"\xfd7zXZ": "an xz archive",
    b"\x28\xb5\x2f\xfd": "a zstd archive",
    b"\x7fELF": "a program file",
}
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours and cursor movement
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?"  # window titles and links
    r"|\x1b[ -/]*[0-~]"  # everything shorter
)
_SCHEMA = re.compile(r'"schema"\s*:\s*"torchdoctor\.(report|recording)/(\d{1,9})"')
_BEGINNING = 500  # a schema is named first
_CONTROL = bytes(code for code in (*range(32), 127) if chr(code) not in "\t\n")
# Controls of the second set, zero-width characters, and what turns the direction of writing on a terminal.
_INVISIBLE = re.compile(r"[\x80-\x9f\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u206f\ufeff]+")
_BLANKS = ("\xa0", "\u202f", "\u2007")


class BadInputError(ValueError):
    """A file that cannot be read as text; the message is one line for the user."""


def load_text(source: str | Path | BinaryIO, name: str = "") -> PastedText:
    """Read a file, or an open binary stream such as standard input, as clean text.

    A text of more than 8 MB keeps its first and last 4 MB, cut at line borders. Raise ``BadInputError`` when there is
    nothing to read or it is no text.
    """
    if isinstance(source, (str, Path)):
        return _load_file(Path(source), name or Path(source).name)
    return _load_stream(source, name or "standard input")


def _load_file(path: Path, name: str) -> PastedText:
    try:
        if path.is_dir():
            raise BadInputError(f"{path} is a folder: name a file in it")
        with path.open("rb") as stream:
            return _load_stream(stream, name)
    except FileNotFoundError:
        raise BadInputError(f"{path} does not exist") from None
    except (OSError, ValueError) as error:
        if isinstance(error, BadInputError):
            raise
        raise BadInputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _load_stream(stream: BinaryIO, name: str) -> PastedText:
    start = read_start(stream)
    if not start:
        raise BadInputError(f"{name} is empty")
    encoding = _encoding(start, name)
    bounded = read_rest(stream, start, encoding)
    text = clean(_decode(bounded.head, encoding))
    pasted = _joined(name, text, bounded, encoding) if bounded.omitted else PastedText(name, text)
    if not pasted.text.strip():
        raise BadInputError(f"{name} is empty: it holds only blank lines")
    return pasted


def _joined(name: str, head: str, bounded: Bounded, encoding: str) -> PastedText:
    """Head and tail, each cut at a line border, with one line between them that says what is missing.

    Of a cut line that is endless its beginning and its end are kept, and that line says what is missing.
    """
    kept, end, cut = head.rpartition("\n")
    kept_lines = kept.count("\n") + 1 if end else 0
    last, _, tail = clean(_decode(bounded.tail, encoding)).partition("\n")
    begins = f"{cut[:_PIECE]} " if len(cut) > _ENDLESS else ""
    ends = f" {last[-_PIECE:]}" if len(last) > _ENDLESS else ""
    omitted = bounded.omitted + (len(cut) - _PIECE if begins else 0) + (len(last) - _PIECE if ends else 0)
    return PastedText(
        name,
        f"{kept}{end}{begins}[{omitted} bytes left out here]{ends}\n{tail}",
        omitted=omitted,
        omitted_after=kept_lines,
        omitted_lines=bounded.line_ends - tail.count("\n") - kept_lines,
    )


def _encoding(head: bytes, name: str) -> str:
    for signature, what in _SIGNATURES.items():
        if head.startswith(signature):
            raise BadInputError(f"{name} is {what}, not text: paste the text itself")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16-le" if head.startswith(b"\xff") else "utf-16-be"
    sample = head[:_SAMPLE]
    if wide := _wide_encoding(sample):
        return wide
    written = sample.replace(b"\0", b"")  # a log is often filled up with them after a crash
    strange = sum(written.count(bytes([code])) for code in range(32) if chr(code) not in "\t\n\r\f\b\x1b")
    if not written or strange > len(written) * 0.05:
        raise BadInputError(f"{name} is binary data, not text: paste the text itself")
    return _narrow_encoding(head)


def _wide_encoding(sample: bytes) -> str:
    """UTF-16 without a byte order mark: nearly every second byte is zero."""
    half = len(sample) // 2
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    if odd > half * 0.4 and even < half * 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > half * 0.4 and odd < half * 0.05 else ""


def _narrow_encoding(head: bytes) -> str:
    """UTF-8 even with a few broken characters; else the Windows code page, which can read anything."""
    text = head.decode("utf-8-sig", "replace")
    broken = text.count("\ufffd")
    others = len(text) - len(text.encode("ascii", "ignore")) if broken else 0
    return "utf-8-sig" if broken * 2 <= others else "cp1252"


def _decode(data: bytes, encoding: str) -> str:
    return data.decode(encoding, "replace")


def clean(text: str) -> str:
    """Remove terminal escapes and control characters; every kind of line end becomes a newline."""
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    plain = text.encode("utf-8", "replace").translate(None, _CONTROL).decode("utf-8")
    if plain.isascii():
        return plain
    for blank in _BLANKS:
        plain = plain.replace(blank, " ")
    return _INVISIBLE.sub("", plain)


def schema_of(text: str) -> tuple[str, int]:
    """The name and number of our own schema, when a text is one of our files: ``("recording", 1)``, else ``("", 0)``.

    Of a text that is cut off its beginning decides.
    """
    start = text.lstrip()
    if not start.startswith("{") or '"torchdoctor.re' not in text:
        return "", 0
    try:
        named = f'"schema": "{json.loads(start).get("schema")}"'
    except (ValueError, RecursionError):
        named = start[:_BEGINNING]
    match = _SCHEMA.search(named)
    return (match[1], int(match[2])) if match else ("", 0)
