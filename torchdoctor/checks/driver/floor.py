"""Whether the driver is new enough for the build, knows the GPU, and consists of parts that belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.compat_library import accepts_compat, compat_sign
from torchdoctor.checks.driver_remedies import driver_fixer, fitting_branches, install_driver, suggested
from torchdoctor.checks.drivers import (
    FULL_DRIVER,
    arch_of,
    branches_of,
    build_cuda,
    driver_lines,
    gpu_seen,
    gpus_seen,
    is_jetson,
    labels,
    nvidia_gpus,
    severity,
    torch_sees_gpu,
)
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, Gpu, NotKnownError, is_known, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Row, Text, unsetting
from torchdoctor.tables import Tables
from torchdoctor.tables.cuda_drivers import CudaRelease
from torchdoctor.tables.driver_branches import DriverBranch
from torchdoctor.values import CudaVersion, DriverVersion

_SWITCHED_ON = frozenset({"1", "t", "T", "true", "TRUE", "True"})  # as NVIDIA's container runtime reads it
# Known errors of code beside torch's build: code to be compiled by the driver, an extension, an image.
_OTHER_DEMANDS = frozenset({"ptx-unsupported-toolchain", "cuda-driver-symbol-missing", "container-cuda-requirement"})


@check("driver-dropped-gpu", decides=True, severity="error")
def driver_dropped_gpu(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The driver branch no longer, or not yet, supports this GPU."""
    if torch_sees_gpu(facts) or is_jetson(facts, tables):
        return
    version, sign = _any_version(facts)
    gpus = nvidia_gpus(facts)
    branches = branches_of(facts, tables, version)
    left_out = [gpu for gpu in gpus if branches and all(_drives(row, gpu, version) is False for row in branches)]
    if not left_out:
        if any(_drives(row, gpu, version) is None for row in branches for gpu in gpus):
            raise NotKnownError(FULL_DRIVER)
        return
    gpu, branch = left_out[0], branches[0]
    first = _first(branch, left_out, version)
    others = fitting_branches(tables, left_out)
    dropped = bool(others) and others[-1].branch < branch.branch
    target = branch if first else others[-1] if dropped else suggested(tables, others)
    yield Finding(
        summary=_left_out(labels(left_out), branch, version if first else None, dropped=dropped),
        why=Text(
            "A driver branch drives only the GPU families it was made for, whatever CUDA version it speaks and "
            "whatever torch is installed. {which}",
            which=_which(others, first, dropped=dropped),
        ),
        evidence=(sign, gpu_seen(facts, gpu, "compute_capability")),
        remedies=(install_driver(facts, target, left_out, at_least=first),) if target else (),
        fixable_by=driver_fixer(facts),
        severity=severity(facts) if len(left_out) == len(gpus) else "warning",
        row=Row("driver_branches", branch.key, branch.source),
    )


