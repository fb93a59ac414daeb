"""Rules about a torch that is named twice, or that a companion of another installer or command takes away."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.lint.knowledge import accepts, is_plain
from torchdoctor.lint.model import DIRECT, Group, Pin
from torchdoctor.lint.rules.companions import asked_of
from torchdoctor.lint.rules.registry import Judged, pinned, rule
from torchdoctor.lint.torch_indexes import torch_index
from torchdoctor.tables import Tables
from torchdoctor.tables.companions import Companion
from torchdoctor.values import Version

_COMPANIONS = ("torchvision", "torchaudio")
_TOGETHER = {"requirements", "pyproject", "conda", "pixi"}  # kinds whose lines one command installs


@rule("index-lacks-version", severity="error")
def pinned_twice(judged: Judged) -> Iterator[Finding]:
    """Two lines that hold together leave no version of one package."""
    if judged.group.kind not in _TOGETHER:
        return
    for world in judged.worlds:
        for name in ("torch", *_COMPANIONS):
            pins = [pin for pin in world.pins if pin.name == name and pin.spec]
            if len(pins) > 1 and not any(pin.is_forced or pin.label for pin in pins) and _exclude(pins, judged.tables):
                yield _twice(pins)


def _exclude(pins: list[Pin], tables: Tables) -> bool:
    """Whether each takes some release and no release is taken by all."""
    if not all(is_plain(pin.spec) for pin in pins):
        return False
    known = _releases(pins[0].name, tables)
    taken = [{version for version in known if accepts(spec, version)} for spec in {pin.spec for pin in pins}]
    return all(taken) and not set.intersection(*taken)


def _releases(name: str, tables: Tables) -> tuple[Version, ...]:
    return (
        tables.torch_builds.versions()
        if name == "torch"
        else tuple(row.version for row in tables.companions.releases(name))
    )


def _twice(pins: list[Pin]) -> Finding:
    first, last = pins[0], pins[-1]
    return Finding(
        summary=Text(
            "{name}{one} and {name}{other}: no release is both", name=first.name, one=first.spec, other=last.spec
        ),
        why=Text("both lines are installed together, and an installer refuses what contradicts itself"),
        evidence=tuple(map(pinned, pins[:4])),
        remedies=(Remedy(Text("Keep one of the lines, or make them agree")),),
        place=last.place,
    )


@rule("mixed-package-sources", severity="warning")
def companion_beside_condas_torch(judged: Judged) -> Iterator[Finding]:
    """Pip installs a companion that brings its own torch into an environment with conda's."""
    group = judged.group
    theirs = next((pin for pin in group.beside if pin.name == "torch" and pin.spec), None)
    if theirs is None or group.find("torch") or not is_plain(theirs.spec) or _is_told_no(group):
        return
    for name in _COMPANIONS:
        for pin in group.find(name):
            row = _taken(pin, judged.tables)
            held = [version for version in judged.tables.torch_builds.versions() if accepts(theirs.spec, version)]
            if row and held and not any(map(row.fits, held)):
                yield _brings(pin, row, theirs)
                return


def _brings(pin: Pin, row: Companion, theirs: Pin) -> Finding:
    return Finding(
        summary=Text("pip's {name} brings a torch of its own beside conda's", name=pin.name),
        why=Text(
            "{name} {version} asks for torch {torch}, which pip unpacks over conda's",
            name=pin.name,
            version=row.version,
            torch=asked_of(row),
        ),
        evidence=(pinned(theirs), pinned(pin)),
        remedies=(Remedy(Text("Let conda install {name} as well, or pip both", name=pin.name)),),
        confidence="certain" if pin.exact else "likely",
        place=pin.place,
    )


def _taken(pin: Pin, tables: Tables) -> Companion | None:
    """The release that pip takes from PyPI; None where that is not known."""
    if pin.url or not is_plain(pin.spec) or pin.label:
        return None
    rows = (row for row in tables.companions.releases(pin.name) if accepts(pin.spec, row.version))
    row = tables.companions.find(pin.name, pin.exact) if pin.exact else next(rows, None)
    return row if row and row.confidence == "read" else None


@rule("torch-companion-mismatch", severity="warning")
def companion_by_a_command_of_its_own(judged: Judged) -> Iterator[Finding]:
    """A later command takes a companion from PyPI, which brings another torch than the one that is there."""
    group = judged.group
    torch = next(iter(group.find("torch")), None)
    if group.image is None or not group.image.name or torch is None or _is_told_no(group):
        return
    there = Version.parse(torch.exact) if torch.exact else None
    is_own = bool(torch.label) or bool(torch.url and torch.url != DIRECT and torch_index(torch.url, judged.tables))
    if there is None or not is_own or torch.text.startswith("FROM "):
        return
    for name in _COMPANIONS:
        for pin in group.find(name):
            row = _taken(pin, judged.tables) if pin.url == "" and not pin.exact else None
            if row and not row.fits(there):
                yield _takes_another(pin, row, torch)
                return


def _takes_another(pin: Pin, row: Companion, torch: Pin) -> Finding:
    label = f"+{torch.label}" if torch.label else ""
    return Finding(
        summary=Text("{name} from PyPI replaces torch {there}", name=pin.name, there=f"{torch.exact}{label}"),
        why=Text(
            "a command of its own takes the newest, {name} {version}; it asks for torch {torch}, which PyPI gives",
            name=pin.name,
            version=row.version,
            torch=asked_of(row),
        ),
        evidence=(pinned(torch), pinned(pin)),
        remedies=(Remedy(Text("Name it in the command of torch, with the release for it, or pin it")),),
        confidence="likely",
        place=pin.place,
    )


def _is_told_no(group: Group) -> bool:
    """Whether pip is told to install no dependencies."""
    lines = group.image.lines if group.image else ()
    return any("--no-deps" in one.text for one in lines)
