"""Many reports: one line for each, whatever becomes of one of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from schemas import check_form

from torchdoctor.each import answers

ROOT = Path(__file__).resolve().parent.parent
OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB."


def run(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torchdoctor", "diagnose", "--each", *args]
    return subprocess.run(command, capture_output=True, text=True, input=text, check=False, cwd=ROOT)


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def by_id(text: str) -> dict[Any, dict[str, Any]]:
    return {answer["id"]: answer for answer in lines(text)}


def first(answer: dict[str, Any]) -> str:
    return str(answer["report"]["findings"][0]["id"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "reports"
    (place / "two files").mkdir(parents=True)
    (place / "oom.txt").write_text(OOM)
    (place / "two files" / "a.txt").write_text("PyTorch version: 2.9.1+cpu\n")
    (place / "two files" / "b.txt").write_text("01:00.0 VGA compatible controller: NVIDIA Corporation GA102\n")
    (place / "empty.txt").write_text("")
    (place / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"\0" * 100)
    return place


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_a_folder(folder: Path, jobs: str) -> None:
    told = run(str(folder), "--jobs", jobs)
    found = by_id(told.stdout)
    for answer in found.values():
        check_form(answer)
    assert told.returncode == 0
    assert sorted(found) == ["empty.txt", "oom.txt", "picture.png", "two files"]
    assert first(found["oom.txt"]) == "out-of-memory"
    assert first(found["two files"]) == "torch-cpu-build"
    assert "is empty" in found["empty.txt"]["error"]
    assert "PNG picture" in found["picture.png"]["error"]
    assert all(answer["schema"] == "torchdoctor.each/1" for answer in found.values())
    assert told.stderr == "2 answered, 2 that could not be read, 0 done before\n"


LINES = [
    ({"id": "a", "text": OOM}, "out-of-memory"),
    ({"id": {"issue": 5}, "files": {"log": OOM}}, "out-of-memory"),
    (OOM, "out-of-memory"),
    ({"text": "No module named 'torch'\nModuleNotFoundError: No module named 'torch'"}, "torch-missing"),
]


@pytest.mark.parametrize("source", ["file", "stdin"])
def test_lines(tmp_path: Path, source: str) -> None:
    bad = ["not json", "[1]", '{"id": 9, "text": 3}', "[" * 5000]
    text = "\n".join([*(json.dumps(item) for item, _ in LINES), "", *bad]) + "\n"
    name = tmp_path / "in.jsonl"
    name.write_text(text)
    told = run(str(name) if source == "file" else "-", "--jobs", "1", text=text if source == "stdin" else "")
    found = lines(told.stdout)
    assert [answer["id"] for answer in found] == ["a", {"issue": 5}, 3, 4, 6, 7, 9, 9]
    assert [first(answer) for answer in found[:4]] == [id_ for _, id_ in LINES]
    assert all("report" not in answer and answer["error"] for answer in found[4:])
    assert told.returncode == 0


def test_going_on_after_a_line_was_cut_off(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    whole = run(str(folder), "--resume", str(out), "--jobs", "1")
    assert whole.stdout == ""
    answered = out.read_text()
    out.write_text(answered[: answered.rindex("\n", 0, -1) + 40])  # the last line is torn
    again = run(str(folder), "--resume", str(out), "--jobs", "1")
    assert out.read_text() == answered
    assert "3 done before" in again.stderr
    assert "4 done before" in run(str(folder), "--resume", str(out)).stderr


def stuck_or_not(item: Any) -> dict[str, Any]:
    if item["id"] == "stuck":
        time.sleep(600)
    if item["id"] == "dead":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"id": item["id"], "answer": item["id"] * 2}


def test_one_that_hangs_or_dies_stops_no_other() -> None:
    names = ["a", "stuck", "b", "dead", "c", "d"]
    found = {told["id"]: told for told in answers(({"id": name} for name in names), stuck_or_not, jobs=2, seconds=1.5)}
    assert sorted(found) == sorted(names)
    assert found["stuck"]["error"] == "no answer in 1.5 s"
    assert found["dead"]["error"] == "the process that read it ended with status -9"
    assert [found[name]["answer"] for name in "abcd"] == ["aa", "bb", "cc", "dd"]


def test_inputs_are_taken_as_they_are_needed() -> None:
    taken: list[int] = []

    def endless() -> Any:
        for number in range(10**9):
            taken.append(number)
            yield {"id": str(number)}

    stream = answers(endless(), stuck_or_not, jobs=2, seconds=60)
    for _ in range(10):
        next(stream)
    stream.close()
    assert len(taken) <= 14


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is sent as a signal")
def test_ctrl_c_leaves_whole_lines_and_no_process(tmp_path: Path) -> None:
    out, inputs = tmp_path / "out.jsonl", tmp_path / "in.jsonl"
    inputs.write_text("".join(json.dumps({"id": number, "text": OOM}) + "\n" for number in range(100_000)))
    child = subprocess.Popen(
        [sys.executable, "-m", "torchdoctor", "diagnose", "--each", str(inputs), "--resume", str(out), "--jobs", "2"],
        cwd=ROOT, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + 60
    while (not out.exists() or out.stat().st_size == 0) and time.monotonic() < until:
        time.sleep(0.05)
    os.kill(child.pid, signal.SIGINT)
    _, said = child.communicate(timeout=30)
    assert child.returncode == 130, said
    assert lines(out.read_text())
    with pytest.raises(ProcessLookupError):
        os.killpg(child.pid, 0)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["{folder}", "--format", "json"], "leave --format out"),
        (["{folder}", "--here"], "leave --here out"),
        (["nowhere.jsonl"], "cannot read nowhere.jsonl"),
        (["{folder}", "--jobs", "0"], "is not a number of processes"),
        (["{folder}", "--resume", "{folder}"], "cannot go on with"),
    ],
)
def test_what_makes_no_sense(folder: Path, args: list[str], says: str) -> None:
    told = run(*(arg.format(folder=folder) for arg in args))
    assert told.returncode == 2
    assert says in told.stderr
    assert len(told.stderr.splitlines()) == 1


def test_jobs_need_many_reports(folder: Path) -> None:
    command = [sys.executable, "-m", "torchdoctor", "diagnose", str(folder / "oom.txt"), "--jobs", "2"]
    told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert told.returncode == 2
    assert "--jobs and --resume are of --each" in told.stderr
