"""AMD, Intel and Apple GPUs and a quota of processors: faults, and healthy hosts that lie near them."""

from __future__ import annotations

import pytest
from install_hosts import host, torch
from one_check import found, is_skipped, only, severity

from torchdoctor.checks.runtime import amd as of_amd
from torchdoctor.checks.runtime import apple, rocm_packages, threads
from torchdoctor.checks.runtime import intel as of_intel
from torchdoctor.facts import Compute, Cpu, Facts, Gpu, Os, Package, Packages, Place, Probe, Python, Trial, Variables
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import GfxId, PythonTag

TOPICS = (of_amd, apple, rocm_packages, threads, of_intel)
ROCM, XPU = torch("2.11.0+rocm7.2", "rocm7.2"), torch("2.14.1+xpu", "xpu")
COMPUTED = Trial(probes=(Probe(id="matmul", device="cuda:0"),))
LINUX = Os(name="linux", machine="x86_64")


def amd(gfx: str, **more: object) -> Gpu:
    return Gpu(vendor="amd", name="AMD Radeon Graphics", gfx=GfxId(gfx), **more)  # type: ignore[arg-type]


def intel(pci_id: str, name: str = "Intel(R) Graphics") -> Gpu:
    return Gpu(vendor="intel", name=name, pci_id=pci_id)


def under(value: str, gfx: str, **more: object) -> Facts:
    facts = host(ROCM, amd(gfx), driver="", **more)  # type: ignore[arg-type]
    return replace(facts, env=Variables({"HSA_OVERRIDE_GFX_VERSION": value}, complete=True))


@pytest.mark.parametrize(
    ("facts", "wanted", "confidence"),
    [
        (under("11.0.0", "gfx1103"), "error", "certain"),  # the table tells that it hangs
        (under("10.3.0", "gfx90a"), "error", "certain"),
        (under("12.0.1", "gfx1200"), "error", "certain"),  # any value does harm to that one
        (under("11.0.1", "gfx1100"), "warning", "likely"),  # the build has its own code
        (under("10.3.0", "gfx1100"), "error", "likely"),  # another generation
        (under("9.0.0", "gfx1031"), "error", "likely"),
        (under("nonsense", "gfx1031"), "error", "likely"),
        (under("10.3.0", "gfx1031"), "info", "likely"),  # a relative, which many use
        (under("10.3.0", "gfx1034"), "info", "likely"),  # that it works is only recalled, that it harms nobody says
        (under("", "gfx1100"), "warning", "likely"),
        (under("11.0.1", "gfx1100", trial=COMPUTED), "info", "likely"),  # it computes all the same
        (under("11.0.0", "gfx1103", trial=COMPUTED), "error", "certain"),  # and may hang the next time
    ],
)
def test_an_override_is_judged_by_what_it_does(facts: Facts, wanted: str, confidence: str, tables: Tables) -> None:
    assert severity("hsa-override", facts, tables) == wanted
    assert only("hsa-override", facts, tables).confidence == confidence


@pytest.mark.parametrize(
    "facts",
    [
        under("11.0.0", "gfx1100"),  # the GPU's own
        replace(under("11.0.0", "gfx1103"), env=Variables({}, complete=True)),
        replace(under("11.0.0", "gfx1103"), torch=torch("2.14.1+cpu", "cpu")),
        under("10.3.0", "gfx1033"),  # a finding of its own
    ],
)
def test_no_override_that_matters(facts: Facts, tables: Tables) -> None:
    assert found("hsa-override", facts, tables) == []


def test_gfx1033_is_wrong_whatever_has_passed(tables: Tables) -> None:
    facts = host(ROCM, amd("gfx1033"), driver="", trial=COMPUTED)
    assert "wrong numbers" in str(only("rocm-computes-wrong", facts, tables).summary)
    assert found("rocm-computes-wrong", host(ROCM, amd("gfx1030"), driver=""), tables) == []


def on_rocm(compute: Compute, place: Place | None = None, **more: object) -> Facts:
    gpu = amd("gfx1100", kernel_driver=more.pop("kernel_driver", "amdgpu"))
    facts = replace(host(ROCM, gpu, driver=""), compute=compute, os=LINUX, **more)  # type: ignore[arg-type]
    return replace(facts, place=place or Place(container=None, wsl=None, image_build=False))


OPEN = Compute(kfd="open", render="open")
NO_KFD = Compute(kfd=None, render=None)


