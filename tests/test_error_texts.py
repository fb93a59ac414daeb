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
from torchdoctor.readers.sections import find_parts
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
    letters = "abcdefghij"
    names = [letters[n // 100] + letters[n // 10 % 10] + letters[n % 10] for n in range(400)]
    text = "\n".join(f"kernel image {name} " + "x" * 3000 for name in names) + "\n" + KERNEL
    assert lines_of(text)["no-kernel-image"] == "text line 401"
    assert len(list(Windows(text).around(["kernel"], 60))) == 90


@pytest.mark.parametrize(
    ("line", "other", "is_looked_at"),
    [
        ("step {} of the kernel image loader", "step 7 of the kernel image loader", False),
        ("step {} of the kernel image loader", "step 7 of the kernel image unloader", True),
        ("kernel image {} exit code 0", "kernel image 7 exit code 137", True),
        ("kernel image {} NVRM: Xid (PCI:0000:41:00): 31", "kernel image 7 NVRM: Xid (PCI:0000:41:00): 79", True),
        ("kernel image {} NVRM: Xid (PCI:0000:41:00): 31", "kernel image 7 NVRM: Xid (PCI:0000:51:00): 31", True),
    ],
)
def test_of_a_flood_the_windows_that_say_something_else_are_looked_at(
    line: str, other: str, *, is_looked_at: bool
) -> None:
    lines = [line.format(100_000 + place) for place in range(4000)]
    lines[2000] = other
    windows = list(Windows("\n".join(lines)).around(["kernel"], 60))
    every = list(Windows("\n".join(lines)).around(["kernel"], 6000))
    assert len(windows) < 15
    assert any(other in window.text for window in every) is is_looked_at


def test_a_wrapped_message_in_a_box_is_whole_again() -> None:
    box = (
        "\u2502 RuntimeError: CUDA error: no kernel image is \u2502",
        "\u2502 available for execution on the device \u2502",
    )
    assert lines_of("\n".join(box))["no-kernel-image"] == "text line 1"


def test_the_last_error_is_the_last_line_that_looks_like_one() -> None:
    assert last_error(document("ValueError: a\nKeyError: 'b'\ndone")) == "KeyError: 'b'"
    assert last_error(document("all is well")) == ""


@pytest.mark.parametrize(
    ("lines", "entry", "place"),
    [
        (["loss 0.3", "loss 0.2", "Killed"], "host-oom-killed", 3),
        (["loss 0.2", "Segmentation fault (core dumped)"], "segmentation-fault", 2),
        (["loss 0.2", "accelerate: command not found"], "launcher-not-found", 2),
        (["$ pip install torch", "Collecting torch", "ERROR: [Errno 28] No space left on device"], "pip-disk-full", 3),
        (["$ pip install torch", "Collecting torch", "MemoryError"], "pip-memory-error", 3),
        ([KERNEL, "CUDA kernel errors might be reported"], "no-kernel-image", 1),
        (["RuntimeError: CUDA error: no kernel image is", "available for execution on the device"],
         "no-kernel-image", 1),
    ],
)  # fmt: skip
def test_the_evidence_is_the_line_of_the_error(lines: list[str], entry: str, place: int) -> None:
    errors = [error for error in find_errors(document("\n".join(lines)), KNOWN) if error.id == entry]
    assert [(error.source, error.text) for error in errors] == [(f"text line {place}", lines[place - 1])]


@pytest.mark.parametrize("entry", list(KNOWN), ids=lambda entry: entry.id)
def test_the_line_before_an_error_is_not_its_evidence(entry: object) -> None:
    for example in getattr(entry, "examples")[:2]:  # noqa: B009 - the table's row is typed elsewhere
        found = find_errors(document(f"loss 0.2\n{example}"), KNOWN)
        assert "text line 1" not in {error.source for error in found}


# --- several faults in one text

MODULE = "ModuleNotFoundError: No module named 'NAME'"
VISION, BOARD = MODULE.replace("NAME", "torchvision"), MODULE.replace("NAME", "tensorboard")
REFUSED = "ERROR: Could not find a version that satisfies the requirement torch=={} (from versions: 2.1.0, 2.2.0)"
LIBRARY = "OSError: {}: cannot open shared object file: No such file or directory"
MISSING, OLD = "companion-not-installed", "pip-torch-version-not-offered"
STEPS = [f"step {step} {KERNEL}" for step in range(1, 1001)]


def told(text: str, name: str) -> list[tuple[str, int]]:
    """Where an entry says something of its own in a text, and how often."""
    errors = [error for error in find_errors(document(text), KNOWN) if error.id == name]
    return [(error.source, error.times) for error in errors]


@pytest.mark.parametrize(
    ("lines", "entry", "expected"),
    [
        ([VISION, "", BOARD], MISSING, [(1, 1), (3, 1)]),
        ([VISION, VISION], MISSING, [(1, 2)]),
        ([REFUSED.format("1.7.0"), REFUSED.format("1.8.0")], OLD, [(1, 1), (2, 1)]),
        (STEPS, "no-kernel-image", [(1, 1000)]),
        ([KERNEL] * 5000, "no-kernel-image", [(1, 5000)]),
        ([f"If you see `{KERNEL}`, reinstall.", *["x"] * 40, KERNEL, KERNEL], "no-kernel-image", [(42, 2)]),
        ([f"If you see `{KERNEL}`, reinstall.", "", f"Users may get {KERNEL} there."], "no-kernel-image", [(1, 1)]),
    ],
)
def test_each_different_thing_is_told_once(lines: list[str], entry: str, expected: list[tuple[int, int]]) -> None:
    assert told("\n".join(lines), entry) == [(f"text line {line}", times) for line, times in expected]


def test_an_endless_variety_is_bounded() -> None:
    versions = "\n".join(REFUSED.format(f"1.7.{place}") for place in range(60))
    files = "\n".join(f"{KERNEL} while reading {'f' * place}.jpg" for place in range(60))
    assert len(told(versions, OLD)) == 16
    assert [times for _, times in told(files, "no-kernel-image")] == [56, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("lines", "finding", "summaries", "places"),
    [
        ([VISION, BOARD], "optional-package-missing", ["torchvision", "tensorboard"], [["1"], ["2"]]),
        ([BOARD, VISION, BOARD], "optional-package-missing", ["tensorboard", "torchvision"],
         [["1, seen 2 times"], ["2"]]),
        ([BOARD] * 3, "optional-package-missing", ["not installed here"], [["1, seen 3 times"]]),
        ([LIBRARY.format("libnccl.so.2"), LIBRARY.format("libcufft.so.11")],
         "nvidia-packages-inconsistent", [""], [["1", "2"]]),
        ([f"If you see `{VISION}` or `{BOARD}`, install them."], "optional-package-missing", [""], [["1"]]),
    ],
)  # fmt: skip
def test_another_cause_is_a_finding_of_its_own(
    lines: list[str], finding: str, summaries: list[str], places: list[list[str]]
) -> None:
    found = [one for one in report_on(PastedText("text", "\n".join(lines))).findings if one.id == finding]
    seen = [[item.source for item in one.evidence if item.fact.startswith("error.")] for one in found]
    assert seen == [[f"text line {place}" for place in some] for some in places]
    assert all(words in str(one.summary) for words, one in zip(summaries, found, strict=True))


def test_the_evidence_is_bounded_and_counts_the_rest() -> None:
    files = "\n".join(f"{KERNEL} while reading {'f' * place}.jpg" for place in range(60))
    both = f"{files}\n{VISION}\n" + "\n".join(REFUSED.format(f"1.7.{place}") for place in range(60))
    found = {one.id: one for one in report_on(PastedText("text", both)).findings}
    places = [item.source for item in found["torch-arch-missing"].evidence if item.fact.startswith("error.")]
    assert places == ["text line 1, seen 56 times", *(f"text line {line}" for line in (2, 3, 4, 5))]
    assert all(len(one.evidence) < 20 for one in found.values())


def test_the_same_of_several_files_is_one() -> None:
    texts = (PastedText("a", KERNEL), PastedText("b", f"{KERNEL}\n{VISION}"))
    report = examine(Recording(texts=texts), TABLES, Request(), Writing())
    places = {error.id: (error.source, error.times) for error in report.facts.quoted.errors}
    assert places["no-kernel-image"] == ("a line 1", 2)
    assert places[MISSING] == ("b line 2", 1)


# --- several Xids

GONE, BROKEN = "0000:41:00", "0000:c1:00"
RECORDED = "For Xid 63: reset the GPU"


def xid(number: int, gpu: str = GONE, words: str = "pid=1, name=python") -> str:
    return f"[ 12.5] NVRM: Xid (PCI:{gpu}): {number}, {words}"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([xid(79)], [("gpu-lost", "Xid 79", [])]),
        ([xid(79), xid(45), xid(43), xid(154)], [("gpu-lost", "Xid 79", [45, 43, 154])]),  # what follows is folded
        ([xid(154), xid(45), xid(79)], [("gpu-lost", "Xid 79", [154, 45])]),
        ([xid(119), xid(79)], [("gpu-lost", "Xid 79", [119])]),  # the GPU that is gone before what announced it
        ([xid(62), xid(48), xid(63)], [("gpu-lost", "Xid 48", [62, 63])]),  # its memory before another part
        ([xid(79), xid(13)], [("gpu-lost", "Xid 79", [13])]),
        ([xid(31), xid(79)], [("gpu-lost", "Xid 79", []), ("kernel-fault", "Xid 31", [])]),
        ([xid(31), xid(43)], [("kernel-fault", "Xid 31", [43])]),
        (["Xid 79: GPU has fallen off the bus"], [("gpu-lost", "Xid 79", [])]),  # as a tool of the cluster tells it
        (["Xid error 31"], [("kernel-fault", "Xid 31", [])]),
        ([xid(79), xid(48, BROKEN)], [("gpu-lost", "Xid 79", []), ("gpu-lost", "Xid 48", [])]),
        ([xid(48, BROKEN), xid(79), xid(45, BROKEN)], [("gpu-lost", "Xid 79", []), ("gpu-lost", "Xid 48", [45])]),
        ([xid(79), xid(79, BROKEN)], [("gpu-lost", "Xid 79", [])]),  # one cause, two lines of evidence
        ([xid(45)], [("kernel-fault", "Xid 45", [])]),
        ([xid(999)], [("gpu-lost", "Xid 999", [])]),
        ([xid(999, BROKEN), xid(79)], [("gpu-lost", "Xid 79", []), ("gpu-lost", "Xid 999", [])]),
        ([xid(79), "[ 13.0] NVRM: GPU 0000:41:00.0: GPU has fallen off the bus."], [("gpu-lost", "Xid 79", [])]),
    ],
)
def test_each_xid_is_told_and_the_one_that_explains_leads(
    lines: list[str], expected: list[tuple[str, str, list[int]]]
) -> None:
    found = report_on(PastedText("dmesg", "\n".join(lines))).findings
    said = [(one.id, str(one.summary).partition(":")[0].partition(",")[0], str(one.why)) for one in found]
    assert [(id_, summary) for id_, summary, _ in said] == [(id_, summary) for id_, summary, _ in expected]
    for (_, _, why), (_, _, beside) in zip(said, expected, strict=True):
        meanings = [f"Xid {number} ({row.text})" for number in beside if (row := TABLES.xids.find(number))]
        assert ("beside it" in why) == bool(beside)
        assert all(meaning in why for meaning in meanings)
    places = {item.source for one in found for item in one.evidence}
    assert places == {f"dmesg line {line}" for line in range(1, len(lines) + 1)}


