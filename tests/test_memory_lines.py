"""Why GPU memory ran out, by the numbers of the message: held by others, in pieces, or too much."""

from __future__ import annotations

from typing import Any

import pytest
from reading import facts_from

from torchdoctor.records import fields
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables

TABLES = Tables()
MIB, GIB = 2**20, 2**30
NEW = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried}. GPU 0 has a total capacity of {total} of "
    "which {free} is free. {others}Including non-PyTorch memory, this process has 2.10 GiB memory in use. Of the "
    "allocated memory {allocated} is allocated by PyTorch, and {loose} is reserved by PyTorch but unallocated."
)
OLD = (
    "RuntimeError: CUDA out of memory. Tried to allocate {tried} (GPU 0; {total} total capacity; {allocated} already "
    "allocated; {free} free; {reserved} reserved in total by PyTorch) If reserved memory is >> allocated memory try"
)
ROWS = [
    (
        NEW.format(
            tried="20.00 MiB",
            total="23.65 GiB",
            free="12.00 MiB",
            others="Process 12 has 21.50 GiB memory in use. ",
            allocated="1.80 GiB",
            loose="20.00 MiB",
        ),
        {"tried": 20 * MIB, "free": 12 * MIB, "others": int(21.5 * GIB), "allocated": int(1.8 * GIB)},
        "gpu-memory-held",
        "would fit",
    ),
    (
        NEW.format(
            tried="1.00 GiB",
            total="8.00 GiB",
            free="0 bytes",
            allocated="1.00 GiB",
            loose="0 bytes",
            others="Process 12 has 3.00 GiB memory in use. Process 13 has 2.00 GiB memory in use. ",
        ),
        {"others": 5 * GIB, "free": 0},
        "gpu-memory-held",
        "would fit",
    ),
    (
        NEW.format(
            tried="2.00 GiB", total="23.65 GiB", free="1.20 GiB", others="", allocated="14.00 GiB", loose="7.90 GiB"
        ),
        {"reserved": 14 * GIB + int(7.9 * GIB)},
        "out-of-memory",
        "fragmented",
    ),
    (
        NEW.format(
            tried="2.00 GiB", total="23.65 GiB", free="1.20 GiB", others="", allocated="21.00 GiB", loose="0.50 GiB"
        ),
        {"allocated": 21 * GIB},
        "out-of-memory",
        "Model, gradients",
    ),
    (
        NEW.format(
            tried="64.00 GiB", total="23.65 GiB", free="23.00 GiB", others="", allocated="0 bytes", loose="0 bytes"
        ),
        {"tried": 64 * GIB},
        "out-of-memory",
        "larger than the GPU",
    ),
    (
        OLD.format(tried="20.00 MiB", total="7.92 GiB", allocated="60.00 MiB", free="10.00 MiB", reserved="86.00 MiB"),
        {"total": int(7.92 * GIB), "reserved": 86 * MIB},
        "gpu-memory-held",
        "would fit",
    ),
    (
        OLD.format(tried="2.00 GiB", total="8.00 GiB", allocated="5.32 GiB", free="0 bytes", reserved="6.34 GiB"),
        {"free": 0},
        "out-of-memory",
        "Model, gradients",
    ),
    (
        OLD.format(tried="512.00 MiB", total="8.00 GiB", allocated="4.00 GiB", free="0 bytes", reserved="6.90 GiB"),
        {"reserved": int(6.9 * GIB)},
        "out-of-memory",
        "fragmented",
    ),
]


@pytest.mark.parametrize("wrapped", [False, True], ids=["one line", "wrapped"])
@pytest.mark.parametrize(("text", "numbers", "finding", "why"), ROWS, ids=range(len(ROWS)))
def test_the_numbers_decide(text: str, numbers: dict[str, Any], finding: str, why: str, wrapped: bool) -> None:
    lines = text.replace(". ", ".\n").replace("; ", ";\n") if wrapped else text
    facts = facts_from(lines.replace("memory.\nTried", "memory. Tried"), tables=TABLES)
    told = {item.name: getattr(facts.exhausted, item.name) for item in fields(facts.exhausted)}
    assert {name: told[name] for name in numbers} == numbers
    findings, _ = run_checks(facts, TABLES)
    assert (findings[0].id, findings[0].explained_by) == (finding, None)
    assert why in str(findings[0].why)


