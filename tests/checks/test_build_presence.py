from __future__ import annotations

import pytest
from install_hosts import ARM, BARE, GTX_1080_TI, LINUX, MAC, RTX_4090, WINDOWS, gpu, healthy, host, packages, torch
from one_check import found, is_skipped, only

from torchdoctor.facts import Driver, ErrorText, Facts, Gpu, Os, Package, Packages, Quoted, Torch, Unknown
from torchdoctor.findings import Evidence
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import DriverVersion, GfxId

NO_TORCH = Torch(installed=False, version=None, full=None, build=None, cuda=None)
RADEON = Gpu(vendor="amd", name="AMD Radeon RX 7900 XTX", gfx=GfxId("gfx1100"), driver_sees=None)
RYZEN = Gpu(vendor="amd", name="AMD Radeon Graphics", gfx=GfxId("gfx1103"), driver_sees=None)
STRIX = Gpu(vendor="amd", name=None, gfx=GfxId("gfx1151"), driver_sees=None, memory=64 * 2**30)
GB200 = gpu("NVIDIA GB200", "10.0")
ORIN = gpu("Orin (nvgpu)", "8.7")
JETPACK_6 = replace(BARE, jetpack="6.2", l4t="36.4.3")
JETPACK_7 = replace(BARE, jetpack="7.0", l4t="38.2.0")
PYPI_LIST = packages("torch==2.9.1", "numpy==2.3.5")
CPU = torch("2.9.1+cpu", "cpu")

IDS = (
    "torch-missing",
    "jetson-wheel",
    "torch-from-wrong-index",
    "torch-wrong-vendor",
    "torch-cpu-build",
    "extension-wrong-vendor",
)


@pytest.mark.parametrize("check_id", IDS)
def test_a_healthy_host_has_none_of_them(check_id: str, tables: Tables) -> None:
    assert found(check_id, healthy(), tables) == []


FOUND = [
    ("torch-missing", host(NO_TORCH), Evidence("torch.installed", "no", ""), "error"),
    (
        "torch-cpu-build",
        host(torch("2.14.1+cpu", "cpu"), RTX_4090),
        Evidence("gpus[].name", "NVIDIA GeForce RTX 4090", "nvidia-smi"),
        "error",
    ),
    (
        "torch-from-wrong-index",
        host(CPU, GB200, os=ARM, installed=PYPI_LIST),
        Evidence("torch.build", "cpu", ""),
        "error",
    ),
    (
        "torch-wrong-vendor",
        host(torch("2.14.1+rocm7.2", "rocm7.2"), RTX_4090),
        Evidence("torch.build", "rocm7.2", ""),
        "error",
    ),
    ("torch-wrong-vendor", host(torch("2.14.1+xpu", "xpu"), RTX_4090), Evidence("torch.build", "xpu", ""), "error"),
    (
        "torch-wrong-vendor",
        host(torch("2.1.1+cu118", "cu118"), RADEON, driver=""),
        Evidence("gpus[].name", "AMD Radeon RX 7900 XTX", "nvidia-smi"),
        "error",
    ),
    (
        "torch-wrong-vendor",
        host(torch("2.14.1+cu130", "cu130"), RADEON, driver=""),
        Evidence("torch.build", "cu130", ""),
        "warning",
    ),
    (
        "torch-wrong-vendor",
        host(torch("2.14.1+cu130", "cu130"), STRIX, driver=""),
        Evidence("torch.build", "cu130", ""),
        "warning",
    ),
    (
        "torch-wrong-vendor",
        host(torch("2.12.0+cu130", "cu130"), RYZEN, driver="", require_gpu=True),
        Evidence("torch.build", "cu130", ""),
        "error",
    ),
    (
        "jetson-wheel",
        host(torch("2.9.1+cu126", "cu126"), ORIN, os=ARM, place=JETPACK_6),
        Evidence("place.jetpack", "6.2", ""),
        "error",
    ),
    ("jetson-wheel", host(CPU, ORIN, os=ARM, place=JETPACK_6), Evidence("torch.build", "cpu", ""), "error"),
    (
        "jetson-wheel",
        host(torch("1.10.0", "cu102", full="1.10.0", origin="source"), ORIN, os=ARM, place=JETPACK_6),
        Evidence("torch.build", "cu102", ""),
        "error",
    ),
    (
        "extension-wrong-vendor",
        host(torch("2.9.1+rocm6.4", "rocm6.4"), RADEON, installed=packages("flashinfer-python==0.6.3")),
        Evidence("packages.flashinfer-python", "0.6.3", "site-packages"),
        "warning",
    ),
]


