"""Whether what is installed already is what was chosen: torch itself, and each package that moves with it."""

from __future__ import annotations

from torchdoctor.facts import Unknown
from torchdoctor.prescribe.choose import Choice
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import COMPANIONS
from torchdoctor.tables import Tables
from torchdoctor.tables.companions import Companion
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build


def installed_is(choice: Choice) -> bool:
    """Whether the chosen build is the one installed already."""
    installed, row = choice.host.torch, choice.row
    if row is None or installed is None or isinstance(installed, Unknown):
        return False
    public, _, label = installed.partition("+")
    return public == str(row.torch) and _is_build(label, choice.host.build, row)


def is_right_for_jetson(choice: Choice, wish: Wish) -> bool:
    """Whether the torch there was made for a Jetson, for the major of its CUDA, and is of the versions asked for.

    What its own index holds is told by no table: another maker's build it is, since official ones have no code for it.
    """
    host, route = choice.host, choice.jetson
    if route is None or not host.foreign or not isinstance(host.torch, str) or not isinstance(host.build, Build):
        return False
    is_for_it = host.build.cuda is not None and host.build.cuda.major == route.cuda.major
    return is_for_it and (wish.torch is None or wish.torch.contains(host.torch, prereleases=True))


def is_labelled(row: TorchBuild) -> bool:
    """Whether the index holds this row under a local version label; macOS wheels carry none."""
    return row.os != "macos" and "pytorch" in row.indexes


def _is_build(label: str, build: Build | None | Unknown, row: TorchBuild) -> bool:
    """A label names the build; conda's packages carry none, and torch itself tells what it was built with."""
    if is_labelled(row):
        return label == row.build.name
    if row.is_of_conda:
        return not label and build == row.build
    return not label


def version_of(choice: Choice, name: str) -> str:
    """The installed version of a companion; empty where it is not there."""
    return next((item.version for item in choice.host.installed if item.name == name), "")


def is_unasked(name: str, wish: Wish) -> bool:
    """Whether it is a companion that moves only where it must: nobody asked for it, nor has each torch its own."""
    return name not in COMPANIONS and name not in wish.companions


def is_in_doubt(name: str, version: str, tables: Tables) -> bool:
    """Whether the tables do not hold this release, or only infer which torch it goes with."""
    release = tables.companions.find(name, version)
    return release is None or release.confidence == "inferred"


def companion_is_right(choice: Choice, release: Companion) -> bool:
    """Whether the installed companion is the release wanted, in a build that loads beside the chosen torch."""
    row, installed = choice.row, version_of(choice, release.name)
    public, _, label = installed.partition("+")
    if release.name in choice.host.gone:
        return False
    if row is None or choice.host.owners.conda or not installed or public != str(release.version):
        return False
    if release.labelled == "no" or not is_labelled(row):
        return not label
    if label or release.labelled == "yes":
        return label == row.build.name or (not label and bool(row.on_pypi))
    return len(release.built_cuda) <= 1 or installed_is(choice)  # one wheel for all; else it came with the torch there
