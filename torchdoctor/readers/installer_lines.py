"""What installers say of the Python they install for: the output of pip, uv and poetry."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.facts import Package, Packages
from torchdoctor.patterns import lazily
from torchdoctor.readers.package_rows import freeze_row, normalised
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import torch_said
from torchdoctor.values import Libc, PythonTag, canonical_machine

_WHEEL = lazily(
    r"([A-Za-z][\w.]{1,60})-(\d[\w.!]{0,60}(?:\+|%2B)?[\w.]{0,60})-(cp\d{2,4})-(cp\d{2,4}t?|abi3|none)-(\w{3,120})"
)
_SYSTEMS = (("win", "windows"), ("manylinux", "linux"), ("linux", "linux"), ("musllinux", "linux"), ("macosx", "macos"))
_DONE = lazily(r"Successfully installed\s+(.*)$")
_DONE_ITEM = lazily(r"([A-Za-z0-9][\w.-]{0,80}?)-(\d[\w.!+]{0,60})$")
_SATISFIED = lazily(r"Requirement already satisfied: ([\w.-]{1,80})\S* in (\S.*?) (?:\(from .*\) )?\((\d[\w.+!]*)\)$")
_POETRY = lazily(
    r"[\u2022*-]\s+(?:Installing|Updating|Downgrading) ([\w.-]{1,80}) \((?:\S{1,60} (?:->|\u2794) )?(\d[\w.!+]{0,60})\)"
    r"(?!.{0,4}(?:Failed|Skipped|Pending|Downloading))"
)
_UV = lazily(r"\s?\+ (\S+==\S+)$")


def _wheel(spot: Spot) -> Iterator[Said]:
    """A wheel file that pip chose fits the interpreter: its tags name Python, system and machine."""
    match = _WHEEL.search(spot.text)
    if not match:
        return
    if match[1].lower() == "torch" and match[4].startswith("cp"):
        yield from torch_said(match[2].replace("%2B", "+"), spot.source)
        yield Said("python.tag", PythonTag.parse(match[4]), spot.source)
    yield from platform_tag_said(match[5], spot.source)


def platform_tag_said(tag: str, source: str) -> Iterator[Said]:
    """What a wheel's platform tag says: ``manylinux_2_28_x86_64``, ``win_amd64``, ``macosx_11_0_arm64``."""
    name = next((name for start, name in _SYSTEMS if tag.startswith(start)), "")
    machine = re.search(r"(x86_64|amd64|aarch64|arm64)$", tag)
    if name and machine:
        yield Said("os.name", name, source)
        yield Said("os.machine", canonical_machine(machine[1], name), source)
    if tag.startswith("musllinux"):
        yield Said("os.libc", Libc("musl"), source)


def _done(spot: Spot) -> Iterator[Said]:
    match = _DONE.match(spot.text)
    items = (
        tuple(
            Package(name=normalised(item[1]), version=item[2])
            for word in match[1].split()
            if (item := _DONE_ITEM.match(word))
        )
        if match
        else ()
    )
    yield from _packages(items, spot.source)


def _satisfied(spot: Spot) -> Iterator[Said]:
    if match := _SATISFIED.match(spot.text):
        yield from _packages((Package(name=normalised(match[1]), version=match[3], location=match[2]),), spot.source)


def _uv_added(spot: Spot) -> Iterator[Said]:
    if (match := _UV.match(spot.text)) and (row := freeze_row(match[1])):
        yield from _packages((row,), spot.source)


def _poetry_added(spot: Spot) -> Iterator[Said]:
    """``- Installing torch (2.0.1)``, ``- Updating torch (2.0.0 -> 2.0.1)``; a line may add that it failed."""
    if match := _POETRY.match(spot.text):
        yield from _packages((Package(name=normalised(match[1]), version=match[2]),), spot.source)


def _packages(items: tuple[Package, ...], source: str) -> Iterator[Said]:
    if items:
        yield Said("packages", Packages(items), source)
    for item in items:
        if item.name == "torch":
            yield from torch_said(item.version, source)


_CHOSEN = r"\s*(?:Downloading|Using cached|Processing|Obtaining)\s.{0,400}?-cp\d"
_BARE = r"\s*[\w.]{2,40}-\d[\w.+]{0,40}-cp\d{2,4}-\w{3,40}-(?:win|manylinux|linux|macosx)\w*"
RECOGNISERS = (
    Recogniser(_CHOSEN, _wheel, "downloading using processing obtaining", keeps=True),
    Recogniser(_BARE, _wheel, "torch torchvision torchaudio triton", keeps=True),
    Recogniser(r"\s*Successfully installed\s", _done, "successfully", keeps=True),
    Recogniser(
        r"\s*Requirement already satisfied: (?:torch|numpy|nvidia|triton)", _satisfied, "requirement", keeps=True
    ),
    Recogniser(
        r"\s*[\u2022*-]\s+(?:Installing|Updating|Downgrading) (?:torch|nvidia|triton|numpy)[\w.-]* \(",
        _poetry_added,
        "installing updating downgrading",
        keeps=True,
    ),
    Recogniser(r"\s?\+ (?:torch|nvidia|triton|numpy)[\w.-]*==\d", _uv_added, "torch nvidia triton numpy", keeps=True),
)
