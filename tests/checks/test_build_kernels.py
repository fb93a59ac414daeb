from __future__ import annotations

import pytest
from install_hosts import ARM, BARE, GTX_1080_TI, RTX_4090, WINDOWS, gpu, healthy, host, packages, torch
from one_check import found, is_skipped, only

from torchdoctor.facts import ErrorText, Facts, Os, Package, Packages, Quoted, Torch, Unknown
from torchdoctor.findings import setting
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion

V100 = gpu("Tesla V100-SXM2-32GB", "7.0")
A100 = gpu("NVIDIA A100-SXM4-80GB", "8.0")
RTX_3090 = gpu("NVIDIA GeForce RTX 3090", "8.6")
RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0")
GB10 = gpu("NVIDIA GB10", "12.1")
ORIN = gpu("Orin (nvgpu)", "8.7")
FERMI = gpu("NVIDIA GeForce GT 540M", "2.1")
JETPACK_72 = replace(BARE, jetpack="7.2", l4t="39.2.0")
CONDA = Packages((Package(name="pytorch", version="2.1.0", owner="conda", build="py3.10_cuda12.1_cudnn8.9.2_0"),))
FORGE = Packages((Package(name="pytorch", version="2.5.1", owner="conda", build="cuda126_generic_py312h2a1b_200"),))


@pytest.mark.parametrize("check_id", ["torch-arch-missing", "known-bad-release"])
def test_a_healthy_host_has_none_of_them(check_id: str, tables: Tables) -> None:
    assert found(check_id, healthy(), tables) == []


MISSING = [
    (
        host(torch("2.8.0+cu128", "cu128"), GTX_1080_TI),
        "torch cu128 has no code for NVIDIA GeForce GTX 1080 Ti",
        "certain",
    ),
    (host(torch("2.14.1+cu130", "cu130"), V100), "torch cu130 has no code for Tesla V100-SXM2-32GB", "certain"),
    (
        host(torch("2.6.0+cu126", "cu126"), RTX_5090, os=WINDOWS),
        "torch cu126 has no code for NVIDIA GeForce RTX 5090",
        "certain",
    ),
    # a nightly is judged by the release it leads to
    (host(torch("2.8.0.dev20250601+cu128", "cu128"), GTX_1080_TI), "torch cu128 has no code for", "likely"),
    # older than the table: what its CUDA could compile at most
    (host(torch("1.6.0", "cu102"), RTX_3090, driver="455.23.04"), "torch cu102 has no code for", "likely"),
    # conda: the project's own channel, and a maker whose PTX starts above the GPU
    (
        host(torch("2.1.0", "cu121", owner="conda"), RTX_5090, installed=CONDA),
        "torch cu121 has no code for NVIDIA GeForce RTX 5090",
        "likely",
    ),
    (
        host(torch("2.14.0a0+b2c75dd062.nv26.09", "cu134", version="2.14.0a0"), GTX_1080_TI, driver="620.70.06"),
        "torch cu134 has no code for",
        "likely",
    ),
    # the build's own list is believed first
    (
        host(torch("2.14.1+cu130", "cu130", arch_list=("sm_80", "sm_90", "sm_bad", "compute_90")), V100),
        "torch cu130 has no code for",
        "certain",
    ),
    # PTX for the GPU, and a driver too old to compile it
    (
        host(torch("2.10.0+cu130", "cu130", arch_list=("sm_75", "compute_75")), A100, driver="570.86.15"),
        "torch cu130 has no code for",
        "certain",
    ),
]


@pytest.mark.parametrize(("facts", "summary", "confidence"), MISSING)
def test_missing_code_is_found(facts: Facts, summary: str, confidence: str, tables: Tables) -> None:
    finding = only("torch-arch-missing", facts, tables)
    assert str(finding.summary).startswith(summary)
    assert (finding.severity, finding.confidence) == ("error", confidence)
    assert finding.evidence[1].fact == "gpus[].compute_capability"
    assert finding.remedies[0].installs


