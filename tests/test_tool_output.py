"""Blocks that tools print: start-up banners, listings of GPUs, recipes of images, output of installers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import DATA
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import facts_from, seen

from torchdoctor.readers.document import plain
from torchdoctor.readers.image_words import image_said
from torchdoctor.readers.prefixes import may_have_prefix
from torchdoctor.tables import Tables

TABLES = Tables()
# What a block says; a contributor adds one here.
BLOCKS = json.loads((DATA / "tool_output.json").read_text(encoding="utf-8"))
LOG = [f"epoch {number} step {number * 3} reached" for number in range(60)]
TEXT = "pytorch version: 2.5.1+cu124"
PREFIXES = [
    "2024-05-01T12:00:00.1234567Z ", "2024-10-19 01:10:47,703 - root - INFO - ", "2025-02-17T00:32:01.082838 - ",
    "2026-06-16T01:11:31.838314 - [INFO] ", "2024-05-01T12:00:00.123456Z 01O ", "[2024-11-05 20:41:08.500] ",
    "2024-01-01 12:00:00.123 | INFO     | module:main:12 - ", "[12/01/24 12:00:00] INFO     ", "[12:00:00] ",
    "test\tRun tests\t2024-05-01T12:00:00.1234567Z ", "[rank0]: ", "[default3]:", "[1,0]<stdout>:", "(pid=9) ",
    "(EngineCore_0 pid=9) INFO 11-05 12:00:00 [core.py:77] ", "(RayWorkerWrapper pid=9, ip=10.0.0.1) ",
    "(Worker pid=3) (Worker_TP0 pid=3) ", "INFO 11-05 12:00:00 core.py:77] ", "INFO:root:", "[INFO] ", "#8 1.234 ",
    "web-1  | ", "web_1  | 2024-05-01T12:00:00.123Z [rank1]: ", "[pod/web-abc-123/main] ", "> > ", "\u2502 ",
    "Nov 30 12:00:00 myhost python[123]: ", "(sky-cmd, pid=3120) ", "(worker1, rank=1, pid=2345, ip=10.0.0.5) ",
    "[1,mpirank:0,algo-1]<stdout>:",
]  # fmt: skip


@pytest.mark.parametrize("row", BLOCKS, ids=lambda row: f"{row['kind']}: {row['name']}")
def test_blocks(row: dict[str, Any]) -> None:
    assert seen(facts_from("\n".join(row["text"]), tables=TABLES), row["facts"]) == row["facts"]


@pytest.mark.parametrize("row", BLOCKS, ids=lambda row: f"{row['kind']}: {row['name']}")
def test_blocks_in_the_middle_of_a_log(row: dict[str, Any]) -> None:
    text = "\n".join([*LOG, *row["text"], *LOG])
    assert seen(facts_from(text, tables=TABLES), row["facts"]) == row["facts"]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_what_stands_before_every_line_is_taken_off(prefix: str) -> None:
    assert may_have_prefix(prefix + TEXT)
    assert plain(prefix + TEXT) == TEXT


@pytest.mark.parametrize("prefix", PREFIXES)
def test_facts_behind_a_prefix_are_read(prefix: str) -> None:
    facts = facts_from("\n".join([*LOG, prefix + TEXT, *LOG]), tables=TABLES)
    assert seen(facts, {"torch.full": "2.5.1+cu124"}) == {"torch.full": "2.5.1+cu124"}


@pytest.mark.parametrize(
    "line",
    [
        "(base) user@host:~$ ls", "[user@host d]$ ls", ">>> torch.__version__", "In [3]: x", "| torch | 2.6 |",
        "01:00.0 VGA compatible controller", "[  1.2] NVRM: x", "ERROR: x", "sm_75 torch", "(torch) x",
        "kernel: [ 12.3] NVRM: x", "torch 2.6 | cuda", "INFO:root:", "# a remark", "#1 a heading", "12.4 13.0",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_prefix_stays(line: str) -> None:
    assert plain(line) == line


def test_a_host_name_goes_with_its_prefix() -> None:
    assert plain("Nov 30 12:00:00 myhost kernel: [ 12.3] NVRM: x") == "kernel: [ 12.3] NVRM: x"


def test_both_sides_of_a_frame_go() -> None:
    assert plain("\u2502 error: boom   \u2502") == "error: boom"


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PREFIXES) | st.text(max_size=6), max_size=8), st.text(max_size=20))
def test_a_line_only_ever_loses_its_beginning_and_its_end(prefixes: list[str], rest: str) -> None:
    line = "".join(prefixes) + rest
    assert plain(line) in line


IMAGES = st.sampled_from(
    [
        "nvidia/cuda",
        "pytorch/pytorch",
        "rocm/pytorch",
        "python",
        "ubuntu",
        "debian",
        "vllm/vllm-openai",
        "nvcr.io/nvidia/pytorch",
    ]
)
TAGS = st.text("0123456789.-_:@/abcuvrdelpy", max_size=40) | st.sampled_from(
    ["12.4.1-devel-ubuntu22.04", "2.6.0-cuda12.4-cudnn9-devel", "3.12-alpine", "rocm6.2_ubuntu22.04_py3.10_pytorch_2.3"]
)


@settings(max_examples=200, deadline=None)
@given(IMAGES, TAGS)
def test_no_name_of_an_image_is_too_odd(image: str, tag: str) -> None:
    list(image_said(f"{image}:{tag}", "x", TABLES))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from([line for row in BLOCKS for line in row["text"]]), min_size=1, max_size=30))
def test_blocks_mixed_in_any_order_are_read_without_a_crash(lines: list[str]) -> None:
    facts_from("\n".join(lines), tables=TABLES)
