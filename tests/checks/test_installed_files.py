"""What the installed files prove: torn packages, libraries that are nowhere, and those that stand in for others."""

from __future__ import annotations

import pytest
from install_hosts import ARM, LINUX, WINDOWS, healthy, host, packages, torch
from one_check import found, is_skipped, only, severity

from torchdoctor.checks.build import importing
from torchdoctor.checks.hygiene import torn as torn_topic
from torchdoctor.checks.hygiene import undeclared
from torchdoctor.checks.markers import holds
from torchdoctor.facts import Facts, Inside, Package, Packages, Trial
from torchdoctor.findings import unsetting
from torchdoctor.inside import Linked, Torn
from torchdoctor.records import replace
from torchdoctor.tables import Tables

TOPICS = (importing, torn_topic, undeclared)  # whose checks are registered by being imported
CU130 = torch("2.14.1+cu130", "cu130")
IMPORTED = Trial(imported=True)
TORN = Torn(package="torch", version="2.14.1", files=9000, missing=("torch/lib/libtorch_cpu.so",), missing_count=1)
CUDNN = replace(TORN, package="nvidia-cudnn-cu13", version="9.24.0.43", missing=("nvidia/cudnn/lib/libcudnn_ops.so.9",))
VISION = replace(TORN, package="torchvision", version="0.29.1", missing=("torchvision/_C.so",))
CUT = replace(TORN, missing=(), missing_count=0, changed=("torch/_C.so",), cut=("torch/_C.so",))
MODULE = replace(TORN, missing=("torch/nn/functional.py",))
OK = Linked(soname="libcudart.so.13", path="nvidia/cu13/lib/libcudart.so.13", how="rpath", for_torch=True)
GONE = Linked(soname="libcudss.so.0", path=None, needed_by=("torch/lib/libtorch_cuda.so",), for_torch=True)
OLD = Linked(
    soname="libstdc++.so.6", path="/opt/old/libstdc++.so.6", how="LD_LIBRARY_PATH", for_torch=True,
    needed_by=("torch/lib/libtorch_cpu.so",), lacks=("GLIBCXX_3.4.30",),
)  # fmt: skip
OTHER_CUDNN = Linked(
    soname="libcudnn_graph.so.9", path="/usr/local/lib/libcudnn_graph.so.9.1.0", how="LD_LIBRARY_PATH", version="9.1.0",
    own="nvidia/cudnn/lib/libcudnn_graph.so.9", own_version="9.24.0.43", opened=True,
)  # fmt: skip


def inside(*, torn: tuple[Torn, ...] = (), linked: tuple[Linked, ...] = (OK,), trial: Trial | None = None) -> Facts:
    return host(CU130, inside=Inside(torn=torn, linked=linked), trial=trial or Trial())


@pytest.mark.parametrize("check_id", ["torn-package", "undeclared-system-library", "torch-import-fails"])
def test_nothing_known_is_skipped(check_id: str, tables: Tables) -> None:
    assert is_skipped(check_id, Facts(), tables)


@pytest.mark.parametrize(
    "check_id", ["torn-package", "undeclared-system-library", "library-path-shadowing", "mixed-package-sources"]
)
def test_sound_files_are_no_trouble(check_id: str, tables: Tables) -> None:
    assert found(check_id, inside(), tables) == []


# --- torn-package


@pytest.mark.parametrize(
    ("torn", "imported", "expected", "level"),
    [
        (TORN, False, "torch 2.14.1 is incomplete: torch/lib/libtorch_cpu.so", "error"),
        (TORN, True, "torch 2.14.1 is incomplete: torch/lib/libtorch_cpu.so", "warning"),
        (CUDNN, False, "nvidia-cudnn-cu13 9.24.0.43 is incomplete: nvidia/cudnn/lib/libcudnn_ops.so.9", "error"),
        (VISION, False, "torchvision 0.29.1 is incomplete: torchvision/_C.so", "warning"),
        (CUT, False, "torch 2.14.1 is incomplete: torch/_C.so", "error"),
        (MODULE, False, "torch 2.14.1 is incomplete: torch/nn/functional.py", "error"),
    ],
)  # fmt: skip
def test_a_torn_package(torn: Torn, imported: bool, expected: str, level: str, tables: Tables) -> None:
    facts = inside(torn=(torn,), trial=IMPORTED if imported else Trial())
    assert str(only("torn-package", facts, tables).summary) == expected
    assert severity("torn-package", facts, tables) == level


