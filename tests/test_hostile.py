"""Hostile input: nothing that a stranger pastes reaches a terminal or the log of a build service as an order."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from random import Random

import pytest
from conftest import DATA, Run
from fuzzing import failures_of, mutated, seeds

from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.readers.texts import BadInputError, load_text
from torchdoctor.recording import Recording
from torchdoctor.render import json_v1, text
from torchdoctor.render.line import harmless_json, on_one_line
from torchdoctor.tables import Tables

ORDERS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]|^\s*::|##(?:\[|vso\[|teamcity\[)", re.MULTILINE
)
KERNEL = "CUDA error: no kernel image is available for execution on the device"
EVIL = (
    "::set-output name=a::b",
    "::error file=x::y",
    "##[error]x",
    "##vso[task.setvariable variable=a]b",
    "##teamcity[buildProblem]",
    "\x1b[2J\x1b]0;title\x07",
    "\x9b31m",
    "\u202egpj.exe",
    "<script>alert(1)</script>",
    "{0.__class__}",
    "%s%n",
)


def evil_lines(evil: str) -> str:
    """Every kind of line whose words a report repeats, with something evil in it."""
    lines = (
        f"{evil}",
        f"{evil} RuntimeError: {KERNEL} {evil}",
        f"torch.__version__ = 2.6.0+cu124 {evil}",
        f"CUDA_VISIBLE_DEVICES={evil}",
        f"LD_LIBRARY_PATH=/opt/{evil}",
        f"GPU 0: NVIDIA {evil}",
        f"OSError: {evil}: cannot open shared object file: No such file or directory",
        f"ValueError: {evil}",
    )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("evil", EVIL)
def test_no_order_is_rendered(evil: str) -> None:
    pasted = load_text(io.BytesIO(evil_lines(evil).encode()), "log")
    report = examine(Recording(texts=(pasted,)), Tables(), Request(), Writing())
    assert report.findings
    assert not [line.text for line in text.render(report, 1) if ORDERS.search(line.text)]
    assert not ORDERS.search(json_v1.render(report))


@pytest.mark.parametrize("options", [(), ("-v",), ("-q",), ("--format", "json")], ids=" ".join)
def test_no_order_passes_through(options: tuple[str, ...], torchdoctor: Run, tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_text("".join(map(evil_lines, EVIL)), encoding="utf-8")
    done = torchdoctor("diagnose", str(file), *options)
    assert done.returncode in {0, 1, 3}
    assert not ORDERS.search(done.stdout)
    assert not ORDERS.search(done.stderr)
    if "json" in options:
        assert json.loads(done.stdout)["schema"] == "torchdoctor.report/1"


@pytest.mark.parametrize("evil", ["::error::a", "##[error]a", "\x1b[2Ja", "\u202ea"])
def test_no_order_passes_in_the_name_of_a_file(evil: str, torchdoctor: Run, tmp_path: Path) -> None:
    file = tmp_path / evil
    file.write_text(f"RuntimeError: {KERNEL}\n", encoding="utf-8")
    for arguments in ((str(file), "-v"), (evil,), (str(file), "--format", "json")):
        done = torchdoctor("diagnose", *arguments)
        assert not ORDERS.search(done.stdout + done.stderr)


def test_no_order_passes_in_a_recording(torchdoctor: Run, tmp_path: Path) -> None:
    """A recording is JSON: its escapes come back to life when it is read."""
    evil = "\x1b[2J\n::error::x ##[error]y"
    answers = {
        "python": {"value": {"version": evil, "executable": f"/usr/{evil}"}},
        "command nvidia-smi": {"value": {"rc": 0, "out": evil, "err": evil, "timed_out": False}},
    }
    texts = [{"name": evil, "text": f"{evil} RuntimeError: {KERNEL}"}]
    file = tmp_path / "host.json"
    file.write_text(
        json.dumps({"schema": "torchdoctor.recording/1", "answers": answers, "texts": texts}), encoding="utf-8"
    )
    for options in ((), ("-v",), ("--format", "json")):
        done = torchdoctor("diagnose", str(file), *options)
        assert not ORDERS.search(done.stdout + done.stderr)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("::error::x", "\\::error::x"),
        ("  ::x", "  \\::x"),
        ("a ::b", "a ::b"),
        ("a ##[b] ##vso[c] # [d]", "a #\\#[b] #\\#vso[c] # [d]"),
        ("a\n::b\tc", "a ::b c"),
        ("\x1b[1m", "\\x1b[1m"),
        ("größer \u2013", "größer \u2013"),
    ],
)
def test_lines_for_people(given: str, expected: str) -> None:
    assert on_one_line(given) == expected


@pytest.mark.parametrize("given", ["##[x]", "\x9b", "\u202e", "\u2028", "\ud800", '"\\##[', "plain"])
def test_json_keeps_its_meaning(given: str) -> None:
    written = harmless_json(json.dumps([given], ensure_ascii=False))
    assert json.loads(written) == [given]
    assert not ORDERS.search(written)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
@pytest.mark.parametrize("noise", ["", "\0", "é"])
def test_every_encoding_is_diagnosed(encoding: str, noise: str) -> None:
    data = f"training {noise}\nRuntimeError: {KERNEL}{noise}\n".encode(encoding)
    report = examine(Recording(texts=(load_text(io.BytesIO(data), "log"),)), Tables(), Request(), Writing())
    assert [finding.id for finding in report.findings] == ["torch-arch-missing"]


@pytest.mark.parametrize("filler", ["x", " ", "|", "Error: ", 'File "'])
def test_one_line_of_many_megabytes(filler: str, torchdoctor: Run, tmp_path: Path) -> None:
    file = tmp_path / "log.txt"
    file.write_text(f"start\n{filler * (10_000_000 // len(filler))}\nRuntimeError: {KERNEL}\n", encoding="utf-8")
    done = torchdoctor("diagnose", str(file), timeout=60)
    assert "torch-arch-missing" in done.stdout
    assert len(done.stdout) < 20_000


def test_mutated_inputs_neither_crash_nor_hang() -> None:
    """The same inputs every time; fuzzing.py runs as many others as one likes."""
    tables, pool = Tables(), seeds()
    assert len(pool) > 100
    for number in range(300):
        data = mutated(pool, Random(number))  # noqa: S311 - a sample, no secret
        assert not list(failures_of(data, tables, whole=not number % 10)), number


def test_the_fuzzer_makes_inputs_that_are_read() -> None:
    pool = seeds()
    inputs = [mutated(pool, Random(number)) for number in range(200)]  # noqa: S311 - a sample, no secret
    assert len(set(inputs)) > 190
    assert sum(len(data) for data in inputs) / len(inputs) < 4096
    read = sum(bool(_readable(data)) for data in inputs)
    assert read > 150


def _readable(data: bytes) -> str:
    try:
        return load_text(io.BytesIO(data), "input").text
    except BadInputError:
        return ""


@pytest.mark.parametrize("path", sorted((DATA / "mangled").iterdir()), ids=lambda path: path.stem)
def test_what_once_crashed_a_check_does_so_no_more(path: Path) -> None:
    """Inputs that tests/fuzzing.py found."""
    report = examine(Recording(texts=(load_text(path),)), Tables(), Request(), Writing())
    assert [item for item in report.outcomes if item.outcome == "crashed"] == []