@pytest.mark.parametrize(
    ("lines", "causes"),
    [
        ([xid(31, BROKEN), xid(79)], {"gpu-lost": None, "kernel-fault": None}),
        ([xid(79), xid(31, BROKEN)], {"gpu-lost": None, "kernel-fault": None}),
        ([xid(31), xid(79)], {"gpu-lost": None, "kernel-fault": "gpu-lost"}),
        ([xid(31), xid(31, BROKEN), xid(79)], {"gpu-lost": None, "kernel-fault": "gpu-lost"}),
    ],
)
def test_the_xid_of_another_gpu_is_no_consequence(lines: list[str], causes: dict[str, str | None]) -> None:
    found = report_on(PastedText("dmesg", "\n".join(lines))).findings
    assert {one.id: one.explained_by for one in found} == causes


@pytest.mark.parametrize(
    ("lines", "is_told"),
    [([xid(43), xid(63)], True), ([xid(43), xid(45)], False), ([xid(43)], False), ([xid(79), xid(63)], False)],
)
def test_what_the_gpu_records_beside_a_program_that_failed_is_to_be_mended(lines: list[str], *, is_told: bool) -> None:
    first = report_on(PastedText("dmesg", "\n".join(lines))).findings[0]
    assert (RECORDED in " ".join(str(remedy.text) for remedy in first.remedies)) is is_told
    assert "itself is fine" not in str(first.why)


