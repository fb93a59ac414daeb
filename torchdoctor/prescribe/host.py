"""What the solver needs to know of a host: this one, a pasted one, or one described by options."""

from __future__ import annotations

from typing import NamedTuple

from torchdoctor.facts import Facts, Gpu, Unknown, is_known, value_or
from torchdoctor.records import record
from torchdoctor.tables import Tables
from torchdoctor.values import DriverVersion, GfxId, GpuArch, Libc, PythonTag, Version


class GpuTarget(NamedTuple):
    """One GPU to be served: its vendor, what code it needs (None: not known), and its name for people."""

    vendor: str
    target: GpuArch | GfxId | None
    name: str

    def __str__(self) -> str:
        code = self.target.sm if isinstance(self.target, GpuArch) else str(self.target or "unknown")
        return code if self.name == code else f"{self.name} ({code})"


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
    companions: tuple[str, ...] = ()

    @property
    def driver_line(self) -> str:
        """Which OS's driver numbers this host's driver uses."""
        return "windows" if self.os == "windows" or self.wsl else "linux"


COMPANIONS = ("torchvision", "torchaudio")


def host_of(facts: Facts, tables: Tables) -> Host:
    """The solver's view of a live or pasted host."""
    os_name = value_or(facts.os.name, "") or None
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
        companions=tuple(name for name in COMPANIONS if _has(facts, name)),
    )


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
    return row.jetpack if row and kernel else facts.place.jetpack


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


def _has(facts: Facts, name: str) -> bool:
    found = facts.packages.find(name)
    return found is not None and not isinstance(found, Unknown)
