"""Whether there is a torch, and whether its build can speak to this host's GPU at all."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.installed import (
    found_packages,
    gpu_evidence,
    gpu_name,
    gpu_names,
    has_a_build,
    is_from_conda,
    jetson,
    label,
    left_entry,
    nvidia_gpus,
    on_jetson,
    package_evidence,
    release,
    torch_cuda,
    torch_release,
)
from torchdoctor.checks.other_vendors import is_served_card, right_build
from torchdoctor.checks.quoted import finding_of, shown_errors
from torchdoctor.checks.registry import check, seen
from torchdoctor.checks.wanted import gpu_wanted
from torchdoctor.facts import Facts, Gpu, NotKnownError, Package, is_known, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Severity, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build, Version

_VENDOR = {"cuda": "nvidia", "rocm": "amd", "xpu": "intel"}
_BACKENDS = {"cuda": "CUDA", "rocm": "ROCm", "xpu": "XPU"}
_VENDORS = {"nvidia": "NVIDIA", "amd": "AMD", "intel": "Intel"}
# Market names that are never those of a GPU inside a processor.
_DISCRETE = (" rx", "radeon pro", "radeon ai pro", "instinct", "firepro", " arc")

# What firmware gives to a GPU inside a processor by default is less.
_OWN_MEMORY = 4 * 2**30


@check(
    "torch-missing",
    severity="error",
    after=("python-unsupported", "python-wrong-arch", "glibc-too-old", "os-unsupported"),
)
def torch_missing(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """No torch is installed in the examined interpreter."""
    if known(facts.torch.installed) is not False:
        return
    python = value_or(facts.python.executable, "this interpreter")
    left = left_entry(facts)
    if left:
        yield _cut_short(facts, left, python)
        return
    other = value_or(facts.python.other, "")
    remedies = [Remedy(Text("Install torch into this interpreter"), installs=True)]
    if other:
        remedies.append(Remedy(Text("Or use the interpreter that already has it: {other}", other=other)))
    yield Finding(
        summary=Text("torch is not installed in {python}", python=python),
        why=Text(
            "Every interpreter and environment has its own packages; a torch beside another Python does not count here."
        ),
        evidence=(
            seen(facts, "torch.installed", "no"),
            *_if_known(facts, "python.executable", facts.python.executable),
        ),
        remedies=tuple(remedies),
    )


def _cut_short(facts: Facts, left: Package, python: str) -> Finding:
    """An uninstall that was interrupted, a folder that was deleted, a disk that was full."""
    return Finding(
        summary=Text(
            "torch {version} is listed in {python}, and its files are gone", version=left.version, python=python
        ),
        why=Text(
            "Installers read that entry and take it for the package: they install nothing where that version is asked "
            "for, and pip list still shows it."
        ),
        evidence=(seen(facts, "torch.installed", "no"), package_evidence(facts, left)),
        remedies=(Remedy(Text("Take the entry out, and install torch again"), installs=True),),
    )


@check("jetson-wheel", severity="error", after=("torch-from-wrong-index", "torch-cpu-build"))
def jetson_wheel(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The wheel was not made for this JetPack."""
    jetpack = jetson(facts, tables)
    if jetpack is None or jetpack.cuda_stack != "Tegra":
        return
    build = need(facts.torch.build)
    cuda = torch_cuda(facts)
    other_major = cuda is not None and cuda.major != jetpack.cuda.major
    if not _is_server_wheel(facts) and not (build.backend == "cuda" and other_major):
        return
    yield Finding(
        summary=Text("torch {build} is not a wheel for JetPack {jetpack}", build=build, jetpack=jetpack.jetpack),
        why=Text(
            "JetPack {jetpack} has its own CUDA {cuda} stack: wheels for Arm servers or another JetPack fail on it.",
            jetpack=jetpack.jetpack,
            cuda=jetpack.cuda,
        ),
        evidence=(seen(facts, "torch.build", build), seen(facts, "place.jetpack", jetpack.jetpack)),
        remedies=(Remedy(Text("Install the wheel made for this JetPack"), installs=True),),
        row=Row("jetpacks", jetpack.key, jetpack.source),
    )


