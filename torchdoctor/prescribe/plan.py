"""What is to be installed from where, before any tool's syntax."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.facts import Unknown
from torchdoctor.prescribe.choose import Choice
from torchdoctor.prescribe.companions import release_beside, stays_beside
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import COMPANIONS, Owners
from torchdoctor.prescribe.installed import (
    companion_is_right,
    installed_is,
    is_in_doubt,
    is_labelled,
    is_right_for_jetson,
    is_unasked,
    version_of,
)
from torchdoctor.prescribe.libraries import superseded, triton_of
from torchdoctor.tables import Tables
from torchdoctor.tables.companions import Companion
from torchdoctor.tables.torch_builds import TorchBuild

if TYPE_CHECKING:
    from torchdoctor.prescribe.amd import OwnIndex


class Pin(NamedTuple):
    """One package at one version; without a ``version``, whatever ``spec`` (which may be empty) allows."""

    name: str
    version: str = ""
    label: str = ""  # local version label
    spec: str = ""
    gaps: tuple[str, ...] = ()  # patch releases of Python that it excludes
    extra: str = ""  # what stands in brackets behind the name

    @property
    def constraint(self) -> str:
        """The version specifier: ``==2.9.1+cu126``."""
        full = f"{self.version}+{self.label}" if self.label else self.version
        return f"=={full}" if self.version else self.spec

    @property
    def requirement(self) -> str:
        """The requirement as PEP 508 writes it: ``torch==2.9.1+cu126``."""
        return self.named + self.constraint

    @property
    def named(self) -> str:
        """The name, and the extra if there is one: ``torch[device-all]``."""
        return f"{self.name}[{self.extra}]" if self.extra else self.name

    def afresh(self, *, pre: bool) -> str:
        """The requirement as a project takes it in place of the one it names: a bare name would leave that one."""
        return self.requirement if self.constraint else f"{self.named}>=0.dev0" if pre else f"{self.named}>=0"

    @property
    def public(self) -> Pin:
        """The same without the label, for tools that take the index from a file of the project."""
        return self._replace(label="")


class Source(NamedTuple):
    """A package index by a name that project files can use, and its address."""

    name: str
    url: str


class Plan(NamedTuple):
    """Pins from one index (None: the installer's default), and those from the default index.

    ``changes`` are those of the pins that are not installed as wanted (none: all is right): for tools that change an
    environment. Project files name all of them. ``row`` is the build chosen, None for a Jetson's own index.
    """

    pins: tuple[Pin, ...]
    source: Source | None = None
    elsewhere: tuple[Pin, ...] = ()
    remove: tuple[str, ...] = ()  # what must go first: it would pass for what is wanted, or lies where that will lie
    orphans: tuple[str, ...] = ()  # what must go last: nothing needs it any more
    changes: tuple[Pin, ...] = ()
    helpers: tuple[str, ...] = ()  # what torch needs from its own index and a project must name itself
    pre: bool = False  # a nightly: versions are not known here
    row: TorchBuild | None = None
    owners: Owners = Owners()
    os: str = ""
    python: str = ""  # the host's Python as a version, where it is known

    @property
    def index_url(self) -> str:
        """The address of the index; empty for the default one."""
        return self.source.url if self.source else ""

    def due(self, pins: tuple[Pin, ...]) -> tuple[str, ...]:
        """Requirements of those pins that must be installed; of all where nothing must, and the line is still shown."""
        chosen = [pin for pin in pins if pin in self.changes] if self.changes else pins
        return tuple(pin.requirement for pin in chosen)


OF_AMD = "amd-rocm"  # the name of AMD's own index as a source
_OWN_TRITON = {"rocm", "xpu"}


ENVIRONMENT, PROJECT, IMAGE = "environment", "project", "image"  # what a tool installs into


def plan_of(choice: Choice, wish: Wish, tables: Tables, index_base: str = "", into: str = ENVIRONMENT) -> Plan:
    """Return the plan for a choice that runs; a local version label wherever the index has one.

    A version without its label would be satisfied by any build that is there, or by one of a further index: one that
    a project's file names, too. An image starts empty, whatever this host holds.
    """
    plan, python = _plan_of(choice, wish, tables, index_base), choice.host.python
    is_replaced = any(pin.name == "torch" for pin in plan.changes) and not installed_is(choice)
    first, last = superseded(choice, is_replaced=is_replaced)
    plan = plan._replace(remove=tuple(dict.fromkeys((*plan.remove, *first))), orphans=last)
    if choice.host.left and not (choice.row and choice.row.is_of_conda) and not choice.host.owners.conda:
        plan = plan._replace(remove=tuple(dict.fromkeys(("torch", *plan.remove))))  # its entry passes for torch itself
    version = "" if isinstance(python, Unknown) else f"{python.major}.{python.minor}"
    if into == IMAGE:
        plan = plan._replace(remove=(), orphans=(), changes=(*plan.pins, *plan.elsewhere))
    return plan._replace(row=choice.row, owners=choice.host.owners, os=str(choice.host.os), python=version)


def _plan_of(choice: Choice, wish: Wish, tables: Tables, index_base: str) -> Plan:
    if choice.jetson:
        return _jetson_plan(choice, wish, tables)
    if choice.amd:
        return _amd_plan(choice, choice.amd, wish, tables)
    row = choice.row
    if row is None:
        raise ValueError("nothing runs on this host: there is nothing to plan")
    if wish.nightly:
        return _nightly_plan(choice, row, wish, tables, index_base)
    if row.is_of_conda:
        return _conda_plan(choice, row, wish)
    source = None if _is_default(row) and not index_base else _source(tables, row, index_base)
    label = row.build.name if source and is_labelled(row) else ""
    found = tuple(_releases(choice, row, wish, tables))
    elsewhere = tuple(_pin(release, "") for release in found if source and _is_on_pypi_only(release))
    companions = {_pin(release, label): release for release in found}
    torch = Pin("torch", str(row.torch), label)
    right = {pin for pin, release in companions.items() if companion_is_right(choice, release)}
    owners = choice.host.owners
    stays = installed_is(choice) and not owners.conda
    is_right = stays and not choice.host.lacking
    idle = set(choice.host.named or ()) - set(wish.companions) if stays else set()  # perhaps of a group left out
    due = (*(() if is_right else (torch,)), *(pin for pin in companions if pin not in right and pin.name not in idle))
    passing = (pin.name for pin in due if pin in companions and _passes_for_it(companions[pin], choice))
    # Where conda's torch goes, pip's loses files to it and would still pass for whole.
    remove = tuple(dict.fromkeys((*(owners.pip if owners.conda else ()), *passing)))
    return Plan(
        pins=(torch, *(pin for pin in companions if pin not in elsewhere)),
        source=source,
        elsewhere=elsewhere,
        remove=remove,
        changes=due,
        helpers=_helpers(row),
    )


def _is_default(row: TorchBuild) -> bool:
    """Whether PyPI is named by no index: it holds the one build that there is for this system, and none has a label.

    A plain version of any other row would be taken from whatever index pip or uv is set to ask, and from any build.
    """
    return bool(row.on_pypi and not is_labelled(row))


def companions_of(choice: Choice, wish: Wish) -> tuple[str, ...]:
    """The companions that move with torch: those asked for, those installed, and those that the project names."""
    return tuple(dict.fromkeys((*wish.companions, *choice.host.companions, *(choice.host.named or ()))))


def lacks_release(choice: Choice, name: str, tables: Tables) -> bool:
    """Whether the companion is asked for or known here, and no release of it goes with the chosen wheel."""
    row, installed = choice.row, version_of(choice, name)
    if row is None or row.is_of_conda or (installed and stays_beside(row, name, installed, tables)):
        return False
    is_unknown = installed and name not in COMPANIONS and tables.companions.find(name, installed) is None
    return not is_unknown and release_beside(row, name, tables, choice.host) is None


def _releases(choice: Choice, row: TorchBuild, wish: Wish, tables: Tables) -> Iterator[Companion]:
    """The release of each companion: the one installed where it goes with the build, unless none of its wheels differ.

    One that the tables do not know, or for which they only infer the torch that it goes with, is left as it is where
    nobody asked for it; but for those whose every release belongs to one torch.
    """
    for name in companions_of(choice, wish):
        installed = version_of(choice, name)
        there = stays_beside(row, name, installed, tables) if installed else None
        if is_unasked(name, wish) and (is_in_doubt(name, installed, tables) or (there and not there.is_pinned)):
            continue
        if there and companion_is_right(choice, there):
            yield there
        elif release := release_beside(row, name, tables, choice.host):
            yield release


def _jetson_plan(choice: Choice, wish: Wish, tables: Tables) -> Plan:
    """Torch alone: of its companions, no table says which ones the Jetson's own index holds."""
    path = choice.jetson.index_path if choice.jetson else ""
    pins = (Pin("torch", spec=str(wish.torch or "")),)
    source = Source(f"jetson-{path.replace('/', '-')}", tables.indexes.url("jetson", path=path))
    if is_right_for_jetson(choice, wish):
        return Plan(pins, source)
    return Plan(pins, source, remove=() if choice.host.torch is None else ("torch",), changes=pins)


def _amd_plan(choice: Choice, own: OwnIndex, wish: Wish, tables: Tables) -> Plan:
    """The torch family alone, which is all that AMD's index holds, and whatever build is there taken out before."""
    from torchdoctor.prescribe.amd import INDEX, is_right_from_amd  # of no use to any other GPU

    there = [name for name in COMPANIONS if name in companions_of(choice, wish)]
    pins = tuple(Pin(name, extra=own.extra_of(name)) for name in ("torch", *there))
    source = Source(OF_AMD, tables.indexes.url(INDEX))
    if is_right_from_amd(choice, tables) and set(there) <= set(choice.host.companions):
        return Plan(pins, source)
    return Plan(pins, source, remove=() if choice.host.torch is None else tuple(pin.name for pin in pins), changes=pins)


def _nightly_plan(choice: Choice, row: TorchBuild, wish: Wish, tables: Tables, index_base: str) -> Plan:
    """Whatever torch is there must go: a final release may sort above the nightly, and any satisfies the name."""
    there = [name for name in companions_of(choice, wish) if not lacks_release(choice, name, tables)]
    stays = {name for name in there if is_unasked(name, wish) and is_in_doubt(name, version_of(choice, name), tables)}
    pins = tuple(map(Pin, ("torch", *(name for name in there if name not in stays))))
    variant = f"nightly/{_variant(row)}"
    url = f"{index_base.rstrip('/')}/{variant}" if index_base else tables.indexes.url("pytorch", variant=variant)
    remove = () if choice.host.torch is None else tuple(pin.name for pin in pins)
    source = Source(f"pytorch-nightly-{_variant(row)}", url)
    return Plan(pins, source, remove=remove, changes=pins, helpers=_helpers(row), pre=True)


def _conda_plan(choice: Choice, row: TorchBuild, wish: Wish) -> Plan:
    """The solver of conda fits the companions itself; what kind of build it is, the name of the package says."""
    kind = "pytorch-gpu" if row.build.backend == "cuda" else "pytorch-cpu" if row.os != "macos" else "pytorch"
    there = [name for name in choice.host.companions if name in COMPANIONS]
    names = tuple(dict.fromkeys((*wish.companions, *there, *(choice.host.named or ()))))
    pins = (Pin(kind, str(row.torch)), *map(Pin, names))
    is_right = installed_is(choice) and not choice.host.owners.pip and set(wish.companions) <= set(there)
    return Plan(pins, changes=() if is_right else pins)


def _helpers(row: TorchBuild) -> tuple[str, ...]:
    """The triton of ROCm and XPU builds: it lies on their own index alone, so a project must name it itself."""
    return (triton_of(row),) if row.build.backend in _OWN_TRITON else ()


def _variant(row: TorchBuild) -> str:
    return "cpu" if row.build.name == "mps" else row.build.name


def _source(tables: Tables, row: TorchBuild, index_base: str) -> Source:
    variant = _variant(row)
    url = f"{index_base.rstrip('/')}/{variant}" if index_base else tables.indexes.url("pytorch", variant=variant)
    return Source(f"pytorch-{variant}", url)


def _passes_for_it(release: Companion, choice: Choice) -> bool:
    """Whether an installed one of another build would pass for the one wanted, whose version alone is asked for.

    One of which only its entry is left passes for any of its version, label or none.
    """
    if release.name in choice.host.gone:
        return True
    is_there = version_of(choice, release.name).partition("+")[0] == str(release.version)
    return choice.host.torch is not None and is_there and release.labelled != "yes"


def _pin(release: Companion, label: str) -> Pin:
    gaps = tuple(str(gap) for gap in release.pythons_excluded if len(gap.parts) > len(("major", "minor")))
    return Pin(release.name, str(release.version), label if release.labelled == "yes" else "", gaps=gaps)


def _is_on_pypi_only(release: Companion) -> bool:
    """Whether the release is one wheel for all: PyPI surely holds it, the torch index only perhaps."""
    return release.labelled != "yes" and len(release.built_cuda) <= 1
