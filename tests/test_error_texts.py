"""Error texts in their surroundings: where they stand, and when a text only quotes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import DATA
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.readers.document import LINE_LENGTH, Document
from torchdoctor.readers.documentation import Quotations
from torchdoctor.readers.error_texts import find_errors, last_error, read_errors
from torchdoctor.readers.texts import load_text
from torchdoctor.readers.windows import OVERLAP, STRIDE, Windows
from torchdoctor.recording import PastedText, Recording
from torchdoctor.report import Report
from torchdoctor.tables import Tables

TABLES = Tables()
KNOWN = TABLES.known_errors
KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
QUICK = settings(max_examples=60, deadline=None)


def files(folder: str) -> list[Path]:
    return sorted((DATA / folder).iterdir())


def name(path: Path) -> str:
    return path.stem


def document(text: str) -> Document:
    return Document(PastedText("text", text))


def report_on(text: PastedText) -> Report:
    return examine(Recording(texts=(text,)), TABLES, Request(), Writing())


def lines_of(text: str) -> dict[str, str]:
    return {error.id: error.source for error in find_errors(document(text), KNOWN)}


@pytest.mark.parametrize("path", files("documentation"), ids=name)
def test_a_page_that_quotes_errors_says_nothing_above_info(path: Path) -> None:
    text = load_text(path)
    errors = read_errors(Document(text), KNOWN)
    assert errors.items, "a page of this folder quotes errors"
    assert errors.is_documentation
    assert all(error.doubtful for error in errors.items)
    report = report_on(text)
    assert report.findings
    assert {finding.severity for finding in report.findings} == {"info"}
    assert {finding.confidence for finding in report.findings} == {"possible"}
    assert report.install is None
    assert report.status != "fail"


@pytest.mark.parametrize("path", files("reports"), ids=name)
def test_a_report_is_believed_whatever_else_it_says(path: Path) -> None:
    text = load_text(path)
    assert not any(error.doubtful for error in find_errors(Document(text), KNOWN))
    assert report_on(text).status == "fail"


@pytest.mark.parametrize("path", files("healthy"), ids=name)
def test_a_healthy_log_says_nothing_above_info(path: Path) -> None:
    report = report_on(load_text(path))
    assert [finding.id for finding in report.findings if finding.severity != "info"] == []
    assert report.status == "ok"


@pytest.mark.parametrize("log", sorted((DATA / "logs").glob("*.log")), ids=name)
def test_no_log_is_taken_for_documentation(log: Path) -> None:
    errors = read_errors(Document(load_text(log)), KNOWN)
    assert not errors.is_documentation or not errors.items
    assert not [error.id for error in errors.items if error.doubtful]


@pytest.mark.parametrize("entry", list(KNOWN), ids=lambda entry: entry.id)
def test_no_message_looks_like_a_quotation_of_itself(entry: object) -> None:
    for example in getattr(entry, "examples"):  # noqa: B009 - the table's row is typed elsewhere
        assert not any(error.doubtful for error in find_errors(document(example), KNOWN))


@pytest.mark.parametrize(
    ("text", "is_doubtful"),
    [
        (f"If you see `{KERNEL}`, install another build.", True),
        (f"Users may get {KERNEL} on new cards.", True),
        (f"- Fixed {KERNEL} on Blackwell (#123)", True),
        (f'"{KERNEL}" means that the wheel has no code for the card.', True),
        (f"| message | why |\n| --- | --- |\n| {KERNEL} | the card is newer than the wheel |", True),
        (f"If you see this:\n```\n{KERNEL}\n```\nreinstall torch.", True),
        (f"## {KERNEL}\n\nInstall another build.\n\n## Other\n\nNothing.", False),  # the title of an issue
        (f"# Errors\n\n## {KERNEL}\n\nInstall another build.", True),
        (f"I followed the guide: if you see `{KERNEL}`, reinstall. I still get it.", False),
        (f"If you see `{KERNEL}`, reinstall, says the FAQ. Tried it:\n$ python run.py\n{KERNEL}", False),
        (f"{KERNEL}\nIf you want to use this GPU, please check the instructions.", False),
        (f"[rank0]: If you see this, reinstall.\n[rank0]: {KERNEL}", False),
        (f"2025-01-01 10:00:00 - ERROR - if you see this: {KERNEL}", False),
        (f"Collecting environment information...\nIf you see {KERNEL}, reinstall.", False),
        (f"{KERNEL}\n\nThis error occurs with every model.", False),
        (f"{KERNEL}\n\nThis error occurs with old wheels. You should install another build.", True),
        (KERNEL, False),
    ],
)
def test_doubt_needs_a_sign(text: str, *, is_doubtful: bool) -> None:
    errors = [error for error in find_errors(document(text), KNOWN) if error.id == "no-kernel-image"]
    assert [error.doubtful for error in errors] == [is_doubtful]


def test_a_long_text_is_a_log() -> None:
    advice = "If you see this error, install another build of torch.\nYou should check the list of the card first.\n"
    page = f"# FAQ\n\n{advice}\n{KERNEL}\n\nThis error means that there is no code for the card.\n"
    assert Quotations(document(page)).is_page
    assert not Quotations(document(page + "step\n" * 5000)).is_page


@pytest.mark.parametrize(
    ("text", "is_doubtful"),
    [
        ("Warning: CUDA out of memory. Tried to allocate 2.00 GiB. Retrying with batch size 4\nstep 1\nstep 2", True),
        ("Warning: CUDA out of memory. Tried to allocate 2.00 GiB. Retrying with batch size 4", False),
        ("Warning: CUDA out of memory. Tried to allocate 2.00 GiB. Retrying\nstep 1\nRuntimeError: failed", False),
        ("CUDA out of memory. Tried to allocate 2.00 GiB. Falling back to tiled decoding\ndone", True),
        ("CUDA out of memory. Tried to allocate 2.00 GiB. Falling back to CPU\ndone", False),
        ("CUDA out of memory. Tried to allocate 2.00 GiB\nFalling back to tiled decoding\ndone", True),
        ("CUDA out of memory. Tried to allocate 2.00 GiB. Exiting\ndone", False),
    ],
)
def test_an_error_that_the_program_got_over(text: str, *, is_doubtful: bool) -> None:
    errors = [error for error in find_errors(document(text), KNOWN) if error.id == "cuda-oom"]
    assert [error.doubtful for error in errors] == [is_doubtful]


# --- where a text stands


@QUICK
@given(
    before=st.lists(st.text("ab 019|\u2502:", max_size=200), max_size=60),
    after=st.lists(st.text("ab 019|\u2502:", max_size=200), max_size=60),
    prefix=st.sampled_from(["", "[rank0]: ", "2025-01-01T00:00:00.123Z ", "\u2502 ", "> "]),
)
def test_an_error_is_found_in_its_line(before: list[str], after: list[str], prefix: str) -> None:
    text = "\n".join([*before, prefix + KERNEL, *after])
    assert lines_of(text)["no-kernel-image"] == f"text line {len(before) + 1}"


@QUICK
@given(st.integers(0, 3 * (STRIDE + OVERLAP)), st.sampled_from(["x", "x ", "x\n", "7", "\n"]))
def test_an_error_is_found_at_every_distance(distance: int, filler: str) -> None:
    text = (filler * distance)[:distance] + "\n" + KERNEL + "\n" + filler * 4000
    assert lines_of(text)["no-kernel-image"] == f"text line {text[: text.index(KERNEL)].count(chr(10)) + 1}"


@QUICK
@given(st.integers(0, 2 * STRIDE))
def test_an_error_inside_one_endless_line_is_found(distance: int) -> None:
    text = "x " * (distance // 2) + KERNEL + " y" * 6000
    if distance + len(KERNEL) < LINE_LENGTH - STRIDE:
        assert lines_of(text)["no-kernel-image"] == "text line 1"


@QUICK
@given(st.lists(st.text("ab1 \t\u2502|", max_size=90), min_size=1, max_size=200))
def test_windows_keep_every_word_and_its_line(lines: list[str]) -> None:
    lines[len(lines) // 2] = "needle"
    text = "\n".join(lines)
    for window in Windows(text).around(["needle"], 100):
        place = window.text.index("needle")
        assert lines[window.number(place)] == "needle"
        assert window.line(place) == "needle"
        assert "  " not in window.text
        assert window.around(place, place + 6) in {("", ""), ("", " ")}


def test_only_the_first_and_last_places_of_a_word_are_looked_at() -> None:
    text = "\n".join("kernel image " + "x" * 3000 for _ in range(400)) + "\n" + KERNEL
    assert lines_of(text)["no-kernel-image"] == "text line 401"
    assert len(list(Windows(text).around(["kernel"], 60))) == 90


def test_a_wrapped_message_in_a_box_is_whole_again() -> None:
    box = (
        "\u2502 RuntimeError: CUDA error: no kernel image is \u2502",
        "\u2502 available for execution on the device \u2502",
    )
    assert lines_of("\n".join(box))["no-kernel-image"] == "text line 1"


def test_the_last_error_is_the_last_line_that_looks_like_one() -> None:
    assert last_error(document("ValueError: a\nKeyError: 'b'\ndone")) == "KeyError: 'b'"
    assert last_error(document("all is well")) == ""
