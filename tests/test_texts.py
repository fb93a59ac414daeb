"""Bytes to text: every encoding and size that people send."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from torchdoctor.readers.bounded import HALF, WHOLE
from torchdoctor.readers.document import Document
from torchdoctor.readers.error_texts import find_errors
from torchdoctor.readers.texts import BadInputError, clean, load_text, schema_of
from torchdoctor.recording import VERSION, Recording
from torchdoctor.tables import Tables

TEXT = "GPU 0: Tesla T4 \u2013 größer\nzweite Zeile\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_every_usual_encoding_is_read(encoding: str) -> None:
    assert load_text(io.BytesIO(TEXT.encode(encoding)), "a").text == TEXT


def test_utf_16_big_endian_with_a_mark_is_read() -> None:
    assert load_text(io.BytesIO(b"\xfe\xff" + TEXT.encode("utf-16-be")), "a").text == TEXT


def test_a_few_broken_characters_do_not_change_the_encoding() -> None:
    text = load_text(io.BytesIO("größer ü ö ä\n".encode() + b"x\xffy\n"), "a").text
    assert text == "größer ü ö ä\nx\ufffdy\n"


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("\x1b[1;31mred\x1b[0m and \x1b]0;title\x07plain", "red and plain"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x00b\x07c\x7fd\te", "abcd\te"),
        ("\ufeffwide\u200b\xa0space é", "wide space é"),
        ("cut \x1b[", "cut "),
        # what turns the direction of writing, so that a line reads otherwise than it is
        ("a\u202egpj.exe\u202c b", "agpj.exe b"),
        ("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061cé", "é"),
        ("narrow\u202fblank", "narrow blank"),
    ],
)
def test_cleaning(raw: str, expected: str) -> None:
    assert clean(raw) == expected


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "only blank lines"),
        (b"\x89PNG\r\n\x1a\n....", "a PNG picture"),
        (b"\x1f\x8b\x08\x00....", "a gzip archive"),
        (b"\x7fELF\x02\x01", "a program file"),
        (bytes(range(256)) * 16, "binary data"),
        (b"\x00" * 400, "binary data"),
    ],
)
def test_what_is_no_text_is_refused_in_one_line(data: bytes, words: str) -> None:
    with pytest.raises(BadInputError) as caught:
        load_text(io.BytesIO(data), "shot")
    assert words in str(caught.value)
    assert "shot" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="does not exist"):
        load_text(tmp_path / "none.txt")
    with pytest.raises(BadInputError, match="is a folder"):
        load_text(tmp_path)
    with pytest.raises(BadInputError, match="cannot be read"):
        load_text("nul\x00name")


def test_a_file_gives_its_name_without_the_folder(tmp_path: Path) -> None:
    (tmp_path / "env.txt").write_text("CUDA_VISIBLE_DEVICES=0\n", encoding="utf-8")
    pasted = load_text(str(tmp_path / "env.txt"))
    assert (pasted.name, pasted.text) == ("env.txt", "CUDA_VISIBLE_DEVICES=0\n")


@pytest.fixture(scope="module")
def numbered() -> bytes:
    """Numbered lines of fifteen bytes, more than twice what is kept."""
    return b"".join(b"line %09d\n" % number for number in range((WHOLE + 2 * HALF) // 15 + 10))


class Pipe(io.BytesIO):
    """A stream that hands over odd pieces, as a pipe does."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(min(size, 70_001) if size and size > 0 else size)


@pytest.mark.parametrize("extra", [1, 15, HALF + 7, 2 * HALF + 1])
def test_a_long_text_keeps_head_and_tail_at_line_borders(extra: int, numbered: bytes) -> None:
    text = load_text(Pipe(numbered[: WHOLE + extra]), "log").text
    lines = text.rstrip("\n").split("\n")
    assert len(text) <= WHOLE + 100
    assert lines[0] == "line 000000000"
    whole = [line for line in lines if line.startswith("line ") and len(line) == 14]
    assert len(lines) - len(whole) <= 2  # the note on what was left out, and the cut last line
    last = (WHOLE + extra) // 15 - 1
    assert whole[-1] == f"line {last:09d}"
    assert [int(line[5:]) for line in whole] == sorted(int(line[5:]) for line in whole)


# The borders of pieces, head and tail fall at other places of a line each time.
ENDS = [
    ("utf-8", "\n", 0),
    ("utf-8", "\r\n", 0),
    ("utf-8", "\r\n", 1),
    ("utf-8", "\r", 2),
    ("utf-16", "\n", 0),
    ("utf-16-be", "\r\n", 1),
    ("cp1252", "\r\n", 0),
]


