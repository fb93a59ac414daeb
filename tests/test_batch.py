from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import Run
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet

from torchdoctor.commands.batch import Terms, answer_lines
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.writing import Writing
from torchdoctor.tables import Tables

TABLES = Tables()
GOOD = {
    "id": "a",
    "os": "linux",
    "machine": "x86_64",
    "python": "3.12",
    "libc": "glibc-2.35",
    "driver": "580.65.06",
    "gpus": ["sm_86"],
    "torch": None,
}

MALFORMED = [
    ("not json at all", "is not JSON"),
    ("[1, 2]", "not a JSON object"),
    ('"text"', "not a JSON object"),
    ('{"id": 1, "os": "beos"}', "os 'beos'"),
    ('{"id": 1, "os": "linux", "machine": 7}', "machine 7"),
    ('{"id": 1, "python": "9.9"}', "does not exist"),
    ('{"id": 1, "python": "three"}', "cannot be read"),
    ('{"id": 1, "driver": "not-a-driver"}', "driver 'not-a-driver'"),
    ('{"id": 1, "gpus": "sm_86"}', "is not a list"),
    ('{"id": 1, "gpus": ["sm_999"]}', "gpu 'sm_999'"),
    ('{"id": 1, "gpus": ["Voodoo 2"]}', "is not known"),
    ('{"id": 1, "pyton": "3.12"}', "key 'pyton' is not known; did you mean: python?"),
    ('{"id": 1, "gpu": "sm_86"}', "key 'gpu' is not known; did you mean: gpus?"),
    ('{"id": 1, "colour": "red"}', "key 'colour' is not known (keys: id, os,"),
    ('{"id": 1, "wsl": "maybe"}', "neither true nor false"),
    ('{"id": 1, "jetpack": "99"}', "jetpack '99'"),
    ("[" * 50_000, "is not JSON"),
]


def answers(*lines: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in answer_lines(lines, Wish(), Writing(shell=""), TABLES)]


@pytest.mark.parametrize(("line", "words"), MALFORMED, ids=[words for _, words in MALFORMED])
def test_malformed_line_gets_an_error_object_and_the_next_line_its_answer(line: str, words: str) -> None:
    bad, good = answers(line, json.dumps(GOOD))
    assert words in bad["error"]
    assert bad["build"] is None
    assert (good["torch"], good["build"]) == ("2.15.0", "cu132")


def test_only_where_no_build_has_a_label_no_index_is_named() -> None:
    mac: dict[str, object] = {
        "os": "macos",
        "machine": "arm64",
        "python": "3.12",
        "os_version": "15.1",
        "gpus": [],
        "torch": None,
    }
    assert answers(json.dumps(mac))[0]["commands"] == ["python -m pip install torch==2.15.0"]
    command = answers(json.dumps({**GOOD, "torch": None}))[0]["commands"][0]
    assert command == "python -m pip install torch==2.15.0+cu132 --index-url https://download.pytorch.org/whl/cu132"


def test_an_installed_torch_gets_local_pins() -> None:
    command = answers(json.dumps({**GOOD, "torch": "2.9.1+cpu"}))[0]["commands"][0]
    assert command == "python -m pip install torch==2.15.0+cu132 --index-url https://download.pytorch.org/whl/cu132"


SERVED = {**GOOD, "driver": "580.65.06"}
ON_CPU = {**GOOD, "driver": None, "gpus": []}


@pytest.mark.parametrize(
    ("host", "torch", "wish", "answer"),
    [
        (SERVED, "2.9.1+cu126", Wish(), ("2.9.1", "cu126", 1, "it is installed, and it runs here")),
        (ON_CPU, "2.13.0+cpu", Wish(), ("2.13.0", "cpu", 1, "it is installed, and it runs here")),
        (SERVED, "2.9.1+cu126", Wish(torch=SpecifierSet(">=2.8")), ("2.9.1", "cu126", 1, "it is installed")),
        (SERVED, "2.9.1+cu126", Wish(torch=SpecifierSet("==2.8.0")), ("2.8.0", "cu128", 1, "")),
        (SERVED, "2.9.1+cu126", Wish("cpu", SpecifierSet("<2.14")), ("2.13.0", "cpu", 1, "")),
        (SERVED, "2.9.1+cpu", Wish(), ("2.15.0", "cu132", 1, "")),
        ({**SERVED, "driver": "470.57.02"}, "2.9.1+cu126", Wish(), ("2.7.1", "cu118", 1, "")),
        (SERVED, "2.9.1", Wish(), ("2.15.0", "cu132", 1, "")),  # which build it is, nothing tells
        (SERVED, None, Wish(), ("2.15.0", "cu132", 1, "")),
        (SERVED, "99.1.0+cu130", Wish(), ("99.1.0", "cu130", 0, "is newer than the tables")),
        (SERVED, "99.1.0+cpu", Wish(), ("2.15.0", "cu132", 1, "")),
        (SERVED, "99.1.0+cu130", Wish(companions=("torchvision",)), (None, None, 0, "which torchvision goes with")),
        (SERVED, "2.12.0a0+1a2b3c4.nv25.11", Wish(), ("2.12.0a0", None, 0, "another maker's build")),
        (SERVED, "2.12.0a0+1a2b3c4.nv25.11", Wish("cpu", SpecifierSet("<2.14")), ("2.13.0", "cpu", 1, "")),
    ],
)
def test_what_is_installed_stays_as_on_one_host(
    host: dict[str, Any], torch: str | None, wish: Wish, answer: tuple[Any, ...]
) -> None:
    (told,) = map(json.loads, answer_lines([json.dumps({**host, "torch": torch})], wish, Writing(), TABLES))
    assert (told["torch"], told["build"], len(told["commands"])) == answer[:3]
    assert answer[3] in told["reason"]


