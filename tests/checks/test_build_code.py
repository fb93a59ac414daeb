"""What the installed files, or the tables of measured wheels, say of the GPUs that libraries serve."""

from __future__ import annotations

from typing import Any

import pytest
from conftest import DATA
from install_hosts import ARM, GTX_1080_TI, RTX_4090, WINDOWS, gpu, host, packages, torch
from one_check import found, is_skipped, only

from torchdoctor.checks.build import companion_code, library_code, newer
from torchdoctor.facts import Facts, Inside, NotKnownError, Package, Packages, Variables
from torchdoctor.findings import Finding, setting
from torchdoctor.inside import DeviceCode
from torchdoctor.readers.own_tables import own_table
from torchdoctor.records import replace
from torchdoctor.tables import Tables

TOPICS = (companion_code, library_code, newer)
T4 = gpu("Tesla T4", "7.5")
V100 = gpu("Tesla V100-SXM2-32GB", "7.0")
A100 = gpu("NVIDIA A100-SXM4-80GB", "8.0")
H100 = gpu("NVIDIA H100 80GB HBM3", "9.0")
RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0")
CU130, CU126, CU128 = torch("2.14.1+cu130", "cu130"), torch("2.14.1+cu126", "cu126"), torch("2.10.0+cu128", "cu128")
LINALG, MAIN = "torch/lib/libtorch_cuda_linalg.so", "torch/lib/libtorch_cuda.so"
MAGMA, EXTENSION, BY_PTX, ARCH = (
    "library-arch-missing",
    "companion-arch-missing",
    "companion-ptx-only",
    "torch-arch-missing",
)


def code(library: str, *names: str, package: str = "", few: tuple[str, ...] = (), **more: Any) -> DeviceCode:
    """A library with these codes in all of its ten fat binaries, and ``few`` in one of them."""
    counts = [*((name, 10) for name in names), *((name, 1) for name in few)]
    sass = tuple(item for item in counts if item[0].startswith("sm_"))
    ptx = tuple(item for item in counts if item[0].startswith("compute_"))
    package = package or library.partition("/")[0]
    return DeviceCode(library=library, package=package, version="1.2.3", fatbins=10, sass=sass, ptx=ptx, **more)


def inside(facts: Facts, *codes: DeviceCode) -> Facts:
    """The host whose files were looked into."""
    return replace(facts, inside=Inside(code=codes))


def said(check_id: str, facts: Facts, tables: Tables) -> list[Finding]:
    """All that a check finds; nothing where it had to be skipped."""
    try:
        return found(check_id, facts, tables)
    except NotKnownError:
        return []


def with_table(facts: Facts, release: str) -> Facts:
    """The host whose torch carries the tables of a real release."""
    text = (DATA / "own_tables" / f"{release}.txt").read_text(encoding="utf-8")
    return replace(facts, inside=replace(facts.inside, own_table=own_table(text)))


LEFT_OUT = [
    (host(CU130, T4), True),
    (host(CU130, A100), False),
    (host(CU130, RTX_5090), False),
    (host(torch("2.15.0+cu132", "cu132"), T4), True),  # one of its 33 fat binaries has the code
    (host(torch("2.11.0+cu130", "cu130"), T4), True),
    (host(CU128, T4), False),  # by its code for 7.0
    (host(torch("2.14.1+cu130", "cu130"), H100, os=ARM), False),  # no MAGMA there
    (host(CU130, T4, A100), True),
    (replace(host(CU130, T4, A100), env=Variables({"CUDA_VISIBLE_DEVICES": "1"}, complete=True)), False),
    (host(CU130, V100), False),  # torch itself has none
    (host(torch("2.14.1+cpu", "cpu"), T4), False),
    (host(CU130), False),
    # the files outrank the table
    (inside(host(CU130, T4), code(MAIN, "sm_75", "sm_80"), code(LINALG, "sm_75", "sm_80")), False),
    (inside(host(CU126, T4), code(MAIN, "sm_75", "sm_80"), code(LINALG, "sm_80")), True),
    (inside(host(CU126, T4), code(MAIN, "sm_75", "sm_80"), code(LINALG, "sm_80", few=("sm_75",))), True),
    (inside(host(CU130, T4), code(MAIN, "sm_75", "sm_80"), code(LINALG, "sm_80", error="cut")), False),
    (inside(host(CU130, T4), code(MAIN, "sm_75"), code("torch/lib/libtorch_nvshmem.so", "sm_80")), False),
]


