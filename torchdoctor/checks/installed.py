"""What several checks ask of the installed torch, of the packages beside it, and of the GPUs it could use."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts, Gpu, NotKnownError, Package, known, need, value_or
from torchdoctor.findings import Evidence
from torchdoctor.patterns import lazily
from torchdoctor.tables import Tables
from torchdoctor.tables.jetpacks import Jetpack
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build, CudaVersion, Version

CODE_PREFIXES = ("sm_", "compute_")
_BASE = lazily(r"(\d+(?:\.\d+)*)(?:\.?dev(\d{8})|rc\d+|\.post\d+)?")
_CONDA_NAMES = ("pytorch", "libtorch", "torch")
# The PyTorch project's own conda channel (ended) named cuDNN in its build strings, and its code equals the wheels'.
_PROJECT_CHANNEL = "_cudnn"
# What a maker other than the PyTorch project puts into its wheels cannot be looked up in the table of official ones.
_FOREIGN_ORIGINS = ("nvidia", "jetson", "source")
_PASSED_THROUGH = "vfio-pci"


def release(text: str) -> Version | None:
    """Read a released version, without its label; None for nightlies, alphas and vendors' builds."""
    try:
        return Version.parse(text.partition("+")[0])
    except ValueError:
        return None


def base_release(text: str) -> tuple[Version | None, int | None]:
    """Split ``2.8.0.dev20250327+xpu`` into the release it leads to and its day; None where there is no such part."""
    match = _BASE.fullmatch(text.partition("+")[0])
    if not match:
        return None, None
    return Version.parse(match[1]), int(match[2]) if match[2] else None


def label(version: str) -> Build | None:
    """Read the build that a local version label names: cu126 of ``2.6.0+cu126``."""
    try:
        return Build.parse(version.partition("+")[2])
    except ValueError:
        return None


def torch_release(facts: Facts) -> Version:
    """Return the released version of the installed torch; skip the check for anything else."""
    version = release(need(facts.torch.version))
    if version is None:
        raise NotKnownError("release number of this torch build")
    return version


def torch_cuda(facts: Facts) -> CudaVersion | None:
    """Return the CUDA version of the installed build, as far as its own files or its name tell."""
    build = value_or(facts.torch.build, None)
    return value_or(facts.torch.cuda, None) or (build.cuda if build else None)


def quoted_archs(facts: Facts) -> tuple[tuple[str, ...], str]:
    """Return the architectures that torch lists in a quoted warning, those of the torch that fails, and where."""
    for error in facts.quoted.errors:
        words = () if error.doubtful else tuple(error.values.get("archs", "").split())
        if archs := tuple(word for word in words if word.startswith(CODE_PREFIXES)):
            return archs, error.source
    return (), ""


def torch_was_imported(facts: Facts) -> bool:
    """Whether somebody asked torch itself, which proves that ``import torch`` works."""
    return isinstance(facts.torch.cuda_available, bool)


def conda_torch(facts: Facts) -> Package | None:
    """Return conda's own torch package, when the recording names one."""
    return next((item for item in facts.packages.items if item.owner == "conda" and item.name in _CONDA_NAMES), None)


def left_entry(facts: Facts) -> Package | None:
    """Return the entry of a torch whose files are gone: the list of packages names it, and it lies nowhere."""
    if facts.torch.installed is not False or value_or(facts.torch.locations, None) != ():
        return None
    return next((item for item in facts.packages.items if item.name == "torch"), None)


def is_from_conda(facts: Facts) -> bool:
    """Whether conda owns the installed torch."""
    owner = value_or(facts.torch.owner, "")
    return owner == "conda" if owner else conda_torch(facts) is not None


def is_foreign(facts: Facts) -> bool:
    """Whether another maker built the installed torch: conda, NVIDIA's containers, a Jetson index, the user."""
    full = value_or(facts.torch.full, "") or value_or(facts.torch.version, "")
    origin = value_or(facts.torch.origin, "")
    if is_from_conda(facts):
        package = conda_torch(facts)
        return package is None or _PROJECT_CHANNEL not in value_or(package.build, "")
    return origin in _FOREIGN_ORIGINS or is_named_foreign(full)


def is_named_foreign(version: str) -> bool:
    """Whether the version is one that only builds from source and NVIDIA's own have: 2.8.0a0+5228986c39.nv25.06."""
    return re.search(r"\da\d|\.nv\d", version) is not None


