from __future__ import annotations

import pytest
from install_hosts import ARM, MAC, RTX_4090, WINDOWS, healthy, host, packages, torch
from one_check import found, is_skipped, only

from torchdoctor.facts import Facts, Os, Package, Packages, Unknown
from torchdoctor.records import replace
from torchdoctor.tables import Tables

ID = "torch-companion-mismatch"
CU126 = torch("2.11.0+cu126", "cu126")


def demanding(name: str, version: str, *requires: str) -> Packages:
    return Packages((Package(name=name, version=version, owner="pip", requires=requires),), complete=True)


MISFITS = [
    # of another torch
    (
        host(
            torch("2.6.0", "cu124"),
            RTX_4090,
            installed=packages("torch==2.6.0", "torchaudio==2.5.1", "torchvision==0.20.1"),
        ),
        "Not built for torch 2.6.0: torchaudio 2.5.1, torchvision 0.20.1",
        "torchvision belongs to torch 2.5.1",
        "certain",
    ),
    (
        host(torch("2.14.1+cu126", "cu126"), installed=packages("torchtext==0.18.0")),
        "Not built for torch 2.14.1+cu126: torchtext 0.18.0",
        "torchtext belongs to torch 2.3.0",
        "likely",
    ),
    (
        host(torch("2.10.0", "cu128"), installed=packages("torchaudio==2.11.0")),
        "Not built for torch 2.10.0: torchaudio 2.11.0",
        "torchaudio belongs to torch 2.11.0 or newer",
        "certain",
    ),
    (
        host(torch("2.6.0", "cu124"), installed=packages("triton==3.4.0")),
        "Not built for torch 2.6.0: triton 3.4.0",
        "triton belongs to torch 2.8.0",
        "certain",
    ),
    # of another build, by label
    (
        host(torch("2.6.0+cu126", "cu126"), os=WINDOWS, installed=packages("torchvision==0.21.0+cpu")),
        "Not built for torch 2.6.0+cu126: torchvision 0.21.0+cpu",
        "a cpu build of torch",
        "certain",
    ),
    (
        host(CU126, installed=packages("torchvision==0.26.0+cu130")),
        "Not built for torch 2.11.0+cu126: torchvision 0.26.0+cu130",
        "a cu130 build of torch",
        "certain",
    ),
    (
        host(torch("2.11.0+cu126", "cu126"), installed=packages("torchaudio==2.11.0+cu128")),
        "Not built for torch 2.11.0+cu126: torchaudio 2.11.0+cu128",
        "a cu128 build of torch",
        "certain",
    ),
    # from PyPI beside a torch from an index
    (
        host(CU126, installed=packages("torch==2.11.0+cu126", "torchvision==0.26.0")),
        "Not built for torch 2.11.0+cu126: torchvision 0.26.0",
        "PyPI's cu130 build of torch",
        "likely",
    ),
    (
        host(
            torch("2.6.0+cu126", "cu126"), os=WINDOWS, installed=packages("torch==2.6.0+cu126", "torchvision==0.21.0")
        ),
        "Not built for torch 2.6.0+cu126: torchvision 0.21.0",
        "PyPI's cpu build of torch",
        "likely",
    ),
    # the only wheel there is, for another CUDA
    (
        host(torch("2.15.0", "cu132"), installed=packages("torchaudio==2.11.0")),
        "Not built for torch 2.15.0: torchaudio 2.11.0",
        "a torch for CUDA 12.6 or 12.8 or 13.0",
        "certain",
    ),
    (
        host(torch("2.14.1+cu126", "cu126"), installed=packages("torchvision==0.29.2")),
        "Not built for torch 2.14.1+cu126: torchvision 0.29.2",
        "a torch for CUDA 13.2",
        "certain",
    ),
    # the only wheel there is on Linux is for CUDA, and torch is not
    (
        host(
            torch("2.14.1+cpu", "cpu"),
            driver="",
            installed=packages("torch==2.14.1+cpu", "torchaudio==2.11.1", "torchvision==0.29.1+cpu"),
        ),
        "Not built for torch 2.14.1+cpu: torchaudio 2.11.1",
        "torchaudio belongs to a torch for CUDA 13.2",
        "likely",
    ),
    (
        host(torch("2.15.0+xpu", "xpu"), driver="", installed=packages("torch==2.15.0+xpu", "torchvision==0.29.2")),
        "Not built for torch 2.15.0+xpu: torchvision 0.29.2",
        "torchvision belongs to a torch for CUDA 13.2",
        "likely",
    ),
    (
        host(torch("2.14.1+rocm7.2", "rocm7.2"), os=ARM, driver="", installed=packages("torchaudio==2.11.1")),
        "Not built for torch 2.14.1+rocm7.2: torchaudio 2.11.1",
        "torchaudio belongs to a torch for CUDA 13.2",
        "likely",
    ),
    # extensions: their own minor, their own demand
    (
        host(torch("2.7.1", "cpu"), driver="", installed=packages("intel-extension-for-pytorch==2.8.0")),
        "Not built for torch 2.7.1: intel-extension-for-pytorch 2.8.0",
        "torch 2.8",
        "certain",
    ),
    (
        host(torch("2.2.0+cu121", "cu121"), installed=demanding("xformers", "0.0.23.post1", "numpy", "torch ==2.1.2")),
        "Not built for torch 2.2.0+cu121: xformers 0.0.23.post1",
        "xformers belongs to torch==2.1.2",
        "certain",
    ),
]