@pytest.mark.parametrize(("facts", "missing"), LEFT_OUT)
def test_a_library_of_torch_that_leaves_a_gpu_out(facts: Facts, missing: bool, tables: Tables) -> None:
    assert [str(item.summary) for item in found(MAGMA, facts, tables)] == (
        ["libtorch_cuda_linalg.so of torch has no code for Tesla T4"] if missing else []
    )


def test_what_to_do_without_magma(tables: Tables) -> None:
    finding = only(MAGMA, host(CU130, T4), tables)
    assert (finding.confidence, finding.row and finding.row.table) == ("likely", "device_code")
    prefer, older = finding.remedies
    assert prefer.commands == (setting(TORCH_LINALG_PREFER_CUSOLVER="1"),)
    assert older.commands == ('torchdoctor install-cmd --torch "==2.10.0"',)
    assert "2.10.0 cu128" in str(older.text)
    read = only(MAGMA, inside(host(CU130, T4), code(MAIN, "sm_75"), code(LINALG, "sm_80")), tables)
    assert read.row is None


@pytest.mark.parametrize(
    "facts",
    [
        host(CU126, T4),  # that wheel was never opened
        host(CU130, T4, os=WINDOWS),
        host(torch("2.14.1", "cu130", owner="conda"), T4, installed=packages("pytorch==2.14.1", owner="conda")),
        host(torch("2.14.0.dev20260801+cu130", "cu130"), T4),
    ],
)
def test_of_a_wheel_that_nobody_measured_nothing_is_said(facts: Facts, tables: Tables) -> None:
    assert is_skipped(MAGMA, facts, tables)


def test_the_files_outrank_the_table_and_what_torch_lists(tables: Tables) -> None:
    listed = torch("2.14.1+cu130", "cu130", arch_list=("sm_75", "sm_80"))
    finding = only(ARCH, inside(host(listed, T4), code(MAIN, "sm_80", "sm_90")), tables)
    assert finding.confidence == "certain"
    own, *others, _ = [(item.fact, item.value, item.source) for item in finding.evidence]
    assert own == ("inside.code", "sm_80 sm_90", MAIN)
    assert [(fact, value) for fact, value, _ in others] == [
        ("torch.arch_list", "sm_75 sm_80"),
        ("torch.arch_list", "7.5 8.0 8.6 9.0 10.0 12.0"),
    ]
    assert found(ARCH, inside(host(listed, V100), code(MAIN, "sm_70")), tables) == []


IN_FILES = [
    (code(MAIN, "sm_80", few=("sm_75",)), T4, "580.65.06", 1),  # a special kernel
    (code(MAIN, "sm_80", "compute_75", ptx_isa="9.0"), T4, "580.65.06", 0),
    (code(MAIN, "sm_80", "compute_75", ptx_isa="9.0"), T4, "570.86.15", 1),  # speaks 12.8
    (code(MAIN, "sm_90a"), H100, "580.65.06", 0),
    (code(MAIN, "sm_80", error="a damaged entry"), T4, "580.65.06", 0),  # then the table is asked
]


@pytest.mark.parametrize(("library", "device", "driver", "count"), IN_FILES)
def test_the_main_library_decides(library: DeviceCode, device: Any, driver: str, count: int, tables: Tables) -> None:
    small = replace(code("torch/lib/libtorch_nvshmem.so", "sm_50"), fatbins=1)
    facts = inside(host(CU130, device, driver=driver), small, library)
    assert len(found(ARCH, facts, tables)) == count


def test_a_torch_newer_than_the_tables_is_judged_by_its_own(tables: Tables) -> None:
    newer = torch("99.1.0+cu132", "cu132")
    finding = only(ARCH, with_table(host(newer, V100), "2.15.0"), tables)
    assert (finding.confidence, finding.evidence[0].fact) == ("likely", "inside.own_table")
    assert found(ARCH, with_table(host(newer, RTX_5090), "2.15.0"), tables) == []


def test_advice_of_torch_that_nobody_can_follow_is_put_right(tables: Tables) -> None:
    finding = only(ARCH, with_table(host(torch("2.15.0+cu132", "cu132"), V100), "2.15.0"), tables)
    assert "a build for CUDA 12.6 to a Tesla V100-SXM2-32GB. Torch 2.15.0 has no such build." in str(finding.beware)
    there = only(ARCH, with_table(host(torch("2.11.0+cu130", "cu130"), V100), "2.11.0"), tables)
    assert there.beware is None  # 2.11.0 has one for CUDA 12.6