@pytest.mark.parametrize(
    ("facts", "words", "command"),
    [
        (on_rocm(Compute(kfd="closed", render="open")), "/dev/kfd of", "usermod -aG render,video"),
        (on_rocm(Compute(kfd="open", render="closed")), "/dev/dri/renderD* of", "usermod -aG render,video"),
        (on_rocm(NO_KFD, Place(container="docker")), "was given no /dev/kfd", "docker run --device /dev/kfd"),
        (on_rocm(NO_KFD, Place(container="podman")), "was given no /dev/kfd", "podman run --device /dev/kfd"),
        (on_rocm(NO_KFD, Place(container="apptainer")), "was given no /dev/kfd", "apptainer exec --rocm"),
        (on_rocm(NO_KFD, kernel_driver=None), "none does", "dmesg"),
        (on_rocm(NO_KFD, kernel_driver="vfio-pci"), "vfio-pci does", "dmesg"),
        (on_rocm(NO_KFD), "there is no /dev/kfd", "dmesg"),
    ],
)
def test_a_gpu_that_rocm_cannot_open(facts: Facts, words: str, command: str, tables: Tables) -> None:
    finding = only("rocm-permission", facts, tables)
    assert words in str(finding.summary)
    assert command in str(finding.remedies[0].commands)
    assert finding.fixable_by == "admin"


@pytest.mark.parametrize(
    "facts",
    [
        on_rocm(OPEN),
        on_rocm(NO_KFD, Place(wsl=2, container=None)),
        on_rocm(NO_KFD, Place(container="docker", image_build=True)),
        replace(on_rocm(NO_KFD), torch=replace(ROCM, cuda_available=True)),
        replace(on_rocm(NO_KFD), gpus=()),
        replace(on_rocm(NO_KFD), torch=torch("2.14.1+cpu", "cpu")),
    ],
)
def test_nothing_is_closed_where_it_is_open_or_not_needed(facts: Facts, tables: Tables) -> None:
    assert found("rocm-permission", facts, tables) == []


def test_unknown_access_is_no_trouble(tables: Tables) -> None:
    assert is_skipped("rocm-permission", on_rocm(Compute()), tables)


@pytest.mark.parametrize(
    ("gpus", "count"),
    [
        ((intel("4680"),), 1),
        ((intel("56C0"),), 1),  # a Flex card
        ((intel("FFFF", "Intel(R) UHD Graphics 630"),), 1),  # by name alone
        ((intel("E20B"),), 0),
        ((intel("7D67"),), 0),  # some parts of this id are supported
        ((intel("FFFF"),), 0),  # newer than the table
        ((intel("4680"), intel("56A0")), 0),
        ((), 0),
    ],
)
def test_xpu_devices_are_told_by_their_id(gpus: tuple[Gpu, ...], count: int, tables: Tables) -> None:
    assert len(found("xpu-device-unsupported", host(XPU, *gpus, driver=""), tables)) == count


def on_xpu(compute: Compute, gpu: Gpu, place: Place | None = None) -> Facts:
    facts = replace(host(XPU, gpu, driver=""), compute=compute, os=LINUX)
    return replace(facts, place=place or Place(container=None, wsl=None, image_build=False))


DRIVEN = Compute(
    render="open", level_zero="/usr/lib/libze_loader.so.1", level_zero_driver="/usr/lib/libze_intel_gpu.so.1"
)
UNDRIVEN = Compute(render="open", level_zero=None, level_zero_driver=None)


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (on_xpu(UNDRIVEN, intel("E20B")), "(libze_intel_gpu) is not installed"),
        (on_xpu(UNDRIVEN, intel("7D67")), "(libze_intel_gpu) is not installed"),
        (on_xpu(replace(UNDRIVEN, render=None), intel("E20B"), Place(wsl=2, container=None)), "(libze_intel_gpu)"),
        (on_xpu(replace(DRIVEN, render="closed"), intel("E20B")), "closed to this user"),
        (on_xpu(replace(DRIVEN, render=None), intel("E20B"), Place(container="docker", wsl=None)), "no /dev/dri"),
        (on_xpu(replace(DRIVEN, render=None), intel("E20B")), "no /dev/dri/renderD*"),
    ],
)
def test_what_the_intel_gpu_lacks(facts: Facts, words: str, tables: Tables) -> None:
    assert words in str(only("xpu-runtime-missing", facts, tables).summary)