def test_blank_lines_are_passed_over() -> None:
    assert answers("", "  \n") == []


def test_null_driver_is_none_and_a_missing_one_is_unknown() -> None:
    absent, missing = answers(
        json.dumps({**GOOD, "driver": None}), json.dumps({key: GOOD[key] for key in GOOD if key != "driver"})
    )
    assert "this host has none" in absent["reason"]
    assert "unknown" in missing["reason"]


def test_windows_machine_names_are_one() -> None:
    for machine in ("AMD64", "x86_64", "win_amd64"):
        answer = answers(
            json.dumps(
                {
                    "os": "windows",
                    "machine": machine,
                    "python": "3.12",
                    "driver": "572.83",
                    "gpus": ["sm_120"],
                    "torch": None,
                }
            )
        )[0]
        assert (answer["torch"], answer["build"]) == ("2.11.0", "cu128")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*GOOD, "jetpack", "wsl", "os_version", "x"]), inner, max_size=6)
    ),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(json_values)
def test_any_json_gets_one_answer(value: object) -> None:
    (answer,) = answers(json.dumps(value))
    assert set(answer) >= {"id", "torch", "build", "commands", "reason"}
    assert answer["reason"]


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=st.characters(blacklist_characters="\n\r\x85\u2028\u2029"), min_size=1).filter(str.strip))
def test_any_text_gets_one_answer(text: str) -> None:
    assert len(answers(text)) == 1


def test_batch_reads_stdin_and_exits_0_refusals_included(torchdoctor: Run) -> None:
    lines = [json.dumps(GOOD), "{broken", json.dumps({**GOOD, "libc": "musl"})]
    done = torchdoctor("install-cmd", "--batch", "-", stdin="\n".join(lines))
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["build"] for line in done.stdout.splitlines()] == ["cu132", None, None]


LINUX = {"os": "linux", "machine": "x86_64", "python": "3.11", "libc": "glibc-2.35"}
GPU = {**LINUX, "driver": "580.65.06", "gpus": ["sm_86"]}
JETSON = {"os": "linux", "machine": "aarch64", "python": "3.10", "jetpack": "6.2", "gpus": ["sm_87"]}


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("conda", ["pytorch-gpu=2.13.0", "cuda-version=13.0"]),
        ("uv-project", ["[[tool.uv.index]]", "uv add torch=="]),
        ("dockerfile", ["RUN python -m pip install"]),
    ],
)
def test_a_tool_is_written_for_as_for_one_host_and_stops_no_other_line(tool: str, words: list[str]) -> None:
    tables = Tables()
    writing = Writing(tool=tool, asked=True)
    lines = [json.dumps(GPU), json.dumps(JETSON), json.dumps(GPU)]
    first, jetson, last = (json.loads(line) for line in answer_lines(lines, Wish(), writing, tables))
    said = "\n".join((*first["commands"], *first.get("lines", [])))
    assert all(word in said for word in words), said
    assert last == first
    assert "error" in jetson or jetson["commands"] or jetson["lines"]


@pytest.mark.parametrize(
    ("gpu", "terms", "build", "commands"),
    [
        ("", Terms(require_gpu=True), None, 0),
        ("", Terms(), "cpu", 1),
        ("sm_86", Terms(require_gpu=True), "cu126", 1),
        ("sm_86", Terms(if_needed=True), "cu126", 0),
        ("", Terms(if_needed=True), "cpu", 1),
    ],
)
def test_what_was_asked_for_holds_for_each_line(gpu: str, terms: Terms, build: str | None, commands: int) -> None:
    host = {**GPU, "torch": "2.14.1+cu126" if gpu else None, "gpus": [gpu] if gpu else []}
    wish = Wish(backend="cu126") if gpu else Wish()
    (answer,) = map(json.loads, answer_lines([json.dumps(host)], wish, Writing(), TABLES, terms))
    assert (answer["build"], len(answer["commands"])) == (build, commands)
    assert ("a GPU is required" in answer["reason"]) is (build is None)


@pytest.mark.parametrize(("option", "build"), [("--require-gpu", None), ("--if-needed", "cpu")])
def test_options_reach_each_line(torchdoctor: Run, option: str, build: str | None) -> None:
    line = json.dumps({**LINUX, "driver": None, "gpus": [], "torch": "2.14.1+cpu"})
    done = torchdoctor("install-cmd", "--batch", "-", option, stdin=line)
    answer = json.loads(done.stdout)
    assert (answer["build"], answer["commands"]) == (build, []), done.stderr
