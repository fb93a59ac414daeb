"""Commands of installers as people typed them: which torch they asked for, and where it came from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.document import Document
from torchdoctor.readers.installer_requests import asked_indexes, asked_version
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import VERSION, build_named_by

_COMMAND = lazily(rf"\binstall\b.{{0,300}}?[\s\"']torch==({VERSION})")
_TORCH = lazily(r"\b(?:pip3?(?:\.exe)?|-m pip) install\b.{0,300}?[\s\"']torch(?![\w./+:@-]|\[)")
_PLACE = lazily(
    r"\s(?:-i|-f|--(?:extra-|default-)?index(?:-url)?|--find-links|--no-index|--pre|-r|-e|--target|-t)(?=[\s=])|://|\.whl"
)
_TOLD = lazily(r"\binstalled\b.{0,60}?\b(?:with|via|using|by|through)\b[^.]{0,40}$", re.IGNORECASE)
_INSTALLER = r"(?:\S{0,120}python\S{0,12} -m |\S{0,120}uv )?\S{0,120}pip3?\S{0,6} install|uv add"
_PROMPTED = rf"\s*(?:.{{0,120}}?[$#>%!]\s*)?(?:sudo )?(?:{_INSTALLER})\s"
_RUN = lazily(_PROMPTED)
_OTHERWISE = ("already satisfied: torch", "Looking in ", "PIP_", "No matching distribution", "conda")
_MOST = 1000  # lines looked at
_COMMAND_INDEX = lazily(r"(?:--index-url|--extra-index-url|-i|--default-index|--index)[ =](\S{3,200})")


def _typed(spot: Spot) -> Iterator[Said]:
    """An install command as somebody typed it: what was wanted, not what is there."""
    if match := _COMMAND.search(spot.text):
        yield from asked_version(match[1], spot)
    if match or _TORCH.search(spot.text):
        yield from asked_indexes(_COMMAND_INDEX.findall(spot.text), spot)


def _told(spot: Spot) -> Iterator[Said]:
    """``I installed it with pip install torch``."""
    match = _COMMAND.search(spot.text)
    if match and _TOLD.search(spot.text[: spot.text.find("pip")]):
        yield from asked_version(match[1], spot)


def origin_said(document: Document) -> Iterator[Said]:
    """Whose torch it is, where only one command installs it: that of the index of a build which it names, or PyPI's."""
    lines = document.lines_with("pip install", "pip3 install")[:_MOST]
    typed = [index for index in lines if _TORCH.search(document.texts[index]) and _was_run(document.texts[index])]
    if len(typed) != 1 or document.has(*_OTHERWISE):
        return
    text = document.texts[typed[0]]
    if text.endswith(("\\", "`", "^")):
        return
    if not _PLACE.search(text):
        yield Said("torch.origin", "pypi", document.at(typed[0]))
    elif any(map(build_named_by, _COMMAND_INDEX.findall(text))):
        yield Said("torch.origin", "pytorch", document.at(typed[0]))


def _was_run(text: str) -> bool:
    return bool(_RUN.match(text) or _TOLD.search(text[: text.find("pip")]))


def _uv(spot: Spot) -> Iterator[Said]:
    """Whoever types ``uv pip install`` may have no pip in that environment."""
    yield Said("place.project", "uv", spot.source)


RECOGNISERS = (
    Recogniser(r"\s*(?:.{0,120}?[$#>%!]\s*)?uv pip (?:install|sync)\s", _uv, words=("uv pip ",), keeps=True),
    Recogniser(_PROMPTED, _typed, words=("pip install", "pip3 install", "uv add "), keeps=True),
    Recogniser(r".{0,120}?\binstalled\b", _told, words=("pip install", "pip3 install"), keeps=True),
)
