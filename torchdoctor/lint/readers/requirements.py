"""requirements.txt and constraints.txt: requirements, options, continuations, and the files they include."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from torchdoctor.findings import Place
from torchdoctor.lint.model import Group, IndexUse, Pin
from torchdoctor.lint.readers.words import INDEX_OPTIONS, pin_of

_DEEPEST, _MOST = 8, 40  # nested files, and files in all
_OPTION = re.compile(r"(--?[a-z-]+)(?:\s*=\s*|\s+)?(.*)", re.DOTALL)
_STRAY = re.compile(r"\s((?:--index-url|--extra-index-url|--find-links|-i|-f)[\s=]{1,3}\S{1,1000})")
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_INCLUDES = {"-r": False, "--requirement": False, "-c": True, "--constraint": True}
Load = Callable[[str], "str | None"]  # the text of an included file by its name, None where there is none


class Options(NamedTuple):
    """What a requirements file holds."""

    pins: tuple[Pin, ...] = ()
    indexes: tuple[IndexUse, ...] = ()
    pre: bool = False


def read(name: str, text: str, load: Load) -> list[Group]:
    """The one group of a requirements file, what it includes among it."""
    found = options_of(name, text, load)
    group = Group("requirements", "pip", Place(name), found.pins, found.indexes, pre=found.pre)
    return [group]


def options_of(name: str, text: str, load: Load) -> Options:
    """The pins, indexes and switches of a file and of those it includes."""
    pins: list[Pin] = []
    indexes: list[IndexUse] = []
    pre = False
    for line, place in _logical(name, text, load, [name], 0):
        match = _OPTION.match(line) if line.startswith("-") else None
        if match and match[1] in INDEX_OPTIONS and match[2].strip():
            indexes.append(IndexUse(match[2].split()[0].strip("\"'"), INDEX_OPTIONS[match[1]], place))
        elif line.startswith("--pre"):
            pre = True
        elif not match and (pin := pin_of(_without_options(line), place)):
            stray = _STRAY.search(line)
            pins.append(pin._replace(stray=stray[1].strip()) if stray else pin)
    return Options(tuple(_narrowed(pins)), tuple(indexes), pre)


def _logical(name: str, text: str, load: Load, seen: list[str], depth: int) -> Iterator[tuple[str, Place]]:
    """Whole lines with where they begin, those of included files in their place."""
    for line, number in joined(text):
        match = _OPTION.match(line) if line.startswith("-") else None
        short = re.match(r"(-[rc])\s*=?\s*(\S+)", line)
        option, target = (short[1], short[2]) if short else (match[1], match[2]) if match else ("", "")
        if option not in _INCLUDES:
            yield line, Place(name, number)
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target.strip("\"' ")))
        if depth < _DEEPEST and len(seen) < _MOST and path not in seen:
            seen.append(path)
            included = load(path)
            if included is not None:
                yield from _logical(path, included, load, seen, depth + 1)


def joined(text: str) -> Iterator[tuple[str, int]]:
    """Lines without comments, joined where one ends in a backslash, with the number of the first."""
    parts: list[str] = []
    start = 1
    for number, line in enumerate(text.split("\n"), 1):
        if not parts:
            start = number
        bare = _COMMENT.sub("", line) if len(line) < 20_000 else ""  # noqa: PLR2004 - no requirement is longer
        if bare.rstrip().endswith("\\") and len(parts) < 2000:  # noqa: PLR2004 - hashes of a hundred wheels
            parts.append(bare.rstrip()[:-1])
            continue
        whole = " ".join((*parts, bare)).strip()
        parts = []
        if whole:
            yield whole, start


def _without_options(line: str) -> str:
    """A requirement without the options behind it (``--hash``, ``--config-settings``)."""
    return re.split(r"\s--?[a-z]", line, maxsplit=1)[0]


def _narrowed(pins: list[Pin]) -> Iterator[Pin]:
    """Without those that another file of the same install narrows: ``torch`` beside ``torch==2.9.1``."""
    narrowed = {(pin.name, pin.marker) for pin in pins if pin.spec}
    yield from (pin for pin in pins if pin.spec or pin.url or (pin.name, pin.marker) not in narrowed)