def test_a_build_without_a_name_is_judged_by_its_own_list(tables: Tables) -> None:
    """Torch's warning names the architectures, and nothing else says which build it is."""
    for printed, told in (("2.0.1", "torch 2.0.1 has no code"), (Unknown("torch version"), "torch itself has no code")):
        bare = Torch(installed=True, version=printed, arch_list=("sm_37", "sm_50", "sm_86", "sm_90"))
        finding = only("torch-arch-missing", host(bare, RTX_5090), tables)
        assert str(finding.summary).startswith(told)
        assert (finding.confidence, finding.row) == ("certain", None)
        assert finding.evidence[0].value == "sm_37 sm_50 sm_86 sm_90"
        assert found("torch-arch-missing", host(bare, RTX_3090), tables) == []


def test_its_own_list_outranks_the_table(tables: Tables) -> None:
    own = torch("2.14.1+cu126", "cu126", arch_list=("sm_80", "sm_90"))
    assert only("torch-arch-missing", host(own, GTX_1080_TI), tables).row is None
    assert found("torch-arch-missing", host(torch("2.14.1+cu126", "cu126"), GTX_1080_TI), tables) == []


def test_a_row_is_cited_only_where_it_is_the_one(tables: Tables) -> None:
    finding = only("torch-arch-missing", host(torch("2.13.0+cu130", "cu130"), GTX_1080_TI, os=Os()), tables)
    assert finding.row is None
    assert finding.evidence[0].source == "torch_builds: all 3 wheels of 2.13.0+cu130"
    assert "7.5 8.0 8.6 9.0 10.0 11.0 12.0 at most" in str(finding.why)
    linux = only("torch-arch-missing", host(torch("2.13.0+cu130", "cu130"), GTX_1080_TI, os=Os(name="linux")), tables)
    assert linux.evidence[0].source == "torch_builds: all 2 wheels of 2.13.0+cu130"
    known = only("torch-arch-missing", host(torch("2.13.0+cu130", "cu130"), GTX_1080_TI), tables)
    assert known.row
    assert known.row.key == "2.13.0+cu130 linux x86_64"


def test_what_a_cuda_compiles_for_is_told_as_such(tables: Tables) -> None:
    finding = only("torch-arch-missing", host(torch("1.6.0", "cu102"), RTX_3090, driver="455.23.04"), tables)
    assert finding.evidence[0].value == "10.2"
    assert "this build has code for 3.0 to 7.5 at most, which is what CUDA 10.2 compiles for." in str(finding.why)


SERVED = [
    # code of a lower minor, and of an equal major in newer builds
    host(torch("2.8.0+cu128", "cu128"), RTX_4090, driver="550.54.15"),
    host(torch("2.9.1+cu130", "cu130"), GB10, os=ARM),
    host(torch("2.14.1+cu130", "cu130"), gpu("NVIDIA B300 SXM6 AC", "10.3")),
    host(torch("2.14.1+cu126", "cu126"), GTX_1080_TI),
    # server wheels from CUDA 13.2 on run on Orin
    host(torch("2.14.1+cu132", "cu132"), ORIN, os=ARM, place=JETPACK_72, driver="595.78"),
    # system and machine unknown: any wheel of that name counts
    host(torch("2.8.0+cu126", "cu126"), GTX_1080_TI, os=Os()),
    # PTX, compiled by a driver that speaks the CUDA of the build; WSL numbers are Windows ones
    host(torch("2.10.0+cu130", "cu130", arch_list=("sm_75", "compute_75")), A100),
    host(torch("2.10.0+cu130", "cu130", arch_list=("compute_75",)), A100, place=replace(BARE, wsl=2), driver="581.29"),
    host(torch("2.5.1", "cu126", owner="conda"), RTX_5090, installed=FORGE),
    # a newer build than the table knows, whose CUDA compiles for the GPU
    host(torch("2.99.0+cu135", "cu135"), GB10),
    # nothing to serve
    host(torch("2.14.1+cu130", "cu130")),
    host(torch("2.14.1+cu130", "cu130"), replace(V100, driver_sees=False)),
    host(torch("2.14.1+rocm7.2", "rocm7.2"), V100),
    host(Torch(installed=False, build=None), V100),
    host(Torch(installed=True, version="2.9.1", arch_list=("gfx90a", "gfx1100")), V100),
    # the card that cannot serve is hidden already
    host(torch("2.14.1+cu130", "cu130"), V100, RTX_4090, env={"CUDA_VISIBLE_DEVICES": "1"}),
    # one capability is unknown and the known ones are served
    host(torch("2.14.1+cu130", "cu130"), replace(V100, compute_capability=Unknown("compute capability")), RTX_4090),
]


