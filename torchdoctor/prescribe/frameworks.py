"""Frameworks of which each release accepts one torch alone: a build of another torch would break them."""

from __future__ import annotations

from typing import NamedTuple

from torchdoctor.checks.installed import release
from torchdoctor.facts import Facts, Package, value_or
from torchdoctor.findings import Text
from torchdoctor.tables import Tables

_ANY = "any"


class Pin(NamedTuple):
    """A framework, its version where it is known, and the torch that it accepts where that is known."""

    name: str
    version: str = ""
    torch: str = ""
    is_certain: bool = False  # the table tells; else the installed torch is taken for the one that it accepts

    @property
    def reason(self) -> Text:
        """What it means for the choice of a build."""
        named = f"{self.name} {self.version}".strip()
        if self.is_certain:
            return Text("{framework} accepts torch {torch} alone", framework=named, torch=self.torch)
        if self.torch:
            text = "{framework} accepts one torch alone: the installed {torch} is kept"
            return Text(text, framework=named, torch=self.torch)
        text = "{framework} accepts one torch alone, and which is not known here: ask for the torch that it requires"
        return Text(text, framework=named)

    @property
    def change(self) -> Text:
        """What would allow a build where that torch has none for the host."""
        text = "{framework} {version} accepts torch {torch} alone: take a release of it whose torch has a build for you"
        if not self.is_certain:
            text = "{framework} {version} accepts one torch alone, and {torch} is installed: take a newer release of it"
        return Text(text, framework=self.name, version=self.version, torch=self.torch)


def pin_of(facts: Facts, tables: Tables) -> Pin | None:
    """The framework that is installed here or that the traceback comes from."""
    for name in tables.neighbours.pinning():
        package = facts.packages.find(name)
        if isinstance(package, Package):
            return _of_package(package, facts, tables)
    used_by = value_or(facts.torch.used_by, "")
    return Pin(used_by, torch=_installed(facts)) if used_by else None


def _of_package(package: Package, facts: Facts, tables: Tables) -> Pin:
    version = release(package.version)
    row = tables.neighbours.find(package.name, version) if version else None
    if row is None or row.torch_pin in {"", _ANY}:
        return Pin(package.name, package.version, _installed(facts))
    return Pin(package.name, package.version, row.torch_pin, is_certain=True)


def _installed(facts: Facts) -> str:
    version = value_or(facts.torch.version, "")
    return version if release(version) else ""
