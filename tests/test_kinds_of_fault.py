"""Kinds of fault on other platforms, each in several wordings and on hosts where the facts decide otherwise."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from conftest import ROOT

from torchdoctor.facts import Request, is_known, need, value_or
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import PastedText, Recording
from torchdoctor.render import json_v1, text
from torchdoctor.report import Report
from torchdoctor.tables import Tables
from torchdoctor.values import GpuArch

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

DATA = ROOT / "tests" / "data"
KINDS = [
    kind
    for name in ("kinds_of_fault.toml", "kinds_of_mixture.toml")
    for kind in tomllib.loads((DATA / name).read_text(encoding="utf-8"))["kind"]
]
ALL = "torch.__version__, torch.version.cuda, torch.cuda.is_available()"
PRINTS = {
    "one print": "2.6.0+cpu None False",
    "a tuple": "('2.6.0+cpu', None, False)",
    "a prompt's tuple": f">>> {ALL}\n('2.6.0+cpu', None, False)",
    "three lines": f"I ran print({ALL})\n2.6.0+cpu\nNone\nFalse",
    "three prints": ">>> print(torch.__version__)\n2.6.0+cpu\n>>> print(torch.version.cuda)\nNone\n"
    ">>> print(torch.cuda.is_available())\nFalse",
    "labels": "torch 2.6.0+cpu cuda None available False",
    "labels with colons": "torch: 2.6.0+cpu cuda: None available: False",
    "labels and commas": "torch=2.6.0+cpu, cuda=None, is_available=False",
}


def report_of(text: str, tables: Tables) -> Report:
    return examine(Recording(texts=(PastedText("report.txt", text),)), tables, Request(), Writing())


@pytest.mark.parametrize("kind", KINDS, ids=[kind["name"] for kind in KINDS])
def test_the_kind_is_recognised(kind: dict[str, Any], tables: Tables) -> None:
    report = report_of(kind["text"], tables)
    loud = [item.id for item in report.findings if item.severity != "info" and item.explained_by is None]
    assert loud == [kind["finding"]] * bool(kind["finding"])
    if "infos" in kind:
        assert [item.id for item in report.findings if item.severity == "info"] == list(kind["infos"])
    if {"builds", "torch"} & set(kind):
        assert report.install is not None
        assert str(report.install.build) in kind.get("builds", [report.install.build])
        assert report.install.torch == kind.get("torch", report.install.torch)
    said = "\n".join(line.text for line in text.render(report))
    assert kind.get("says", "") in said
    assert "silent" not in kind or kind["silent"] not in said


@pytest.mark.parametrize("printed", PRINTS.values(), ids=PRINTS.keys())
def test_what_is_printed_of_torch_in_one_go(printed: str, tables: Tables) -> None:
    torch = report_of(printed, tables).facts.torch
    assert (torch.full, torch.cuda, torch.cuda_available) == ("2.6.0+cpu", None, False)


@pytest.mark.parametrize("line", ["Model 2.6.0 12.4 True", "accuracy 1.0.0 None False", "1.5.0 of 2.0 True"])
def test_other_numbers_are_no_torch(line: str, tables: Tables) -> None:
    assert not is_known(report_of(line, tables).facts.torch.full)


@pytest.mark.parametrize(
    ("name", "capability"),
    [("Quadro M2...", None), ("NVIDIA GeForce ...", None), ("NVIDIA A10...", None), ("GeForce GTX 166...", "7.5")],
)
def test_a_name_cut_short_is_a_gpu_only_where_all_that_fit_are_alike(
    name: str, capability: str | None, tables: Tables
) -> None:
    row = f"|   0  {name:<18} Off  | 00000000:01:00.0 Off |                  N/A |"
    head = "| NVIDIA-SMI 470.256.02   Driver Version: 470.256.02   CUDA Version: 11.4     |"
    memory = "| 30%   40C    P8     9W /  75W |    100MiB /  4043MiB |  0%  Default |"
    table = f"+---+\n{head}\n|===+===|\n{row}\n{memory}\n+---+"
    (gpu,) = need(report_of(table, tables).facts.gpus)
    assert not is_known(gpu.name)
    assert value_or(gpu.compute_capability, None) == (GpuArch.parse(capability) if capability else None)


def test_public_hosts_are_told_and_private_ones_are_not(tables: Tables) -> None:
    asked = "Looking in indexes: https://download.pytorch.org/whl/cu126, https://wheels.corp.example/simple\n"
    refused = "Failed to connect to (github.com, 443)\nFailed to connect to (build7.corp.example, 443)\n"
    failed = (
        "requests.exceptions.ConnectionError: HTTPSConnectionPool(host='build7.corp.example', port=443): Max retries"
    )
    said = str(json_v1.render(report_of(asked + refused + failed, tables)))
    assert "download.pytorch.org" in said
    assert "corp.example" not in said


PAGE = """\
# Troubleshooting

## NCCL errors

`NCCL error 5` (ncclInvalidUsage) means a wrong call. If you see `NVML_ERROR_GPU_IS_LOST`, reboot.

## CUDA errors

- `CUDA error 804`: forward compatibility was attempted on non supported HW
- `CUDA error: initialization error`: the program forks. Use the start method spawn.
- `hipErrorNoDevice`: no device was found
- `exit code 137`: the process was killed

## PCIe

`nvidia 0000:01:00.0: PCIe Bus Error: severity=Uncorrected (Fatal)` in the kernel log means a bad slot.
"""


def test_a_page_that_explains_them_has_none_of_them(tables: Tables) -> None:
    report = report_of(PAGE, tables)
    assert {item.severity for item in report.findings} <= {"info"}
    assert {item.confidence for item in report.findings} <= {"possible"}