@pytest.mark.parametrize(("check_id", "facts", "evidence", "severity"), FOUND)
def test_found(check_id: str, facts: Facts, evidence: Evidence, severity: str, tables: Tables) -> None:
    from torchdoctor.checks.registry import CHECKS

    finding = only(check_id, facts, tables)
    assert evidence in finding.evidence
    assert (finding.severity or CHECKS[check_id].severity) == severity
    assert len(str(finding.summary).split()) < 15
    assert finding.remedies[0].installs is (check_id != "extension-wrong-vendor")


NOT_FOUND = [
    # no torch is no wrong torch
    ("torch-cpu-build", host(NO_TORCH, RTX_4090)),
    # a CPU build on hosts where no GPU could be used
    ("torch-cpu-build", host(CPU, driver="")),
    ("torch-cpu-build", host(CPU, RYZEN, driver="")),
    ("torch-cpu-build", host(CPU, Gpu(vendor="intel", name="Intel(R) UHD Graphics 770"), driver="")),
    ("torch-cpu-build", host(torch("2.15.0+cpu", "cpu"), gpu("NVIDIA GeForce GT 610", "2.1"))),
    ("torch-cpu-build", host(CPU, replace(RTX_4090, driver_sees=False))),
    ("torch-cpu-build", host(CPU, replace(RTX_4090, kernel_driver="vfio-pci"))),
    ("torch-cpu-build", host(torch("2.14.1", "mps"), Gpu(vendor="apple", name="Apple M3"), os=MAC, driver="")),
    # the index is not at fault: labelled by the cpu index, from conda, no CUDA build exists, another platform
    ("torch-from-wrong-index", host(CPU, GB200, os=ARM, installed=packages("torch==2.9.1+cpu"))),
    ("torch-from-wrong-index", host(torch("2.2.2", "cpu"), GB200, os=ARM, installed=packages("torch==2.2.2"))),
    (
        "torch-from-wrong-index",
        host(
            replace(CPU, owner=Unknown("installer")), GB200, os=ARM, installed=packages("torch==2.9.1", owner="conda")
        ),
    ),
    ("torch-from-wrong-index", host(torch("2.9.1+cpu", "cpu", owner="conda"), GB200, os=ARM, installed=PYPI_LIST)),
    ("torch-from-wrong-index", host(torch("2.9.1+cpu", "cpu", origin="pytorch"), GB200, os=ARM)),
    ("torch-from-wrong-index", host(CPU, RTX_4090, installed=PYPI_LIST)),
    ("torch-from-wrong-index", host(CPU, os=ARM, installed=PYPI_LIST, driver="")),
    ("torch-from-wrong-index", host(torch("9.9.9", "cpu"), GB200, os=ARM, installed=packages("torch==9.9.9"))),
    # an Nvidia GPU is there too, torch sees one, or the driver proves one
    ("torch-wrong-vendor", host(torch("2.14.1+cu130", "cu130"), RYZEN, RTX_4090)),
    ("torch-wrong-vendor", host(torch("2.14.1+cu130", "cu130", cuda_available=True), RADEON)),
    ("torch-wrong-vendor", host(torch("2.14.1+cu130", "cu130"), RADEON)),
    ("torch-wrong-vendor", host(torch("2.14.1+cu130", "cu130"), RYZEN, driver="")),
    ("torch-wrong-vendor", host(torch("2.14.1+cu130", "cu130"), replace(RYZEN, name=None), driver="")),
    ("torch-wrong-vendor", host(torch("2.14.1+cu130", "cu130"), replace(STRIX, gfx=None), driver="")),
    ("torch-wrong-vendor", host(torch("2.14.1+cu130", "cu130"), replace(STRIX, memory=2**29), driver="")),
    ("torch-wrong-vendor", host(torch("2.14.1+cu130", "cu130"), driver="")),
    ("torch-wrong-vendor", host(CPU, RADEON)),
    # Jetsons with a wheel of their own, or with a stack that runs server wheels
    ("jetson-wheel", host(torch("2.8.0", "cu126"), ORIN, os=ARM, place=JETPACK_6)),
    (
        "jetson-wheel",
        host(torch("2.5.0a0+872d972e41.nv24.08", "cu126", version="2.5.0a0"), ORIN, os=ARM, place=JETPACK_6),
    ),
    ("jetson-wheel", host(torch("2.14.1+cu130", "cu130"), gpu("NVIDIA Thor", "11.0"), os=ARM, place=JETPACK_7)),
    ("jetson-wheel", host(torch("2.8.0", "cpu"), ORIN, os=ARM, place=JETPACK_6)),
    ("jetson-wheel", host(torch("2.14.1+cu130", "cu130"), RTX_4090, place=replace(BARE, jetpack="0.1"))),
    (
        "extension-wrong-vendor",
        host(torch("2.14.1+cu130", "cu130"), RTX_4090, installed=packages("flashinfer-python==0.6")),
    ),
    ("extension-wrong-vendor", host(torch("2.9.1+rocm6.4", "rocm6.4"), RADEON)),
]


