"""Hosts for the checks of what is installed: healthy ones, and helpers that change one fact."""

from __future__ import annotations

from torchdoctor.checks.build import companions, kernels, presence
from torchdoctor.checks.hygiene import copies, libraries
from torchdoctor.checks.runtime import rocm
from torchdoctor.checks.toolkit import compile as compiling
from torchdoctor.facts import (
    Cpu,
    Driver,
    Facts,
    Gpu,
    Os,
    Package,
    Packages,
    Place,
    Python,
    Request,
    Tools,
    Torch,
    Variables,
)
from torchdoctor.records import replace
from torchdoctor.values import Build, CudaVersion, DriverVersion, GpuArch, Libc, PythonTag, Version

TOPICS = (companions, kernels, presence, copies, libraries, rocm, compiling)
LINUX = Os(name="linux", machine="x86_64", libc=Libc.parse("glibc-2.35"))
ARM = Os(name="linux", machine="aarch64", libc=Libc.parse("glibc-2.39"))
WINDOWS = Os(name="windows", machine="x86_64", libc=None)
MAC = Os(name="macos", machine="arm64", version="15.1", libc=None)
BARE = Place(container=None, image_build=False, wsl=None, jetpack=None, l4t=None, scheduler=None, sandbox=None)


def gpu(name: str, capability: str, **more: object) -> Gpu:
    """An NVIDIA GPU that its driver sees."""
    known = Gpu(
        vendor="nvidia",
        name=name,
        compute_capability=GpuArch.parse(capability),
        driver_sees=True,
        kernel_driver="nvidia",
    )
    return replace(known, **more)  # type: ignore[arg-type]


RTX_4090 = gpu("NVIDIA GeForce RTX 4090", "8.9")
GTX_1080_TI = gpu("NVIDIA GeForce GTX 1080 Ti", "6.1")


def torch(printed: str, variant_name: str, **more: object) -> Torch:
    """An installed torch, as a reader of its own files states it."""
    variant = Build.parse(variant_name)
    known = Torch(
        installed=True,
        version=printed.partition("+")[0],
        full=printed,
        build=variant,
        cuda=variant.cuda,
        owner="pip",
        shadowed_by=None,
        locations=("/home/u/app/.venv/lib/python3.12/site-packages/torch",),
        requires=(),
    )
    return replace(known, **more)  # type: ignore[arg-type]


def packages(*names: str, complete: bool = True, owner: str = "pip") -> Packages:
    """A package list from ``name==version`` texts."""
    pairs = [name.split("==") for name in names]
    return Packages(
        tuple(Package(name=name, version=version, owner=owner) for name, version in pairs), complete=complete
    )


def host(
    torch_: Torch,
    *gpus: Gpu,
    os: Os = LINUX,
    place: Place = BARE,
    driver: str = "580.95.05",
    installed: Packages | None = None,
    env: dict[str, str] | None = None,
    require_gpu: bool = False,
    **more: object,
) -> Facts:
    """A host about which everything these checks ask is known."""
    facts = Facts(
        os=os,
        place=place,
        cpu=Cpu(count=8),
        python=Python(
            version=Version.parse("3.12.3"),
            tag=PythonTag.parse("3.12"),
            executable="/home/u/app/.venv/bin/python",
            environment="venv",
            other=None,
        ),
        torch=torch_,
        driver=Driver(version=DriverVersion.parse(driver) if driver else None),
        tools=Tools(
            nvcc=None,
            toolkits=(),
            gcc=Version.parse("11.4.0"),
            clang=None,
            python_headers=True,
            compiling=False,
            torch_compile=False,
        ),
        gpus=gpus,
        packages=packages("torch==2.14.1", "pip==26.1") if installed is None else installed,
        env=Variables(env or {}, complete=True),
        request=Request(require_gpu=require_gpu),
        sources={"gpus": "nvidia-smi", "torch.version": "torch/version.py", "packages": "site-packages"},
    )
    return replace(facts, **more)  # type: ignore[arg-type]


def healthy() -> Facts:
    """The trap host: minor-version compatibility and sm_86 code on an 8.9 GPU."""
    installed = packages("torch==2.8.0+cu128", "torchvision==0.23.0+cu128", "numpy==2.2.6", "pip==26.1")
    return host(torch("2.8.0+cu128", "cu128"), RTX_4090, driver="550.54.15", installed=installed)


def cuda(text: str) -> CudaVersion:
    """A CUDA version."""
    return CudaVersion.parse(text)
