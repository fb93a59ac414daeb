"""Hosts for the checks of host and driver: one healthy server with every fact known, and ways to change it."""

from __future__ import annotations

from typing import Any

from torchdoctor.checks.driver import access, floor, module, visibility, wsl
from torchdoctor.checks.host import python, resources, system
from torchdoctor.checks.registry import CHECKS
from torchdoctor.facts import (
    Cpu,
    Driver,
    Facts,
    Gpu,
    Memory,
    Os,
    Place,
    Python,
    Request,
    Torch,
    Unknown,
    Variables,
)
from torchdoctor.findings import Finding
from torchdoctor.prescribe.remedy_commands import written
from torchdoctor.records import fields, replace
from torchdoctor.values import Build, CudaVersion, DriverVersion, GpuArch, Libc, PythonTag, Version

TOPICS = (python, system, resources, visibility, module, access, wsl, floor)
IDS = tuple(item.id for item in CHECKS.values() if item.rule.__module__ in {topic.__name__ for topic in TOPICS})
GIB = 2**30


def gpu(name: str, capability: str, **more: Any) -> Gpu:
    """An NVIDIA GPU in good order."""
    base = Gpu(
        vendor="nvidia",
        name=name,
        compute_capability=GpuArch.parse(capability),
        pci_id="2684",
        kernel_driver="nvidia",
        driver_sees=True,
        mig=None,
        sick=None,
    )
    return replace(base, **more)


def on_bus(name: str, capability: str, **more: Any) -> Gpu:
    """An NVIDIA GPU that is on the bus and that no driver has taken."""
    return gpu(name, capability, **{"kernel_driver": None, "driver_sees": Unknown("driver's view of this GPU"), **more})


RTX_4090 = gpu("NVIDIA GeForce RTX 4090", "8.9")
RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0")
H100 = gpu("NVIDIA H100 80GB HBM3", "9.0")
INTEL = Gpu(vendor="intel", name="Intel UHD Graphics 770", kernel_driver="i915")
RADEON = Gpu(vendor="amd", name="AMD Radeon RX 7900 XTX", kernel_driver="amdgpu")


def torch(label: str | None = "2.8.0+cu128", **more: Any) -> Torch:
    """An installed official torch; ``None`` for none."""
    if label is None:
        return Torch(installed=False, version=None, full=None, build=None, cuda=None)
    build = Build.parse(label.partition("+")[2])
    base = Torch(
        installed=True,
        version=label.partition("+")[0],
        full=label,
        build=build,
        cuda=build.cuda,
        owner="pip",
        origin="pytorch",
    )
    return replace(base, **more)


def version(text: str) -> DriverVersion:
    """A driver version."""
    return DriverVersion.parse(text)


def cuda(text: str) -> CudaVersion:
    """A CUDA version."""
    return CudaVersion.parse(text)


NODES = ("/dev/nvidia-modeset", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0", "/dev/nvidiactl")
NO_DRIVER: dict[str, Any] = {
    "version": None,
    "source": None,
    "cuda_shown": None,
    "flavour": None,
    "module_loaded": False,
    "uvm_loaded": False,
    "module_on_disk": None,
    "library_version": None,
    "libcuda": None,
    "device_nodes": (),
    "device_access": None,
    "smi": "not-found",
}


def driver(number: str = "550.163.01", shown: str = "12.4", **more: Any) -> Driver:
    """A loaded driver in good order."""
    base = Driver(
        version=version(number),
        source="nvml",
        cuda_shown=cuda(shown),
        flavour="open",
        module_loaded=True,
        uvm_loaded=True,
        module_on_disk=version(number),
        library_version=version(number),
        libcuda=f"/usr/lib/x86_64-linux-gnu/libcuda.so.{number}",
        device_nodes=NODES,
        device_access=True,
        smi="ok",
        secure_boot=False,
        kernel_log=(),
        fabric=None,
        linux_driver_in_wsl=False,
    )
    return replace(base, **more)


LINUX = Os(
    name="linux",
    version="22.04",
    distribution="Ubuntu 22.04.5 LTS",
    kernel="6.8.0-60-generic",
    machine="x86_64",
    libc=Libc.parse("glibc-2.35"),
)
WINDOWS = Os(name="windows", version="10.0.26100", distribution="Windows 11", kernel=None, machine="x86_64", libc=None)
MAC = Os(name="macos", version="15.5", distribution="macOS 15.5", kernel="24.5.0", machine="arm64", libc=None)
BARE = Place(
    container=None,
    image_build=False,
    wsl=None,
    jetpack=None,
    l4t=None,
    virtual_machine=None,
    scheduler=None,
    sandbox=None,
    rosetta=False,
)


def healthy(**more: Any) -> Facts:
    """RTX 4090, driver 550, torch 2.8.0+cu128: healthy by minor-version compatibility."""
    base = Facts(
        os=LINUX,
        place=BARE,
        cpu=Cpu(model="AMD EPYC 7543", flags=frozenset({"sse4_2", "avx", "avx2", "hypervisor"}), count=16),
        memory=Memory(total=64 * GIB, available=48 * GIB, limit=None, shm=32 * GIB),
        python=Python(
            version=Version.parse("3.12.3"),
            tag=PythonTag.parse("3.12"),
            implementation="cpython",
            bits=64,
            machine="x86_64",
        ),
        torch=torch(),
        driver=driver(),
        gpus=(RTX_4090,),
        env=Variables({}, complete=True),
        sources={"driver.version": "/proc/driver/nvidia/version", "gpus": "NVML"},
    )
    return replace(base, **more)


def without_driver(*gpus: Gpu, **more: Any) -> Facts:
    """A host whose GPUs nothing drives."""
    return healthy(driver=replace(driver(), **NO_DRIVER), gpus=gpus, **more)


def changed(facts: Facts, **changes: Any) -> Facts:
    """Change facts by dotted path, written with two underscores: ``place__wsl=2``."""
    for path, value in changes.items():
        group, _, name = path.partition("__")
        part = replace(getattr(facts, group), **{name: value}) if name else value
        facts = replace(facts, **{group: part})
    return facts


def env(**values: str) -> Variables:
    """A whole environment."""
    return Variables(values, complete=True)


def required(facts: Facts) -> Facts:
    """The same host for a user who demands a GPU."""
    return replace(facts, request=Request(require_gpu=True))


def commands(finding: Finding) -> str:
    """All commands of a finding, one a line."""
    return "\n".join(line for remedy in finding.remedies for line in written(remedy.commands))


def values(finding: Finding) -> dict[str, str]:
    """The evidence as path and value."""
    return {item.fact: item.value for item in finding.evidence}


def forgotten(facts: Facts, path: str) -> Facts:
    """The same recording without one fact (``driver.version``) or one whole group (``place``)."""
    group, _, name = path.partition(".")
    blank = getattr(Facts(), group)
    if name:
        blank = replace(getattr(facts, group), **{name: getattr(blank, name)})
    return changed(facts, **{group: blank})


def paths(facts: Facts) -> list[str]:
    """Every group of facts and every single fact of it that the checks could ask for."""
    groups = ("os", "place", "cpu", "memory", "python", "torch", "driver")
    single = [f"{group}.{field.name}" for group in groups for field in fields(getattr(facts, group))]
    return [*groups, "gpus", "env", *single]