def _is_server_wheel(facts: Facts) -> bool:
    """Only the PyTorch project's own wheels carry a +cuXYZ or +cpu label; Jetson wheels none, or NVIDIA's own mark."""
    named = label(value_or(facts.torch.full, ""))
    is_named = named is not None and named.backend in {"cuda", "cpu"}
    return value_or(facts.torch.origin, "") in {"pypi", "pytorch"} or is_named


@check("torch-from-wrong-index", severity="error", after=("duplicate-torch",))
def torch_from_wrong_index(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The wheel came from PyPI, whose build for this platform is CPU-only."""
    if not _is_cpu_build(facts):
        return
    version = torch_release(facts)
    default = _pypi_default(facts, tables, version)
    if default is None or default.build.backend != "cpu" or not _came_from_pypi(facts, tables):
        return
    rows = tables.torch_builds.for_host(default.os, default.machine)
    elsewhere = any(row.torch == version and row.cuda and row.emit for row in rows) or on_jetson(facts)
    gpus = _wanted_cuda(facts, tables)
    if not elsewhere or not gpus:
        return
    yield Finding(
        summary=Text(
            "PyPI's torch {version} for {os} {machine} is CPU-only",
            version=version,
            os=default.os,
            machine=default.machine,
        ),
        why=Text(
            "PyPI holds one build per platform. On this one it has no CUDA code; the CUDA builds have another index. "
            "A version without a suffix says nothing about CUDA here."
        ),
        evidence=(seen(facts, "torch.version", version), *_build_evidence(facts), *gpus),
        remedies=(Remedy(Text("Install the build for this GPU from its own index"), installs=True),),
        confidence="certain" if is_known(facts.torch.build) else "likely",
        row=Row("torch_builds", default.key, default.source),
    )


def _pypi_default(facts: Facts, tables: Tables, version: Version) -> TorchBuild | None:
    """What PyPI hands out for this version; where the machine is unknown, only if PyPI has wheels for just one."""
    os_name, machine = need(facts.os.name), facts.os.machine
    if is_known(machine):
        return tables.torch_builds.pypi_default(version, os_name, need(machine))
    rows = [row for row in tables.torch_builds.rows if (row.torch, row.os) == (version, os_name) and row.on_pypi]
    if len(rows) != 1:
        need(machine)
    return rows[0]


def _came_from_pypi(facts: Facts, tables: Tables) -> bool:
    """Wheels of the torch indexes are listed with a label, those of PyPI and its mirrors without one."""
    if is_known(facts.torch.origin):
        return facts.torch.origin == "pypi"
    if is_from_conda(facts):
        return False
    versions = [item.version for item in facts.packages.items if item.name == "torch"]
    if not versions and (asked := value_or(facts.torch.indexes, ())):
        versions = [] if any(_may_hold(url, facts, tables) for url in asked) else [need(facts.torch.version)]
    if not versions:
        raise NotKnownError("origin of the torch wheel")
    return all("+" not in version and release(version) is not None for version in versions)


def _may_hold(url: str, facts: Facts, tables: Tables) -> bool:
    """Whether an index other than PyPI may have given this torch: one of a build that has this version."""
    if _host(url) not in {_host(row.url) for row in tables.indexes.rows if row.url}:
        return False
    named = next((build for part in url.split("/") if (build := label(f"+{part}"))), None)
    version = torch_release(facts)
    rows = [row for row in tables.torch_builds.rows if row.torch == version]
    return named is None or not rows or any(row.build == named for row in rows)


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


def _wanted_cuda(facts: Facts, tables: Tables) -> tuple[Evidence, ...]:
    """What shows an NVIDIA GPU; where the GPUs are unknown, the error of a program that asks for one."""
    try:
        return _nvidia_evidence(facts, tables)
    except NotKnownError:
        asked = [one.error for one in shown_errors(facts, tables) if finding_of(one) == "torch-cpu-build"]
        if not asked or asked[0].doubtful:
            raise
        return (Evidence(f"error.{asked[0].id}", asked[0].text, asked[0].source),)


@check("torch-wrong-vendor", decides=True, severity="error")
def torch_wrong_vendor(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The build is for another vendor's GPU than this host has."""
    build = need(facts.torch.build)
    own = _VENDOR.get(build.backend)
    if own is None or facts.torch.cuda_available is True:
        return
    gpus = need(facts.gpus)
    vendors = {need(gpu.vendor) for gpu in gpus}
    driver_is_there = own == "nvidia" and value_or(facts.driver.version, None) is not None
    foreign = [gpu for gpu in gpus if _could_compute(gpu, facts, tables)]
    if own in vendors or driver_is_there or not foreign:
        return
    yield Finding(
        summary=Text("torch {build} cannot use {gpu}", build=build, gpu=gpu_names(foreign)),
        why=Text(
            "A build for {backend} holds code for {own} GPUs only; no driver makes it run on another vendor's.",
            backend=_BACKENDS[build.backend],
            own=_VENDORS[own],
        ),
        evidence=(seen(facts, "torch.build", build), *gpu_evidence(facts, foreign)),
        remedies=tuple(right_build(facts, tables, foreign)),
        severity=_wrong_vendor_severity(facts, tables, build),
    )


def _could_compute(gpu: Gpu, facts: Facts, tables: Tables) -> bool:
    """Whether somebody would want this GPU for torch: a GPU inside a processor counts only when a GPU is asked for."""
    name, gfx = f" {gpu_name(gpu).lower()}", value_or(gpu.gfx, None)
    if facts.request.require_gpu or gpu.vendor == "nvidia" or any(word in name for word in _DISCRETE):
        return True
    has_its_own = value_or(gpu.memory, 0) >= _OWN_MEMORY  # the bus of a live host tells no name, or only the chip's
    return has_its_own and gfx is not None and any(gfx in row.gfx for row in tables.torch_builds.rows)


def _wrong_vendor_severity(facts: Facts, tables: Tables, build: Build) -> Severity:
    """Somebody chose a build that PyPI does not hand out; the default one arrives without a choice."""
    os_name, machine = value_or(facts.os.name, ""), value_or(facts.os.machine, "")
    by_default = any(row.on_pypi and row.build == build for row in tables.torch_builds.for_host(os_name, machine))
    return "warning" if by_default and not facts.request.require_gpu else "error"


@check(
    "torch-cpu-build",
    severity="error",
    after=("torch-from-wrong-index", "duplicate-torch", "known-bad-release", "no-gpu"),
)
def torch_cpu_build(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The build has no GPU code and this host has a GPU."""
    if not _is_cpu_build(facts):
        return
    required = gpu_wanted(facts)
    gpus = required or _nvidia_evidence(facts, tables) or _of_other_vendors(facts, tables)
    if not gpus:
        return
    version = value_or(facts.torch.full, "") or value_or(facts.torch.version, "")
    proven = bool(version) and is_known(facts.torch.build) and (required or gpus[0].fact != "driver.version")
    yield Finding(
        summary=Text("torch {version} is a CPU-only build", version=version)
        if version
        else Text("this torch is a CPU-only build"),
        why=Text(
            "This build holds no code for any GPU, so torch.cuda.is_available() is False whatever else is installed. "
            "The CUDA toolkit and cuDNN on the host play no part in it."
        ),
        evidence=(*_build_evidence(facts), *gpus),
        remedies=_gpu_builds(facts, tables),
        confidence="certain" if proven else "likely",
    )


def _gpu_builds(facts: Facts, tables: Tables) -> tuple[Remedy, ...]:
    """The build for the host's GPU; where only other vendors' GPUs are known, what those vendors' builds can do."""
    gpus = value_or(facts.gpus, ())
    others = [gpu for gpu in gpus if value_or(gpu.vendor, "") in {"amd", "intel"}]
    if others and len(others) == len(gpus):
        return tuple(right_build(facts, tables, others))
    return (Remedy(Text("Install the build for this host's GPU"), installs=True),)


def _is_cpu_build(facts: Facts) -> bool:
    """Whether the build is for the CPU; on a Jetson a release that sees no GPU is taken for PyPI's."""
    if not is_known(facts.torch.build) and on_jetson(facts) and release(need(facts.torch.version)):
        return known(facts.torch.cuda_available) is False
    return need(facts.torch.build).backend == "cpu"


def _build_evidence(facts: Facts) -> tuple[Evidence, ...]:
    if is_known(facts.torch.build):
        return (seen(facts, "torch.build", facts.torch.build),)
    return (seen(facts, "torch.cuda_available", facts.torch.cuda_available),)


def _nvidia_evidence(facts: Facts, tables: Tables) -> tuple[Evidence, ...]:
    """Say how the recording proves that an NVIDIA GPU could be used here; nothing when it proves that none can."""
    if is_known(facts.gpus) and (gpus := [gpu for gpu in nvidia_gpus(facts) if has_a_build(facts, tables, gpu)]):
        return gpu_evidence(facts, gpus)
    if on_jetson(facts):
        return (_jetson_evidence(facts),)
    if not is_known(facts.gpus) and (driver := value_or(facts.driver.version, None)):
        return (seen(facts, "driver.version", driver),)
    need(facts.gpus)
    return ()


def _of_other_vendors(facts: Facts, tables: Tables) -> tuple[Evidence, ...]:
    """A card of AMD's or Intel's for which there is a build; a GPU inside a processor may be left alone."""
    gpus = [gpu for gpu in value_or(facts.gpus, ()) if is_served_card(facts, tables, gpu)]
    return gpu_evidence(facts, gpus)


def _jetson_evidence(facts: Facts) -> Evidence:
    if not value_or(facts.place.jetpack, "") and not value_or(facts.place.l4t, ""):
        return seen(facts, "os.kernel", value_or(facts.os.kernel, ""))
    return seen(facts, "place.jetpack", value_or(facts.place.jetpack, "yes"))


@check(
    "extension-wrong-vendor",
    spares_torch=True,
    severity="warning",
    parent="torch-wrong-vendor",
    after=("torch-wrong-vendor",),
)
def extension_wrong_vendor(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """An extension has code for CUDA only and torch is a build for another vendor."""
    backend = need(facts.torch.build).backend
    if backend not in {"rocm", "xpu"}:
        return
    rows = [row for row in tables.neighbours.rows if row.backends and backend not in row.backends]
    for package in found_packages(facts, [row.name for row in rows]):
        row = next(row for row in rows if row.name == package.name)
        yield Finding(
            summary=Text(
                "{name} {version} has no {backend} code", name=package.name, version=package.version, backend=backend
            ),
            why=Text(
                "torch itself is the right build; this extension has code for {backends} only.",
                backends=" ".join(row.backends),
            ),
            evidence=(package_evidence(facts, package), seen(facts, "torch.build", need(facts.torch.build))),
            remedies=(
                Remedy(Text("Remove it, or use the vendor's own port or torch's scaled_dot_product_attention")),
                Remedy(Text("Uninstall it"), commands=(f"python -m pip uninstall -y {package.name}",)),
            ),
            row=Row("torch_neighbours", row.key, row.source),
        )


def _if_known(facts: Facts, path: str, value: object) -> tuple[Evidence, ...]:
    return (seen(facts, path, value),) if is_known(value) else ()
