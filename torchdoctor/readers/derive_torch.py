"""Which build an installed torch is when its version has no suffix: from its CUDA, its packages, conda, or PyPI."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.facts import Facts, Package, Unknown, is_known
from torchdoctor.patterns import lazily
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import build_named_by, build_of
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build, CudaVersion, Version

_CU_SUFFIX = lazily(r"nvidia-[a-z0-9-]+-cu(\d\d)$")
_CONDA_CUDA = lazily(r"cuda_?(\d{1,2})\.?(\d)")
_MACHINES = ("x86_64", "aarch64", "arm64")  # where the machine is unknown, all of them must agree
_UNSUFFIXED_CUDA = ("nvidia-cuda-runtime", "nvidia-cublas", "cuda-toolkit")


def torch_follows(facts: Facts, tables: Tables) -> Iterator[Said]:
    """The build, its CUDA and its origin, as far as something decides them."""
    yield from _origin_follows(facts)
    yield from _version_follows(facts)
    build, source = _known_build(facts, tables)
    if build is None:
        return
    yield Said("torch.build", build, source)
    if build.cuda is not None:
        yield Said("torch.cuda", build.cuda, source)
    elif build.backend in {"cpu", "mps"}:
        yield Said("torch.cuda", None, source)
    if source.startswith("torch_builds"):
        yield Said("torch.origin", "pypi", source)


def _origin_follows(facts: Facts) -> Iterator[Said]:
    """Wheels of the torch index are listed with their label; those of PyPI print it and are listed without."""
    full = facts.torch.full if isinstance(facts.torch.full, str) else ""
    public, _, label = full.partition("+")
    listed = [row for row in facts.packages.items if row.name == "torch" and row.version.partition("+")[0] == public]
    if label and build_of(label) and listed and facts.torch.owner != "conda":
        yield Said("torch.origin", "pytorch" if "+" in listed[0].version else "pypi", facts.source("packages"))


def _version_follows(facts: Facts) -> Iterator[Said]:
    """A torch that answered, and nothing but the version that was asked of the installer, which refused nothing."""
    asked = facts.torch.requested if isinstance(facts.torch.requested, str) else ""
    is_there = facts.torch.installed is True and not is_known(facts.torch.offered)
    if asked and is_there and facts.torch.origin in {"pypi", "pytorch"}:
        yield Said("torch.version", asked.partition("+")[0], facts.source("torch.requested"))


def _known_build(facts: Facts, tables: Tables) -> tuple[Build | None, str]:
    torch = facts.torch
    if torch.build is None or not isinstance(torch.build, Unknown):
        return (torch.build, facts.source("torch.build")) if isinstance(torch.build, Build) else (None, "")
    if isinstance(torch.cuda, CudaVersion):
        return Build.of_cuda(torch.cuda), facts.source("torch.cuda")
    if torch.installed is not True or (isinstance(torch.full, str) and "+" in torch.full):
        return None, ""
    if conda := _conda_row(facts):
        return _conda_build(conda), f"conda build string {conda.build}"
    return _pip_build(facts, tables)


def _conda_row(facts: Facts) -> Package | None:
    rows = [item for item in facts.packages.items if item.name in {"pytorch", "torch"} and item.owner == "conda"]
    return rows[0] if rows and (facts.torch.owner == "conda" or not is_known(facts.torch.owner)) else None


def _conda_build(row: Package) -> Build | None:
    """Conda names the variant in the build string: ``py3.10_cpu_0``, ``py3.10_cuda12.1_cudnn8.9.2_0``."""
    text = row.build if isinstance(row.build, str) else ""
    if match := _CONDA_CUDA.search(text):
        return Build.of_cuda(CudaVersion(int(match[1]), int(match[2])))
    return Build("cpu") if re.search(r"(?:^|_)cpu(?:_|$)", text) else None


def _pip_build(facts: Facts, tables: Tables) -> tuple[Build | None, str]:
    if _has_no_accelerator(facts):
        apple = facts.os.name == "macos" and facts.os.machine == "arm64"
        return Build("mps" if apple else "cpu"), facts.source("torch.cuda")
    row = _pypi_row(facts, tables)
    major = _cuda_major_of_packages(facts)
    if facts.torch.origin == "pytorch" and not is_known(facts.torch.full):
        return _build_of_index(facts)
    if row is None:
        return _only_build(facts, tables)
    if major is None or (row.cuda is not None and row.cuda.major == major):
        return row.build, f"torch_builds: {row.key}"
    return _build_of_runtime(facts, tables, row)


def _has_no_accelerator(facts: Facts) -> bool:
    """Torch itself said that it has neither CUDA nor HIP, and nothing speaks of Intel's build."""
    xpu = any("xpu" in item.name for item in facts.packages.items)
    return (
        facts.torch.cuda is None
        and facts.torch.hip is None
        and facts.os.name in {"linux", "windows", "macos"}
        and not xpu
    )


