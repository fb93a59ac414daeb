"""What the files of a live host's project name beside torch: a project's packages that are not installed move, too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from torchdoctor.patterns import lazily
from torchdoctor.readers.answers import Answers
from torchdoctor.readers.live_project import PLACES, is_below, place_of
from torchdoctor.recording import Recording, Want

if TYPE_CHECKING:
    from torchdoctor.readers.project_torch import Kept

_PYPROJECT, _RECIPE = "pyproject.toml", "Dockerfile"
# The tool -> the files that may name packages for it. Those without a folder of a project lie in the current one.
_FILES: Mapping[str, tuple[str, ...]] = {
    "uv-project": (_PYPROJECT,),
    "poetry": (_PYPROJECT,),
    "pdm": (_PYPROJECT,),
    "hatch": (_PYPROJECT, "hatch.toml"),
    "pixi": ("pixi.toml", _PYPROJECT),
    "conda": ("environment.yml", "environment.yaml"),
    "mamba": ("environment.yml", "environment.yaml"),
    "requirements": ("requirements.txt",),
    "dockerfile": (_RECIPE,),
}
_IN_CURRENT = {"conda", "mamba", "requirements", "dockerfile"}
_LOCKS_FOR_ALL = {"uv-project", "poetry", "pdm"}  # for every Python that the project allows; one table holds torch
_NAME = re.compile(r"[A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?", re.ASCII)
_LINE = re.compile(r"\s*(?:-\s+)?[\"']?(?:[\w./-]+::)?([A-Za-z0-9][\w.-]*)", re.ASCII)  # of a list of YAML, of pip's
# Of a Dockerfile: a line that goes on in the next, what ends a command, and a word that may be a name.
_GOES_ON = lazily(r"\\[ \t]*\r?\n")
_ENDS = lazily(r"\n|&&|\|\|?|;")
_INSTALLS = lazily(r"\b(?:install|add)\b(.*)")
_WORD = lazily(r"(?<![\w./@+-])[A-Za-z0-9][\w.-]*(?![\w./-])")
# Tables of dependencies bear this in their names, but those that only hold back what others bring.
_DEPENDENCIES, _GROUPS = "dependencies", "dependency-groups"
_BOUNDS = ("override-", "constraint-", "build-constraint-")


def _wants() -> Iterator[Want]:
    for tool, names in _FILES.items():
        places = ("",) if tool in _IN_CURRENT else PLACES
        yield from (Want("file", (place + name,)) for place in places for name in names)


WANTS = tuple(dict.fromkeys(_wants()))  # asked where a command for the project may be written


def are_read(recording: Recording) -> bool:
    """Whether anybody looked for these files."""
    return Answers(recording).looked(WANTS[0])


def named(recording: Recording, tool: str, names: tuple[str, ...]) -> tuple[str, ...] | None:
    """Those of the names that the project's files name; None where no file tells all that it depends on."""
    answers = Answers(recording)
    place = "" if tool in _IN_CURRENT or _is_member(answers, tool) else place_of(answers)
    texts = {name: answers.text(Want("file", (place + name,))) for name in _FILES.get(tool, ())}
    if not any(texts.values()):
        return None
    found: set[str] = set()
    may_name = (*names, "dynamic")  # a text without any of these says nothing: no TOML is read for it
    for file, text in texts.items():
        if not any(word in text.lower() for word in may_name):
            continue
        inside = _of_toml(text) if file.endswith(".toml") else _OF_TEXT.get(file, _of_lines)(text)
        if inside is None:
            return None
        found |= inside
    return tuple(name for name in names if name in found)


