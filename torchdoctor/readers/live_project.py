"""Which tool keeps the project that the examined Python belongs to: what is installed past it, its next sync undoes."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.readers.answers import Answers
from torchdoctor.readers.live_python import environment_of
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want

# A file of the project -> the tool, as install-cmd names it.
_FILES = (
    ("uv.lock", "uv-project"),
    ("poetry.lock", "poetry"),
    ("pdm.lock", "pdm"),
    ("pixi.lock", "pixi"),
    ("pixi.toml", "pixi"),
)
# An environment that a tool keeps in a folder of its own is that tool's, lock or none.
_FOLDERS = (
    ("/pypoetry/virtualenvs/", "poetry"),
    ("/pypoetry/Cache/virtualenvs/", "poetry"),  # on Windows
    ("/pdm/venvs/", "pdm"),
    ("/hatch/env/", "hatch"),
    ("/.pixi/envs/", "pixi"),
)
# Environments that hold torchdoctor alone: the project is that of the current folder.
_TOOL_FOLDERS = ("/uv/tools/", "/archive-v0/", "/environments-v2/", "/pipx/")
_CONDA_FILES = ("environment.yml", "environment.yaml")
# The folder of a project that keeps its environment inside (.venv, .pixi/envs/NAME), and the current folder.
_BESIDE, _ABOVE, _CURRENT = "@prefix/../", "@prefix/../../../", ""
PLACES = (_BESIDE, _ABOVE, _CURRENT)
_UP = {_BESIDE: 1, _ABOVE: 3}  # folders above the environment
_INSIDE = "/.pixi/envs/"
_A_PROJECT = Want("stat", (f"{_BESIDE}pyproject.toml",))  # of any tool


def _wants(place: str) -> tuple[Want, ...]:
    return tuple(Want("stat", (place + name,)) for name, _ in _FILES)


WANTS = (*_wants(_BESIDE), *_wants(_CURRENT), *(Want("stat", (name,)) for name in _CONDA_FILES), _A_PROJECT)


def read(recording: Recording) -> Iterator[Said]:
    """The tool, or that none is seen; and the project's folder, where it is another than the current one."""
    answers = Answers(recording)
    if answers.looked(WANTS[0]):
        tool, source = next(_found(answers), (None, "files of the project"))
        yield Said("place.project", tool, source)
        folder = _folder(answers, place_of(answers))
        if folder and folder != _plain(answers.said("cwd")):
            yield Said("place.project_folder", folder, source)


def place_of(answers: Answers) -> str:
    """Where the files of the project are: beside its environment, above it, or in the current folder."""
    if _INSIDE in _plain(answers.said("executable")):
        return _ABOVE
    is_beside = _is_apart(answers) and any(answers.table(want) for want in (*_wants(_BESIDE), _A_PROJECT))
    return _BESIDE if is_beside else _CURRENT


def _folder(answers: Answers, place: str) -> str:
    """The path of a place beside or above the environment; empty for the current folder."""
    parts = _plain(answers.said("prefix")).rstrip("/").split("/")
    return ("/".join(parts[: -_UP[place]]) or "/") if place in _UP and len(parts) > _UP[place] else ""


def is_below(answers: Answers, place: str) -> bool:
    """Whether the current folder is one inside the project's."""
    folder = _folder(answers, place)
    return bool(folder) and _plain(answers.said("cwd")).startswith(f"{folder.rstrip('/')}/")


def _plain(path: str) -> str:
    return path.replace("\\", "/")


def _is_apart(answers: Answers) -> bool:
    """Whether it is an environment of its own, not one that holds torchdoctor alone."""
    executable = _plain(answers.said("executable"))
    return environment_of(answers) in {"venv", "conda"} and not any(folder in executable for folder in _TOOL_FOLDERS)


def _found(answers: Answers) -> Iterator[tuple[str, str]]:
    """An environment that lies elsewhere has nothing to do with the project of the current folder."""
    executable, environment = _plain(answers.said("executable")), environment_of(answers)
    for folder, tool in _FOLDERS:
        if folder in executable:
            yield tool, "path of the interpreter"
    place = _BESIDE if _is_apart(answers) else _CURRENT
    yield from ((tool, name) for name, tool in _FILES if answers.table(Want("stat", (place + name,))))
    if environment == "conda":
        yield from (("conda", name) for name in _CONDA_FILES if answers.table(Want("stat", (name,))))
