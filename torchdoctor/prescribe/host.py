"""What the solver needs to know of a host: this one, a pasted one, or one described by options."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from torchdoctor.checks.installed import conda_torch, is_foreign, is_from_conda, left_entry
from torchdoctor.facts import Facts, Gpu, Package, Unknown, is_known, value_or
from torchdoctor.records import record, replace
from torchdoctor.tables import Tables
from torchdoctor.values import Build, DriverVersion, GfxId, GpuArch, Libc, PythonTag, Version


class GpuTarget(NamedTuple):
    """One GPU to be served: its vendor, what code it needs (None: not known), and its name for people."""

    vendor: str
    target: GpuArch | GfxId | None
    name: str

    def __str__(self) -> str:
        code = self.target.sm if isinstance(self.target, GpuArch) else str(self.target or "unknown")
        return code if self.name == code else f"{self.name} ({code})"


class Installed(NamedTuple):
    """A companion that is there, and its version with the local label."""

    name: str
    version: str


class Owners(NamedTuple):
    """Who put torch there: conda, and those of torch and its companions that pip did."""

    conda: bool = False
    pip: tuple[str, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class Host:
    """A host as the solver sees it. An unknown field stays Unknown: the solver says what it assumed, or asks.

    ``machine`` is the interpreter's (a Rosetta Python on Apple silicon is x86_64). ``driver`` is the NVIDIA driver, a
    Windows number when ``os`` is windows or ``wsl`` is true. ``torch`` is the installed version as printed.
    """

    os: str | Unknown = Unknown("operating system")
    machine: str | Unknown = Unknown("machine architecture")
    python: PythonTag | Unknown = Unknown("Python version")
    bits: int = 64
    implementation: str = "cpython"
    libc: Libc | None | Unknown = Unknown("C library")
    os_version: Version | None | Unknown = Unknown("operating system version")
    wsl: bool = False
    jetpack: str | None | Unknown = Unknown("JetPack version")
    driver: DriverVersion | None | Unknown = Unknown("NVIDIA driver version")
    gpus: tuple[GpuTarget, ...] | Unknown = Unknown("list of GPUs")
    torch: str | None | Unknown = Unknown("presence of torch")
    build: Build | None | Unknown = Unknown("torch build")
    left: str = ""  # the version of a torch whose files are gone, and whose entry in the list of packages is not
    foreign: bool = False  # torch of another maker: NVIDIA's images, a Jetson's index, built from source
    installed: tuple[Installed, ...] = ()
    gone: frozenset[str] = frozenset()  # those of them whose files are gone: their entry passes for them
    lacking: tuple[str, ...] = ()  # CUDA packages that torch cannot load without, missing or of another major
    bound: tuple[str, ...] = ()  # those of the installed companions that the build must have a release of
    named: tuple[str, ...] | None = None  # more that files of the project name; None: nobody read them
    requirers: tuple[tuple[str, str], ...] = ()  # who requires torch here, and the line that says which
    oldest: PythonTag | None = None  # the oldest Python that the lock of its project must serve
    room: int | None = None  # characters of a path below its folder of packages; None: no limit, or none known
    libraries: tuple[str, ...] = ()  # installed CUDA libraries and compilers that nothing but torch needs
    owners: Owners = Owners()

    @property
    def companions(self) -> tuple[str, ...]:
        """The names of the companions that are there."""
        return tuple(item.name for item in self.installed)

    @property
    def driver_line(self) -> str:
        """Which OS's driver numbers this host's driver uses."""
        return "windows" if self.os == "windows" or self.wsl else "linux"


COMPANIONS = ("torchvision", "torchaudio")  # those whose every release belongs to one torch, or to one CUDA
_TORCH = "torch"  # the beginning of all their names; triton is none, since torch asks for the one it needs
_NVIDIA = "nvidia-"
_PIPS = {"pip", "uv"}


def host_of(facts: Facts, tables: Tables) -> Host:
    """The solver's view of a live or pasted host."""
    os_name = value_or(facts.os.name, "") or None
    installed = tuple(_companions(facts, tables))
    return Host(
        os=os_name or Unknown("operating system"),
        machine=_machine(facts),
        python=_or_unknown(facts.python.tag, "Python version"),
        bits=value_or(facts.python.bits, 64),
        implementation=value_or(facts.python.implementation, "cpython"),
        libc=facts.os.libc,
        os_version=_os_version(facts),
        wsl=bool(value_or(facts.place.wsl, 0)),
        jetpack=_jetpack(facts, tables),
        driver=facts.driver.version,
        gpus=_targets(facts),
        torch=_installed(facts),
        build=facts.torch.build,
        owners=_owners(facts),
        left=left.version if (left := left_entry(facts)) else "",
        foreign=is_foreign(facts) and not is_from_conda(facts),
        installed=installed,
        bound=tuple(item.name for item in installed if _works(item, facts, tables)),
        libraries=_libraries(facts, tables),
        room=_room(facts),
        lacking=_lacking(facts, tables),
    )


def with_named(host: Host, names: tuple[str, ...] | None) -> Host:
    """The host with the companions that files of its project name: the build must have a release of each."""
    fresh = None if names is None else tuple(name for name in names if name not in host.companions)
    return replace(host, named=fresh, bound=(*host.bound, *(fresh or ())))


def with_oldest(host: Host, python: tuple[int, int] | None) -> Host:
    """The host with the oldest Python that its project allows: a lock for all of them needs a build for each."""
    return host if python is None else replace(host, oldest=PythonTag(*python))


def _or_unknown(fact: PythonTag | None | Unknown, what: str) -> PythonTag | Unknown:
    return Unknown(what) if fact is None else fact