@pytest.mark.parametrize(("check_id", "facts"), NOT_FOUND)
def test_not_found(check_id: str, facts: Facts, tables: Tables) -> None:
    assert found(check_id, facts, tables) == []


SKIPPED = [
    ("torch-missing", Facts()),
    ("torch-cpu-build", Facts()),
    ("torch-cpu-build", host(CPU, driver="", gpus=Unknown("GPUs of the host"))),
    ("torch-from-wrong-index", host(CPU, GB200, os=replace(ARM, machine=Unknown("machine architecture")))),
    ("torch-from-wrong-index", host(CPU, GB200, os=ARM, installed=Packages())),
    ("torch-from-wrong-index", host(torch("2.9.0a0+gitabc", "cpu", version="2.9.0a0"), GB200, os=ARM)),
    ("torch-wrong-vendor", host(torch("2.14.1+cu130", "cu130"), Gpu(), driver="")),
    ("torch-wrong-vendor", host(torch("2.14.1+cu130", "cu130"), gpus=Unknown("GPUs of the host"))),
    ("jetson-wheel", Facts()),
    ("jetson-wheel", host(replace(CPU, build=Unknown("torch build")), ORIN, os=ARM, place=JETPACK_6)),
    ("extension-wrong-vendor", host(torch("2.9.1+rocm6.4", "rocm6.4"), RADEON, installed=Packages())),
]


@pytest.mark.parametrize(("check_id", "facts"), SKIPPED)
def test_skipped_when_the_deciding_fact_is_unknown(check_id: str, facts: Facts, tables: Tables) -> None:
    assert is_skipped(check_id, facts, tables)


def test_missing_torch_names_the_interpreter_that_has_one(tables: Tables) -> None:
    facts = host(NO_TORCH)
    facts = replace(facts, python=replace(facts.python, other="/opt/venv/bin/python"))
    finding = only("torch-missing", facts, tables)
    assert str(finding.summary) == "torch is not installed in /home/u/app/.venv/bin/python"
    assert "/opt/venv/bin/python" in str(finding.remedies[1].text)
    unnamed = replace(facts, python=replace(facts.python, executable=Unknown("path of the interpreter")))
    assert only("torch-missing", unnamed, tables).evidence == (Evidence("torch.installed", "no", ""),)