def official_rows(facts: Facts, tables: Tables) -> tuple[TorchBuild, ...]:
    """Return the rows that can be the installed wheel: one on a known platform, none for foreign builds."""
    version, _ = base_release(need(facts.torch.version))
    build = need(facts.torch.build)
    if version is None or is_foreign(facts):
        return ()
    os_name, machine = value_or(facts.os.name, ""), value_or(facts.os.machine, "")
    return tuple(
        row
        for row in tables.torch_builds.rows
        if (row.torch, row.build) == (version, build)
        and (not os_name or row.os == os_name)
        and (not machine or row.machine == machine)
    )


def driver_cuda(facts: Facts, tables: Tables) -> CudaVersion | None:
    """Return the CUDA that libcuda speaks: as shown, else what the driver's branch speaks, else None."""
    shown = value_or(facts.driver.cuda_shown, None)
    driver = value_or(facts.driver.version, None)
    if shown is not None or driver is None:
        return shown
    numbering = "windows" if value_or(facts.place.wsl, 0) else value_or(facts.os.name, "linux")
    branch = tables.driver_branches.of(driver, numbering)
    return branch.cuda if branch else None


def nvidia_gpus(facts: Facts) -> tuple[Gpu, ...]:
    """Return the NVIDIA GPUs that CUDA could use: not those the driver does not see or a virtual machine has."""
    gpus = [gpu for gpu in need(facts.gpus) if gpu.vendor == "nvidia"]
    return tuple(gpu for gpu in gpus if gpu.driver_sees is not False and gpu.kernel_driver != _PASSED_THROUGH)


def has_a_build(facts: Facts, tables: Tables, gpu: Gpu) -> bool:
    """Whether any official build for this host has code for an NVIDIA GPU; yes when its capability is unknown."""
    device = value_or(gpu.compute_capability, None)
    if device is None:
        return True
    os_name, machine = value_or(facts.os.name, ""), value_or(facts.os.machine, "")
    rows = tables.torch_builds.for_host(os_name, machine) or tables.torch_builds.rows
    return any(tables.coverage.covers(code, device, row.cuda) for row in rows if row.emit for code in row.code)


def gpu_name(gpu: Gpu) -> str:
    """Return the GPU's name, or its vendor's when the recording does not hold it."""
    return value_or(gpu.name, "") or f"{value_or(gpu.vendor, 'unnamed')} GPU"


def gpu_names(gpus: Iterable[Gpu]) -> str:
    """List the names of several GPUs, each once."""
    return ", ".join(dict.fromkeys(map(gpu_name, gpus)))


def gpu_evidence(facts: Facts, gpus: Iterable[Gpu], fact: str = "name") -> tuple[Evidence, ...]:
    """Evidence of one fact for several GPUs, each name once."""
    path = f"gpus[].{fact}"
    at = facts.source(path) or facts.source("gpus")
    values = dict.fromkeys(_gpu_value(gpu, fact) for gpu in gpus)
    return tuple(seen(facts, path, value, at) for value in values)


def _gpu_value(gpu: Gpu, fact: str) -> str:
    return gpu_name(gpu) if fact == "name" else f"{gpu_name(gpu)}: {getattr(gpu, fact)}"


def on_jetson(facts: Facts) -> bool:
    """Whether the recording shows a Jetson."""
    has_kernel = value_or(facts.os.kernel, "").endswith("-tegra")
    return has_kernel or value_or(facts.place.jetpack, None) is not None or value_or(facts.place.l4t, None) is not None


def jetson(facts: Facts, tables: Tables) -> Jetpack | None:
    """Return the JetPack release of a Jetson, or None on anything else; skip when the recording does not tell."""
    l4t = value_or(facts.place.l4t, None)
    if l4t is not None:
        return tables.jetpacks.by_l4t(l4t)
    jetpack = known(facts.place.jetpack)
    return tables.jetpacks.by_jetpack(jetpack) if jetpack is not None else None


def found_packages(facts: Facts, names: Iterable[str]) -> tuple[Package, ...]:
    """Return the installed packages of these names; skip the check when none is seen in an incomplete list."""
    found = [facts.packages.find(name) for name in names]
    here = tuple(item for item in found if isinstance(item, Package))
    if not here and not facts.packages.complete:
        raise NotKnownError("complete list of packages")
    return here


def package_evidence(facts: Facts, package: Package) -> Evidence:
    """Evidence that a package is installed in this version."""
    return seen(facts, f"packages.{package.name}", package.version, facts.source("packages"))
