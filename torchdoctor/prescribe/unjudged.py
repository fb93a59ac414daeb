"""A torch that the tables do not hold: it stays, since nothing here can say that another one would be better."""

from __future__ import annotations

import re

from torchdoctor.checks.installed import label
from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.choose import gpus_to_serve, is_asked_for
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.install import Install
from torchdoctor.prescribe.refuse import is_of_conda
from torchdoctor.prescribe.writing import Writing
from torchdoctor.tables import Tables
from torchdoctor.values import Build, DriverVersion, Version

_NUMBERS = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,4}")
_ANY = Wish()


def unjudged(host: Host, writing: Writing, tables: Tables, wish: Wish = _ANY) -> Install | None:
    """The installed torch as an install that is not needed, where the tables of its owner do not hold it."""
    reason = _stays(host, tables, wish)
    if reason is None or not isinstance(host.torch, str):
        return None
    version, named = host.torch.partition("+")[0], host.build if isinstance(host.build, Build) else label(host.torch)
    beside = "{name} {installed} stays: whether it goes with this torch was not judged"
    there = (item for item in host.installed if item.name in wish.companions)
    said = (reason, *(Text(beside, name=item.name, installed=item.version) for item in there))
    return Install(False, version, named.name if named else None, "", (), why=said, tool=writing.tool, warnings=said)


def gap_beside(host: Host, wish: Wish) -> tuple[Text, Text] | None:
    """What to say of the companions to be put beside such a torch: their release is not known, and torch is to stay."""
    names = ", ".join(name for name in wish.companions if name not in host.companions)
    if not names:
        return None
    refusal = Text(
        "which {names} goes with the installed torch {version} is not known", names=names, version=host.torch
    )
    by_hand = "build it beside this torch" if host.foreign else "refresh the tables (torchdoctor tables refresh)"
    return refusal, Text("{by_hand}, or name another torch by --torch VERSION", by_hand=by_hand)


def _stays(host: Host, tables: Tables, wish: Wish) -> Text | None:
    """What to say of a torch that is not in the tables, where nothing known speaks against its build."""
    if not isinstance(host.torch, str) or host.owners.conda != is_of_conda(tables) or not _is_wished(host, wish):
        return None
    if isinstance(host.build, Build) and not _may_serve(host.build, host, tables):
        return None
    if host.foreign:
        return Text("the installed torch {version} is another maker's build: it was not judged", version=host.torch)
    version, newest = host.torch.partition("+")[0], tables.torch_builds.newest()
    numbers = _NUMBERS.match(version)
    if numbers is None or Version.parse(numbers[0]) <= newest:
        return None
    text = "the installed torch {version} is newer than the tables, which end at {newest}: it was not judged"
    return Text(text, version=version, newest=newest)


def _is_wished(host: Host, wish: Wish) -> bool:
    """Whether what was asked for may be what is there: only what its version and its build tell counts."""
    if wish.nightly or wish.prefer != _ANY.prefer or not isinstance(host.torch, str):
        return False
    build = None if isinstance(host.build, Unknown) else host.build
    is_build = is_asked_for(build, wish) if build else wish.backend == _ANY.backend
    is_below = wish.max_cuda is None or (build is not None and (build.cuda is None or build.cuda <= wish.max_cuda))
    return is_build and is_below and (wish.torch is None or _holds(wish, host.torch))


def _holds(wish: Wish, version: str) -> bool:
    try:
        return wish.torch is None or wish.torch.contains(version, prereleases=True)
    except ValueError:  # a version that no specifier can be held against
        return False


def _may_serve(build: Build, host: Host, tables: Tables) -> bool:
    """Whether a build's name alone does not tell that it is for other GPUs, or for a newer driver."""
    wanted = gpus_to_serve(host, _ANY)[1]
    if wanted != "cuda" or build.cuda is None:
        return wanted in {"cpu", "mps", build.backend}
    floor = tables.cuda_drivers.floor(build.cuda, host.driver_line)
    return not (floor and isinstance(host.driver, DriverVersion) and host.driver.reaches(floor) is False)
