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
_BESIDE, _CURRENT = "@prefix/../", ""


def _wants(place: str) -> tuple[Want, ...]:
    return tuple(Want("stat", (place + name,)) for name, _ in _FILES)


WANTS = (*_wants(_BESIDE), *_wants(_CURRENT), *(Want("stat", (name,)) for name in _CONDA_FILES))


def read(recording: Recording) -> Iterator[Said]:
    """The tool, or that none is seen."""
    answers = Answers(recording)
    if answers.looked(WANTS[0]):
        tool, source = next(_found(answers), (None, "files of the project"))
        yield Said("place.project", tool, source)


def _found(answers: Answers) -> Iterator[tuple[str, str]]:
    """An environment that lies elsewhere has nothing to do with the project of the current folder."""
    executable, environment = answers.said("executable").replace("\\", "/"), environment_of(answers)
    for folder, tool in _FOLDERS:
        if folder in executable:
            yield tool, "path of the interpreter"
    is_apart = environment in {"venv", "conda"} and not any(folder in executable for folder in _TOOL_FOLDERS)
    place = _BESIDE if is_apart else _CURRENT
    yield from ((tool, name) for name, tool in _FILES if answers.table(Want("stat", (place + name,))))
    if environment == "conda":
        yield from (("conda", name) for name in _CONDA_FILES if answers.table(Want("stat", (name,))))
