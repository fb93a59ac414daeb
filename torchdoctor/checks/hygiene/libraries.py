"""Whether the libraries that torch loads are the ones it was built with."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.checks.installed import (
    base_release,
    found_packages,
    gpu_evidence,
    is_foreign,
    is_from_conda,
    nvidia_gpus,
    official_rows,
    package_evidence,
    release,
    torch_cuda,
    torch_was_imported,
)
from torchdoctor.checks.linked import all_are_found, displaced
from torchdoctor.checks.pins import Demand, demands
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, NotKnownError, Package, is_known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Severity, Text, unsetting
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion

_PATH = "LD_LIBRARY_PATH"
_WSL_WITH_GPU = 2
_TORCH_LIB = "\"$(python -c 'import os, torch; print(os.path.dirname(torch.__file__))')\"/lib"
_TOOLKIT_FOLDER = re.compile(r"/cuda-(\d+\.\d+)(?:\.\d+)?(?:/|$)")
# Their library names carry no CUDA major, so the packages of two majors unpack over each other in nvidia/<name>.
_SHARED_FOLDERS = ("cudnn", "cusparselt", "nccl", "nvshmem")


@check("nvidia-packages-inconsistent", severity="error", after=("duplicate-torch", "mixed-package-sources"))
def nvidia_packages_inconsistent(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The nvidia-* packages are not the ones that torch asks for."""
    build = need(facts.torch.build)
    if build.backend != "cuda" or is_from_conda(facts) or torch_was_imported(facts):
        return
    yield from _missing_or_other(facts)
    yield from _older_strays(facts)


def _missing_or_other(facts: Facts) -> Iterator[Finding]:
    for demand in demands(facts):
        package = facts.packages.find(demand.name)
        if package is None:
            yield _package_finding(facts, demand, None)
        elif isinstance(package, Package) and (installed := release(package.version)) and demand.refuses(installed):
            yield _package_finding(facts, demand, package)


def _package_finding(facts: Facts, demand: Demand, package: Package | None) -> Finding:
    has = package.version if package else "none"
    return Finding(
        summary=Text(
            "torch asks for {name} {version}, installed is {has}", name=demand.name, version=demand.wanted, has=has
        ),
        why=Text(
            "torch loads these libraries from beside itself; a CUDA or cuDNN of the system cannot stand in for them."
        ),
        evidence=(
            seen(
                facts,
                "torch.requires",
                f"{demand.name}{demand.words}",
                f"METADATA of {demand.source}" if demand.source != "torch" else "",
            ),
            seen(facts, f"packages.{demand.name}", has, facts.source("packages")),
        ),
        remedies=(
            Remedy(Text("Install torch again with its dependencies"), installs=True),
            Remedy(Text("Or only this package"), commands=(f"python -m pip install {demand.requirement}",)),
        ),
        confidence="likely" if package else "certain",
        severity=_pin_severity(facts, demand, package),
    )


def _pin_severity(facts: Facts, demand: Demand, package: Package | None) -> Severity | None:
    """An older release of the same major may still have every symbol that torch needs, and so may another source's."""
    installed = release(package.version) if package else None
    same_major = installed is not None and installed.parts[0] == demand.floor.parts[0]
    return "warning" if same_major or all_are_found(facts) else None


def _older_strays(facts: Facts) -> Iterator[Finding]:
    cuda = torch_cuda(facts)
    for base in _SHARED_FOLDERS if cuda else ():
        right = facts.packages.find(f"nvidia-{base}-cu{cuda.major if cuda else ''}")
        if not isinstance(right, Package):
            continue
        for stray in facts.packages.items:
            if (
                re.fullmatch(rf"nvidia-{base}-cu\d+", stray.name)
                and stray.name != right.name
                and _is_older(stray, right)
            ):
                yield _stray_finding(facts, stray, right)


def _is_older(stray: Package, right: Package) -> bool:
    theirs, ours = release(stray.version), release(right.version)
    return theirs is not None and ours is not None and theirs < ours


def _stray_finding(facts: Facts, stray: Package, right: Package) -> Finding:
    return Finding(
        summary=Text(
            "{stray} and {right} share one folder",
            stray=f"{stray.name} {stray.version}",
            right=f"{right.name} {right.version}",
        ),
        why=Text(
            "Both unpack into nvidia/ under the same file names. If the older was written last, torch misses symbols."
        ),
        evidence=(package_evidence(facts, stray), package_evidence(facts, right)),
        remedies=(
            Remedy(
                Text("Remove the older one, then write the right one again"),
                commands=(
                    f"python -m pip uninstall -y {stray.name}",
                    f"python -m pip install --force-reinstall --no-deps {right.name}=={right.version}",
                ),
            ),
        ),
        confidence="likely",
        severity="warning",
    )