def test_a_required_gpu_makes_any_cpu_build_an_error(tables: Tables) -> None:
    finding = only("torch-cpu-build", host(CPU, driver="", require_gpu=True), tables)
    assert (finding.severity, finding.confidence) == (None, "certain")
    assert finding.evidence[1] == Evidence("request.require_gpu", "yes", "--require-gpu")


VEGA = Gpu(vendor="amd", name="AMD Radeon RX 580", gfx=GfxId("gfx803"), driver_sees=None)
UNNAMED = replace(RADEON, gfx=Unknown("gfx id"))
ARC = Gpu(vendor="intel", name="Intel Arc A770", driver_sees=None)
CUDA = torch("2.1.1+cu118", "cu118")
NOWHERE = "torch computes on the processor there"
RIGHT_BUILDS = [
    # an official build has code for it on this system: the install command
    (host(CUDA, RADEON, driver=""), True, "Install the ROCm build that has code for AMD Radeon RX 7900 XTX", ""),
    (host(CUDA, STRIX, driver="", os=Os()), True, "Install the ROCm build that has code for amd GPU", ""),
    (host(torch("2.14.1+rocm7.2", "rocm7.2"), RTX_4090), True, "Install the build for NVIDIA GeForce RTX 4090", ""),
    # there is none, whatever is asked: on this system, for this gfx id, on this machine
    (host(CUDA, VEGA, driver="", os=WINDOWS), False, "on Windows; " + NOWHERE, ""),
    (host(CUDA, RADEON, driver="", os=WINDOWS), True, "Install torch from AMD's own index", ""),
    (host(CUDA, VEGA, driver=""), False, "code for AMD Radeon RX 580 (gfx803) on Linux; " + NOWHERE, ""),
    (host(CUDA, RADEON, driver="", os=ARM), False, "on Linux; " + NOWHERE, ""),
    (host(CUDA, VEGA, driver="", os=Os()), False, "AMD Radeon RX 580 (gfx803); " + NOWHERE, ""),
    (host(CUDA, UNNAMED, driver="", os=WINDOWS), False, "AMD Radeon RX 7900 XTX on Windows; " + NOWHERE, ""),
    (host(torch("2.14.1+xpu", "xpu"), gpu("NVIDIA GT 610 pro", "2.1")), False, "on Linux; " + NOWHERE, ""),
    (host(CUDA, ARC, driver="", os=replace(ARM)), False, "Intel Arc A770 on Linux; " + NOWHERE, ""),
    # it depends on what is not known
    (host(CUDA, UNNAMED, driver=""), False, "Find the gfx id of AMD Radeon RX 7900 XTX", "rocminfo | grep -m1 gfx"),
    (host(CUDA, ARC, driver=""), True, "Install the XPU build for Intel Arc A770", ""),
    (
        host(CUDA, replace(ARC, name="Intel(R) Iris(R) Xe Graphics"), driver="", require_gpu=True),
        False,
        "take the XPU build",
        "torchdoctor install-cmd --backend xpu",
    ),
]


@pytest.mark.parametrize(("facts", "installs", "words", "command"), RIGHT_BUILDS)
def test_the_install_command_is_asked_for_where_a_build_exists(
    facts: Facts, installs: bool, words: str, command: str, tables: Tables
) -> None:
    (remedy,) = only("torch-wrong-vendor", facts, tables).remedies
    assert (remedy.installs, words in str(remedy.text)) == (installs, True), str(remedy.text)
    assert next(iter(remedy.commands), "") == command


def test_both_vendors_are_told(tables: Tables) -> None:
    finding = only("torch-wrong-vendor", host(CUDA, RADEON, ARC, driver=""), tables)
    assert [remedy.installs for remedy in finding.remedies] == [True, False]