@pytest.mark.parametrize(
    ("lines", "is_fine"),
    [([VISION], True), (["ModuleNotFoundError: No module named 'torch'", VISION], False), ([VISION, BOARD], True)],
)
def test_torch_is_fine_only_where_nothing_says_that_it_is_not(lines: list[str], *, is_fine: bool) -> None:
    found = [one for one in report_on(PastedText("t", "\n".join(lines))).findings if one.id.startswith("optional")]
    assert ["Torch itself is fine" in str(one.why) for one in found] == [is_fine] * len(found)


def test_an_xid_in_the_middle_of_a_flood_is_told() -> None:
    flood = "\n".join(xid(13, words=f"Graphics Exception {'x' * (place % 50)}") for place in range(9000))
    lines = flood.split("\n")
    report = report_on(PastedText("dmesg", "\n".join([*lines[:4500], xid(79), *lines[4500:]])))
    assert str(report.findings[0].summary) == "Xid 79: GPU has fallen off the bus"
    assert all(len(one.evidence) <= 5 for one in report.findings)


def test_of_a_flood_only_what_differs_is_read() -> None:
    lines = [xid(13, f"0000:{place % 8}1:00", words=f"pid={place}, name=python") for place in range(9000)]
    lines[4500] = xid(79, "0000:31:00", words="pid=4500, name=python")
    report = report_on(PastedText("dmesg", "\n".join(lines)))
    assert len(report.facts.driver.kernel_log) < 100  # type: ignore[arg-type]
    assert "Xid 79: GPU has fallen off the bus" in {str(one.summary) for one in report.findings}


def test_a_page_about_xids_is_quiet() -> None:
    page = f"If you see `{xid(79)}`, the GPU has fallen off the bus.\nIf you see `{xid(48)}`, reset it."
    assert {one.severity for one in report_on(PastedText("page", page)).findings} == {"info"}


@pytest.mark.parametrize(
    ("line", "most"),
    [
        ("{}: bash: nvidia-smi: command not found", 20),
        ("{}: NVIDIA GeForce RTX 5090, which may be new, 1", 0),
        ("{}: Collecting torch for step {}", 0),
    ],
)
def test_of_a_flood_a_tool_is_read_a_few_times(line: str, most: int) -> None:
    text = "\n".join([*(line.format(place, place) for place in range(3000)), "torch==2.6.0+cpu", "triton==3.2.0"])
    parts = find_parts(document(text))
    assert sum(part.kind == "nvidia_smi" for part in parts) <= most
    assert report_on(PastedText("t", text)).facts.torch.full == "2.6.0+cpu"
