from __future__ import annotations

import pytest
from driver_hosts import (
    H100,
    LINUX,
    RTX_4090,
    RTX_5090,
    WINDOWS,
    changed,
    commands,
    cuda,
    driver,
    gpu,
    healthy,
    on_bus,
    torch,
    values,
    version,
    without_driver,
)
from one_check import found, is_skipped, only, severity

from torchdoctor.checks.drivers import FULL_DRIVER
from torchdoctor.facts import Driver, Facts, Os, Unknown
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion

T4 = gpu("Tesla T4", "7.5")
K80 = gpu("Tesla K80", "3.7")
ORIN = gpu("Orin (nvgpu)", "8.7")
GTX_1650 = gpu("NVIDIA GeForce GTX 1650", "7.5")


def with_driver(number: str, shown: str, label: str = "2.8.0+cu128", *gpus: object, **more: object) -> Facts:
    return changed(healthy(torch=torch(label), driver=driver(number, shown)), gpus=gpus or (T4,), **more)


TOO_OLD = [
    (with_driver("470.256.02", "11.4", "2.1.0+cu121"), "525.60.13", "cu121"),
    (with_driver("570.86.10", "12.8", "2.11.0+cu130"), "580", "cu130"),
    (with_driver("535.183.01", "12.2", "2.14.1+cu130"), "580", "cu130"),
    (with_driver("527.41", "12.0", "2.8.0+cu128", os=WINDOWS), "528.33", "cu128"),
    (with_driver("526.98", "12.0", "2.8.0+cu128", place__wsl=2), "528.33", "cu128"),
    (with_driver("470.256.02", "11.4", "2.8.0+cu128", os=Os()), "525.60.13", "cu128"),
]


@pytest.mark.parametrize(("facts", "floor", "build"), TOO_OLD)
def test_a_driver_below_the_floor(facts: Facts, floor: str, build: str, tables: Tables) -> None:
    finding = only("driver-too-old", facts, tables)
    assert str(finding.summary) == f"driver {facts.driver.version} is older than {floor}, the floor of {build}"
    assert values(finding) == {"driver.version": str(facts.driver.version), "torch.build": build}
    assert finding.remedies[0].installs
    assert finding.row
    assert finding.row.table == "cuda_drivers"
    assert finding.confidence == "certain"


MINOR_VERSION_COMPATIBILITY = [
    healthy(),
    with_driver("525.60.13", "12.0", "2.14.1+cu126"),
    with_driver("580.65.06", "13.0", "2.15.0+cu132"),
    with_driver("450.248.02", "11.0", "2.7.1+cu118"),
    with_driver("528.33", "12.0", "2.8.0+cu128", os=WINDOWS),
    with_driver("470.256.02", "11.4", "2.8.0+cpu"),
    with_driver("620.70.06", "13.5", "2.5.1+cu121"),
    with_driver("540.4.0", "12.6", "2.11.0+cu130", ORIN, place__jetpack="6.2"),
    with_driver("540.4.0", "12.6", "2.11.0+cu130", ORIN, os__machine="aarch64"),
    with_driver("535.183.01", "12.2", "2.14.1+cu130", torch__cuda_available=True),
    with_driver("535.183.01", "13.0", "2.14.1+cu130", H100),
]


@pytest.mark.parametrize("facts", MINOR_VERSION_COMPATIBILITY)
def test_a_driver_that_will_do(facts: Facts, tables: Tables) -> None:
    assert found("driver-too-old", facts, tables) == []


def test_a_cuda_newer_than_the_table_is_no_verdict(tables: Tables) -> None:
    facts = changed(with_driver("580.65.06", "13.0"), torch__cuda=CudaVersion(99, 0), torch__build=Unknown("build"))
    assert found("driver-too-old", facts, tables) == []