LISTS = [
    (torch("2.11.0+cu126", "cu126"), "2.11.0", 1),
    (torch("2.11.0+cu130", "cu130"), "2.11.0", 0),  # 11.0 is of the other machine
    (torch("2.15.0+cu132", "cu132"), "2.15.0", 0),
    (torch("2.11.0+cu126", "cu126", origin="source"), "2.11.0", 0),
]


@pytest.mark.parametrize(("installed", "release", "count"), LISTS)
def test_torchs_own_list_is_held_against_ours(installed: Any, release: str, count: int, tables: Tables) -> None:
    assert len(found("torch-table-wrong", with_table(host(installed, RTX_4090), release), tables)) == count


def test_torchs_own_list_is_held_against_the_files(tables: Tables) -> None:
    facts = inside(host(torch("2.15.0+cu132", "cu132"), RTX_4090), code(MAIN, "sm_80", "sm_90"))
    finding = only("torch-table-wrong", with_table(facts, "2.15.0"), tables)
    assert finding.evidence[1].source == MAIN
    assert is_skipped("torch-table-wrong", facts, tables)


XFORMERS = packages("torch==2.10.0", "xformers==0.0.35")
VLLM = packages("torch==2.14.1", "vllm==0.33.0")
BITSANDBYTES = packages("torch==2.14.1", "bitsandbytes==0.50.2")
FROM_TABLE = [
    (host(CU128, V100, installed=XFORMERS), EXTENSION, "xformers 0.0.35 has no code for Tesla V100-SXM2-32GB"),
    (host(CU128, A100, installed=XFORMERS), EXTENSION, None),
    (host(CU128, H100, installed=XFORMERS), BY_PTX, None),
    (host(CU128, H100, installed=XFORMERS), EXTENSION, None),
    (host(CU128, RTX_5090, installed=XFORMERS), EXTENSION, None),
    (host(CU128, RTX_5090, installed=XFORMERS), BY_PTX, "xformers 0.0.35 runs on NVIDIA GeForce RTX 5090 by PTX alone"),
    (host(CU128, RTX_5090, installed=XFORMERS, driver="560.28.03"), BY_PTX, None),
    (
        host(CU128, RTX_5090, installed=XFORMERS, driver="560.28.03"),
        EXTENSION,
        "xformers 0.0.35 reaches NVIDIA GeForce RTX 5090 by PTX that this driver cannot compile",
    ),
    (host(CU130, V100, installed=packages("xformers==0.0.35")), EXTENSION, None),  # it is not that wheel
    (host(CU128, V100, installed=packages("xformers==0.0.35", owner="conda")), EXTENSION, None),
    (host(CU128, V100, installed=packages("xformers==0.0.34")), EXTENSION, None),
    (host(CU128, V100, installed=XFORMERS, os=ARM), EXTENSION, None),
    (host(torch("2.10.0+cpu", "cpu"), V100, installed=XFORMERS), EXTENSION, None),
    # libraries for some GPUs only are no fault on others; of two for attention one serves the GPU
    *((host(CU130, device, installed=VLLM), EXTENSION, None) for device in (T4, A100, RTX_4090, H100, RTX_5090)),
    (host(CU130, H100, installed=VLLM), BY_PTX, None),
    (host(CU130, RTX_5090, installed=VLLM), BY_PTX, "vllm 0.33.0 runs on NVIDIA GeForce RTX 5090 by PTX alone"),
    (host(CU130, A100, installed=VLLM), BY_PTX, None),
    # one library for each CUDA: that of torch counts
    (host(CU126, V100, installed=BITSANDBYTES), EXTENSION, None),
    (host(torch("2.9.1+cu128", "cu128"), GTX_1080_TI, installed=BITSANDBYTES), EXTENSION, "bitsandbytes 0.50.2 has no"),
    (host(CU126, GTX_1080_TI, installed=BITSANDBYTES), EXTENSION, None),
    # a wheel with a label is the measured one where the label is that wheel's
    (host(CU128, GTX_1080_TI, installed=packages("torchvision==0.24.1+cu128")), EXTENSION, "torchvision 0.24.1 has no"),
    (host(CU128, GTX_1080_TI, installed=packages("torchvision==0.24.1+cu126")), EXTENSION, None),
]


