"""The facts of what is examined, put on another host: all that belongs to this one is taken out."""

from __future__ import annotations

from torchdoctor.checks.other_vendors import is_for_xpu
from torchdoctor.facts import (
    Compute,
    Cpu,
    Driver,
    Exhausted,
    Facts,
    Gpu,
    Memory,
    Os,
    Place,
    Quoted,
    Trial,
    Unknown,
    Variables,
)
from torchdoctor.predict.compat import lent
from torchdoctor.predict.image import is_image
from torchdoctor.predict.targets import Target
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.readers.derive import derive
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import DriverVersion, GfxId, GpuArch, Libc

SOURCE = "target"
_WSL_WITH_GPU = 2
_OF_JOBS = ("SLURM_", "PBS_", "LSB_")
_OF_THIS_HOST = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_GROUPS = (
    "driver.",
    "gpus",
    "cpu.",
    "memory.",
    "compute.",
    "place.",
    "os.kernel",
    "trial.",
    "exhausted.",
    "torch.cuda_available",
)


def without_host(facts: Facts) -> Facts:
    """What is examined by itself: Python, packages, the system's files; nothing of the host it is on.

    What an image's environment says holds wherever it is started; that of a job or a shell only here.
    """
    sources = {path: at for path, at in facts.sources.items() if not path.startswith(_GROUPS)}
    return replace(
        facts,
        os=replace(facts.os, kernel=Os().kernel),
        place=Place(rosetta=facts.place.rosetta, project=facts.place.project, image_build=False),
        cpu=Cpu(),
        memory=Memory(),
        torch=replace(facts.torch, cuda_available=Facts().torch.cuda_available),
        driver=Driver(),
        trial=_of_the_processor(facts.trial),
        gpus=Facts().gpus,
        compute=Compute(),
        env=facts.env if is_image(facts) else _lasting(facts.env),
        exhausted=Exhausted(),
        quoted=Quoted(),
        sources=sources,
    )


def placed(facts: Facts, target: Target, tables: Tables) -> Facts:
    """What is examined on the target: what the target does not say is unknown there."""
    host, bare = target.host, without_host(facts)
    jetpack = _jetpack(host, tables)
    gpus = host.gpus if not isinstance(host.gpus, Unknown) else _of_jetpack(jetpack, tables)
    return derive(
        replace(
            bare,
            os=_system(facts, bare.os, host),
            place=replace(bare.place, container=None, wsl=_WSL_WITH_GPU if host.wsl else None, jetpack=jetpack),
            cpu=Cpu(flags=target.cpu),
            memory=Memory(shm=target.shm),
            driver=lent(Driver(version=_driver(host.driver, gpus), source=SOURCE), facts, host, tables),
            gpus=gpus if isinstance(gpus, Unknown) else tuple(_gpu(gpu, target.memory) for gpu in gpus),
            request=replace(bare.request, require_gpu=bare.request.require_gpu or _asks_for_another(gpus)),
            sources={
                **bare.sources,
                "driver.version": SOURCE,
                "gpus": SOURCE,
                "cpu.flags": SOURCE,
                "memory.shm": SOURCE,
            },
        ),
        tables,
    )


def _jetpack(host: Host, tables: Tables) -> str | None | Unknown:
    """The JetPack that is told, or that alone has such a driver; none where a GPU is of no Jetson."""
    if not isinstance(host.jetpack, Unknown):
        return host.jetpack
    gpus = () if isinstance(host.gpus, Unknown) else host.gpus
    if not isinstance(host.gpus, Unknown) and not any(_is_tegra(gpu, tables) for gpu in gpus):
        return None
    row = tables.jetpacks.by_driver(str(host.driver)) if gpus and isinstance(host.driver, DriverVersion) else None
    return row.jetpack if row else host.jetpack


def _driver(
    driver: DriverVersion | None | Unknown, gpus: tuple[GpuTarget, ...] | Unknown
) -> DriverVersion | None | Unknown:
    """The NVIDIA driver that is told; where no GPU is NVIDIA's it drives none, and its age decides nothing."""
    is_needless = not isinstance(gpus, Unknown) and not any(gpu.vendor == "nvidia" for gpu in gpus)
    return None if is_needless else driver


def _asks_for_another(gpus: tuple[GpuTarget, ...] | Unknown) -> bool:
    """Whether another vendor's GPU is named that some build serves: then it is wanted, as an NVIDIA one always is."""
    named = () if isinstance(gpus, Unknown) else gpus
    has_amd = any(gpu.vendor == "amd" and gpu.target for gpu in named)
    has_intel = any(gpu.vendor == "intel" and is_for_xpu(gpu.name) for gpu in named)
    return (has_amd or has_intel) and not any(gpu.vendor == "nvidia" for gpu in named)


def _is_tegra(gpu: GpuTarget, tables: Tables) -> bool:
    return isinstance(gpu.target, GpuArch) and tables.coverage.is_tegra(gpu.target)


def _of_jetpack(jetpack: str | None | Unknown, tables: Tables) -> tuple[GpuTarget, ...] | Unknown:
    """The one GPU that all modules of a JetPack have."""
    row = tables.jetpacks.by_jetpack(jetpack) if isinstance(jetpack, str) else None
    archs = row.capabilities if row else ()
    return tuple(GpuTarget("nvidia", arch, arch.sm) for arch in archs) if len(archs) == 1 else Facts().gpus  # type: ignore[return-value]  # unknown


def _gpu(gpu: GpuTarget, memory: int | Unknown) -> Gpu:
    return Gpu(
        vendor=gpu.vendor,
        name=gpu.name,
        memory=Gpu().memory if isinstance(memory, Unknown) else memory,
        compute_capability=gpu.target if isinstance(gpu.target, GpuArch) else Gpu().compute_capability,
        gfx=gpu.target if isinstance(gpu.target, GfxId) else Gpu().gfx,
    )


def _system(facts: Facts, own: Os, host: Host) -> Os:
    """An image brings its C library along; any other environment uses the target's, where that is told."""
    if is_image(facts):
        return own
    version = own.version if isinstance(host.os_version, Unknown) else str(host.os_version)
    is_without = host.os in {"macos", "windows"}  # of that name: their wheels ask for no C library
    libc = None if is_without else host.libc if isinstance(host.libc, Libc) else own.libc
    return replace(own, version=version, libc=libc)


def _of_the_processor(trial: Trial) -> Trial:
    """What the import and the processor's tests showed; what was tried on a device of this host shows nothing there."""
    probes = trial.probes
    if isinstance(probes, tuple):
        probes = tuple(probe for probe in probes if probe.device == "cpu")
    bare = Trial()
    return replace(
        trial,
        probes=probes,
        init=bare.init,
        init_code=bare.init_code,
        init_error=bare.init_error,
        bench=bare.bench,
        repro=bare.repro,
    )


def _lasting(env: Variables) -> Variables:
    values = {
        name: value for name, value in env.values.items() if not name.startswith(_OF_JOBS) and name not in _OF_THIS_HOST
    }
    return Variables(values, env.complete)