@pytest.mark.parametrize(("facts", "summary", "wants", "confidence"), MISFITS)
def test_found(facts: Facts, summary: str, wants: str, confidence: str, tables: Tables) -> None:
    finding = only(ID, facts, tables)
    assert str(finding.summary) == summary
    assert wants in str(finding.why)
    assert (finding.severity, finding.confidence) == (None, confidence)
    assert finding.evidence[0].fact == "torch.version"
    assert finding.remedies[-1].installs


def test_only_the_patch_release_differs(tables: Tables) -> None:
    finding = only(ID, host(torch("2.4.1", "cu121"), installed=packages("torchaudio==2.4.0")), tables)
    assert finding.severity == "info"


FITTING = [
    healthy(),
    host(torch("2.14.1", "cu130"), installed=packages("torchvision==0.29.2", "torchaudio==2.11.1", "triton==3.8.2")),
    host(torch("2.12.0", "cu130"), installed=packages("torchaudio==2.11.0", "torchvision==0.27.0")),
    host(torch("2.7.1+cu128", "cu128"), installed=packages("triton==3.3.0", "torchvision==0.22.1+cu126")),
    host(torch("2.10.0", "cu128"), installed=packages("torchvision==0.25.0", "torch==2.10.0")),
    host(CU126, installed=packages("torchvision==0.26.0")),
    host(torch("2.10.0+cu126", "cu126"), installed=packages("torch==2.10.0+cu126", "torchvision==0.25.0"), os=Os()),
    host(torch("2.10.0+cu126", "cu126"), installed=packages("torch==2.10.0+cu126", "torchvision==0.25.0")),
    host(torch("2.1.0", "cu121"), installed=packages("torchvision==0.16.0", owner="conda")),
    host(torch("2.5.1+rocm6.2", "rocm6.2"), installed=packages("torchvision==0.20.1+rocm6.1")),
    host(torch("2.7.1", "cpu"), installed=packages("intel-extension-for-pytorch==2.7.10+cpu", "torchvision==0.99.0")),
    host(torch("2.7.1", "cpu"), installed=packages("ctranslate2==4.5.0")),
    host(torch("2.1.2", "cu121"), installed=demanding("xformers", "0.0.23", "torch==2.1.2", "torchvision>=0.1")),
    host(
        torch("2.2.0", "cu121"), installed=demanding("x", "1", 'torch==2.1.2; extra == "old"', "torch @ @", "torch==x")
    ),
    host(torch("2.6.0", "cpu", build=Unknown("torch build")), installed=packages("torchvision==0.21.0+cu126")),
    # the only wheel of these for Windows and macOS holds CPU code, which serves every build
    host(torch("2.14.1+cpu", "cpu"), os=WINDOWS, installed=packages("torchaudio==2.11.1")),
    host(torch("2.14.1+cu126", "cu126"), os=WINDOWS, installed=packages("torchaudio==2.11.1")),
    host(torch("2.15.0", "mps"), os=MAC, installed=packages("torchaudio==2.11.1", "torchvision==0.29.2")),
    host(torch("2.14.1+cpu", "cpu"), os=Os(), installed=packages("torchaudio==2.11.1")),
    host(torch("2.14.1+cpu", "cpu"), installed=packages("torchaudio==2.11.1+cpu")),
]


@pytest.mark.parametrize("facts", FITTING)
def test_not_found(facts: Facts, tables: Tables) -> None:
    assert found(ID, facts, tables) == []


@pytest.mark.parametrize(
    "facts",
    [
        Facts(),
        host(torch("2.6.0", "cu124"), installed=Packages()),
        host(torch("2.13.0.dev20260521+cu130", "cu130"), installed=packages("torchvision==0.26.0")),
    ],
)
def test_skipped(facts: Facts, tables: Tables) -> None:
    assert is_skipped(ID, facts, tables)


def test_the_fitting_companions_are_named_with_their_index(tables: Tables) -> None:
    facts = host(torch("2.6.0+cu126", "cu126"), RTX_4090, installed=packages("torchvision==0.20.1+cu124"))
    keep = only(ID, facts, tables).remedies[0]
    assert keep.commands == (
        (
            "python -m pip install --force-reinstall --no-deps torchvision==0.21.0 "
            "--index-url https://download.pytorch.org/whl/cu126"
        ),
    )
    from_pypi = replace(facts, torch=torch("2.6.0+cu124", "cu124"), packages=packages("torchaudio==2.5.1"))
    assert only(ID, from_pypi, tables).remedies[0].commands == (
        "python -m pip install --force-reinstall --no-deps torchaudio==2.6.0",
    )


def test_what_is_named_beside_a_cpu_build_is_no_cuda_wheel(tables: Tables) -> None:
    facts = host(torch("2.14.1+cpu", "cpu"), driver="", installed=packages("torchaudio==2.11.1"))
    (command,) = only(ID, facts, tables).remedies[0].commands
    assert "torchaudio==2.11.0 --index-url https://download.pytorch.org/whl/cpu" in str(command)


def test_no_command_for_a_torch_that_is_not_in_the_table(tables: Tables) -> None:
    unknown_host = host(torch("2.6.0+cu126", "cu126"), os=Os(), installed=packages("torchvision==0.20.1"))
    assert [remedy.commands for remedy in only(ID, unknown_host, tables).remedies] == [()]
    unbuilt = host(
        torch("2.6.0", "cpu", build=Unknown("torch build")), os=ARM, installed=packages("torchvision==0.20.1")
    )
    assert [remedy.commands for remedy in only(ID, unbuilt, tables).remedies] == [()]