def test_a_required_gpu_of_another_vendor_is_told_what_its_vendor_has(tables: Tables) -> None:
    radeon = only("torch-cpu-build", host(CPU, RADEON, driver="", require_gpu=True), tables)
    assert "ROCm build" in str(radeon.remedies[0].text)
    windows = only("torch-cpu-build", host(CPU, RADEON, driver="", os=WINDOWS, require_gpu=True), tables)
    assert [remedy.installs for remedy in windows.remedies] == [True]
    assert "AMD's own index" in str(windows.remedies[0].text)
    both = only("torch-cpu-build", host(CPU, RYZEN, RTX_4090, require_gpu=True), tables)
    assert str(both.remedies[0].text) == "Install the build for this host's GPU"


def test_a_driver_alone_makes_a_cpu_build_likely_wrong(tables: Tables) -> None:
    facts = host(torch("2.1.1", "cpu"), os=WINDOWS, driver="546.33", gpus=Unknown("GPUs of the host"))
    finding = only("torch-cpu-build", facts, tables)
    assert finding.confidence == "likely"
    assert finding.evidence[1].fact == "driver.version"


def test_a_gpu_of_unknown_capability_counts(tables: Tables) -> None:
    unknown = replace(GTX_1080_TI, compute_capability=Unknown("compute capability"))
    assert only("torch-cpu-build", host(CPU, unknown), tables).confidence == "certain"


@pytest.mark.parametrize("l4t", [None, "35.4.1"])
def test_a_jetson_has_a_gpu_even_when_none_is_listed(l4t: str | None, tables: Tables) -> None:
    place = replace(BARE, jetpack="5.1.2" if l4t is None else Unknown("JetPack version"), l4t=l4t)
    facts = host(
        torch("2.4.1", "cpu"), os=ARM, place=place, driver="", installed=packages("torch==2.4.1"),
        gpus=Unknown("GPUs of the host"),
    )  # fmt: skip
    finding = only("torch-from-wrong-index", facts, tables)
    assert finding.evidence[-1].fact == "place.jetpack"
    assert finding.row
    assert finding.row.key == "2.4.1+cpu linux aarch64"
    assert only("torch-cpu-build", facts, tables).evidence


@pytest.mark.parametrize(
    ("card", "is_told"),
    [
        (RADEON, True),
        (RYZEN, False),
        (replace(RADEON, gfx=GfxId.parse("gfx803"), name="AMD Radeon RX 580"), False),
        (replace(RADEON, gfx=Unknown("gfx id")), False),
        (Gpu(vendor="intel", name="Intel(R) Arc(TM) B580 Graphics"), True),
        (Gpu(vendor="intel", name="Intel(R) UHD Graphics 770"), False),
    ],
)
def test_a_card_of_another_vendor_is_wasted_as_well(card: Gpu, is_told: bool, tables: Tables) -> None:
    assert bool(found("torch-cpu-build", host(CPU, card, driver=""), tables)) is is_told


def test_the_origin_of_the_wheel_is_believed_before_its_label(tables: Tables) -> None:
    facts = host(torch("2.9.1+cpu", "cpu", origin="pypi"), GB200, os=ARM, installed=packages("torch==2.9.1+cpu"))
    assert (
        str(only("torch-from-wrong-index", facts, tables).summary) == "PyPI's torch 2.9.1 for linux aarch64 is CPU-only"
    )


def test_windows_gets_its_cpu_build_from_pypi_too(tables: Tables) -> None:
    facts = host(torch("2.3.1", "cpu"), RTX_4090, os=WINDOWS, installed=packages("torch==2.3.1"))
    assert only("torch-from-wrong-index", facts, tables).remedies[0].installs


ASKED = ErrorText("torch-not-compiled-with-cuda", "AssertionError: Torch not compiled with CUDA enabled", "log line 9")
MIRROR = replace(CPU, full="2.9.1", indexes=("https://mirror.example/simple/",))
NOBODY = replace(
    host(MIRROR, os=WINDOWS, installed=Packages()), gpus=Unknown("GPUs"), driver=Driver(), quoted=Quoted((ASKED,))
)