def kept(recording: Recording, tool: str) -> Kept | None:
    """Where the project's file names torch and for which Pythons; None where the tool has none, or it is not read.

    A member of a workspace has a file of its own: what is asked for in its folder is for it.
    """
    answers = Answers(recording)
    if tool == "pixi":
        return _kept_by_pixi(answers)
    place = place_of(answers) if tool in _LOCKS_FOR_ALL else None
    table = None if place is None else _parsed(answers.text(Want("file", (place + _PYPROJECT,))))
    if not table:
        return None
    from torchdoctor.readers.project_torch import kept_in

    whole = kept_in(table, tool)
    if not _is_member(answers, tool):
        return whole
    own = kept_in(_parsed(answers.text(Want("file", (_PYPROJECT,)))) or {}, tool)
    newest = max((one for one in (whole, own) if one.oldest), key=lambda one: one.oldest or (0, 0), default=own)
    bounds = tuple(stand for stand in whole.stands if stand.kind == "bound")  # which hold for all members
    return own._replace(pythons=newest.pythons, stands=(*own.stands, *bounds), is_member=True, has_members=False)


def _kept_by_pixi(answers: Answers) -> Kept | None:
    """What pixi reads: the file of its own before its tables in pyproject.toml; None where it has neither."""
    for name in _FILES["pixi"]:
        text = answers.text(Want("file", (place_of(answers) + name,)))
        table = _parsed(text) if name != _PYPROJECT or "tool.pixi" in text else None
        if table:
            from torchdoctor.readers.project_pixi import kept_by_pixi

            return kept_by_pixi(table, in_pyproject=name == _PYPROJECT)
    return None


def _is_member(answers: Answers, tool: str) -> bool:
    """Whether the current folder holds a project of its own below that of the environment, whose lock is for both."""
    own = answers.text(Want("file", (_PYPROJECT,))) if tool == "uv-project" else ""
    if "project" not in own or not is_below(answers, place_of(answers)):
        return False
    whole = answers.text(Want("file", (place_of(answers) + _PYPROJECT,)))
    return "workspace" in whole and "project" in (_parsed(own) or {})


def _of_lines(text: str) -> set[str]:
    return {_plain(match[1]) for line in text.splitlines() if (match := _LINE.match(line))}


def _of_recipe(text: str) -> set[str]:
    """What the commands of a Dockerfile install by name; what a file that they read names is not told."""
    lines = (line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#"))
    parts = _ENDS.split(_GOES_ON.sub(" ", "".join(lines)))
    found = (match[1] for part in parts if (match := _INSTALLS.search(part)))
    return {_plain(word) for words in found for word in _WORD.findall(words)}


_OF_TEXT = {_RECIPE: _of_recipe}


def _of_toml(text: str) -> set[str] | None:
    """All names that stand in tables of dependencies; None where the file is none, or leaves them to a program."""
    table = _parsed(text)
    if table is None:
        return None
    project = table.get("project")
    dynamic = project.get("dynamic") if isinstance(project, dict) else None
    if isinstance(dynamic, list) and _DEPENDENCIES in dynamic:
        return None
    return set(_of_table(table))


@lru_cache(maxsize=4)
def _parsed(text: str) -> Mapping[str, Any] | None:
    """The table; None where it is none."""
    from torchdoctor import toml

    try:
        table: Mapping[str, Any] = toml.loads(text)
    except (ValueError, RecursionError):
        return None
    return table


def _of_table(table: Mapping[str, Any]) -> Iterator[str]:
    for key, value in table.items():
        is_named = (key.endswith(_DEPENDENCIES) and not key.startswith(_BOUNDS)) or key == _GROUPS
        if is_named:
            yield from _names(value)
        elif isinstance(value, dict):
            yield from _of_table(value)


def _names(value: Any) -> Iterator[str]:
    """Names of a list of requirements, of a table by name, or of a table of such lists."""
    if isinstance(value, list):
        yield from (_plain(match[0]) for one in value if isinstance(one, str) and (match := _NAME.match(one)))
    elif isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(inner, list) and all(isinstance(one, (str, dict)) for one in inner):
                yield from _names(inner)
            yield _plain(key)


def _plain(name: str) -> str:
    """The name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()
