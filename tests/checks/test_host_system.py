from __future__ import annotations

import pytest
from driver_hosts import LINUX, MAC, WINDOWS, changed, commands, healthy, required, torch, values
from one_check import found, is_skipped, only, severity

from torchdoctor.facts import Facts, Unknown
from torchdoctor.tables import Tables
from torchdoctor.values import Libc, Version

NONE = torch(None)
INTEL_MAC = changed(healthy(os=MAC, torch=NONE), os__machine="x86_64", python__machine="x86_64")
APPLE = changed(healthy(os=MAC, torch=NONE), python__machine="arm64")
WINDOWS_ARM = changed(healthy(os=WINDOWS, torch=NONE), os__machine="arm64", python__machine="arm64")
RISCV = changed(healthy(torch=NONE), os__machine="riscv64", python__machine="riscv64")
FIRST_WSL = changed(healthy(), place__wsl=1)


def with_libc(text: str, label: str | None = None, **more: object) -> Facts:
    return changed(healthy(torch=torch(label, **more)), os__libc=Libc.parse(text))


def test_wheels_for_intel_macs_ended(tables: Tables) -> None:
    finding = only("os-unsupported", INTEL_MAC, tables)
    last = tables.torch_builds.for_host("macos", "x86_64")[0].torch
    assert str(finding.summary) == f"torch wheels for macos on x86_64 ended with {last}"
    assert values(finding) == {"os.name": "macos", "os.machine": "x86_64"}
    assert commands(finding).split("\n") == [
        f"python -m pip install torch=={last} 'numpy<2'",
        "torchdoctor install-cmd --tool conda",
    ]
    assert finding.row
    assert finding.row.key.startswith(str(last))


def test_an_intel_mac_with_torch_is_fine(tables: Tables) -> None:
    assert found("os-unsupported", changed(INTEL_MAC, torch=torch("2.2.2+cpu")), tables) == []


def test_a_translated_or_narrow_python_is_another_finding(tables: Tables) -> None:
    assert found("os-unsupported", changed(INTEL_MAC, place__rosetta=True), tables) == []
    assert found("os-unsupported", changed(RISCV, python__bits=32), tables) == []


def test_windows_on_arm_has_wheels_only_on_the_index(tables: Tables) -> None:
    finding = only("os-unsupported", WINDOWS_ARM, tables)
    assert str(finding.summary) == "PyPI holds no torch wheel for windows on arm64"
    assert commands(finding) == "python -m pip install torch --index-url https://download.pytorch.org/whl/cpu"


def test_a_machine_without_wheels(tables: Tables) -> None:
    finding = only("os-unsupported", RISCV, tables)
    assert str(finding.summary) == "no torch wheel exists for linux on riscv64"
    assert finding.row is None


@pytest.mark.parametrize(("release", "last"), [("13.6", "2.11.0"), ("10.13", "none")])
def test_an_old_macos(release: str, last: str, tables: Tables) -> None:
    finding = only("os-unsupported", changed(APPLE, os__version=release), tables)
    assert finding.why.values["last"] == last
    assert finding.remedies[1].installs
    assert values(finding) == {"os.version": release}


@pytest.mark.parametrize("release", ["14.0", "15.5", "26.1", "Sequoia"])
def test_a_current_macos(release: str, tables: Tables) -> None:
    assert found("os-unsupported", changed(APPLE, os__version=release), tables) == []


@pytest.mark.parametrize("facts", [healthy(), healthy(torch=NONE), healthy(torch=NONE, os=WINDOWS)])
def test_common_systems(facts: Facts, tables: Tables) -> None:
    assert found("os-unsupported", facts, tables) == []


def test_the_first_wsl_has_no_gpu(tables: Tables) -> None:
    finding = only("os-unsupported", FIRST_WSL, tables)
    assert values(finding) == {"place.wsl": "1"}
    assert "wsl.exe --set-version DISTRIBUTION 2" in commands(finding)
    assert severity("os-unsupported", FIRST_WSL, tables) == "error"
    cpu = changed(FIRST_WSL, torch=torch("2.8.0+cpu"))
    assert severity("os-unsupported", cpu, tables) == "info"
    assert severity("os-unsupported", required(cpu), tables) == "error"