@pytest.mark.parametrize(
    "facts",
    [
        on_xpu(DRIVEN, intel("E20B")),
        on_xpu(UNDRIVEN, intel("4680")),  # no driver makes it a supported one
        on_xpu(UNDRIVEN, intel("5917", "")),  # older than the table
        replace(on_xpu(UNDRIVEN, intel("E20B")), torch=replace(XPU, cuda_available=True)),
    ],
)
def test_an_intel_gpu_that_lacks_nothing(facts: Facts, tables: Tables) -> None:
    assert found("xpu-runtime-missing", facts, tables) == []


def mac(version: str, macos: str, init: str = "no-device", python: str = "3.12") -> Facts:
    tag = PythonTag.parse(python)
    return replace(
        host(torch(version, "mps"), Gpu(vendor="apple"), driver=""),
        os=Os(name="macos", machine="arm64", version=macos, libc=None),
        python=Python(tag=tag, machine="arm64"),
        trial=Trial(init=init),
        place=Place(sandbox=None, virtual_machine=None, rosetta=False),
    )


@pytest.mark.parametrize(
    ("facts", "words", "commands"),
    [
        (mac("2.5.1", "12.7"), "needs macOS 13.0", "torch==2.4.1"),
        (mac("2.9.1", "13.6"), "needs macOS 14.0", "torch==2.8.0"),
        (mac("2.9.1", "13.6", python="3.14"), "needs macOS 14.0", ""),  # the older torch has no wheel for it
        (mac("2.4.1", "11.7"), "needs macOS 12.3", ""),
        (mac("2.14.1", "15.5"), "gives this process no Apple GPU", ""),
    ],
)
def test_the_apple_gpu_by_macos(facts: Facts, words: str, commands: str, tables: Tables) -> None:
    finding = only("mps-unavailable", facts, tables)
    assert words in str(finding.summary)
    last = finding.remedies[-1].commands
    assert (commands in str(last)) if commands else not last


def test_a_message_that_names_too_low_a_macos_is_told(tables: Tables) -> None:
    assert "asks for 13.0, which is not enough" in str(only("mps-unavailable", mac("2.9.1", "13.6"), tables).why)
    assert "message" not in str(only("mps-unavailable", mac("2.8.0", "12.7"), tables).why)


@pytest.mark.parametrize(
    "facts",
    [
        mac("2.14.1", "14.5", "passed"),
        replace(mac("2.14.1", "14.5"), trial=Trial()),  # nobody asked torch
        replace(mac("2.9.1", "13.6"), python=Python(machine="x86_64")),  # Rosetta: a finding of its own
        host(torch("2.14.1+cpu", "cpu"), driver=""),
    ],
)
def test_no_alarm_for_a_mac_that_computes(facts: Facts, tables: Tables) -> None:
    assert found("mps-unavailable", facts, tables) == []


def quota(quota: int | None, visible: int, **env: str) -> Facts:
    facts = replace(host(torch("2.14.1+cpu", "cpu"), driver=""), cpu=Cpu(quota=quota, visible=visible))
    return replace(facts, env=Variables(env, complete=True))


def test_a_quota_far_below_what_is_seen_is_a_remark(tables: Tables) -> None:
    assert severity("cpu-quota-ignored", quota(2, 64), tables) == "info"
    for near in (quota(None, 64), quota(6, 8), quota(2, 64, OMP_NUM_THREADS="2"), quota(2, 64, MKL_NUM_THREADS="2")):
        assert found("cpu-quota-ignored", near, tables) == []


def with_rocm(*packages: str, requires: tuple[str, ...] = ("rocm[libraries,device-all]==7.14.*",)) -> Facts:
    own = replace(torch("2.14.1+rocm7.14", "rocm7.14"), requires=requires)
    items = tuple(
        Package(name=name, version=version) for name, _, version in (text.partition("==") for text in packages)
    )
    return replace(host(own, amd("gfx1100"), driver=""), packages=Packages(items, complete=True))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (with_rocm(), "rocm is not installed"),
        (with_rocm("rocm==7.14.0"), "rocm-sdk-core is not installed"),
        (with_rocm("rocm==7.14.0", "rocm-sdk-core==7.13.1"), "rocm-sdk-core 7.13.1 is installed and torch needs 7.14"),
        (with_rocm("rocm==7.14.0", "rocm-sdk-core==7.14.0"), ""),
        (with_rocm(requires=("filelock", "sympy>=1.13")), ""),  # a wheel that holds ROCm itself
    ],
)
def test_rocm_as_packages(facts: Facts, words: str, tables: Tables) -> None:
    findings = found("rocm-packages-inconsistent", facts, tables)
    assert [words in str(finding.summary) for finding in findings] == ([True] if words else [])