@check("compat-library-problem", severity="error", after=("wsl-driver",))
def compat_library_problem(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """A forward-compatibility libcuda (cuda-compat) is in effect and does not fit this host."""
    if (
        torch_sees_gpu(facts)
        or value_or(facts.place.wsl, 0)
        or value_or(facts.os.name, "linux") != "linux"
        or is_jetson(facts, tables)
    ):
        return
    sign = compat_sign(facts, tables)
    if sign is None:
        return
    gpus = nvidia_gpus(facts)
    fails = facts.torch.cuda_available is False
    refused = [gpu for gpu in gpus if not accepts_compat(gpu, tables)]
    if not fails and not refused:
        return
    yield Finding(
        summary=Text("a cuda-compat libcuda is in effect and does not fit this host"),
        why=Text(
            "Such a library lends an older driver the CUDA of a newer one, but only on data-center GPUs and chosen "
            "driver branches; elsewhere CUDA refuses to start (errors 803, 804, or 100). nvidia-smi then shows the "
            "CUDA version of that library, not of the driver."
        ),
        evidence=(sign, *gpus_seen(facts, refused or gpus)),
        remedies=(
            Remedy(
                Text("See which libcuda the loader takes, and take its folder out of the path"),
                ("ldconfig -p | grep libcuda", unsetting("LD_LIBRARY_PATH")),
            ),
            Remedy(
                Text("In an image, remove the loader's entry for it"),
                ("rm /etc/ld.so.conf.d/*compat*.conf", "ldconfig"),
                risk="changes-system",
            ),
            Remedy(Text("Or update the host's driver, so that no such library is needed"), risk="changes-system"),
        ),
        severity=severity(facts),
        confidence="certain" if fails and refused else "likely",
    )


@check("driver-library-mismatch", severity="error", after=("compat-library-problem", "wsl-driver"))
def driver_library_mismatch(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The loaded kernel module and the driver's libraries are of different versions."""
    if torch_sees_gpu(facts) or value_or(facts.place.wsl, 0) or is_jetson(facts, tables):
        return
    sign = _mismatch(facts)
    if sign is None or compat_sign(facts, tables):
        return
    kind = value_or(facts.place.container, "")
    inside = Remedy(
        Text(
            "In a container remove the driver packages installed there and restart it; the runtime brings the host's "
            "libraries"
        ),
        ("dpkg -l | grep -E 'nvidia-(utils|driver)|libnvidia-compute'",),
    )
    outside = Remedy(
        Text("On the host itself restart the machine, so that the kernel loads the module of the new version"),
        ("sudo reboot",),
        risk="changes-system",
    )
    yield Finding(
        summary=Text("the driver's libraries and its kernel module differ in version"),
        why=Text(
            "Both must be of one and the same release. They part when packages were updated and the old module is "
            "still loaded, or when driver packages were installed inside a container, where a driver can never be "
            "changed."
        ),
        evidence=sign,
        remedies=(inside,) if kind else (outside,) if facts.place.container is None else (inside, outside),
        fixable_by="user" if kind else "admin",
        severity=severity(facts),
    )


@check("driver-too-old", decides=True, severity="error", after=("driver-dropped-gpu", "compat-library-problem"))
def driver_too_old(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The driver is older than the installed build's CUDA needs."""
    if torch_sees_gpu(facts) or is_jetson(facts, tables):
        _ask_others(facts)
        return
    cuda = build_cuda(facts)
    floor = _floor(facts, tables, cuda)
    if floor is None:
        return
    row, needed = floor
    sign = _too_old_sign(facts, tables, cuda, needed)
    if sign is None:
        _ask_others(facts)
        return
    build = value_or(facts.torch.build, None) or Text("CUDA {cuda}", cuda=cuda)
    yield Finding(
        summary=_too_old(facts, needed, build),
        why=Text(
            "Builds for CUDA {major}.x run on any driver from {floor} on, also when nvidia-smi shows a lower CUDA "
            "version; this one is older. The driver decides, not the CUDA toolkit: installing a toolkit changes "
            "nothing.",
            major=cuda.major,
            floor=needed,
        ),
        evidence=(
            sign,
            *(
                [seen(facts, "torch.build", facts.torch.build)]
                if is_known(facts.torch.build)
                else [seen(facts, "torch.cuda", cuda)]
            ),
            *_demand_ignored(facts),
        ),
        remedies=(
            Remedy(Text("Install a torch build that this driver runs"), installs=True),
            *_update(facts, tables, row, needed),
        ),
        fixable_by="user",
        row=Row("cuda_drivers", row.key, row.source),
    )


def _ask_others(facts: Facts) -> None:
    """The floor of torch's build says nothing of what others ask of the driver: their error may tell more."""
    if any(error.id in _OTHER_DEMANDS for error in facts.quoted.errors):
        raise NotKnownError("CUDA version that another program asks for")


def _any_version(facts: Facts) -> tuple[DriverVersion, Evidence]:
    """Return the version of the loaded driver, else of the installed one that could not load."""
    driver = facts.driver
    for path, fact in (
        ("version", driver.version),
        ("module_on_disk", driver.module_on_disk),
        ("library_version", driver.library_version),
    ):
        if isinstance(fact, DriverVersion):
            return fact, seen(facts, f"driver.{path}", fact)
    return need(driver.version), seen(facts, "driver.version", None)


def _drives(branch: DriverBranch, gpu: Gpu, version: DriverVersion) -> bool | None:
    """Whether the driver of this branch drives the GPU; one that it lists, or of no known capability, it does."""
    arch = arch_of(gpu)
    return True if arch is None or value_or(gpu.driver_sees, False) else branch.drives(arch, version)


def _first(branch: DriverBranch, gpus: Sequence[Gpu], version: DriverVersion) -> DriverVersion | None:
    """The first driver of the version's own branch that drives the GPUs, where each came with a later one."""
    later = [branch.since.get(arch) for gpu in gpus if (arch := arch_of(gpu))]
    known_ = [number for number in later if number]
    if version.branch != branch.branch or len(known_) < len(gpus):
        return None
    return max(known_, key=lambda number: number.parts)


def _left_out(gpus: str, branch: DriverBranch, version: DriverVersion | None, *, dropped: bool) -> Text:
    if dropped:
        return Text("driver branch {branch} no longer supports {gpus}", branch=branch.branch, gpus=gpus)
    if version:
        return Text("driver {driver} does not know {gpus} yet", driver=version, gpus=gpus)
    return Text("driver branch {branch} does not know {gpus}", branch=branch.branch, gpus=gpus)


def _which(others: Sequence[DriverBranch], first: DriverVersion | None, *, dropped: bool) -> Text:
    if first:
        return Text("The first one for this GPU is {first}.", first=first)
    if not others:
        return Text("No branch known to the tables drives these GPUs together.")
    if dropped:
        return Text("The last one for this GPU is {last}; newer drivers ignore it.", last=others[-1].branch)
    return Text("The first one for this GPU is {first}.", first=others[0].branch)


def _mismatch(facts: Facts) -> tuple[Evidence, ...] | None:
    driver = facts.driver
    version, library = value_or(driver.version, None), value_or(driver.library_version, None)
    if version and library and version != library:
        return (seen(facts, "driver.version", version), seen(facts, "driver.library_version", library))
    if value_or(driver.smi, "") == "version-mismatch":
        return (seen(facts, "driver.smi", driver.smi),)
    if not is_known(driver.smi):
        known(driver.library_version)
    return None


def _floor(facts: Facts, tables: Tables, cuda: CudaVersion) -> tuple[CudaRelease, DriverVersion] | None:
    """Return the row of this CUDA and the lowest driver that runs it here; None for a CUDA newer than the table."""
    row = tables.cuda_drivers.floor_row(cuda, "linux")
    return (row, min(row.floor(line) for line in driver_lines(facts))) if row else None


def _too_old_sign(facts: Facts, tables: Tables, cuda: CudaVersion, needed: DriverVersion) -> Evidence | None:
    """Return what shows that the driver is too old: its version, else the CUDA version of its library."""
    shown = value_or(facts.driver.cuda_shown, None)
    if is_known(facts.driver.version):
        version = need(facts.driver.version)
        lent = shown is not None and shown.major >= cuda.major and compat_sign(facts, tables) is not None
        if lent or version.reaches(needed):
            return None
        if version.reaches(needed) is None:
            raise NotKnownError(FULL_DRIVER)
        return seen(facts, "driver.version", version)
    if shown is None:
        raise NotKnownError("NVIDIA driver version")
    return seen(facts, "driver.cuda_shown", shown) if shown.major < cuda.major else None


def _demand_ignored(facts: Facts) -> Iterator[Evidence]:
    """That an image's own demand for a newer driver was switched off when its container was started."""
    switch = "NVIDIA_DISABLE_REQUIRE"
    if value_or(facts.env.get(switch), None) in _SWITCHED_ON:
        yield seen(facts, f"env.{switch}", value_or(facts.env.get(switch), ""))
        demand = "NVIDIA_REQUIRE_CUDA"
        yield from (seen(facts, f"env.{demand}", value) for value in [value_or(facts.env.get(demand), "")] if value)


def _too_old(facts: Facts, needed: DriverVersion, build: object) -> Text:
    if is_known(facts.driver.version):
        return Text(
            "driver {driver} is older than {floor}, the floor of {build}",
            driver=facts.driver.version,
            floor=needed,
            build=build,
        )
    shown = facts.driver.cuda_shown
    return Text("the driver speaks CUDA {shown}; {build} needs driver {floor}", shown=shown, build=build, floor=needed)


def _update(facts: Facts, tables: Tables, row: CudaRelease, needed: DriverVersion) -> Iterator[Remedy]:
    """Offer a newer driver, unless no branch from the floor on drives the GPUs of this host."""
    gpus = nvidia_gpus(facts) if is_known(facts.gpus) else ()
    branch = suggested(tables, fitting_branches(tables, gpus, row.linux_floor))
    if branch:
        yield Remedy(
            Text("Or update the driver to {floor} or newer; {how}", floor=needed, how=_how(facts, branch)),
            (),
            risk="changes-system",
        )


def _how(facts: Facts, branch: DriverBranch) -> Text:
    if value_or(facts.place.container, ""):
        return Text("that happens on the host, never inside the container")
    if value_or(facts.place.wsl, 0):
        return Text("under WSL that is the Windows driver")
    return Text("branch {branch} is supported for long", branch=branch.branch)