@pytest.mark.parametrize("facts", SERVED)
def test_served_gpus_are_left_alone(facts: Facts, tables: Tables) -> None:
    assert found("torch-arch-missing", facts, tables) == []


SKIPPED = [
    Facts(),
    host(torch("2.14.1+cu130", "cu130"), gpus=Unknown("GPUs of the host")),
    host(torch("2.14.1+cu130", "cu130"), replace(V100, compute_capability=Unknown("compute capability"))),
    host(torch("2.99.0+cu199", "cu199"), V100),
    host(torch("2.99.0", "cu130", build=Unknown("torch build")), V100),
    # PTX could serve and the driver is unknown
    host(torch("2.10.0+cu130", "cu130", arch_list=("compute_75",)), A100, driver=""),
    host(torch("2.10.0+cu130", "cu130", arch_list=("compute_75",)), A100, driver="447.12"),
    # PTX could serve and the build's CUDA is unknown
    host(Torch(installed=True, arch_list=("sm_75", "compute_75")), A100),
]


@pytest.mark.parametrize("facts", SKIPPED)
def test_what_cannot_be_proved_is_skipped(facts: Facts, tables: Tables) -> None:
    assert is_skipped("torch-arch-missing", facts, tables)


def test_header_cuda_decides_about_ptx(tables: Tables) -> None:
    facts = host(torch("2.10.0+cu130", "cu130", arch_list=("compute_75",)), A100, driver="550.54.15")
    facts = replace(facts, driver=replace(facts.driver, cuda_shown=CudaVersion(13, 0)))
    assert found("torch-arch-missing", facts, tables) == []


def test_of_several_gpus_one_is_named_and_can_be_hidden(tables: Tables) -> None:
    finding = only("torch-arch-missing", host(torch("2.14.1+cu130", "cu130"), V100, RTX_4090, V100), tables)
    assert (finding.severity, str(finding.summary)) == ("warning", "torch cu130 has no code for Tesla V100-SXM2-32GB")
    assert finding.remedies[1].commands == (setting(CUDA_DEVICE_ORDER="PCI_BUS_ID", CUDA_VISIBLE_DEVICES="1"),)


def test_a_gpu_that_no_build_serves_is_not_sent_to_another_build(tables: Tables) -> None:
    finding = only("torch-arch-missing", host(torch("2.0.1+cu118", "cu118"), FERMI, driver="390.157"), tables)
    assert [remedy.installs for remedy in finding.remedies] == [False]


def test_the_row_and_the_code_list_are_named(tables: Tables) -> None:
    finding = only("torch-arch-missing", host(torch("2.10.0+cu130", "cu130"), V100), tables)
    assert finding.row
    assert (finding.row.table, finding.row.key) == ("torch_builds", "2.10.0+cu130 linux x86_64")
    assert finding.evidence[0].value == "7.5 8.0 8.6 9.0 10.0 12.0 12.0+PTX"


def test_orin_on_the_server_stack_is_doubtful(tables: Tables) -> None:
    facts = host(torch("2.14.1+cu130", "cu130"), ORIN, os=ARM, place=JETPACK_72, driver="595.78")
    finding = only("torch-arch-missing", facts, tables)
    assert (finding.severity, finding.confidence) == ("warning", "possible")
    unplaced = replace(facts, place=BARE)
    assert only("torch-arch-missing", unplaced, tables).severity == "error"