def test_a_build_known_by_its_cuda_alone(tables: Tables) -> None:
    facts = changed(with_driver("470.256.02", "11.4"), torch__cuda=cuda("12.1"), torch__build=Unknown("torch build"))
    finding = only("driver-too-old", facts, tables)
    assert finding.summary.values["build"] == "CUDA 12.1"
    assert values(finding)["torch.cuda"] == "12.1"


@pytest.mark.parametrize(("shown", "too_old"), [("11.4", True), ("12.4", False), ("13.0", False)])
def test_the_library_speaks_where_the_version_is_unknown(shown: str, too_old: bool, tables: Tables) -> None:
    facts = changed(with_driver("550.54.15", shown), driver__version=Unknown("NVIDIA driver version"))
    findings = found("driver-too-old", facts, tables)
    assert [values(finding)["driver.cuda_shown"] for finding in findings] == ([shown] if too_old else [])
    assert all("speaks CUDA 11.4" in str(finding.summary) for finding in findings)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "branch 580 is supported for long"),
        ({"place__container": "docker"}, "never inside the container"),
        ({"place__wsl": 2, "driver__version": version("560.94")}, "the Windows driver"),
        ({"gpus": Unknown("GPUs")}, "branch 580 is supported for long"),
    ],
)
def test_a_newer_driver_is_the_second_way(changes: dict[str, object], words: str, tables: Tables) -> None:
    finding = only("driver-too-old", changed(with_driver("570.86.10", "12.8", "2.11.0+cu130"), **changes), tables)
    assert words in str(finding.remedies[1].text)
    assert finding.remedies[1].risk == "changes-system"


def test_no_newer_driver_is_offered_to_a_gpu_that_none_supports(tables: Tables) -> None:
    finding = only("driver-too-old", with_driver("470.256.02", "11.4", "2.6.0+cu124", K80), tables)
    assert len(finding.remedies) == 1


GTX_1050 = on_bus("NVIDIA GeForce GTX 1050", "6.1")
BLACKWELL = on_bus("NVIDIA GeForce RTX 5090", "12.0")
B300 = on_bus("NVIDIA B300 SXM6 AC", "10.3")
GB10 = on_bus("NVIDIA GB10", "12.1")
LEFT_OUT = [
    ("595.58.03", GTX_1050, "driver branch 595 no longer supports NVIDIA GeForce GTX 1050", "branch 580"),
    ("495.46", on_bus("Tesla K80", "3.7"), "driver branch 495 no longer supports Tesla K80", "branch 470"),
    ("550.163.01", BLACKWELL, "driver branch 550 does not know NVIDIA GeForce RTX 5090", "branch 580"),
    ("580.65.06", B300, "driver 580.65.06 does not know NVIDIA B300 SXM6 AC yet", "580.82.07 or newer"),
    (
        "580.82.07",
        on_bus("NVIDIA GB10", "12.1"),
        "driver 580.82.07 does not know NVIDIA GB10 yet",
        "580.94.13 or newer",
    ),
]


@pytest.mark.parametrize(("number", "card", "words", "branch"), LEFT_OUT)
def test_a_gpu_outside_of_the_branch(number: str, card: object, words: str, branch: str, tables: Tables) -> None:
    finding = only("driver-dropped-gpu", with_driver(number, "12.0", "2.8.0+cu128", card), tables)
    assert str(finding.summary) == words
    assert branch in str(finding.remedies[0].text)
    assert finding.row
    assert finding.row.key == number[:3]
    assert set(values(finding)) == {"driver.version", "gpus[].compute_capability"}


@pytest.mark.parametrize(("card", "outcome"), [(B300, "skipped"), (BLACKWELL, "passed")])
def test_a_bare_branch_decides_nothing_of_a_gpu_that_came_later(card: object, outcome: str, tables: Tables) -> None:
    _, outcomes = run_checks(with_driver("580", "13.0", "2.15.0+cu132", card), tables)
    (own,) = [item for item in outcomes if item.id == "driver-dropped-gpu"]
    assert (own.outcome, own.missing) == (outcome, FULL_DRIVER if outcome == "skipped" else "")


