"""What a project's file asks for, whatever its syntax: groups of pins that are installed together."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from torchdoctor.findings import Place

DIRECT = "direct:"  # of a pin that some other place than an index gives: a repository, a folder


class Pin(NamedTuple):
    """One package: what versions are allowed of it, the build label it is pinned to, and where that is written.

    ``marker`` is a PEP 508 marker; ``url`` the wheel or index this very pin is bound to (None: the group decides).
    """

    name: str
    place: Place
    spec: str = ""
    label: str = ""
    marker: str = ""
    url: str | None = None
    python: str = ""  # the tag of the only wheel that is named
    text: str = ""
    channel: str = ""  # of conda
    asks_gpu: bool = False  # its build of conda is one for CUDA
    is_upgrade: bool = False  # the command installs the newest even where one is there
    is_forced: bool = False  # an override: what packages ask for does not count
    stray: str = ""  # an option of the index behind the requirement, where pip reads none

    @property
    def exact(self) -> str:
        """The one public version it allows; empty where it allows several."""
        match = re.fullmatch(r"={2,3}\s*(\d+(?:\.\d+){0,3})", self.spec)
        return match[1] if match else ""


class IndexUse(NamedTuple):
    """An index that a group asks.

    ``role``: ``main`` in the place of PyPI, ``extra`` pooled with it (pip), ``first`` asked before it (uv),
    ``explicit`` for named packages alone.
    """

    url: str
    role: str
    place: Place
    name: str = ""


class Binding(NamedTuple):
    """A package is taken from an index where the marker holds and the extra or group is chosen."""

    use: IndexUse | None  # None: some other source, a path or a repository
    marker: str = ""
    extra: str = ""
    undeclared: str = ""  # the name of an index that the file does not declare
    place: Place | None = None


class PythonWish(NamedTuple):
    """The Pythons a project is for: a specifier, or one version of an image or an environment."""

    spec: str
    place: Place
    is_one: bool = False
    key: str = "requires-python"  # of the file


class Channel(NamedTuple):
    """A channel of conda."""

    name: str
    place: Place


class Run(NamedTuple):
    """One RUN instruction: its text, where it begins, and its lines with their numbers."""

    text: str
    place: Place
    lines: tuple[tuple[int, str], ...] = ()

    def at(self, fragment: str) -> Place:
        """The line that holds a fragment of it."""
        found = next((number for number, line in self.lines if fragment in line), self.place.line)
        return Place(self.place.file, found)


class Image(NamedTuple):
    """What a stage of a Dockerfile starts from, and what its instructions do besides installing pins."""

    name: str
    place: Place
    is_last: bool = True
    env: Mapping[str, tuple[str, Place]] = {}
    lines: tuple[Run, ...] = ()

    @property
    def repository(self) -> str:
        """The name without its registry, tag and digest: ``nvidia/cuda``, ``python``."""
        name = self.name.partition("@")[0].rpartition(":")[0] or self.name.partition("@")[0]
        return name.removeprefix("docker.io/").removeprefix("library/").lower()

    @property
    def tag(self) -> str:
        """The tag; empty where there is none."""
        head, colon, tag = self.name.partition("@")[0].rpartition(":")
        return tag if colon and head and "/" not in tag else ""

    @property
    def torch(self) -> Pin | None:
        """The torch that PyTorch's own images hold, by their tag; None for any other image."""
        match = re.match(r"(\d+\.\d+\.\d+)-cuda(\d+)\.(\d)-", self.tag)
        if not match or not self.repository.endswith("pytorch/pytorch"):
            return None
        label = f"cu{match[2]}{match[3]}"
        return Pin("torch", self.place, f"=={match[1]}", label, url=DIRECT, text=f"FROM {self.name}")


class Group(NamedTuple):
    """What one install command installs: a requirements file, an extra of a project, a stage of an image."""

    kind: str  # requirements, pyproject, lock, conda, dockerfile, pixi
    tool: str  # whose rules hold: pip, uv, poetry, pdm, hatch, conda, pixi
    place: Place
    pins: tuple[Pin, ...] = ()
    indexes: tuple[IndexUse, ...] = ()
    bindings: Mapping[str, tuple[Binding, ...]] = {}
    python: PythonWish | None = None
    chosen: frozenset[str] = frozenset()  # extras and groups that are installed
    pre: bool = False
    channels: tuple[Channel, ...] = ()
    image: Image | None = None
    platforms: tuple[tuple[str, str], ...] = ()  # of conda and images; empty: all
    beside: tuple[Pin, ...] = ()  # what another installer puts into the same environment
    named: frozenset[str] = frozenset()  # packages that any group of the same file names
    elsewhere: tuple[IndexUse, ...] = ()  # indexes that the same file names for an environment it may be installed in
    is_complete: bool = True  # every package that is installed is named: False where a project's own are not seen

    def find(self, name: str) -> tuple[Pin, ...]:
        """The pins of a package."""
        return tuple(pin for pin in self.pins if pin.name == name)


def normal(name: str) -> str:
    """A package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()
