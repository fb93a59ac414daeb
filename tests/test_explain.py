"""``torchdoctor explain``: pages, and numbers, names and texts from the tables; one line for what is not known."""

from __future__ import annotations

import json
import re

import pytest
from conftest import ROOT, Run

from torchdoctor.commands.explain import PAGES
from torchdoctor.commands.explain_numbers import KINDS, explained
from torchdoctor.errors import UsageError
from torchdoctor.tables import Tables
from torchdoctor.tables.numbered import NumberedErrors

TABLES = Tables()
NUMBERED = {
    "cuda": TABLES.cuda_errors,
    "hip": TABLES.hip_errors,
    "nccl": TABLES.nccl_errors,
    "nvml": TABLES.nvml_errors,
    "xid": TABLES.xids,
    "exit": TABLES.exit_statuses,
}
HEADINGS = ["How it is found", "Why it happens", "What to do", "What not to believe", "Sources"]
NAMES = sorted(path.stem for path in PAGES.glob("*.md"))


@pytest.mark.parametrize(
    ("kind", "wanted", "title", "finding"),
    [
        ("cuda", "804", "cuda 804: cudaErrorCompatNotSupportedOnDevice", "compat-library-problem"),
        ("cuda", "error 804", "cuda 804: ", "compat-library-problem"),
        ("cuda", "cudaErrorCompatNotSupportedOnDevice", "cuda 804: ", "compat-library-problem"),
        ("cuda", "CUDA_ERROR_NO_BINARY_FOR_GPU", "cuda 209: ", "torch-arch-missing"),
        ("cuda", "cuda_error_no_binary_for_gpu", "cuda 209: ", "torch-arch-missing"),
        ("cuda", "device-side assert", "cuda 710: ", "kernel-fault"),
        ("xid", "79", "xid 79: ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS", "gpu-lost"),
        ("xid", "31", "xid 31: ", "kernel-fault"),
        ("nccl", "2", "nccl 2: ncclSystemError", "nccl-failure"),
        ("nccl", "ncclSystemError", "nccl 2: ncclSystemError", "nccl-failure"),
        ("nccl", "remote process exited", "nccl 6: ncclRemoteError", "nccl-failure"),
        ("nccl", "Duplicate GPU detected", "error nccl-duplicate-gpu", "user-code"),
        ("hip", "hipErrorNoBinaryForGpu", "hip 209: ", "rocm-gfx-unsupported"),
        ("hip", "98", "hip 98: ", "rocm-gfx-unsupported"),
        ("nvml", "18", "nvml 18: ", "driver-library-mismatch"),
        ("winerror", "126", "winerror 126 in ", "torch-import-fails"),
        ("winerror", "1455", "winerror 1455", "host-memory-exhausted"),
        ("exit", "137", "exit 137: SIGKILL", "host-memory-exhausted"),
        ("exit", "-9", "exit 137: SIGKILL", "host-memory-exhausted"),
        ("exit", "SIGILL", "exit 132: SIGILL", "cpu-instructions-missing"),
        ("exit", "0xC0000005", "exit 3221225477: ", "torch-import-fails"),
        ("exit", "-1073741819", "exit 3221225477: ", "torch-import-fails"),
        ("signal", "9", "signal 9: SIGKILL", "host-memory-exhausted"),
        ("signal", "bus", "signal 7: SIGBUS", "shm-too-small"),
        ("error", "cuda-error-804-forward-compat", "error cuda-error-804-forward-compat", "compat-library-problem"),
    ],
)
def test_a_number_a_name_or_a_fragment_is_answered(kind: str, wanted: str, title: str, finding: str) -> None:
    text, answers = explained(kind, wanted, TABLES)
    assert text.startswith(title)
    assert answers[0]["findings"][0] == finding
    assert f"torchdoctor explain {finding}\n" in text
    for label in ("cause", "fix", "source"):
        assert answers[0][label]
        assert f"\n{label:9}" in text


