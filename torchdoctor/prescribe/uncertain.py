"""A build that is right whatever the missing facts are: all hosts that fit what is known are asked, and must agree."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.checks.other_vendors import serves_for_xpu
from torchdoctor.checks.quoted import finding_of, shown_errors
from torchdoctor.facts import ErrorText, Facts, Unknown, value_or
from torchdoctor.findings import Text
from torchdoctor.prescribe.choose import Choice, choose, gpus_to_serve, ranked, rows_of
from torchdoctor.prescribe.conditions import Judge, Wish
from torchdoctor.prescribe.frameworks import pin_of
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.possible_hosts import possible_hosts
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_CPU_BUILD, _WANTED = "torch-cpu-build", "want"
_NAMED = re.compile(r"(\d+\.\d+\.\d+)\+(cu\d+)")


class Kept(NamedTuple):
    """A release that stays: the program runs with it or asks for it, and only the build is in question."""

    release: str = ""
    build: str = ""

    def allows(self, row: TorchBuild) -> bool:
        """Whether a row is of this release, and of this build where one was named."""
        return str(row.torch) == self.release and self.build in {"", row.build.name}


def choose_surely(host: Host, facts: Facts, tables: Tables) -> Choice:
    """The choice for a host; where it would ask for a fact, the build that all hosts which fit what is known share.

    Where no official build will ever serve the GPUs, and none is required, it is the build for the CPU. A framework
    that accepts one torch alone decides the release.
    """
    pin = pin_of(facts, tables)
    if pin is None:
        return _served_or_cpu(host, None, facts, tables)
    choice = _served_or_cpu(host, _exactly(pin.torch) if pin.torch else None, facts, tables)
    is_old = pin.version and choice.is_hopeless  # with what it was made for nothing runs here
    if pin.torch and not pin.is_certain and not choice.runs and not is_old:
        pin = pin._replace(torch="")
        choice = _served_or_cpu(host, None, facts, tables)
    if pin.torch and not choice.runs and not choice.asks:
        return replace(choice, change=pin.change)
    return replace(choice, why=(*choice.why, pin.reason), assumed=(*choice.assumed, pin.reason))


def _exactly(version: str) -> SpecifierSet:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(f"=={version}")


def _served_or_cpu(host: Host, torch: SpecifierSet | None, facts: Facts, tables: Tables) -> Choice:
    choice = _choose(host, Wish(backend=_wanted(host, facts), torch=torch), facts, tables)
    is_free = torch is None  # another release of the framework may have a torch that serves the GPU
    if is_free and choice.is_hopeless and not facts.request.require_gpu and not _is_for_cpu(facts):
        cpu = _choose(host, Wish(backend="cpu", torch=torch), facts, tables)
        why = choice.refusal or Text("no build serves the GPU")
        return replace(cpu, why=(why, *cpu.why)) if cpu.runs else choice
    return choice


def _choose(host: Host, wish: Wish, facts: Facts, tables: Tables) -> Choice:
    choice = choose(host, wish, tables)
    if not (choice.asks or (not choice.runs and isinstance(host.python, Unknown))):
        return choice
    asked = _cpu_errors(facts, tables)
    for kept in _kept(host, facts, asked):
        agreed = _agreed(host, wish, kept, facts, tables, any_gpu=kept is not None and bool(asked))
        if agreed.runs or agreed.is_hopeless:
            return agreed
    return _choose(replace(host, bound=()), wish, facts, tables) if host.bound else choice


def _kept(host: Host, facts: Facts, asked: Sequence[ErrorText]) -> Iterator[Kept | None]:
    """What is tried first: the build that a text names, the release that is asked for or there; then any release.

    A release stays only where the driver is unknown: a known one allows to choose the newest that runs.
    """
    if isinstance(host.driver, Unknown) and _is_for_cpu(facts):
        names = (_NAMED.fullmatch(error.values.get(_WANTED, "")) for error in asked)
        yield from (Kept(name[1], name[2]) for name in names if name)
        installed = host.torch if isinstance(host.torch, str) else ""
        yield Kept((value_or(facts.torch.requested, "") or installed).partition("+")[0])
    yield None


def _cpu_errors(facts: Facts, tables: Tables) -> list[ErrorText]:
    """The errors of this host by which a program asks a build for the CPU for CUDA."""
    shown = (one for one in shown_errors(facts, tables) if finding_of(one) == _CPU_BUILD)
    return [one.error for one in shown if not one.error.doubtful]


def _agreed(host: Host, wish: Wish, kept: Kept | None, facts: Facts, tables: Tables, *, any_gpu: bool) -> Choice:
    """The build on which all hosts that fit agree; hopeless where none of them is served by any."""
    running: list[tuple[Host, list[TorchBuild]]] = []
    first: Host | None = None
    for drivers in possible_hosts(host, facts, tables, any_gpu=any_gpu):
        first = first or drivers[0][0]
        running += next(filter(None, (_served(hosts, wish, kept, tables) for hosts in drivers)), [])
    if not running:
        unserved = choose(first, wish, tables) if first and kept is None else None
        return unserved if unserved and unserved.is_hopeless else Choice(host=host, backend=wish.backend)
    shared = _shared(running)
    if shared is None:
        return Choice(host=host, backend=wish.backend)
    best, row = shared
    text = "not known here: {unknown}; this build {of}runs on every host that fits, where any does"
    release = f"of torch {kept.release} " if kept else ""
    assumed = (Text(text, unknown=_unknown(host), of=release),)
    return Choice(host=best, backend=row.build.backend, row=row, why=assumed, assumed=assumed)


def _served(hosts: list[Host], wish: Wish, kept: Kept | None, tables: Tables) -> list[tuple[Host, list[TorchBuild]]]:
    """The hosts, of one driver, that any build serves, and the builds that do, best first."""
    return [(host, rows) for host in hosts if (rows := _running(host, wish, kept, tables))]


def _wanted(host: Host, facts: Facts) -> str:
    """The backend: an Intel GPU is served where it is made for computing or has a build; not every one can be."""
    gpus = () if isinstance(host.gpus, Unknown) else host.gpus
    build = facts.torch.build
    vendors = {gpu.vendor for gpu in gpus}
    is_there = isinstance(build, Build) and build.backend == "xpu"
    is_alone = not vendors & {"nvidia", "amd"} and any(serves_for_xpu(gpu) for gpu in value_or(facts.gpus, ()))
    return "xpu" if "intel" in vendors and (is_there or is_alone) else "auto"


def _is_for_cpu(facts: Facts) -> bool:
    """Whether the installed build is for the CPU: to prescribe it again would change nothing."""
    build = facts.torch.build
    return isinstance(build, Build) and build.backend == "cpu"


def _unknown(host: Host) -> str:
    nvidia = [] if isinstance(host.gpus, Unknown) else [gpu for gpu in host.gpus if gpu.vendor == "nvidia"]
    driver = (host.driver,) if nvidia or isinstance(host.gpus, Unknown) else ()
    blank = [f"compute capability of {gpu.name}" for gpu in nvidia if gpu.target is None]
    facts = (host.os, host.machine, host.python, *driver, host.gpus)
    return ", ".join([*(fact.what for fact in facts if isinstance(fact, Unknown)), *blank])


def _shared(running: list[tuple[Host, list[TorchBuild]]]) -> tuple[Host, TorchBuild] | None:
    """The first host and its best row among those whose build of that torch runs on every other one as well.

    A host that no build serves is not among them: no command would be right for it.
    """
    others = [{(row.torch, row.build) for row in rows} for _, rows in running[1:]]
    host, rows = running[0]
    for row in rows:
        if all((row.torch, row.build) in other for other in others):
            return host, row
    return None


def _running(host: Host, wish: Wish, kept: Kept | None, tables: Tables) -> list[TorchBuild]:
    """Every row that serves the host's GPUs, the best first."""
    gpus, backend = gpus_to_serve(host, wish)
    judge = Judge(host, wish, tables, gpus)
    rows = [row for row in rows_of(tables, host, backend, judge.pythons) if kept is None or kept.allows(row)]
    groups = groupby(rows, key=lambda row: (row.existence, row.torch.parts))
    return [row for _, group in groups for row in ranked(judge, group)]
