"""Single lines: variables, system tools, driver lines, ``Key: value`` lists, sessions, traces, installers, prose."""

from __future__ import annotations

import json
from typing import Any

import pytest
from conftest import DATA
from reading import facts_from, seen, stored

from torchdoctor.tables import Tables


def env_of(text: str, tables: Tables) -> dict[str, str]:
    return dict(facts_from(text, tables=tables).env.values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CUDA_VISIBLE_DEVICES=1", {"CUDA_VISIBLE_DEVICES": "1"}),
        ('export LD_LIBRARY_PATH="/usr/local/cuda/lib64:"', {"LD_LIBRARY_PATH": "/usr/local/cuda/lib64:"}),
        ("ENV NVIDIA_VISIBLE_DEVICES all", {"NVIDIA_VISIBLE_DEVICES": "all"}),
        ("ENV NVIDIA_VISIBLE_DEVICES=all", {"NVIDIA_VISIBLE_DEVICES": "all"}),
        ("      - NVIDIA_DRIVER_CAPABILITIES=compute,utility", {"NVIDIA_DRIVER_CAPABILITIES": "compute,utility"}),
        ("      CUDA_VISIBLE_DEVICES: 0", {"CUDA_VISIBLE_DEVICES": "0"}),
        ("C:\\x> set CUDA_VISIBLE_DEVICES=-1", {"CUDA_VISIBLE_DEVICES": "-1"}),
        (
            "$env:PYTORCH_CUDA_ALLOC_CONF='expandable_segments:True'",
            {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
        ),
        ('os.environ["HSA_OVERRIDE_GFX_VERSION"] = "10.3.0"', {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
        ("$ CUDA_VISIBLE_DEVICES=1 python train.py --x", {"CUDA_VISIBLE_DEVICES": "1"}),
        ("$ echo $LD_LIBRARY_PATH\n/opt/x/lib", {"LD_LIBRARY_PATH": "/opt/x/lib"}),
        ('$ echo "$LD_LIBRARY_PATH"\n', {"LD_LIBRARY_PATH": ""}),
        # An empty answer may mean not set at all, and set to nothing hides every GPU: so it says nothing.
        ('$ echo "[$CUDA_VISIBLE_DEVICES]"\n[]', {}),
        ("$ echo $CUDA_VISIBLE_DEVICES\n$ ls", {}),
        ("PIP_INDEX_URL=https://me:secret@host/simple", {"PIP_INDEX_URL": "https://host/simple"}),
        ("For debugging consider passing CUDA_LAUNCH_BLOCKING=1", {}),
        ('Set TORCH_LOGS="+dynamo" and TORCHDYNAMO_VERBOSE=1 for more', {}),
        ("MY_SECRET_TOKEN=abc", {}),
        ("export CUDA_HOME=$(dirname $(which nvcc))", {}),
        ("cuda_visible_devices=1", {}),
    ],
)
def test_variables(text: str, expected: dict[str, str], tables: Tables) -> None:
    assert env_of(text, tables) == expected


def test_the_environment_of_a_paste_is_never_complete(tables: Tables) -> None:
    assert not facts_from("CUDA_VISIBLE_DEVICES=1", tables=tables).env.complete


# What a line says, kind by kind; a contributor adds one here.
LINES = json.loads((DATA / "lines.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", LINES, ids=lambda row: f"{row['kind']}: {row['text'][0][:50]}")
def test_lines(row: dict[str, Any], tables: Tables) -> None:
    assert seen(facts_from("\n".join(row["text"]), tables=tables), row["facts"]) == row["facts"]


def test_prose_is_not_read_out_of_a_log(tables: Tables) -> None:
    log = "\n".join(f"step {number} done" for number in range(100))
    assert seen(facts_from(f"Windows 11\n{log}", tables=tables), {"os.name": "?"}) == {"os.name": "?"}


def test_a_list_made_by_a_program(tables: Tables) -> None:
    expected = {
        "torch.full": "2.6.0+cu126", "python.version": "3.12.9", "os.name": "windows", "os.machine": "x86_64",
        "gpus[0].name": "NVIDIA GeForce RTX 5070 Ti",
    }  # fmt: skip
    assert seen(facts_from(stored("pasted/comfyui.txt"), tables=tables), expected) == expected


def test_rocminfo_lists_the_gpu_and_not_the_processor(tables: Tables) -> None:
    facts = facts_from(stored("pasted/rocminfo.txt"), tables=tables)
    expected = {"gpus[0].gfx": "gfx803", "gpus[0].name": "Radeon (TM) Pro WX 5100 Graphics", "gpus[0].vendor": "amd"}
    assert seen(facts, expected) == expected
    assert len(facts.gpus) == 1  # type: ignore[arg-type]  # known in this text


def test_flags_cut_off_at_the_end_prove_nothing(tables: Tables) -> None:
    flags = "Flags: " + " ".join(f"sse{number}" for number in range(20))
    assert seen(facts_from(flags, tables=tables), {"cpu.flags": "?"}) == {"cpu.flags": "?"}
    cpu = facts_from(f"{flags}\nNUMA node(s): 1\n", tables=tables).cpu
    assert isinstance(cpu.flags, frozenset)
    assert "avx" not in cpu.flags


def test_kernel_messages_are_kept_together(tables: Tables) -> None:
    facts = facts_from(
        "[1.0] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus\nx\n[2.0] NVRM: second\n", tables=tables
    )
    assert facts.driver.kernel_log == (
        "[1.0] NVRM: Xid (PCI:0000:01:00): 79, GPU has fallen off the bus",
        "[2.0] NVRM: second",
    )
