"""All hosts that fit what is known of one: for every system, GPU, driver and Python that is possible.

Nothing is guessed. A driver that drives a GPU is at least of the first branch that supports it, and one that started an
installed build is at least at that build's floor; an NVIDIA GPU that nobody named is any that the driver drives.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchdoctor.facts import Facts, Unknown, value_or
from torchdoctor.prescribe.choose import rows_of
from torchdoctor.prescribe.drivers import first_for
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import Build, CudaVersion, DriverVersion, GpuArch, PythonTag, Version

_SYSTEMS = {"linux": ("x86_64", "aarch64"), "windows": ("x86_64",)}  # those for which builds for GPUs are published


def possible_hosts(host: Host, facts: Facts, tables: Tables, *, any_gpu: bool = False) -> Iterator[list[list[Host]]]:
    """For each system and GPU that is possible the hosts, one for every Python, with older drivers before newer ones.

    ``any_gpu``: somebody wants an NVIDIA GPU used of which nothing is known.
    """
    if isinstance(host.jetpack, str) or not (_has_gpus(host, facts) or (any_gpu and isinstance(host.gpus, Unknown))):
        return
    for os, machine in _systems(host, facts, tables):
        placed = _with_told_driver(replace(host, os=os, machine=machine), facts, tables)
        pythons = tuple(_pythons(placed, tables))
        for gpus in _gpus(placed, tables, any_gpu=any_gpu):
            with_gpus = replace(placed, gpus=gpus)
            if drivers := list(_drivers(with_gpus, facts, tables)):
                yield [[replace(with_gpus, driver=driver, python=python) for python in pythons] for driver in drivers]


def _with_told_driver(host: Host, facts: Facts, tables: Tables) -> Host:
    """The host with the oldest driver that it can have, where the GPUs are to be told from the driver."""
    if not isinstance(host.driver, Unknown) or not isinstance(host.gpus, Unknown):
        return host
    return replace(host, driver=driver_at_least(facts, host, tables) or host.driver)


def _has_gpus(host: Host, facts: Facts) -> bool:
    """Whether there is a GPU to be served: known ones of one vendor, or an NVIDIA driver that works."""
    works = isinstance(host.driver, DriverVersion) or isinstance(facts.driver.cuda_shown, CudaVersion)
    works = works and value_or(facts.driver.smi, "ok") == "ok"
    if isinstance(host.gpus, Unknown):
        return works
    mine = _ours(host)
    is_one_vendor = len({gpu.vendor for gpu in mine}) == 1
    return is_one_vendor and all(gpu.target or gpu.vendor == "intel" or (works and _is_cut(gpu)) for gpu in mine)


def _is_cut(gpu: GpuTarget) -> bool:
    """Whether it is an NVIDIA GPU of which nvidia-smi shows too little of the name."""
    return gpu.vendor == "nvidia" and not any(character.isdigit() for character in gpu.name)


def _ours(host: Host) -> tuple[GpuTarget, ...]:
    """The GPUs for which a build may be sought; one of Intel's beside another vendor's is a part of the processor."""
    gpus = () if isinstance(host.gpus, Unknown) else host.gpus
    mine = tuple(gpu for gpu in gpus if gpu.vendor in {"nvidia", "amd"})
    return mine or tuple(gpu for gpu in gpus if gpu.vendor == "intel")


def _systems(host: Host, facts: Facts, tables: Tables) -> Iterator[tuple[str, str]]:
    """Each system and machine that is possible: not one for which the installed CUDA build never was made."""
    for os, machines in _SYSTEMS.items():
        for machine in machines:
            fits = (isinstance(host.os, Unknown) or host.os == os) and (
                isinstance(host.machine, Unknown) or host.machine == machine
            )
            if fits and (not isinstance(host.machine, Unknown) or not _came_later(os, machine, facts, tables)):
                yield os, machine


def _came_later(os: str, machine: str, facts: Facts, tables: Tables) -> bool:
    """Whether the installed torch has CUDA code and is older than all CUDA builds for this system and machine."""
    if not isinstance(facts.torch.arch_list, tuple) or not any(map(_is_cuda, facts.torch.arch_list)):
        return False
    first = min((row.torch for row in tables.torch_builds.for_host(os, machine) if row.cuda), default=None)
    return first is not None and first > tables.torch_builds.versions()[-1] and _is_before(_public(facts), first)


def _is_cuda(code: str) -> bool:
    return code.startswith(("sm_", "compute_"))


def _public(facts: Facts) -> str:
    return value_or(facts.torch.version, "")


def _pythons(host: Host, tables: Tables) -> Iterable[PythonTag]:
    """The Python of the host; where it is unknown, each current one for which the installed torch has a wheel.

    For a torch from before the tables it is one of those for which their first release has wheels.
    """
    if not isinstance(host.python, Unknown):
        return (host.python,)
    current = tables.pythons.current()
    public = host.torch.partition("+")[0] if isinstance(host.torch, str) else ""
    first = tables.torch_builds.versions()[-1]
    is_older = bool(public) and _is_before(public, first)
    rows = [row for row in rows_of(tables, host, "") if str(row.torch) == (str(first) if is_older else public)]
    tags = {tag for row in rows for tag in row.pythons if not tag.free_threaded}
    return (() if is_older else sorted(tags & set(current))) or sorted(tags) or current


def _is_before(public: str, first: Version) -> bool:
    try:
        return Version.parse(public) < first
    except ValueError:
        return False


def _gpus(host: Host, tables: Tables, *, any_gpu: bool) -> Iterator[tuple[GpuTarget, ...]]:
    """The GPUs of the host; for those that are unknown, each that its driver drives."""
    gpus = _ours(host)
    if gpus and all(gpu.target or gpu.vendor == "intel" for gpu in gpus):
        yield gpus
        return
    known = tuple(gpu for gpu in gpus if gpu.target)
    for arch in _archs(host, tables, any_gpu=any_gpu):
        if not tables.coverage.is_tegra(arch):
            yield (*known, GpuTarget("nvidia", arch, arch.sm))


def _archs(host: Host, tables: Tables, *, any_gpu: bool) -> Iterable[GpuArch]:
    if isinstance(host.driver, DriverVersion):
        branch = tables.driver_branches.of(host.driver, host.driver_line)
        return branch.archs if branch else ()
    all_rows = tables.driver_branches.rows
    return sorted({arch for row in all_rows for arch in row.archs}) if any_gpu or not _ours(host) else ()


def _drivers(host: Host, facts: Facts, tables: Tables) -> Iterator[DriverVersion | None | Unknown]:
    """The driver of the host; where it is unknown, the oldest that it can have, then those that newer CUDAs need."""
    if not isinstance(host.driver, Unknown) or any(gpu.vendor != "nvidia" for gpu in _ours(host)):
        yield host.driver
    elif (oldest := driver_at_least(facts, host, tables)) is not None:
        yield oldest
        floors = {row.floor(host.driver_line) for row in tables.cuda_drivers.rows}
        yield from sorted(floor for floor in floors if floor > oldest)


def driver_at_least(facts: Facts, host: Host, tables: Tables) -> DriverVersion | None:
    """The oldest driver that the host can have, after what it was seen to do; None when nothing tells."""
    line = host.driver_line
    bounds = [tables.cuda_drivers.exact(cuda, line) for cuda in _spoken(facts)]
    bounds += [tables.cuda_drivers.floor(cuda, line) for cuda in _started(facts)]
    for gpu in () if isinstance(host.gpus, Unknown) else host.gpus:
        if isinstance(gpu.target, GpuArch):
            branches = tables.driver_branches.branches_supporting(gpu.target)
            bounds += [_oldest(first_for((gpu,), branch, line)) for branch in branches[:1]]
    return max((bound for bound in bounds if bound), default=None)


def _oldest(driver: DriverVersion) -> DriverVersion:
    """The first release of a bare branch, which leaves none of its others open."""
    return driver if len(driver.parts) > 1 else DriverVersion((*driver.parts, 0), str(driver))


def _spoken(facts: Facts) -> Iterator[CudaVersion]:
    """The CUDA that libcuda itself said it speaks."""
    shown = facts.driver.cuda_shown
    if isinstance(shown, CudaVersion):
        yield shown


def _started(facts: Facts) -> Iterator[CudaVersion]:
    """The CUDA of the installed build, when its torch was seen to use the driver."""
    gpus = value_or(facts.gpus, ())
    uses_driver = facts.torch.cuda_available is True or any(gpu.driver_sees is True for gpu in gpus)
    build = facts.torch.build
    if uses_driver and isinstance(build, Build) and build.cuda:
        yield build.cuda