def test_glibc_of_an_installed_wheel(tables: Tables) -> None:
    finding = only("glibc-too-old", with_libc("glibc-2.17", "2.8.0+cu128"), tables)
    assert str(finding.summary) == "glibc 2.17 is older than 2.28, the floor of torch 2.8.0+cu128"
    assert values(finding) == {"os.libc": "glibc-2.17"}
    assert finding.row
    assert finding.row.key == "2.8.0+cu128 linux x86_64"
    assert finding.remedies[1].installs


@pytest.mark.parametrize(
    "facts",
    [
        with_libc("glibc-2.17", "2.5.1+cu124"),
        with_libc("glibc-2.28", "2.8.0+cu128"),
        with_libc("glibc-2.17", "2.8.0+cu128", owner="conda"),
        with_libc("glibc-2.17", "2.8.0+cu128", origin="nvidia"),
        with_libc("glibc-2.17", "2.8.0+cu128", cuda_available=False),
        with_libc("musl-1.2", "2.8.0+cu128", owner=None),
        with_libc("glibc-2.28"),
        changed(with_libc("glibc-2.17"), os__machine="riscv64", python__machine="riscv64"),
    ],
    ids=["old wheel", "exact", "conda", "NVIDIA's", "imported", "Alpine's own", "current", "no wheels at all"],
)
def test_a_c_library_that_is_no_obstacle(facts: Facts, tables: Tables) -> None:
    assert found("glibc-too-old", facts, tables) == []


@pytest.mark.parametrize("libc", ["glibc-2.17", "glibc-2.27"])
def test_no_current_wheel_fits(libc: str, tables: Tables) -> None:
    finding = only("glibc-too-old", with_libc(libc), tables)
    assert finding.summary.values["what"] == f"torch {tables.torch_builds.newest()}"
    assert finding.remedies[1].installs


@pytest.mark.parametrize("label", [None, "2.8.0+cu128"])
def test_musl(label: str | None, tables: Tables) -> None:
    finding = only("glibc-too-old", with_libc("musl-1.2", label), tables)
    assert str(finding.summary).startswith("musl-1.2 is not glibc, and torch ")
    assert not any(remedy.installs for remedy in finding.remedies)


def test_a_processor_without_avx(tables: Tables) -> None:
    facts = changed(healthy(), cpu__flags=frozenset({"sse4_2"}))
    finding = only("cpu-instructions-missing", facts, tables)
    assert (finding.confidence, finding.fixable_by) == ("likely", "user")
    assert values(finding) == {"cpu.flags": "no avx, no avx2"}
    assert commands(finding) == "lscpu"


@pytest.mark.parametrize(("flags", "machine"), [({"hypervisor"}, None), (set(), "kvm")])
def test_a_virtual_machine_may_hide_avx(flags: set[str], machine: str | None, tables: Tables) -> None:
    facts = changed(healthy(), cpu__flags=frozenset(flags), place__virtual_machine=machine)
    finding = only("cpu-instructions-missing", facts, tables)
    assert finding.fixable_by == "admin"
    assert finding.remedies[0].risk == "changes-system"


@pytest.mark.parametrize(
    "facts",
    [
        healthy(),
        changed(healthy(), cpu__flags=frozenset({"avx"})),
        changed(healthy(), cpu__flags=frozenset(), torch__cuda_available=False),
        changed(healthy(), cpu__flags=frozenset({"asimd"}), os__machine="aarch64", python__machine="aarch64"),
    ],
    ids=["avx2", "avx", "imported", "Arm"],
)
def test_a_processor_that_will_do(facts: Facts, tables: Tables) -> None:
    assert found("cpu-instructions-missing", facts, tables) == []


def test_unknown_facts_skip(tables: Tables) -> None:
    assert is_skipped("cpu-instructions-missing", changed(healthy(), cpu__flags=Unknown("CPU flags")), tables)
    assert is_skipped("glibc-too-old", changed(healthy(), os__libc=Unknown("C library")), tables)
    unknown_torch = changed(INTEL_MAC, torch__installed=Unknown("presence of torch"))
    assert is_skipped("os-unsupported", unknown_torch, tables)
    assert is_skipped("os-unsupported", changed(APPLE, os__version=Unknown("version")), tables)


def test_a_bare_glibc_version_is_not_needed(tables: Tables) -> None:
    assert (
        found("glibc-too-old", changed(healthy(torch=NONE), os=LINUX, os__libc=Libc("glibc", Version((2, 28)))), tables)
        == []
    )
