"""A stage of a Dockerfile while it is read: what it starts from, its variables, and what its commands install."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from torchdoctor.findings import Place
from torchdoctor.lint.model import DIRECT, Channel, Group, Image, IndexUse, Pin, PythonWish, Run
from torchdoctor.lint.readers.hatch_tables import VARIABLES
from torchdoctor.lint.readers.install_lines import Install, installs
from torchdoctor.lint.readers.requirements import Load, Options, options_of

_LINUX = (("linux", "x86_64"),)
_PYTHON = re.compile(r"(?:^|[-_:])(?:python|py)(\d\.\d{1,2})(?:[.-]|$)")
_CREATED = re.compile(r"(?:uv venv|uv python install)[^&;|\n]{0,200}?(\d\.\d{1,2})\b|\bpython(\d\.\d{1,2}) -m venv")
_MOST_COMMANDS = 200


class Stage:
    """What the instructions of one stage add up to."""

    def __init__(self, file: str, image: Image, load: Load) -> None:
        self.file = file
        self.image = image
        self.load = load
        self.env: dict[str, tuple[str, Place]] = {}
        self.arguments: dict[str, str] = {}
        self.commands: list[Group] = []
        self.lines: list[Run] = []
        self.inherited = 0  # commands of the stage it starts from
        self.python = _python_of(image)

    def child(self) -> Stage:
        """A stage that starts from this one."""
        other = Stage(self.file, self.image, self.load)
        other.env, other.commands, other.lines = dict(self.env), list(self.commands), list(self.lines)
        other.python, other.inherited = self.python, len(self.commands)
        return other

    def run(self, text: str, lines: tuple[tuple[int, str], ...]) -> None:
        """Take in one RUN instruction."""
        self.lines.append(Run(text, Place(self.file, lines[0][0]), lines))
        created = _CREATED.search(text)
        if created:
            self.python = PythonWish(created[1] or created[2], _place(self.file, created[0], lines), is_one=True)
        for install in installs(text) if len(self.commands) < _MOST_COMMANDS else ():
            if len(self.commands) < _MOST_COMMANDS:
                self.commands.append(self._command(install, lines))

    def _command(self, install: Install, lines: tuple[tuple[int, str], ...]) -> Group:
        """The group of one install command, the files that it names among it."""
        first = Place(self.file, lines[0][0])
        uses = [IndexUse(url, role, _place(self.file, url, lines)) for url, role in install.indexes]
        for name, (value, place) in self.env.items():
            role = VARIABLES.get(name, "")
            if role and role not in {use.role for use in uses} and (name.startswith("UV_") == (install.tool == "uv")):
                uses += [IndexUse(url, role, place) for url in value.split()]
        pins = [pin._replace(place=_place(self.file, pin.text, lines)) for pin in install.pins]
        included = [self._included(file) for file in install.files]
        for found in filter(None, included):
            pins += found.pins
            uses += found.indexes
        return Group(
            "dockerfile",
            install.tool,
            first,
            tuple(pins),
            tuple(uses),
            python=self.python,
            pre=install.pre,
            channels=tuple(Channel(name, _place(self.file, name, lines)) for name in install.channels),
            platforms=_LINUX,
            image=Image("", first, env=dict(self.env), lines=(Run(install.text, first, lines),)),
            is_complete=all(included),
        )

    def _included(self, file: str) -> Options | None:
        """What a requirements file holds that the image copies in: it lies in the build's folder, or that above.

        None where it is not found.
        """
        folder, base = posixpath.dirname(self.file), posixpath.basename(file)
        for name in (file.lstrip("/"), base, f"../{file.lstrip('/')}", f"../{base}") if _is_list(base) else ():
            path = posixpath.normpath(posixpath.join(folder, name))
            if (text := self.load(path)) is not None:
                return options_of(path, text, self.load)
        return None

    def groups(self, *, is_last: bool) -> list[Group]:
        """One for each command, and one for all of pip's packages that end up in the stage."""
        bound = (_bound(pin, group) for group in self.commands if group.tool != "conda" for pin in group.pins)
        pins = _installed((*filter(None, (self.image.torch,)), *bound))
        beside = tuple(pin for group in self.commands if group.tool == "conda" for pin in group.pins)
        image = self.image._replace(is_last=is_last, env=dict(self.env), lines=tuple(self.lines))
        whole = Group("dockerfile", "pip", image.place, pins, python=self.python, platforms=_LINUX, image=image)
        complete = all(group.is_complete for group in self.commands)
        return [*self.commands[self.inherited :], whole._replace(beside=beside, is_complete=complete)]


def _installed(pins: Iterable[Pin]) -> tuple[Pin, ...]:
    """What is there in the end: a later install takes the place of an earlier one, unless that satisfies it."""
    found: dict[str, Pin] = {}
    for pin in pins:
        if pin.name not in found or pin.spec or pin.label or pin.url or pin.is_upgrade:
            found[pin.name] = pin
    return tuple(found.values())


def _is_list(name: str) -> bool:
    return name.endswith((".txt", ".in", ".pip"))


def _bound(pin: Pin, group: Group) -> Pin:
    """The pin with the index of its own command: another command may name another one."""
    if pin.url is not None or pin.label:
        return pin
    mains = [use for use in group.indexes if use.role in {"main", "first"}]
    if mains:
        return pin._replace(url=mains[0].url)
    return pin._replace(url=DIRECT if group.indexes else "")


def _place(file: str, text: str, lines: tuple[tuple[int, str], ...]) -> Place:
    """The line of an instruction that holds the text, or a variable in its place: else where it begins."""
    for piece in (text, text.partition("==")[0]):
        for number, line in lines:
            if piece and piece in line:
                return Place(file, number)
    return Place(file, lines[0][0])


def _python_of(image: Image) -> PythonWish | None:
    """The Python of a base image, where its name tells."""
    if image.repository.rpartition("/")[2] in {"python", "pypy"}:
        match = re.match(r"(\d\.\d{1,2})(?:[.-]|$|rc|a\d|b\d)", image.tag)
    else:
        match = _PYTHON.search(image.tag)
    return PythonWish(match[1], image.place, is_one=True) if match else None
