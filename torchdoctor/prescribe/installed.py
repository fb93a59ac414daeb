"""Whether what is installed already is what was chosen: torch itself, and each package that moves with it."""

from __future__ import annotations

from torchdoctor.facts import Unknown
from torchdoctor.prescribe.choose import Choice
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


def companion_is_right(choice: Choice, release: Companion) -> bool:
    """Whether the installed companion is the release wanted, in a build that loads beside the chosen torch."""
    row, installed = choice.row, version_of(choice, release.name)
    public, _, label = installed.partition("+")
    if row is None or choice.host.owners.conda or not installed or public != str(release.version):
        return False
    if release.labelled == "no" or not is_labelled(row):
        return not label
    if label or release.labelled == "yes":
        return label == row.build.name or (not label and bool(row.on_pypi))
    return len(release.built_cuda) <= 1 or installed_is(choice)  # one wheel for all; else it came with the torch there