@pytest.mark.parametrize("path", ["module_on_disk", "library_version"])
def test_an_installed_driver_that_refuses_the_gpu_does_not_load(path: str, tables: Tables) -> None:
    facts = changed(without_driver(GTX_1050), **{f"driver__{path}": version("595.58.03")})
    assert values(only("driver-dropped-gpu", facts, tables))[f"driver.{path}"] == "595.58.03"


def test_the_windows_number_of_a_branch(tables: Tables) -> None:
    facts = with_driver("591.44", "13.1", "2.8.0+cu126", GTX_1050, os=WINDOWS)
    finding = only("driver-dropped-gpu", facts, tables)
    assert finding.summary.values["branch"] == "590"
    assert "580 or newer of that branch" in str(finding.remedies[0].text)
    assert finding.fixable_by == "user"


def test_inside_a_container_the_host_is_meant(tables: Tables) -> None:
    facts = with_driver("595.58.03", "13.2", "2.8.0+cu126", GTX_1050, place__container="docker")
    assert "on the host of the container" in str(only("driver-dropped-gpu", facts, tables).remedies[0].text)


def test_one_of_several_gpus_is_a_warning(tables: Tables) -> None:
    facts = with_driver("595.58.03", "13.2", "2.15.0+cu132", GTX_1050, RTX_5090)
    assert severity("driver-dropped-gpu", facts, tables) == "warning"


def test_gpus_that_no_branch_drives_together(tables: Tables) -> None:
    facts = with_driver("580.95.05", "13.0", "2.8.0+cu126", on_bus("Tesla K80", "3.7"), on_bus("Rubin", "10.7"))
    finding = only("driver-dropped-gpu", facts, tables)
    assert finding.remedies == ()
    assert "No branch known to the tables" in str(finding.why)


@pytest.mark.parametrize(
    "facts",
    [
        with_driver("595.58.03", "13.2", "2.8.0+cu126", gpu("NVIDIA GeForce GTX 1050", "6.1")),
        with_driver("580.95.05", "13.0", "2.15.0+cu132", gpu("NVIDIA GB10", "12.1", driver_sees=Unknown("view"))),
        with_driver("580.95.05", "13.0", "2.8.0+cu126", GTX_1050),
        with_driver("580.82.07", "13.0", "2.15.0+cu132", B300),
        with_driver("999.10", "13.0", "2.8.0+cu126", GTX_1050),
        with_driver("595.58.03", "13.2", "2.8.0+cu126", on_bus("a card", "6.1", compute_capability=None)),
        with_driver("595.58.03", "13.2", "2.8.0+cu126", GTX_1050, torch__cuda_available=True),
        with_driver("540.4.0", "12.6", "2.8.0+cu126", GTX_1050, os__machine="aarch64"),
        without_driver(GTX_1050),
    ],
)
def test_a_gpu_that_its_branch_drives(facts: Facts, tables: Tables) -> None:
    assert found("driver-dropped-gpu", facts, tables) == []


MISMATCH = changed(healthy(), driver__library_version=version("550.54.15"), driver__smi="version-mismatch")


def test_libraries_and_module_differ(tables: Tables) -> None:
    finding = only("driver-library-mismatch", MISMATCH, tables)
    assert values(finding) == {"driver.version": "550.163.01", "driver.library_version": "550.54.15"}
    assert (commands(finding), finding.fixable_by) == ("sudo reboot", "admin")


def test_nvidia_smi_says_so(tables: Tables) -> None:
    facts = changed(MISMATCH, driver__library_version=Unknown("library version"))
    assert values(only("driver-library-mismatch", facts, tables)) == {"driver.smi": "version-mismatch"}


