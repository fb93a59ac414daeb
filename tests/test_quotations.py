"""Errors that a text only quotes, in every form in which people paste them, and reports in the same forms."""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from conftest import CASES, DATA

from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.readers.cited import Citations
from torchdoctor.readers.document import Document
from torchdoctor.readers.error_texts import read_errors
from torchdoctor.readers.got_over import Endings
from torchdoctor.readers.markup import is_marked_up, is_title
from torchdoctor.readers.solved import solved_at
from torchdoctor.readers.texts import load_text
from torchdoctor.recording import PastedText, Recording
from torchdoctor.report import Report
from torchdoctor.tables import Tables

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDERS = sorted(path.parent for path in CASES.glob("*/case.toml"))
FORMS: dict[str, list[dict[str, Any]]] = tomllib.loads((DATA / "quotation_forms.toml").read_text(encoding="utf-8"))
KERNEL = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
GPU = "RuntimeError: No CUDA GPUs are available"


def form(entry: dict[str, Any]) -> str:
    return str(entry["form"])


def report_on(text: str, tables: Tables) -> Report:
    return examine(Recording(texts=(PastedText("text", text),)), tables, Request(), Writing())


@pytest.mark.parametrize("entry", FORMS["quoted"], ids=form)
def test_a_quotation_says_nothing_above_info(entry: dict[str, Any], tables: Tables) -> None:
    errors = read_errors(Document(PastedText("text", entry["text"])), tables.known_errors).items
    assert errors, "the text quotes an error"
    assert [error.id for error in errors if not error.doubtful] == []
    report = report_on(entry["text"], tables)
    assert {finding.severity for finding in report.findings} <= {"info"}
    assert {finding.confidence for finding in report.findings} <= {"possible"}
    assert report.status in {"ok", "unknown"}
    assert report.install is None


@pytest.mark.parametrize("entry", FORMS["report"], ids=form)
def test_a_report_is_told(entry: dict[str, Any], tables: Tables) -> None:
    report = report_on(entry["text"], tables)
    assert [finding.id for finding in report.findings if finding.severity != "info"]


@pytest.mark.parametrize("entry", FORMS["quoted"], ids=form)
def test_the_error_below_a_quotation_is_told(entry: dict[str, Any], tables: Tables) -> None:
    """Who pastes a page and then says what his own program printed is believed."""
    told = f"{entry['text']}\nI tried all of that, and still get\n\n{KERNEL}\n"
    errors = read_errors(Document(PastedText("text", told)), tables.known_errors).items
    assert [error.id for error in errors if error.id == "no-kernel-image" and not error.doubtful]


@pytest.mark.parametrize(
    "folder", sorted(path.parent for path in CASES.glob("*/case.toml")), ids=lambda path: path.name
)
def test_no_case_is_taken_for_documentation(folder: Path, tables: Tables) -> None:
    for path in folder.glob("*.txt"):
        errors = read_errors(Document(load_text(path)), tables.known_errors)
        assert not errors.is_documentation, path.name


SKIPPED = "tests/test_a.py::test_b SKIPPED (Torch not compiled with CUDA enabled)"
LEADS_UP = "If you see `RuntimeError: No CUDA GPUs are available`, check the variable.\n"
CRASHES = [
    "tests/test_a.py::test_c Fatal Python error: Segmentation fault",
    "train.py exited with code -11",
    "CUDA error 804",
    "RuntimeError: DataLoader worker (pid(s) 1234) exited unexpectedly",
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:",
    "tests/a.py::t2 FAILED\nE   ValueError: weird thing",
    "$ ./run.sh\nSegmentation fault (core dumped)",
]


@pytest.mark.parametrize("above", [SKIPPED, LEADS_UP], ids=["skipped", "prose"])
@pytest.mark.parametrize("crash", CRASHES)
def test_a_quotation_hides_no_crash_below_it(above: str, crash: str, tables: Tables) -> None:
    alone, both = report_on(crash, tables), report_on(f"{above}\n{crash}", tables)
    assert (both.status, both.unknown_because) == (alone.status, alone.unknown_because)
    assert both.status in {"unknown", "fail"}
    told = [finding for finding in both.findings if finding.confidence != "possible"]
    assert [finding.id for finding in told] == [finding.id for finding in alone.findings]
    behind = both.findings[len(told) :]
    assert behind
    assert {finding.severity for finding in behind} == {"info"}


@pytest.mark.parametrize(
    "line",
    [SKIPPED, f"SKIPPED [1] a.py:3: {GPU}", f"XFAIL a.py::b - {GPU}", f"If you see `{GPU}`, unset the variable."],
)
def test_a_quotation_alone_is_no_last_error(line: str, tables: Tables) -> None:
    report = report_on(f"{line}\n1 passed in 2 s", tables)
    assert report.facts.quoted.last_error == ""
    assert report.status == "ok"


@pytest.mark.parametrize(
    ("line", "is_error"),
    [
        ("saved, no error in 500 steps", False),
        ("word error rate 0.12, mean squared error 0.3", False),
        ("finished without errors", False),
        ("ValueError: no error text", True),
        ("error: no such file", True),
    ],
)
def test_a_line_that_speaks_of_no_error_is_no_last_error(line: str, *, is_error: bool, tables: Tables) -> None:
    assert bool(report_on(line, tables).facts.quoted.last_error) is is_error