@check("library-path-shadowing", severity="error")
def library_path_shadowing(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """Libraries of the system take the place of the wheel's own, or those of the wheel that of the system's."""
    backend = need(facts.torch.build).backend
    if backend == "rocm":
        yield from _runtime_without_wsl(facts)
    if backend == "cuda" and not is_foreign(facts) and is_known(facts.inside.linked):
        yield from displaced(facts)  # what the loader really takes: nothing needs to be guessed from names of folders
        return
    if backend != "cuda" or is_foreign(facts) or torch_was_imported(facts):
        return
    cuda = torch_cuda(facts)
    folders = [folder for folder in need(facts.env.get(_PATH)).split(":") if folder]
    older = [
        (folder, found) for folder in folders if (found := _toolkit_of(facts, folder)) and _could_displace(found, cuda)
    ]
    if not older or cuda is None:
        return
    folder, found = older[0]
    yield Finding(
        summary=Text(
            "{variable} puts CUDA {found} before torch's own CUDA {cuda}", variable=_PATH, found=found, cuda=cuda
        ),
        why=Text(
            "Libraries of one CUDA major share their names, so the older copy in {folder} can displace the wheel's. "
            "The wheel needs nothing from a toolkit on the host.",
            folder=folder,
        ),
        evidence=(
            seen(facts, f"env.{_PATH}", need(facts.env.get(_PATH)), facts.source("env")),
            seen(facts, "torch.cuda", cuda),
        ),
        remedies=(Remedy(Text("Start the program without it"), commands=(unsetting(_PATH),)),),
        severity="warning",  # a quoted error proves it
        confidence="likely",
    )


def _runtime_without_wsl(facts: Facts) -> Iterator[Finding]:
    """The wheel's own HSA runtime looks for AMD's kernel driver, which WSL does not have."""
    if need(facts.place.wsl) != _WSL_WITH_GPU or facts.torch.cuda_available is not False:
        return
    gpus = [gpu for gpu in need(facts.gpus) if gpu.vendor == "amd"]
    if not gpus:
        return
    yield Finding(
        summary=Text("torch's own libhsa-runtime64 does not work inside WSL"),
        why=Text(
            "WSL passes AMD GPUs through /dev/dxg and has no /dev/kfd. The ROCm of the system for WSL knows that, so "
            "rocminfo lists the GPU; the copy of the library in torch/lib, which is loaded first, does not."
        ),
        evidence=(
            seen(facts, "place.wsl", facts.place.wsl),
            seen(facts, "torch.build", facts.torch.build),
            *gpu_evidence(facts, gpus),
        ),
        remedies=(
            Remedy(
                Text("Remove that copy, so that the library of the ROCm for WSL in /opt/rocm is loaded"),
                commands=(f"rm {_TORCH_LIB}/libhsa-runtime64.so*",),
                risk="changes-system",
            ),
            Remedy(Text("Or install the wheel that AMD's guide names for this ROCm under WSL")),
        ),
        confidence="likely",
    )


def _toolkit_of(facts: Facts, folder: str) -> CudaVersion | None:
    """Return the CUDA version of a toolkit's library folder, from its name or from the toolkits found on the host."""
    for toolkit in value_or(facts.tools.toolkits, ()):
        if f"{folder}/".startswith(toolkit.path.rstrip("/") + "/"):
            return toolkit.cuda
    match = _TOOLKIT_FOLDER.search(folder)
    return CudaVersion.parse(match[1]) if match else None


def _could_displace(found: CudaVersion, cuda: CudaVersion | None) -> bool:
    return cuda is not None and found.major == cuda.major and found < cuda


@check("sibling-library-needs-other-cudnn", spares_torch=True, severity="warning", parent="library-path-shadowing")
def sibling_library_needs_other_cudnn(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """A library beside torch loads another major version of cuDNN."""
    if need(facts.torch.build).backend != "cuda" or (is_known(facts.gpus) and not nvidia_gpus(facts)):
        return
    names = [
        name
        for name in tables.neighbours.names()
        if any(row.cudnn for row in tables.neighbours.rows if row.name == name)
    ]
    for package in found_packages(facts, names):
        version = release(package.version)
        row = tables.neighbours.find(package.name, version) if version else None
        if row is None or row.cudnn is None:
            continue
        major, evidence = _cudnn(facts, tables)
        if major == row.cudnn:
            continue
        yield Finding(
            summary=Text(
                "{name} {version} needs cuDNN {theirs}, torch brings cuDNN {ours}",
                name=package.name,
                version=package.version,
                theirs=row.cudnn,
                ours=major,
            ),
            why=Text(
                "The files of cuDNN majors differ in name, so those beside torch do not serve it. torch itself is fine."
            ),
            evidence=(package_evidence(facts, package), evidence),
            remedies=(
                Remedy(
                    Text("Install a release of {name} built for the same cuDNN as torch", name=package.name),
                    commands=(f"python -m pip install --upgrade {package.name}",) if row.cudnn < major else (),
                ),
            ),
            confidence="likely",
            row=Row("torch_neighbours", row.key, row.source),
        )


def _cudnn(facts: Facts, tables: Tables) -> tuple[int, Evidence]:
    """Return the cuDNN major beside torch: of its nvidia-cudnn package, else of the official wheel."""
    for package in facts.packages.items:
        version = release(package.version) if package.name.startswith("nvidia-cudnn-cu") else None
        if version is not None:
            return version.parts[0], package_evidence(facts, package)
    majors = {(row.cudnn.partition(".")[0], row.key) for row in official_rows(facts, tables)}
    if len({major for major, _ in majors}) != 1 or not (first := min(majors))[0].isdecimal():
        raise NotKnownError("cuDNN version of the torch build")
    return int(first[0]), seen(facts, "torch.version", need(facts.torch.version), f"torch_builds: {first[1]}")


@check("numpy-abi-mismatch", severity="warning")
def numpy_abi_mismatch(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """This torch was compiled for an older NumPy than the one installed."""
    torch, _ = base_release(need(facts.torch.version))
    numpy = need(facts.packages.find("numpy"))
    version = release(numpy.version)
    row = tables.torch_requirements.broken("torch", torch, "numpy", version) if torch and version else None
    if row is None:
        return
    yield Finding(
        summary=Text("torch {torch} was compiled for an older NumPy than {numpy}", torch=torch, numpy=numpy.version),
        why=Text("{effect}.", effect=row.effect),
        evidence=(seen(facts, "torch.version", need(facts.torch.version)), package_evidence(facts, numpy)),
        remedies=(
            Remedy(
                Text("Pin NumPy below {limit}", limit=row.other_min),
                commands=(f'python -m pip install "numpy<{row.other_min}"',),
            ),
        ),
        row=Row("torch_requirements", row.key, row.source),
    )