def _pypi_row(facts: Facts, tables: Tables) -> TorchBuild | None:
    """What PyPI serves under this version; with CUDA packages beside it, it can only be the Linux wheel."""
    version = _version(facts)
    if version is None or facts.torch.owner == "conda" or _is_jetson(facts):
        return None
    os_name = facts.os.name if isinstance(facts.os.name, str) else None
    machine = facts.os.machine if isinstance(facts.os.machine, str) else None
    if _cuda_major_of_packages(facts) is not None:
        os_name = os_name or "linux"
        machine = machine or ("x86_64" if os_name == "linux" else None)
    if os_name is None:
        return None
    machines = [machine] if machine else _MACHINES
    rows = [row for name in machines if (row := tables.torch_builds.pypi_default(version, os_name, name))]
    return rows[0] if rows and all(row.build == rows[0].build for row in rows) else None


def _build_of_index(facts: Facts) -> tuple[Build | None, str]:
    """The build of the only index that was asked, where that index has but one; Apple's lies beside the CPU build."""
    indexes = facts.torch.indexes if isinstance(facts.torch.indexes, tuple) else ()
    builds = {build for index in indexes if (build := build_named_by(index))}
    is_decided = len(builds) == 1 and facts.os.name != "macos" and not is_known(facts.torch.offered)
    return (builds.pop(), facts.source("torch.indexes")) if is_decided else (None, "")


def _only_build(facts: Facts, tables: Tables) -> tuple[Build | None, str]:
    """The build that PyPI has for this system in every release, where the release is not known."""
    if facts.torch.origin != "pypi" or is_known(facts.torch.version) or _is_jetson(facts):
        return None, ""
    mine = [
        row
        for row in tables.torch_builds.rows
        if row.on_pypi
        and row.os == facts.os.name
        and (not isinstance(facts.os.machine, str) or row.machine == facts.os.machine)
    ]
    builds = {row.build for row in mine}
    return (builds.pop(), f"torch_builds: {facts.os.name} on PyPI") if len(builds) == 1 else (None, "")


def _version(facts: Facts) -> Version | None:
    try:
        return Version.parse(facts.torch.version) if isinstance(facts.torch.version, str) else None
    except ValueError:
        return None


def _is_jetson(facts: Facts) -> bool:
    has_kernel = isinstance(facts.os.kernel, str) and facts.os.kernel.endswith("-tegra")
    return has_kernel or isinstance(facts.place.jetpack, str) or isinstance(facts.place.l4t, str)


def _cuda_major_of_packages(facts: Facts) -> int | None:
    """The CUDA major of the nvidia-* packages, installed or required; None when there are none, or several majors."""
    majors = {major for item in facts.packages.items if (major := _major(item)) is not None}
    majors |= {int(match[1]) for name in _required(facts) if (match := _CU_SUFFIX.match(name))}
    return majors.pop() if len(majors) == 1 else None


def _required(facts: Facts) -> tuple[str, ...]:
    """The names of what torch requires, where ``pip show`` or its metadata was read."""
    return facts.torch.requires if isinstance(facts.torch.requires, tuple) else ()


def _major(item: Package) -> int | None:
    if match := _CU_SUFFIX.match(item.name):
        return int(match[1]) if not item.version.startswith("0.0") else None
    if item.name in _UNSUFFIXED_CUDA and (head := re.match(r"(\d{2})\.", item.version)):
        return int(head[1])
    return None


def _build_of_runtime(facts: Facts, tables: Tables, row: TorchBuild) -> tuple[Build | None, str]:
    """CUDA packages of another major than PyPI's build: the CUDA runtime's own version names the variant."""
    for item in facts.packages.items:
        if item.name.startswith("nvidia-cuda-runtime") and is_known(item.version):
            try:
                build = Build.of_cuda(CudaVersion.parse(item.version))
            except ValueError:
                continue
            found = tables.torch_builds.find(row.torch, build, row.os, row.machine)
            if found:
                return found.build, f"{item.name} {item.version}"
    return None, ""