CITED = [
    ('    raise RuntimeError("{}")\n    return 1', True),
    ('    raise RuntimeError("{}")', False),  # the end of a trace
    ('  File "a.py", line 3, in f\n    raise RuntimeError("{}")\n    return 1', False),
    ('tests/test_a.py:5: in f\n    raise RuntimeError("{}")\n    x = 1', False),
    ('torch/a.py:3:    raise RuntimeError("{}")', True),
    ("torch/a.py:3:    {}", True),  # a docstring
    ("torch/a.py:3: {}", False),  # a warning names its place so
    ("torch/a.py:3:{}", False),
    ("a.log:3:{}", False),
    ("README.md:3:{}", True),
    ("docs/a.rst\n3:words\n4:{}", True),
    ("run.log\n3:words\n4:{}", False),
    ("@@ -1 +1,2 @@\n words\n+{}", True),
    ("@@ -1 +1 @@\n words\n\n{}", False),
    ("commit 1234567abc\nAuthor: A\n\n    {}", True),
    ("Author: A\n\n    {}", False),
    ("12ab345 {}\n45cd678 words", True),
    ("1234567 {}\n2345678 words", False),  # counts
    ('import torch\n\n"""\n{}\n"""\n', True),
    ("import torch\n\nx = 1\n{}", False),
    ("import torch\nx = 1  # {}", True),
    ("# {}\n\nimport torch\nx = 1", False),  # the title of a report
]


@pytest.mark.parametrize(("text", "is_cited"), CITED, ids=range(len(CITED)))
def test_lines_that_hold_an_error_as_text(text: str, *, is_cited: bool) -> None:
    lines = text.format(KERNEL).split("\n")
    index = next(place for place, line in enumerate(lines) if KERNEL in line)
    assert Citations(lines).is_cited(index, lines[index].partition(KERNEL)[0]) is is_cited


ENDS = [
    ("I fixed it by reinstalling.", True),
    ("I've finally solved the problem, see above.\nThanks to all!", True),
    ("EDIT: solved", True),
    ("Solved by upgrading the driver.", True),
    ("It works now.", True),
    ("Now everything works.", True),
    ("The error is gone.", True),
    ("I fixed it by reinstalling, but now another one comes.", False),
    ("I have not solved it.", False),
    ("How did you fix this?", False),
    ("It works now on CPU only.", False),
    ("I fixed it.\nRuntimeError: something else", False),
    ("I fixed it.\n$ python run.py", False),
    ("It works now\nexcept for large batches.", False),
    ("step 12", False),
    ("Solved! I reinstalled it. Thanks everyone.", True),
    ("In the end I fixed it.", True),
    ("I fixed it by installing the wheel with CUDA, the CPU wheel was cached.", True),
    ("In docker everything works now and the bare host shows this.", False),
    ("Last year we fixed that by reinstalling torch. It is back.", False),
    ('With device="cpu" it works now, GPU is dead.', False),
    ('Somebody said: "I fixed it by reinstalling cudnn". It did nothing.', False),
]


@pytest.mark.parametrize(("end", "is_solved"), ENDS, ids=range(len(ENDS)))
def test_an_end_that_says_that_the_error_is_gone(end: str, *, is_solved: bool) -> None:
    assert (solved_at([KERNEL, "", *end.split("\n")]) >= 0) is is_solved


TESTS = [
    (f"tests/test_a.py::test_b[{GPU}] PASSED", True),
    (f"tests/test_a.py::test_b[{GPU}] FAILED", True),  # the name of a test is no message
    (f"FAILED tests/test_a.py::test_b[cuda] - {GPU}", False),
    (f"XFAIL tests/test_a.py::test_b - {GPU}", True),
    (f"ERROR tests/test_a.py - {GPU}", False),
    (f"test_b (a.B) ... skipped '{GPU}'", True),
    (f"test_b (a.B) ... ERROR {GPU}", False),
    (f"1 PASSED, 1 FAILED: {GPU}", False),
]


@pytest.mark.parametrize(("line", "is_got_over"), TESTS, ids=range(len(TESTS)))
def test_the_names_and_results_of_tests(line: str, *, is_got_over: bool) -> None:
    before, _, after = line.partition(GPU)
    assert Endings(Document(PastedText("text", line))).is_got_over(0, before, after) is is_got_over


MARKED_UP = [
    ("Title\n=====\n\nThe first of the words is here.\n\nOther\n-----\n\nThis is the end of it.", True),
    (".. note::\n\n   Words.", True),
    ("<h1>Help</h1>\n<p>Words</p>", True),
    ("NAME\n  a\n\nSEE ALSO\n  b", True),
    ("Hello,\n\n.. note::\n\n   Words.", False),
    ("[10:00:01] start\n.. note::", False),
    ("<pre>words</pre>\n<details><summary>Log</summary></details>", False),
    ("uname\n-----\nLinux\n\nnvcc\n----\n12.4", False),  # outputs joined
    ("=== uname\nLinux\n=== nvcc\n12.4", False),
    ("# Title\n\nWords.", False),  # reports are written in markdown
]


@pytest.mark.parametrize(("text", "is_page"), MARKED_UP, ids=range(len(MARKED_UP)))
def test_the_markup_of_documentation(text: str, *, is_page: bool) -> None:
    assert is_marked_up(text.split("\n")) is is_page


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        ("", "=====", True),
        ("", '"""""', True),
        ("=====", "=====", True),
        ("", "=" * 40, False),
        ("log", "=====", False),
    ],
)
def test_a_title_has_an_underline_of_its_length(above: str, below: str, *, expected: bool) -> None:
    assert is_title(above, "Title", below) is expected


def test_there_are_enough_forms_of_each_side() -> None:
    assert all(any(islice(FORMS[side], 24, None)) for side in ("quoted", "report"))