@pytest.mark.parametrize(("encoding", "end", "shift"), ENDS)
def test_lines_behind_what_is_left_out_keep_their_numbers(encoding: str, end: str, shift: int) -> None:
    lines = ["x" * shift + f"größe {number:06d}" + "y" * (60 + number % 37) for number in range(1, 120_001)]
    pasted = load_text(Pipe(end.join(lines).encode(encoding)), "log")
    document = Document(pasted)
    kept = {document.number(index): text for index, text in enumerate(document.texts) if "größe" in text}
    assert all(lines[number - 1] == text for number, text in kept.items())
    assert max(kept) == len(lines)
    assert pasted.omitted_lines == len(lines) - len(kept)
    assert len(lines) > pasted.omitted_lines > 0
    assert document.texts[pasted.omitted_after] == f"[{pasted.omitted} bytes left out here]"
    assert document.at(len(document) - 1) == f"log line {len(lines)}"
    assert Recording.from_json(Recording(texts=(pasted,)).to_json()).texts == (pasted,)


@pytest.mark.parametrize("data", [b"\n" + b"x" * 3 * WHOLE + b"\nend", b"x" * 3 * WHOLE + b"\nend"])
def test_one_endless_line(data: bytes) -> None:
    pasted = load_text(io.BytesIO(data), "log")
    document = Document(pasted)
    assert document.number(len(document) - 1) == data.count(b"\n") + 1
    assert pasted.omitted_lines == 1


@pytest.mark.parametrize("size", [1_000_000, 3 * WHOLE])
@pytest.mark.parametrize("filler", ["A", "word "])
@pytest.mark.parametrize("form", ["{error} {rest}\nend\n", "{rest} {error}\nend\n", "{rest} {error}"])
def test_an_error_at_either_end_of_an_endless_line_is_found(form: str, filler: str, size: int) -> None:
    error = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
    data = form.format(error=error, rest=filler * (size // len(filler))).encode()
    found = find_errors(Document(load_text(io.BytesIO(data), "log")), Tables().known_errors)
    assert [(one.id, one.source) for one in found if one.id == "no-kernel-image"] == [("no-kernel-image", "log line 1")]


def test_a_whole_text_leaves_nothing_out() -> None:
    pasted = load_text(io.BytesIO(b"a\nb\n"), "log")
    assert (pasted.omitted, pasted.omitted_after, pasted.omitted_lines) == (0, 0, 0)
    assert [pasted.line_number(index) for index in range(3)] == [1, 2, 3]
    assert "omitted" not in Recording(texts=(pasted,)).to_json()


@pytest.mark.parametrize("gap", ["5", -1, 1.5, None])
def test_a_recording_whose_gap_is_no_number_is_refused(gap: object) -> None:
    text = json.dumps({"schema": "torchdoctor.recording/1", "texts": [{"name": "a", "text": "b", "omitted": gap}]})
    with pytest.raises(ValueError, match="whole numbers"):
        Recording.from_json(text)


REPORT, SORTED = '{"schema": "torchdoctor.report/1", "status": "ok"}', '{"a": 1, "schema": "torchdoctor.report/2"}'
OURS = [
    (REPORT, True, False),
    (SORTED, True, False),
    (f"\n  {REPORT}\n", True, False),
    # pasted in part, or with more behind it
    ('{\n "schema" : "torchdoctor.report/1",\n "findings": [', True, False),
    (f"{REPORT}\n$ nvidia-smi\n", True, False),
    ('{"schema": "torchdoctor.recording/2", "answers": {}}', False, True),
    ('{"schema": "torchdoctor.recording/12", "answers"', False, True),
    ('{"schema": "torchdoctor.recording/1", "texts": []}', False, False),
    ('{"schema": "torchdoctor.recording/0"}', False, False),
    # what merely speaks of one
    ('{"texts": [{"name": "a", "text": "\\"schema\\": \\"torchdoctor.report/1\\""}]}', False, False),
    ('{"nested": {"schema": "torchdoctor.report/1"}}', False, False),
    (f"my log\n{REPORT}", False, False),
    ('{"schema": 1}', False, False),
    ('{"schema": "torchdoctor.report/x"}', False, False),
    ("{" * 100_000, False, False),
    ('{"a":' * 100_000, False, False),
    ("[]", False, False),
    ("", False, False),
]


@pytest.mark.parametrize(("text", "report", "newer"), OURS, ids=range(len(OURS)))
def test_our_own_files_are_known(text: str, report: bool, newer: bool) -> None:
    schema, version = schema_of(text)
    assert (schema == "report", schema == "recording" and version > VERSION) == (report, newer)


def test_a_text_of_just_the_limit_is_whole(numbered: bytes) -> None:
    text = load_text(Pipe(numbered[:WHOLE]), "log").text
    assert len(text) == WHOLE
    assert "left out" not in text