@pytest.mark.parametrize("os", [WINDOWS, Os(name="windows")])  # PyPI has wheels for one kind of Windows machine
def test_a_wheel_of_a_mirror_and_a_program_that_asks_for_cuda(os: Os, tables: Tables) -> None:
    facts = replace(NOBODY, os=os)
    finding = only("torch-from-wrong-index", facts, tables)
    assert Evidence("error.torch-not-compiled-with-cuda", ASKED.text, "log line 9") in finding.evidence
    assert finding.remedies[0].installs


@pytest.mark.parametrize(
    "facts",
    [
        replace(NOBODY, quoted=Quoted()),  # nobody asks for a GPU
        replace(NOBODY, quoted=Quoted((replace(ASKED, doubtful=True),))),
        replace(NOBODY, torch=replace(MIRROR, indexes=("https://download.pytorch.org/whl/cpu",))),
        replace(NOBODY, os=Os(name="linux")),  # what PyPI has depends on the machine
    ],
)
def test_where_a_wheel_came_from_or_what_for_is_not_guessed(facts: Facts, tables: Tables) -> None:
    assert is_skipped("torch-from-wrong-index", facts, tables)


def test_jetson_is_known_by_its_jetpack_when_l4t_is_not(tables: Tables) -> None:
    place = replace(BARE, jetpack="6.2", l4t=Unknown("Jetson Linux release"))
    assert only("jetson-wheel", host(torch("2.9.1+cu126", "cu126"), ORIN, os=ARM, place=place), tables).evidence


def test_an_unlabelled_wheel_of_another_major_names_its_cuda_only_when_known(tables: Tables) -> None:
    bare = torch("2.8.0", "cu126", build=Unknown("torch build"), cuda=Unknown("CUDA version of the torch build"))
    assert is_skipped("jetson-wheel", host(bare, ORIN, os=ARM, place=JETPACK_6), tables)


def test_a_cpu_build_beside_a_gpu_seen_only_by_conda_marks(tables: Tables) -> None:
    listed = Packages((Package(name="pytorch", version="2.2.2", owner="conda", build="py3.10_cpu_0"),), complete=True)
    bare = torch("2.2.2", "cpu", owner=Unknown("installer of torch"))
    facts = host(bare, RTX_4090, os=WINDOWS, driver="551.86", installed=listed)
    assert found("torch-from-wrong-index", facts, tables) == []
    assert only("torch-cpu-build", facts, tables).evidence


def test_driver_versions_are_not_needed_for_a_known_gpu(tables: Tables) -> None:
    facts = host(CPU, RTX_4090)
    assert found("torch-cpu-build", replace(facts, driver=Driver()), tables) == found("torch-cpu-build", facts, tables)
    assert isinstance(facts.driver.version, DriverVersion)
    assert facts.os is LINUX


def test_a_release_that_sees_no_gpu_on_a_jetson_is_taken_for_pypis(tables: Tables) -> None:
    place = replace(BARE, jetpack="5.1.2", l4t="35.4.1")
    bare = torch("2.4.1", "cpu", build=Unknown("torch build"), cuda_available=False)
    facts = host(bare, ORIN, os=ARM, place=place, installed=packages("torch==2.4.1"))
    for check_id in ("torch-from-wrong-index", "torch-cpu-build"):
        finding = only(check_id, facts, tables)
        assert finding.confidence == "likely"
        assert Evidence("torch.cuda_available", "no", "") in finding.evidence
    works = replace(facts, torch=replace(bare, cuda_available=True))
    assert found("torch-cpu-build", works, tables) == []
    assert is_skipped("torch-cpu-build", replace(facts, torch=replace(bare, cuda_available=Unknown("answer"))), tables)
    nvidias = replace(bare, version="2.1.0a0", full="2.1.0a0+41361538.nv23.06")
    assert is_skipped("torch-cpu-build", replace(facts, torch=nvidias), tables)