BAD = [
    (host(torch("2.4.0", "cpu"), os=WINDOWS, driver=""), "torch 2.4.0 is broken as published here", "likely"),
    (
        host(torch("2.8.0.dev20250327+xpu", "xpu"), driver=""),
        "torch 2.8.0.dev20250327 is broken as published here",
        "certain",
    ),
    (
        host(
            torch("2.2.1", "cpu", owner="conda"),
            driver="",
            installed=packages("pytorch==2.2.1", "mkl==2024.1.0", owner="conda"),
        ),
        "pytorch 2.2.1 is broken as published here",
        "likely",
    ),
]


@pytest.mark.parametrize(("facts", "summary", "confidence"), BAD)
def test_bad_releases_are_found(facts: Facts, summary: str, confidence: str, tables: Tables) -> None:
    finding = only("known-bad-release", facts, tables)
    assert (str(finding.summary), finding.confidence) == (summary, confidence)
    assert finding.evidence[0].fact == "torch.version"
    assert finding.row
    assert finding.row.source


def test_a_bad_neighbour_is_pinned_and_not_torch(tables: Tables) -> None:
    finding = only("known-bad-release", BAD[2][0], tables)
    assert finding.remedies[0].commands == ('conda install "mkl<2024.1"',)
    assert finding.evidence[1].value == "2024.1.0"


GOOD = [
    host(torch("2.4.1", "cpu"), os=WINDOWS, driver=""),
    host(torch("2.4.0", "cpu"), driver=""),
    host(torch("2.4.0", "cpu", cuda_available=False), os=WINDOWS, driver=""),
    host(torch("2.4.0", "cpu"), os=replace(WINDOWS, machine="arm64"), driver=""),
    host(torch("2.8.0.dev20250321+xpu", "xpu"), driver=""),
    host(torch("2.8.0+xpu", "xpu"), driver=""),
    host(torch("2.8.0.dev20250327+cpu", "cpu"), driver=""),
    host(torch("2.4.0a0+git123", "cpu", version="2.4.0a0"), os=WINDOWS, driver=""),
    host(torch("2.2.1", "cpu", owner="conda"), installed=packages("pytorch==2.2.1", "mkl==2024.0.0", owner="conda")),
    host(torch("2.2.1", "cpu", owner="conda"), installed=packages("pytorch==2.2.1", "mkl==2024.a", owner="conda")),
    host(torch("2.2.1", "cpu", owner="conda"), installed=packages("pytorch==2.2.1", owner="conda")),
]


@pytest.mark.parametrize("facts", GOOD)
def test_other_releases_are_left_alone(facts: Facts, tables: Tables) -> None:
    assert found("known-bad-release", facts, tables) == []


@pytest.mark.parametrize(
    "facts",
    [
        Facts(),
        host(torch("2.4.0", "cpu"), os=Os(), driver=""),
        host(torch("2.2.1", "cpu", owner="conda"), installed=Packages()),
    ],
)
def test_a_bad_release_needs_its_platform(facts: Facts, tables: Tables) -> None:
    assert is_skipped("known-bad-release", facts, tables)


def test_the_list_of_a_quoted_warning_is_that_of_the_torch_that_fails(tables: Tables) -> None:
    """Another torch on this host has the code; the program that fails does not import that one."""
    new = torch("2.9.1+cu128", "cu128", arch_list=("sm_75", "sm_90", "sm_120"))
    facts = host(new, gpu("NVIDIA GeForce RTX 5070 Ti", "12.0"))
    assert found("torch-arch-missing", facts, tables) == []
    values = {"sm": "120", "archs": "sm_50 sm_60 sm_90 compute_37 If you want"}
    quoted = replace(facts, quoted=Quoted((ErrorText("arch-not-compatible", "", "log line 3", values),)))
    finding = only("torch-arch-missing", quoted, tables)
    assert (finding.evidence[0].value, finding.evidence[0].source) == ("sm_50 sm_60 sm_90", "log line 3")