def test_in_a_container_its_own_packages_are_at_fault(tables: Tables) -> None:
    inside = only("driver-library-mismatch", changed(MISMATCH, place__container="docker"), tables)
    assert inside.fixable_by == "user"
    assert "reboot" not in commands(inside)
    unknown = only("driver-library-mismatch", changed(MISMATCH, place__container=Unknown("container kind")), tables)
    assert len(unknown.remedies) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"driver": driver()},
        {"torch__cuda_available": True},
        {"place__wsl": 2},
        {"place__jetpack": "6.2"},
        {"driver__libcuda": "/usr/local/cuda/compat/libcuda.so.1"},
    ],
)
def test_versions_that_agree_or_may_differ(changes: dict[str, object], tables: Tables) -> None:
    assert found("driver-library-mismatch", changed(MISMATCH, **changes), tables) == []


COMPAT_PATH = changed(
    with_driver("550.163.01", "12.4", "2.11.0+cu130", RTX_4090), driver__libcuda="/usr/local/cuda/compat/libcuda.so.1"
)
COMPAT_HEADER = [
    with_driver("460.80", "11.3", "1.13.1+cu117", GTX_1650),
    with_driver("460.80", "11.3", "1.13.1+cu117", GTX_1650, os=Os()),
]


@pytest.mark.parametrize("facts", [COMPAT_PATH, *COMPAT_HEADER])
def test_a_compat_library_on_a_geforce(facts: Facts, tables: Tables) -> None:
    finding = only("compat-library-problem", facts, tables)
    assert {"driver.libcuda", "driver.cuda_shown"} & set(values(finding))
    assert finding.confidence == "likely"
    assert "unset LD_LIBRARY_PATH" in commands(finding)


def test_a_compat_library_that_failed(tables: Tables) -> None:
    failed = changed(COMPAT_PATH, torch__cuda_available=False)
    assert only("compat-library-problem", failed, tables).confidence == "certain"
    server = changed(failed, gpus=(H100,))
    assert only("compat-library-problem", server, tables).confidence == "likely"


@pytest.mark.parametrize(
    "facts",
    [
        changed(COMPAT_PATH, gpus=(H100,)),
        changed(COMPAT_PATH, gpus=(gpu("NVIDIA Unheard-of 1", "9.0"),)),
        changed(COMPAT_PATH, torch__cuda_available=True),
        changed(COMPAT_PATH, place__wsl=2),
        changed(COMPAT_PATH, os=WINDOWS),
        changed(COMPAT_PATH, place__l4t="36.4.3"),
        with_driver("565.77", "12.7", "2.8.0+cu128", RTX_4090),
        with_driver("999.10", "12.7", "2.8.0+cu128", RTX_4090),
        healthy(),
        healthy(driver=Driver(version=version("550.163.01"))),
    ],
)
def test_no_compat_library_or_one_that_fits(facts: Facts, tables: Tables) -> None:
    assert found("compat-library-problem", facts, tables) == []


SKIPS = [
    ("driver-too-old", changed(healthy(), torch__build=Unknown("build"), torch__cuda=Unknown("CUDA"))),
    ("driver-too-old", changed(healthy(), driver=Driver())),
    ("driver-dropped-gpu", changed(healthy(), driver=Driver())),
    ("driver-dropped-gpu", changed(healthy(), gpus=Unknown("GPUs of the host"))),
    ("driver-library-mismatch", changed(healthy(), driver=Driver())),
    ("compat-library-problem", changed(COMPAT_PATH, gpus=Unknown("GPUs of the host"))),
]


@pytest.mark.parametrize(("check_id", "facts"), SKIPS)
def test_unknown_facts_skip(check_id: str, facts: Facts, tables: Tables) -> None:
    assert is_skipped(check_id, facts, tables)


def test_the_same_driver_on_another_system_is_judged_by_its_own_floor(tables: Tables) -> None:
    linux = with_driver("526.98", "12.0", os=LINUX)
    assert found("driver-too-old", linux, tables) == []