@pytest.mark.parametrize(("facts", "check_id", "summary"), FROM_TABLE)
def test_companions_by_their_installed_version(
    facts: Facts, check_id: str, summary: str | None, tables: Tables
) -> None:
    findings = said(check_id, facts, tables)
    if summary is None:
        assert findings == []
    else:
        assert [str(item.summary).startswith(summary) for item in findings] == [True]
        assert (findings[0].confidence, findings[0].row and findings[0].row.table) == ("likely", "companion_code")


def test_an_old_driver_is_the_administrators(tables: Tables) -> None:
    finding = only(EXTENSION, host(CU128, RTX_5090, installed=XFORMERS, driver="560.28.03"), tables)
    assert finding.fixable_by == "admin"
    assert "CUDA 12.8 or newer" in str(finding.remedies[0].text)


TORCH = code(MAIN, "sm_70", "sm_75", "sm_80", "sm_90", "sm_120")
FROM_FILES = [
    ((code("ext.so", "sm_80", package="ext"),), V100, "ext 1.2.3 has no code for"),
    ((code("ext.so", "sm_80", package="ext"),), A100, None),
    ((code("ext.so", "sm_80", package="ext"), code("ext_b.so", "sm_70", package="ext")), V100, None),
    ((code("ext/a.so", "sm_80"), code("ext/b.so", "sm_90")), V100, "ext 1.2.3 has no code for"),
    ((code("mine.so", "sm_80", package="mine", error="cut"),), V100, None),
    ((code("nvidia/cu13/lib/libcufft.so.12", "sm_75", package="nvidia-cufft"),), V100, None),
    ((code("torchvision.libs/libnvjpeg.1.so", "sm_80", package="torchvision"),), V100, None),
    ((code("torch/lib/libother.so", "sm_80", package="torch"),), V100, None),
    ((code("torchvision/_C.so", "sm_80"),), V100, "torchvision 1.2.3 has no code for"),
    ((code("vllm/_flashmla_C.abi3.so", "sm_90a"),), V100, None),
    ((code("vllm/_new_C.abi3.so", "sm_90a"),), V100, None),  # a new part of a package that is known
    ((code("xformers/_C.so", "sm_80", few=("sm_70",)),), V100, None),  # a few kernels: nothing is sure
    ((code("bitsandbytes/libbitsandbytes_cuda130.so", "sm_80"),), V100, None),
    ((code("bitsandbytes/libbitsandbytes_cuda126.so", "sm_80"),), V100, "bitsandbytes 1.2.3 has no code for"),
    ((code("flash_attn_2_cuda.abi3.so", "sm_80", package="flash-attn"),), T4, "flash-attn 1.2.3 has no code for"),
    ((code("ext.so", "sm_70", "compute_70", package="ext", ptx_isa="99.9"),), H100, None),  # who knows
]


@pytest.mark.parametrize(("codes", "device", "summary"), FROM_FILES)
def test_companions_by_their_files(
    codes: tuple[DeviceCode, ...], device: Any, summary: str | None, tables: Tables
) -> None:
    findings = said(EXTENSION, inside(host(CU126, device), TORCH, *codes), tables)
    assert [str(item.summary).startswith(summary or "?") for item in findings] == ([True] if summary else [])
    assert all((item.confidence, item.row) == ("certain", None) for item in findings)


def test_where_files_were_read_no_table_is_asked(tables: Tables) -> None:
    facts = inside(host(CU128, V100, installed=XFORMERS), TORCH, code("xformers/_C.so", "sm_70"))
    assert found(EXTENSION, facts, tables) == []


def test_a_library_of_no_package_is_named_by_itself(tables: Tables) -> None:
    lone = DeviceCode(library="mine.so", fatbins=1, sass=(("sm_80", 1),))
    finding = only(EXTENSION, inside(host(CU126, V100), TORCH, lone), tables)
    assert str(finding.summary) == "mine.so has no code for Tesla V100-SXM2-32GB"


def test_packages_of_two_installers_are_told_apart(tables: Tables) -> None:
    both = Packages((Package(name="xformers", version="0.0.35", owner="uv"),), complete=True)
    assert only(EXTENSION, host(CU128, V100, installed=both), tables).severity is None  # as declared: a warning