def _machine(facts: Facts) -> str | Unknown:
    for fact in (facts.python.machine, facts.os.machine):
        text = value_or(fact, "")
        if text:
            return text
    return Unknown("machine architecture")


def _os_version(facts: Facts) -> Version | None | Unknown:
    text = value_or(facts.os.version, "")
    try:
        return Version.parse(text)
    except ValueError:
        return Unknown("operating system version")


def _jetpack(facts: Facts, tables: Tables) -> str | None | Unknown:
    if is_known(facts.place.jetpack):
        return facts.place.jetpack
    kernel = value_or(facts.os.kernel, "")
    if kernel and not kernel.endswith("-tegra"):
        return None
    driver = facts.driver.version
    row = tables.jetpacks.by_driver(str(driver)) if isinstance(driver, DriverVersion) else None
    if kernel:
        return row.jetpack if row else ""  # a Jetson of a release that nothing tells
    return facts.place.jetpack


def _room(facts: Facts) -> int | None:
    """What a Windows without long paths leaves below the folder of packages, the separator taken off."""
    length = value_or(facts.python.prefix_length, None)
    if facts.os.long_paths is not False or not length:
        return None
    from torchdoctor.tables.windows_wheels import LONGEST  # of no use elsewhere

    return LONGEST - length - 1


def _targets(facts: Facts) -> tuple[GpuTarget, ...] | Unknown:
    gpus = facts.gpus
    if isinstance(gpus, Unknown):
        return gpus
    if not gpus and facts.place.image_build is True:
        return Unknown("GPUs of the hosts that the image is for")
    return tuple(_target(gpu) for gpu in gpus or ())


def _target(gpu: Gpu) -> GpuTarget:
    vendor = value_or(gpu.vendor, "unknown")
    code: GpuArch | GfxId | None = value_or(gpu.compute_capability, None) or value_or(gpu.gfx, None)
    return GpuTarget(vendor, code, value_or(gpu.name, "") or str(code or f"{vendor} GPU"))


def _installed(facts: Facts) -> str | None | Unknown:
    if facts.torch.installed is False:
        return None
    full = value_or(facts.torch.full, "") or value_or(facts.torch.version, "")
    return full or Unknown("presence of torch")


def _lacking(facts: Facts, tables: Tables) -> tuple[str, ...]:
    """What is missing beside torch by the check of its CUDA packages, where that is an error."""
    build = facts.torch.build
    if not isinstance(build, Build) or build.backend != "cuda" or not value_or(facts.torch.requires, ()):
        return ()
    if is_foreign(facts):
        return ()
    from torchdoctor.checks.hygiene.libraries import nvidia_packages_inconsistent  # of no use beside other builds

    findings = nvidia_packages_inconsistent(facts, tables)
    return tuple(str(finding.summary.values["name"]) for finding in findings if finding.severity is None)


def _owners(facts: Facts) -> Owners:
    names = ("torch", *COMPANIONS)
    of_pip = tuple(item.name for item in facts.packages.items if item.name in names and item.owner in _PIPS)
    return Owners(is_from_conda(facts) or conda_torch(facts) is not None, of_pip)


def _companions(facts: Facts, tables: Tables) -> Iterator[Installed]:
    there = {item.name: item for item in reversed(facts.packages.items) if item.name.startswith(_TORCH)}
    names = sorted(there.keys() - {_TORCH}, key=lambda name: (name not in COMPANIONS, name != COMPANIONS[0], name))
    yield from (Installed(name, there[name].version) for name in names if name in tables.companions.names())


def _libraries(facts: Facts, tables: Tables) -> tuple[str, ...]:
    """What only torch needs; beside packages that load NVIDIA's libraries without requiring them, not those.

    A torch that is there tells by what it requires; of one that is gone, the versions of what it left must.
    """
    items = facts.packages.items
    names = tuple(dict.fromkeys(item.name for item in items if item.only_torchs))
    if not names:
        return ()
    if not _are_required(names, items):
        from torchdoctor.prescribe.libraries import left_behind  # which needs this module

        names = left_behind(names, {item.name: item.version for item in items}, tables.torch_builds.rows)
    known = {row.name for row in tables.neighbours.rows if row.cudnn}
    are_loaded = any(item.name in known or _is_for_cuda(item.name) for item in items)
    return tuple(name for name in names if not (are_loaded and name.startswith(_NVIDIA)))


def _is_for_cuda(name: str) -> bool:
    """Whether it is built for CUDA by its name, and may load what it does not require: cupy-cuda12x, faiss-gpu-cu12."""
    return not name.startswith(_NVIDIA) and re.fullmatch(r"cupy|.*-(cu(da)?\d+\w*|gpu)", name) is not None


def _are_required(names: Collection[str], items: Iterable[Package]) -> bool:
    """Whether a torch is there that asks for one of them, or whose requirements nobody has read."""
    of_torch = [item.requires for item in items if item.name == _TORCH]
    told = [lines for lines in of_torch if isinstance(lines, tuple)]
    return len(told) < len(of_torch) or any(_name_in(line) in names for lines in told for line in lines)


def _name_in(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    return re.sub(r"[-_.]+", "-", found[0]).lower() if found else ""


def _works(item: Installed, facts: Facts, tables: Tables) -> bool:
    """Whether an installed companion is of a release known to go with the torch there, or with that to come.

    One that is broken by its version already was left behind: nobody needs a torch for it.
    """
    release = tables.companions.find(item.name, item.version)
    try:
        torch = Version.parse(value_or(facts.torch.version, "").partition("+")[0])
    except ValueError:
        return release is not None and facts.torch.installed is False
    return release is not None and release.fits(torch)