@pytest.mark.parametrize(
    ("kind", "wanted", "words"),
    [
        ("cuda", "42", "109 numbers from 0 to 999; near it: 35 (cudaErrorInsufficientDriver)"),
        ("cuda", "cudaErrorComp", "near it: cudaErrorCompatNotSupportedOnDevice"),
        ("cuda", "", "a number or a name is missing"),
        ("xid", "80", "near it: 69 (ROBUST_CHANNEL_GR_CLASS_ERROR), 74 (NVLINK_ERROR), 79"),
        ("nccl", "99", "from 0 to 8"),
        ("nccl", "banana", "torchdoctor diagnose"),
        ("winerror", "9", "126, 127"),
        ("exit", "99", "near it"),
        ("error", "cuda-oo", "near it: cuda-oom"),
        ("error", "804", "torchdoctor explain cuda 804"),
        ("error", "RuntimeError: CUDA error", "torchdoctor diagnose"),
    ],
)
def test_what_is_not_known_is_said_with_what_is(kind: str, wanted: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        explained(kind, wanted, TABLES)
    assert words in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(("kind", "table"), NUMBERED.items(), ids=NUMBERED)
def test_every_row_can_be_asked_for_by_number_and_by_name(kind: str, table: NumberedErrors) -> None:
    for row in table.rows:
        assert explained(kind, row.key, TABLES)[1][0]["code"] == row.code
        for name in row.names:
            assert explained(kind, name, TABLES)[1][0]["code"] == row.code


def test_every_finding_that_a_number_points_to_has_a_page() -> None:
    named = {name for table in NUMBERED.values() for row in table.rows for name in (row.finding, *row.also)}
    named |= {name for row in TABLES.windows_errors.rows for name in (row.finding, *row.also)}
    assert named - {"", *NAMES} == set()


def test_every_entry_of_the_catalogue_is_answered_and_its_finding_has_a_page() -> None:
    for name in TABLES.known_errors.ids:
        text, answers = explained("error", name, TABLES)
        assert answers[0]["id"] == name
        assert "\ncause    " in text
        assert set(answers[0]["findings"]) <= set(NAMES)


def test_the_longest_text_decides_what_cuda_said() -> None:
    row = TABLES.cuda_errors.in_text("RuntimeError: CUDA error: operation not permitted when stream is capturing\nx")
    assert row is not None
    assert row.code == 900
    assert TABLES.cuda_errors.in_text("no such thing") is None


def test_answers_as_json(torchdoctor: Run) -> None:
    data = json.loads(torchdoctor("explain", "xid", "79", "--format", "json").stdout)
    assert (data["schema"], data["kind"]) == ("torchdoctor.explain/1", "xid")
    assert data["answers"][0]["findings"] == ["gpu-lost"]
    page = json.loads(torchdoctor("explain", "gpu-lost", "--format", "json").stdout)
    assert page["page"] == (PAGES / "gpu-lost.md").read_text(encoding="utf-8")
    listed = json.loads(torchdoctor("explain", "--format", "json").stdout)
    assert list(listed["findings"]) == NAMES


def test_a_negative_status_is_no_option(torchdoctor: Run) -> None:
    assert torchdoctor("explain", "exit", "-9").stdout.startswith("exit 137: SIGKILL\n")


def test_a_pasted_text_is_sent_to_diagnose(torchdoctor: Run) -> None:
    done = torchdoctor("explain", "RuntimeError: CUDA error: out of memory")
    assert (done.returncode, done.stdout) == (2, "")
    assert "torchdoctor diagnose" in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_each_page_has_the_same_parts(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert lines[0] == f"# {name}"
    assert lines[2].endswith(".")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == HEADINGS
    assert max(map(len, lines)) <= 150
    parts = dict(zip(HEADINGS, re.split(r"^## .*$", text, flags=re.MULTILINE)[1:], strict=True))
    assert all(len(part.split()) > 3 for heading, part in parts.items() if heading != "Sources")
    assert re.search(r'^- ".+"', parts["What not to believe"], re.MULTILINE)  # what people say, and what is so
    assert re.search(r"^- \S", parts["Sources"], re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_what_a_page_refers_to_exists(name: str) -> None:
    text = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    for kind, wanted in re.findall(r"torchdoctor explain (\w+) ([\w-]+)", text):
        assert kind in KINDS
        if not wanted.isupper():
            explained(kind, wanted, TABLES)
    for table in re.findall(r"[Tt]ables? `(\w+)`", text):
        assert list((ROOT / "compat_tables").glob(f"{table}.*")), table
    assert "://" not in text.replace("https://developer.nvidia.com", "")


@pytest.mark.parametrize(
    ("asked", "hint"),
    [
        ("137", "explain exit 137"),
        ("804", "explain cuda 804"),
        ("driver_too_old", "driver-too-old"),
        ("windows 126", "winerror"),
    ],
)
def test_a_near_miss_is_told_what_to_type(asked: str, hint: str, torchdoctor: Run) -> None:
    answer = torchdoctor("explain", *asked.split())
    assert answer.returncode == 2
    assert hint in answer.stderr


def test_an_error_named_in_evidence_is_explained(torchdoctor: Run) -> None:
    short = torchdoctor("explain", "error.no-kernel-image")
    assert short.stdout == torchdoctor("explain", "error", "no-kernel-image").stdout != ""