@pytest.mark.parametrize(
    "torn",
    [
        replace(TORN, missing=("torch/include/torch/csrc/api.h", "torch/lib/libx.a"), missing_count=900),
        replace(TORN, missing=("torch/test/test_x.py", "torch/tests/libx.so")),
        replace(TORN, missing=(), missing_count=0, changed=("torch/lib/libtorch_cpu.so",), changed_count=1),
        replace(TORN, missing=(), missing_count=0, shared_with=("torch/a.py",), shared_count=1, others=("x 1",)),
        replace(TORN, files=1),
    ],
    ids=["headers", "tests", "stripped", "shared", "nothing left"],
)
def test_what_is_no_torn_package(torn: Torn, tables: Tables) -> None:
    assert found("torn-package", inside(torn=(torn,)), tables) == []


def test_the_very_package_is_installed_again(tables: Tables) -> None:
    (again,) = only("torn-package", inside(torn=(CUDNN,)), tables).remedies
    assert again.commands == ("python -m pip install --force-reinstall --no-deps nvidia-cudnn-cu13==9.24.0.43",)
    remove, install = only("torn-package", inside(torn=(TORN,)), tables).remedies
    assert (remove.commands, install.installs) == (("python -m pip uninstall -y torch",), True)


def test_conda_and_pip_own_the_same_files(tables: Tables) -> None:
    both = replace(
        TORN,
        missing=(),
        missing_count=0,
        shared_with=("torch/a.py",),
        shared_count=812,
        others=("conda's pytorch-2.5.1",),
    )
    finding = only("mixed-package-sources", inside(torn=(both,)), tables)
    assert str(finding.summary) == "812 files of torch 2.14.1 are conda's pytorch-2.5.1 as well"


# --- libraries


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (GONE, "the import of torch will fail: libcudss.so.0 is nowhere"),
        (OLD, "the import of torch will fail: libstdc++.so.6 lacks GLIBCXX_3.4.30"),
        (replace(OK, damage="empty file"), "the import of torch will fail: libcudart.so.13 is damaged"),
    ],
)
def test_an_import_that_was_not_tried_is_foretold(item: Linked, expected: str, tables: Tables) -> None:
    finding = only("torch-import-fails", inside(linked=(OK, item)), tables)
    assert (str(finding.summary), finding.confidence) == (expected, "likely")
    assert finding.remedies[0].commands == ((unsetting("LD_LIBRARY_PATH"),) if item is OLD else ())


@pytest.mark.parametrize("item", [GONE, OLD])
def test_a_trial_outranks_what_was_foretold(item: Linked, tables: Tables) -> None:
    for check_id in ("torch-import-fails", "undeclared-system-library"):
        assert found(check_id, inside(linked=(item,), trial=IMPORTED), tables) == []
    asked = replace(inside(linked=(item,)), torch=replace(CU130, cuda_available=False))
    assert found("torch-import-fails", asked, tables) == []


def test_an_import_that_failed_has_what_the_files_say_as_evidence(tables: Tables) -> None:
    trial = Trial(
        imported=False, error="ImportError: libcudss.so.0: cannot open", library="libcudss.so.0", timed_out=False
    )
    finding = only("torch-import-fails", inside(linked=(GONE,), trial=trial), tables)
    assert any("libcudss.so.0: nowhere" in item.value for item in finding.evidence)


@pytest.mark.parametrize(
    "item",
    [replace(GONE, opened=True), replace(GONE, for_torch=False), replace(GONE, soname="libcuda.so.1"), OK],
    ids=["by name", "a companion's", "driver's", "sound"],
)
def test_what_does_not_stop_torch(item: Linked, tables: Tables) -> None:
    assert is_skipped("torch-import-fails", inside(linked=(item,)), tables)
    assert found("undeclared-system-library", inside(linked=(item,)), tables) == []