@pytest.mark.parametrize(
    "text",
    [
        "torch.OutOfMemoryError: CUDA out of memory. Allocation was preemptively rejected",
        "CUDA out of memory. Tried to allocate a lot",
        "CUDA out of memory. Tried to allocate 20.00 XiB",
    ],
)
def test_a_message_without_numbers_stays_a_known_error(text: str) -> None:
    findings, _ = run_checks(facts_from(text, tables=TABLES), TABLES)
    assert findings[0].id == "out-of-memory"
    assert str(findings[0].row and findings[0].row.table) == "known_errors"


def message(gpu: int = 0, **sizes: str) -> str:
    told = {"tried": "2.00 GiB", "total": "23.65 GiB", "free": "1.20 GiB", "others": "", "allocated": "21.00 GiB"}
    return NEW.format(**{**told, "loose": "0.50 GiB", **sizes}).replace("GPU 0", f"GPU {gpu}")


HELD = message(
    tried="20.00 MiB",
    free="12.00 MiB",
    others="Process 12 has 21.50 GiB memory in use. ",
    allocated="1.80 GiB",
    loose="9.00 MiB",
)
TOO_LARGE = message(1, tried="64.00 GiB", free="23.00 GiB", allocated="0 bytes", loose="0 bytes")
IN_PIECES = message(allocated="14.00 GiB", loose="7.90 GiB")
TOO_MUCH = message()


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([HELD], [("gpu-memory-held", None, "would fit", {1}), ("out-of-memory", "gpu-memory-held", "Model", {1})]),
        ([HELD, TOO_LARGE], [("gpu-memory-held", None, "would fit", {1}), ("out-of-memory", None, "larger", {2})]),
        ([TOO_LARGE, HELD], [("out-of-memory", None, "larger", {1}), ("gpu-memory-held", None, "would fit", {2})]),
        ([IN_PIECES, TOO_LARGE], [("out-of-memory", None, "in pieces", {1}), ("out-of-memory", None, "larger", {2})]),
        ([TOO_MUCH, TOO_MUCH.replace("GPU 0", "GPU 1")], [("out-of-memory", None, "Model", {1, 2})]),
        ([HELD, HELD.replace("GPU 0", "GPU 1")], [
            ("gpu-memory-held", None, "would fit", {1, 2}), ("out-of-memory", "gpu-memory-held", "Model", {1, 2})]),
        ([TOO_MUCH] * 1000, [("out-of-memory", None, "Model", {1})]),
        ([TOO_MUCH.replace("2.00", f"2.{step:02}") for step in range(90)], [("out-of-memory", None, "Model", {1})]),
    ],
)  # fmt: skip
def test_each_shortage_is_told(messages: list[str], expected: list[tuple[str, str | None, str, set[int]]]) -> None:
    facts = facts_from("\n".join(messages), tables=TABLES)
    found, _ = run_checks(facts, TABLES)
    assert [(one.id, one.explained_by) for one in found] == [(id_, cause) for id_, cause, _, _ in expected]
    for one, (_, _, why, lines) in zip(found, expected, strict=True):
        assert why.replace("in pieces", "fragmented") in str(one.why)
        assert {int(item.source.split()[2].strip(",")) for item in one.evidence} == lines


def test_numbers_of_two_messages_are_not_mixed() -> None:
    exhausted = facts_from(f"{TOO_LARGE}\n{HELD}", tables=TABLES).exhausted
    assert (exhausted.tried, exhausted.allocated) == (64 * GIB, 0)
    assert not isinstance(exhausted.others, int)
