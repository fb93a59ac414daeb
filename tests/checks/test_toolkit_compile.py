from __future__ import annotations

import pytest
from install_hosts import RTX_4090, WINDOWS, cuda, healthy, host, packages, torch
from one_check import found, is_skipped, only

from torchdoctor.facts import Facts, Os, Packages, Toolkit, Tools, Unknown
from torchdoctor.findings import Evidence, setting
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import Version

CU126 = torch("2.9.1+cu126", "cu126")
BUILDER = Tools(
    nvcc=cuda("12.6"), nvcc_path="/usr/local/cuda-12.6/bin/nvcc", toolkits=(), gcc=Version.parse("13.2.0"), clang=None,
    msvc=None,
    python_headers=True,
    compiling=True,
    torch_compile=True,
)  # fmt: skip
WITH_TRITON = packages("triton==3.5.1")

IDS = ("toolkit-missing", "toolkit-mismatch", "host-compiler-unsupported", "compile-stack-missing")


def builder(**more: object) -> Facts:
    return host(CU126, RTX_4090, installed=WITH_TRITON, tools=replace(BUILDER, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize("check_id", IDS)
def test_a_healthy_host_has_none_of_them(check_id: str, tables: Tables) -> None:
    assert found(check_id, healthy(), tables) == []
    assert found(check_id, builder(), tables) == []


@pytest.mark.parametrize("check_id", IDS)
def test_they_say_nothing_where_nothing_is_compiled(check_id: str, tables: Tables) -> None:
    worst = Tools(
        nvcc=cuda("13.0"),
        gcc=Version.parse("99"),
        clang=None,
        python_headers=False,
        compiling=False,
        torch_compile=False,
    )
    assert found(check_id, host(CU126, RTX_4090, tools=worst), tables) == []
    assert is_skipped(
        check_id,
        host(CU126, tools=replace(worst, compiling=Unknown("need to compile"), torch_compile=Unknown("wish"))),
        tables,
    )
    for other in (torch("2.9.1+rocm6.4", "rocm6.4"), torch("2.9.1+cpu", "cpu")):
        assert (
            found(check_id, host(other, tools=replace(worst, nvcc=None, compiling=True, torch_compile=True)), tables)
            == []
        )
    assert is_skipped(check_id, Facts(), tables)


def test_nvcc_is_missing(tables: Tables) -> None:
    runtime = Toolkit(cuda=cuda("12.6"), path="/usr/local/cuda-12.6")
    finding = only("toolkit-missing", builder(nvcc=None, toolkits=(runtime, replace(runtime, has_nvcc=True))), tables)
    assert str(finding.summary) == "nvcc is missing; compiling an extension for CUDA 12.6 needs it"
    assert finding.evidence == (
        Evidence("tools.nvcc", "none", ""),
        Evidence("tools.toolkits", "/usr/local/cuda-12.6", ""),
    )
    assert finding.remedies[1].commands == ("conda install -c nvidia cuda-nvcc=12.6",)
    assert is_skipped("toolkit-missing", builder(nvcc=Unknown("nvcc")), tables)


def test_nvcc_is_of_another_major(tables: Tables) -> None:
    finding = only("toolkit-mismatch", builder(nvcc=cuda("10.1")), tables)
    assert str(finding.summary) == "nvcc is of CUDA 10.1, torch of CUDA 12.6"
    assert finding.evidence[2].value == "/usr/local/cuda-12.6/bin/nvcc"
    assert len(only("toolkit-mismatch", builder(nvcc=cuda("13.0"), nvcc_path=None), tables).evidence) == 2
    assert found("toolkit-mismatch", builder(nvcc=cuda("12.9")), tables) == []
    assert found("toolkit-mismatch", builder(nvcc=None), tables) == []
    assert is_skipped("toolkit-mismatch", builder(nvcc=Unknown("nvcc")), tables)


def test_toolkit_13_beside_a_cuda_12_torch_is_harmless(tables: Tables) -> None:
    facts = host(CU126, RTX_4090, tools=replace(BUILDER, nvcc=cuda("13.0"), compiling=False, torch_compile=False))
    assert [check_id for check_id in IDS if found(check_id, facts, tables)] == []


@pytest.mark.parametrize(("gcc", "shown"), [(Version.parse("14.1"), "found 14.1"), (None, "found none")])
def test_gcc_is_too_new_or_missing(gcc: Version | None, shown: str, tables: Tables) -> None:
    finding = only("host-compiler-unsupported", builder(gcc=gcc), tables)
    assert str(finding.summary) == f"nvcc 12.6 accepts gcc up to 13, {shown}"
    assert finding.remedies[0].commands == (setting(CC="gcc-13", CXX="g++-13", NVCC_PREPEND_FLAGS="-ccbin=g++-13"),)
    assert finding.row
    assert finding.row.key == "12.6"


def test_without_nvcc_torchs_cuda_decides(tables: Tables) -> None:
    assert only("host-compiler-unsupported", builder(nvcc=None, gcc=Version.parse("15")), tables).evidence
    assert found("host-compiler-unsupported", builder(nvcc=cuda("19.0"), gcc=Version.parse("15")), tables) == []
    assert is_skipped("host-compiler-unsupported", builder(gcc=Unknown("gcc version")), tables)


@pytest.mark.parametrize(
    ("msvc", "shown"), [(1959, "found MSVC 1959"), (1900, "found MSVC 1900"), (None, "found MSVC none")]
)
def test_msvc_is_outside_the_range(msvc: int | None, shown: str, tables: Tables) -> None:
    finding = only("host-compiler-unsupported", replace(builder(msvc=msvc), os=WINDOWS), tables)
    assert str(finding.summary) == f"nvcc 12.6 accepts VS2017-2022, {shown}"


def test_msvc_inside_the_range(tables: Tables) -> None:
    assert found("host-compiler-unsupported", replace(builder(msvc=1942), os=WINDOWS), tables) == []
    assert is_skipped("host-compiler-unsupported", replace(builder(msvc=Unknown("MSVC version")), os=WINDOWS), tables)


INCOMPLETE = [
    (replace(builder(), packages=packages("pip==26.1")), "torch.compile lacks triton", "python -m pip install triton"),
    (builder(gcc=None), "torch.compile lacks a C compiler", None),
    (builder(python_headers=False), "torch.compile lacks the Python headers", None),
    (
        replace(builder(msvc=1942), os=WINDOWS, packages=packages("triton==3.0.0")),
        "torch.compile lacks triton-windows",
        "python -m pip install triton-windows==3.5.*",
    ),
    (builder(gcc=None, python_headers=False), "torch.compile lacks a C compiler and the Python headers", None),
    (
        replace(builder(msvc=None), os=WINDOWS, packages=Packages()),
        "torch.compile lacks a C compiler",
        None,
    ),
]


@pytest.mark.parametrize(("facts", "summary", "command"), INCOMPLETE)
def test_the_compile_stack_is_incomplete(facts: Facts, summary: str, command: str | None, tables: Tables) -> None:
    finding = only("compile-stack-missing", facts, tables)
    assert str(finding.summary) == summary
    assert [line for remedy in finding.remedies for line in remedy.commands] == ([command] if command else [])


def test_what_is_missing_is_told_as_facts(tables: Tables) -> None:
    shown = {}
    for facts, *_ in INCOMPLETE:
        shown.update({item.fact: item.value for item in only("compile-stack-missing", facts, tables).evidence})
    assert shown == {
        "packages.triton": "none",
        "packages.triton-windows": "none",
        "tools.gcc": "none",
        "tools.clang": "none",
        "tools.msvc": "none",
        "tools.python_headers": "no",
    }


def test_the_compile_stack_is_complete_or_unknown(tables: Tables) -> None:
    assert found("compile-stack-missing", builder(gcc=None, clang=Version.parse("18")), tables) == []
    assert found("compile-stack-missing", builder(python_headers=Unknown("Python headers")), tables) == []
    assert is_skipped("compile-stack-missing", replace(builder(), packages=Packages()), tables)
    assert found("compile-stack-missing", builder(gcc=Unknown("gcc version")), tables) == []
    assert is_skipped("compile-stack-missing", replace(builder(), os=Os()), tables)