def test_a_library_that_nobody_declares(tables: Tables) -> None:
    assert str(only("undeclared-system-library", inside(linked=(GONE,)), tables).summary) == (
        "torch needs libcudss.so.0, which nothing here brings"
    )


@pytest.mark.parametrize(
    "facts",
    [
        inside(linked=(GONE,), torn=(CUDNN,)),
        replace(inside(linked=(GONE,)), packages=Packages()),
        replace(inside(linked=(GONE,)), torch=replace(CU130, requires=("nvidia-cudss-cu13==0.7.1",))),
        inside(linked=(replace(GONE, soname="libtorch_cpu.so"),)),
    ],
    ids=["torn", "unknown packages", "declared", "torch's own"],
)
def test_a_library_that_somebody_declares(facts: Facts, tables: Tables) -> None:
    assert found("undeclared-system-library", facts, tables) == []


@pytest.mark.parametrize(
    ("item", "level"),
    [
        (OTHER_CUDNN, "error"),
        (replace(OTHER_CUDNN, version=None), "warning"),
        (replace(OTHER_CUDNN, how="cache"), "error"),
        (replace(OTHER_CUDNN, soname="libcublas.so.13", version="13.0.0", own_version="13.1.1.3"), "warning"),
        (replace(OTHER_CUDNN, soname="libnvJitLink.so.13", lacks=("libnvJitLink.so.13.1",)), "error"),
    ],
)
def test_a_library_that_stands_in_for_the_wheels_own(item: Linked, level: str, tables: Tables) -> None:
    assert severity("library-path-shadowing", inside(linked=(OK, item)), tables) == level
    assert severity("library-path-shadowing", inside(linked=(item,), trial=IMPORTED), tables) == "warning"


@pytest.mark.parametrize(
    "item",
    [
        replace(OTHER_CUDNN, version="9.24.0"),
        replace(OTHER_CUDNN, own=None),
        replace(OTHER_CUDNN, path="nvidia/cudnn/lib/libcudnn_graph.so.9"),
        replace(OTHER_CUDNN, how="rpath"),
    ],
    ids=["the same version", "no own", "another of NVIDIA's packages", "the wheel wants it so"],
)
def test_what_stands_in_for_nothing(item: Linked, tables: Tables) -> None:
    facts = replace(
        inside(linked=(item,)), env=replace(healthy().env, values={"LD_LIBRARY_PATH": "/usr/local/cuda-12.1/lib64"})
    )
    assert found("library-path-shadowing", facts, tables) == []


# --- pins

TOOLKIT = (
    "nvidia-cublas==13.1.1.3.*; (sys_platform == 'linux' and platform_machine == 'x86_64') and extra == 'cublas'",
    "nvidia-nvjitlink<14,>=13.0.88; (sys_platform == 'linux' or sys_platform == 'win32') and extra == 'cusparse'",
    "nvidia-nvjitlink<14,>=13.0.88; sys_platform == 'linux' and extra == 'nvjitlink'",
    "nvidia-npp==13.0.1.2.*; sys_platform == 'linux' and extra == 'npp'",
)
WITH_TOOLKIT = replace(
    CU130,
    requires=(
        'cuda-toolkit[cublas,cusparse]==13.0.3; platform_system == "Linux"',
        'triton~=3.8.0; platform_system == "Linux"',
    ),
)


def with_toolkit(*names: str, os: object = LINUX) -> Facts:
    toolkit = Package(name="cuda-toolkit", version="13.0.3.0", owner="pip", requires=TOOLKIT)
    return host(WITH_TOOLKIT, os=os, installed=Packages((toolkit, *packages(*names).items), complete=True))  # type: ignore[arg-type]


