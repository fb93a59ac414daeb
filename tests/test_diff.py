"""``torchdoctor diff``: two reports side by side, and the cause where a finding rests on what differs."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA, Run
from hypothesis import given, settings
from hypothesis import strategies as st
from schemas import check_form

from torchdoctor.diff.compare import Comparison, compare
from torchdoctor.diff.sides import BadReportError, side_of
from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import Recording
from torchdoctor.render.diff_text import diff_object, render
from torchdoctor.render.json_v1 import report_object
from torchdoctor.tables import Tables

RECORDINGS = sorted(path for path in (DATA / "recordings").glob("*.json") if ".expected" not in path.name)
GOOD, BAD = DATA / "recordings" / "wsl2-rtx3080.json", DATA / "recordings" / "wsl2-with-linux-driver.json"
DEEP = '{"a":' * 300 + "1" + "}" * 300
# What a terminal or the log of a build service would obey: it must not be in any output as it stands.
HOSTILE = "\x1b[31m\n::error::owned\r##vso[task.complete]\u202e\x07"


def report_of(path: Path, tables: Tables) -> dict[str, Any]:
    recording = Recording.from_json(path.read_text(encoding="utf-8"))
    return report_object(examine(recording, tables, Request(), Writing()))


@pytest.fixture(scope="module")
def good() -> dict[str, Any]:
    return report_of(GOOD, Tables())


def finding(name: str, *facts: str, severity: str = "error", explained_by: str | None = None) -> dict[str, Any]:
    evidence = [{"fact": fact, "value": "", "source": ""} for fact in facts]
    return {
        "id": name, "severity": severity, "summary": f"{name} it is", "evidence": evidence, "explained_by": explained_by
    }  # fmt: skip


def changed(report: dict[str, Any], *findings: dict[str, Any], status: str = "", **facts: Any) -> dict[str, Any]:
    """A copy of a report with other facts: ``driver__version="470.57.02"``."""
    other = copy.deepcopy(report)
    for path, value in facts.items():
        topic, _, name = path.partition("__")
        if name:
            other["facts"][topic][name] = value
        else:
            other["facts"][topic] = value
    other["findings"] += findings
    other["status"] = status or ("fail" if findings else other["status"])
    return other


def compared(a: dict[str, Any], b: dict[str, Any]) -> Comparison:
    return compare(side_of("a", a), side_of("b", b))


def test_a_report_and_its_recording_are_equal(torchdoctor: Run, tmp_path: Path, good: dict[str, Any]) -> None:
    report = tmp_path / "report.json"
    report.write_text(json.dumps(good), encoding="utf-8")
    done = torchdoctor("diff", str(report), str(GOOD))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("equal: nothing differs in what both tell\n")


def test_works_there_not_here(torchdoctor: Run) -> None:
    done = torchdoctor("diff", str(GOOD), str(BAD))
    assert done.returncode == 1
    first, *_ = done.stdout.splitlines()
    assert first == (
        "differ: Linux driver files inside WSL take the place of the Windows driver's (wsl-driver) in "
        "wsl2-with-linux-driver.json: driver.libcuda is /usr/lib/x86_64-linux-gnu/libcuda.so.535.183.01 there and "
        "/usr/lib/wsl/lib/libcuda.so.1.1 in wsl2-rtx3080.json"
    )
    assert "found in B alone\n  error wsl-driver: " in done.stdout
    assert "not told in B, and so not compared: driver.version" in done.stdout
    assert torchdoctor("diff", "-q", str(GOOD), str(BAD)).stdout == f"{first}\n"


def test_the_worse_side_is_the_sick_one_in_either_order(torchdoctor: Run) -> None:
    for pair, sick in (((GOOD, BAD), "b"), ((BAD, GOOD), "a")):
        done = torchdoctor("diff", *map(str, pair), "--format", "json")
        answer = json.loads(done.stdout)
        check_form(answer)
        assert (done.returncode, answer["schema"], answer["equal"]) == (1, "torchdoctor.diff/1", False)
        assert answer["cause"]["sick"] == sick
        assert answer["cause"]["facts"] == ["driver.libcuda"]
        assert answer["differences"][0]["fact"] == "driver.libcuda"
        assert [item["id"] for item in answer[sick]["findings_alone"]] == ["wsl-driver"]


@pytest.mark.parametrize(
    ("facts", "found", "first", "cause"),
    [
        ({"torch__build": "cpu"}, finding("torch-cpu-build", "torch.build", "gpus[].name"), "torch.build", True),
        ({"os__libc": "glibc-2.17"}, finding("glibc-too-old", "os.libc"), "os.libc", True),
        ({"env": {"LD_LIBRARY_PATH": "/old"}}, finding("x", "env.LD_LIBRARY_PATH"), "env.LD_LIBRARY_PATH", True),
        ({"packages": {"torch": "2.6.0"}}, finding("x", "packages.pip"), "packages.pip", True),
        ({"gpus": [{"name": "Tesla K80"}]}, finding("x", "gpus[].compute_capability"), "gpus", True),
        ({"memory__shm": 1}, finding("shm-too-small", "memory.shm", severity="warning"), "memory.shm", True),
        ({"memory__shm": 1}, finding("a-remark", "memory.shm", severity="info"), "memory.shm", False),
        ({"memory__shm": 1}, finding("an-echo", "memory.shm", explained_by="other"), "memory.shm", False),
        ({"memory__shm": 1}, finding("of-something-else", "cpu.flags"), "memory.shm", False),
    ],
)
def test_the_cause_is_a_finding_that_rests_on_what_differs(
    good: dict[str, Any], facts: dict[str, Any], found: dict[str, Any], first: str, *, cause: bool
) -> None:
    result = compared(good, changed(good, found, **facts))
    assert result.differences[0].fact == first
    assert bool(result.cause) is cause
    if result.cause:
        assert (result.cause.finding, result.cause.facts, result.cause.sick) == (found["id"], (first,), "b")
        assert str(result.cause.text).startswith(f"{found['id']} it is ({found['id']}) in b: {first} is ")


def test_an_error_is_the_cause_before_a_warning(good: dict[str, Any]) -> None:
    warning = finding("warned", "memory.shm", severity="warning")
    other = changed(good, warning, finding("failed", "os.libc"), memory__shm=1, os__libc="musl")
    result = compared(good, other)
    assert result.cause is not None
    assert result.cause.finding == "failed"
    assert [item.fact for item in result.differences] == ["os.libc", "memory.shm"]


def test_the_most_telling_differs_first(good: dict[str, Any]) -> None:
    other = changed(
        good, packages={"zlib": "1"}, env={}, gpus=[], python__tag="3.13", os__libc="glibc-2.17",
        driver__version="470.57.02", torch__build="cpu", cpu__count=1,
    )  # fmt: skip
    facts = [item.fact for item in compared(good, other).differences]
    assert facts[:6] == ["torch.build", "driver.version", "gpus", "os.libc", "python.tag", "env.VIRTUAL_ENV"]
    assert facts[6:] == ["packages.pip", "packages.zlib", "cpu.count"]


def test_what_follows_from_another_difference_is_not_told_besides(good: dict[str, Any]) -> None:
    other = changed(good, torch__full="9.9.9+cpu", torch__build="cpu", torch__cuda=None)
    assert [item.fact for item in compared(good, other).differences] == ["torch.build"]
    assert [item.fact for item in compared(good, changed(good, torch__full="9.9.9")).differences] == ["torch.full"]


@pytest.mark.parametrize("fact", ["memory__available", "python__chosen_because", "python__other"])
def test_what_passes_is_no_difference(good: dict[str, Any], fact: str) -> None:
    assert compared(good, changed(good, **{fact: "otherwise"})).is_equal


def test_what_one_does_not_tell_is_no_difference(good: dict[str, Any]) -> None:
    silent = copy.deepcopy(good)
    del silent["facts"]["driver"]
    del silent["facts"]["python"]["chosen_because"]  # no live host: its lists may be cut
    silent["facts"]["packages"] = {}
    result = compared(good, silent)
    assert result.is_equal
    assert {"driver.version", "packages"} <= set(result.untold_b)
    assert result.untold_a == ()


def test_a_smoke_test_that_fails_is_a_difference(good: dict[str, Any]) -> None:
    tests = [{**good, "smoke": [{"id": "conv", "device": "cuda:0", "outcome": word}]} for word in ("passed", "failed")]
    (difference,) = compared(*tests).differences
    assert (difference.fact, difference.a, difference.b) == ("smoke.conv on cuda:0", "passed", "failed")


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_every_host_is_equal_to_itself(path: Path, tables: Tables) -> None:
    report = report_of(path, tables)
    assert compared(report, copy.deepcopy(report)).is_equal


def test_any_two_hosts_differ_and_the_sides_can_be_swapped(tables: Tables) -> None:
    reports = [report_of(path, tables) for path in RECORDINGS]
    for one, other in itertools.combinations(reports, 2):
        there, back = compared(one, other), compared(other, one)
        assert not there.is_equal
        if one["status"] != other["status"]:  # of two that are as bad, the second is the sick one
            swapped = {item.fact: (item.b, item.a) for item in back.differences}
            assert {item.fact: (item.a, item.b) for item in there.differences} == swapped
        assert (there.only_a, there.untold_a) == (back.only_b, back.untold_b)
        assert render(there)
        json.dumps(diff_object(there))


def test_nothing_that_both_tell_is_unknown(torchdoctor: Run, tmp_path: Path) -> None:
    reports = []
    for name, facts in (("a", {"os": {"name": "linux"}}), ("b", {"driver": {"version": None}})):
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"schema": "torchdoctor.report/1", "facts": facts, "findings": []}))
        reports.append(str(path))
    done = torchdoctor("diff", *reports)
    assert done.returncode == 3
    assert done.stdout.startswith("unknown: ")


COLLECTED = "PyTorch version: 2.6.0+cu124\nIs debug build: False\nCUDA used to build PyTorch: 12.4\n"
COLLECTED += "OS: Ubuntu 22.04.4 LTS (x86_64)\nLibc version: glibc-2.35\nPython version: 3.11.9 (64-bit runtime)\n"
COLLECTED += "Is CUDA available: True\nGPU models and configuration: GPU 0: NVIDIA GeForce RTX 4090\n"
COLLECTED += "Nvidia driver version: 550.54.15\n"


@pytest.mark.parametrize(
    ("other", "code", "begins"),
    [
        (COLLECTED, 0, "equal: nothing differs in what both tell"),
        ("PyTorch version: 2.6.0+cu124\nIs CUDA available: True\n", 3, "unknown: nothing differs in the "),
        (COLLECTED.replace("550.54.15", "570.86.15"), 1, "differ: "),
    ],
)
def test_too_little_in_common_is_not_equal(
    torchdoctor: Run, tmp_path: Path, other: str, code: int, begins: str
) -> None:
    (tmp_path / "good.txt").write_text(COLLECTED)
    (tmp_path / "other.txt").write_text(other)
    done = torchdoctor("diff", "good.txt", "other.txt")
    assert (done.returncode, done.stderr) == (code, "")
    assert done.stdout.startswith(begins)
    answer = json.loads(torchdoctor("diff", "good.txt", "other.txt", "--format", "json").stdout)
    assert answer["equal"] is (code == 0)


def test_a_remark_that_rests_on_what_differs_is_said(good: dict[str, Any]) -> None:
    resting = changed(good, finding("a-remark", "memory.shm", severity="info"), status="ok", memory__shm=1)
    other = changed(good, finding("a-remark", "cpu.flags", severity="info"), status="ok", memory__shm=1)
    told, untold = (render(compared(good, report))[0].text for report in (resting, other))
    assert told.startswith("differ: 1 fact and 1 finding; a-remark it is (a-remark) in b: memory.shm is 1 there")
    assert untold == "differ: 1 fact and 1 finding; no finding of one alone rests on a fact that differs"


def test_one_of_the_two_may_come_by_stdin_and_be_a_pasted_text(torchdoctor: Run) -> None:
    pasted = (DATA / "pasted" / "collect_env_linux.txt").read_text(encoding="utf-8")
    done = torchdoctor("diff", str(GOOD), "-", stdin=pasted)
    assert done.returncode == 1
    assert "B: stdin (" in done.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"schema": "torchdoctor.report/2"}', "newer torchdoctor"),
        ('{"schema": "torchdoctor.report/1", "facts": {', "not a report that can be read"),
        ('{"schema": "torchdoctor.report/1", "facts": [], "findings": []}', "holds no facts"),
        ('{"schema": "torchdoctor.report/1", "facts": {}}', "holds no facts"),
        ('{"schema": "torchdoctor.recording/1", "answers": 1}', "not a recording"),
        (
            '{"schema": "torchdoctor.report/1", "findings": [], "facts": ' + '{"a":' * 300 + "1" + "}" * 301,
            "too deeply",
        ),
        ("", "empty"),
        ("{}", "neither a report nor a recording"),
        ("a letter home", "neither a report nor a recording"),
    ],
)
def test_what_cannot_be_compared_is_said_in_a_line(torchdoctor: Run, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    done = torchdoctor("diff", str(GOOD), "bad.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_wrong_use_is_said_in_a_line(torchdoctor: Run) -> None:
    for arguments in ((), ("-", "-"), ("gone.json", str(GOOD)), (str(GOOD),)):
        done = torchdoctor("diff", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), arguments


def test_hostile_words_obey_nobody(torchdoctor: Run, tmp_path: Path, good: dict[str, Any]) -> None:
    bad = changed(good, finding(HOSTILE, "torch.build"), torch__build=HOSTILE, env={HOSTILE: HOSTILE}, status=HOSTILE)
    bad["findings"] += [1, None, {"evidence": "x"}, {"evidence": [1], "id": ["\ud800"]}]
    for name, report in (("good.json", good), ("bad.json", bad)):
        (tmp_path / name).write_text(json.dumps(report))
    for form in ("text", "json"):
        done = torchdoctor("diff", "good.json", "bad.json", "-v" if form == "text" else "-q", "--format", form)
        assert (done.returncode, done.stderr) == (1, "")
        assert not [mark for mark in ("\x1b", "\x07", "\u202e", "\r", "##vso") if mark in done.stdout]
        assert not any(line.lstrip().startswith("::") for line in done.stdout.splitlines())
    assert json.loads(done.stdout)["differences"][0] == {"fact": "torch.build", "a": "cu124", "b": HOSTILE}


def test_what_has_no_form_of_a_report_is_refused() -> None:
    with pytest.raises(BadReportError, match="no facts"):
        side_of("x", {})


def test_both_formats_at_once_and_colour(torchdoctor: Run, tmp_path: Path) -> None:
    done = torchdoctor("diff", str(GOOD), str(BAD), "--format", "text", "--format", "json=d.json", "--color", "always")
    assert done.returncode == 1
    assert done.stdout.startswith("\x1b[")
    assert json.loads((tmp_path / "d.json").read_text(encoding="utf-8"))["schema"] == "torchdoctor.diff/1"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["os", "torch", "driver", "gpus", "env", "packages", "python", "memory", "chosen_because", ""])
REPORTS = st.fixed_dictionaries(
    {"facts": st.dictionaries(NAMES, VALUES, max_size=5) | VALUES, "findings": st.lists(VALUES, max_size=3) | VALUES},
    optional={"status": VALUES, "smoke": VALUES, "torchdoctor": VALUES},
)


@settings(max_examples=150, deadline=None)
@given(REPORTS, REPORTS)
def test_whatever_stands_in_a_report_it_is_compared_or_refused(one: dict[str, Any], other: dict[str, Any]) -> None:
    try:
        result = compared(one, other)
    except BadReportError:
        assert not all(isinstance(x["facts"], dict) and isinstance(x["findings"], list) for x in (one, other))
        return
    json.loads(json.dumps(diff_object(result)))
    assert all(line.text.isprintable() for line in render(result, 1))
    assert compared(one, copy.deepcopy(one)).is_equal