GOOD = ("nvidia-cublas==13.1.1.3", "nvidia-nvjitlink==13.5.37")
PINS = [
    (GOOD, "", ""),
    (
        (GOOD[0], "nvidia-nvjitlink==13.0.39"),
        "torch asks for nvidia-nvjitlink >=13.0.88,<14, installed is 13.0.39",
        "warning",
    ),
    (
        (GOOD[0], "nvidia-nvjitlink==14.0.1"),
        "torch asks for nvidia-nvjitlink >=13.0.88,<14, installed is 14.0.1",
        "error",
    ),
    ((GOOD[0],), "torch asks for nvidia-nvjitlink >=13.0.88,<14, installed is none", "error"),
    (("nvidia-cublas==13.0.0.19", GOOD[1]), "torch asks for nvidia-cublas 13.1.1.3, installed is 13.0.0.19", "warning"),
    (("nvidia-cublas==12.9.1.4", GOOD[1]), "torch asks for nvidia-cublas 13.1.1.3, installed is 12.9.1.4", "error"),
]


@pytest.mark.parametrize(("names", "expected", "level"), PINS)
def test_the_extras_of_cuda_toolkit_are_followed(
    names: tuple[str, ...], expected: str, level: str, tables: Tables
) -> None:
    findings = found("nvidia-packages-inconsistent", with_toolkit(*names), tables)
    assert [str(finding.summary) for finding in findings] == ([expected] if expected else [])
    if expected:
        assert severity("nvidia-packages-inconsistent", with_toolkit(*names), tables) == level


def test_they_are_followed_only_where_their_conditions_hold(tables: Tables) -> None:
    assert found("nvidia-packages-inconsistent", with_toolkit(GOOD[1], os=ARM), tables) == []
    assert found("nvidia-packages-inconsistent", with_toolkit(os=WINDOWS), tables) == []


def test_the_command_is_one_that_a_shell_reads_so(tables: Tables) -> None:
    finding = only("nvidia-packages-inconsistent", with_toolkit(GOOD[0]), tables)
    assert finding.remedies[1].commands == ('python -m pip install "nvidia-nvjitlink>=13.0.88,<14"',)


def test_a_missing_package_whose_libraries_are_found_elsewhere_is_a_warning(tables: Tables) -> None:
    served = replace(with_toolkit(GOOD[0]), inside=Inside(linked=(OK,)))
    assert severity("nvidia-packages-inconsistent", served, tables) == "warning"
    short = replace(served, inside=Inside(linked=(OK, replace(GONE, soname="libnvJitLink.so.13"))))
    assert severity("nvidia-packages-inconsistent", short, tables) == "error"


@pytest.mark.parametrize(
    ("marker", "expected"),
    [
        ("", True),
        ('platform_system == "Linux" and platform_machine == "x86_64"', True),
        ("sys_platform == 'win32' or (sys_platform == 'linux' and python_version < '3.15')", True),
        ("python_version >= '3.10' and python_version != '3.12'", False),
        ("platform_machine == 'aarch64' or extra == 'all'", False),
        ("implementation_name == 'cpython'", False),
        ("sys_platform == 'linux' and", False),
        ("(" * 50 + "sys_platform == 'linux'", False),
        ("'linux' in sys_platform", False),
    ],
)
def test_markers(marker: str, expected: bool) -> None:
    assert holds(marker, healthy()) is expected


# --- companions


def test_a_companion_that_needs_what_this_torch_lacks(tables: Tables) -> None:
    item = Linked(soname="libcudart.so.12", path=None, needed_by=("flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so",))
    facts = host(
        CU130, installed=packages("torch==2.14.1+cu130", "flash-attn==2.8.3"), inside=Inside(linked=(OK, item))
    )
    finding = only("torch-companion-mismatch", facts, tables)
    assert "flash-attn belongs to a torch with libcudart.so.12" in str(finding.why)
    other = replace(item, soname="libsox.so.3")
    assert found("torch-companion-mismatch", replace(facts, inside=Inside(linked=(other,))), tables) == []


@pytest.mark.parametrize(
    ("companion", "misfits"),
    [("torchaudio==2.8.0+cu126", True), ("torchvision==0.23.0+cu126", False), ("torchaudio==2.8.0+cu128", False)],
)
def test_what_the_companions_compare_when_they_are_imported(companion: str, misfits: bool, tables: Tables) -> None:
    facts = host(torch("2.8.0+cu128", "cu128"), installed=packages("torch==2.8.0+cu128", companion))
    assert bool(found("torch-companion-mismatch", facts, tables)) is misfits
