"""Which settings files of pip and uv bear on where a live host's torch comes from, whatever a command names.

Of the files that an installer reads, the one that it heeds before the others is told, for each setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from torchdoctor.patterns import lazily
from torchdoctor.readers.answers import Answers
from torchdoctor.recording import Recording, Want

_BACKEND, _STRATEGY, _LINKS = "torch-backend", "index-strategy", "find-links"
_FURTHER = ("extra-index-url", "extra_index_url", _LINKS, "find_links")
_PIP_FILE, _UV_FILE, _NO_UV = "PIP_CONFIG_FILE", "UV_CONFIG_FILE", "UV_NO_CONFIG"
_OF_USER, _OF_SYSTEM = "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"
_VARIABLES = Want("env", (_PIP_FILE, _UV_FILE, _NO_UV, _OF_USER, _OF_SYSTEM), name="variables of installers' settings")
_LEVELS = ("", "../", "../../")  # of the project: uv takes the first that holds a file of its own
_OF_UV = (
    f"${_OF_USER}/uv/uv.toml", "~/.config/uv/uv.toml", "$APPDATA/uv/uv.toml",
    f"${_OF_SYSTEM}/uv/uv.toml", "/etc/xdg/uv/uv.toml", "/etc/uv/uv.toml", "$ProgramData/uv/uv.toml",
)  # fmt: skip
# The later one overrules the earlier in pip: here the last comes first.
_OF_SITE = ("@prefix/pip.conf", "@prefix/pip.ini")
_OF_PIPS_USER = (
    f"${_OF_USER}/pip/pip.conf", "~/.config/pip/pip.conf", "~/Library/Application Support/pip/pip.conf",
    "~/.pip/pip.conf", "$APPDATA/pip/pip.ini",
)  # fmt: skip
_GLOBAL = (
    "/etc/pip.conf", f"${_OF_SYSTEM}/pip/pip.conf", "/etc/xdg/pip/pip.conf",
    "/Library/Application Support/pip/pip.conf", "$ProgramData/pip/pip.ini",
)  # fmt: skip
# A variable that is set takes the place of the folder that is read without it.
_IN_PLACE_OF = {"~/.config/": _OF_USER, "/etc/xdg/": _OF_SYSTEM}
_KEYS = (_BACKEND, _STRATEGY, _LINKS)
_TABLES = {"[tool.uv]", "[tool.uv.pip]"}
_SECTIONS = {"[global]", "[install]"}  # the others are of commands that install nothing
_HEADER = lazily(r"^\s*(\[.*\])\s*(?:#.*)?$")
_IS_TRUE = lazily(r"1|true|t|yes|y|on", re.IGNORECASE)


def _of_uv(path: str) -> Want:
    return Want("file", (path,), keep=_KEYS)


def _of_project(level: str) -> Want:
    """What it holds for uv alone: the whole is another answer, which reports do without."""
    path = f"{level}pyproject.toml"
    return Want("file", (path,), keep=("[tool.", *_KEYS), name=f"settings of uv in {path}")


def _of_pip(path: str) -> Want:
    return Want("file", (path,), keep=("[", *_FURTHER))


# Asked wherever a command may be written that is typed on this host.
WANTS = (
    _VARIABLES,
    *(want for level in _LEVELS for want in (_of_uv(f"{level}uv.toml"), _of_project(level))),
    *map(_of_uv, (f"${_UV_FILE}", *_OF_UV)),
    *map(_of_pip, (f"${_PIP_FILE}", *_OF_SITE, *_OF_PIPS_USER, *_GLOBAL)),
)


class InstallerSettings(NamedTuple):
    """The files that set uv's torch-backend, its index-strategy and its find-links, and pip's further places."""

    uv_backend: str = ""
    uv_strategy: str = ""
    uv_links: str = ""
    pip_further: str = ""


def settings_of(recording: Recording) -> InstallerSettings:
    """The file that counts for each setting; empty where none has it."""
    answers = Answers(recording)
    variables = answers.texts(_VARIABLES)
    uv, pip = list(_uv_files(answers, variables)), list(_pip_files(answers, variables))
    return InstallerSettings(
        uv_backend=_first(uv, (_BACKEND,)),
        uv_strategy=_first(uv, (_STRATEGY,)),
        uv_links=_first(uv, (_LINKS,)),
        pip_further=_first(pip, _FURTHER),
    )


File = tuple[str, str]  # its name for people, and of its text what counts


def _uv_files(answers: Answers, variables: Mapping[str, str]) -> Iterator[File]:
    """The file that a variable names alone; else that of the project, of the user, of the system."""
    if path := variables.get(_UV_FILE):
        yield f"{path} ({_UV_FILE})", answers.text(_of_uv(f"${_UV_FILE}"))
        return
    if _IS_TRUE.fullmatch(variables.get(_NO_UV, "")):
        return
    yield from next(filter(None, (list(_at(level, answers)) for level in _LEVELS)), [])
    yield from ((path, answers.text(_of_uv(path))) for path in _heeded(_OF_UV, variables))


def _at(level: str, answers: Answers) -> Iterator[File]:
    """The file of uv in a folder of the project, and where there is none its tables in pyproject.toml."""
    own, of_all = f"{level}uv.toml", answers.text(_of_project(level))
    if _is_there(_of_uv(own), answers):
        yield own, answers.text(_of_uv(own))
    elif "[tool.uv" in of_all:
        yield f"{level}pyproject.toml", _inside(of_all, _TABLES)


def _pip_files(answers: Answers, variables: Mapping[str, str]) -> Iterator[File]:
    """That of a variable, of the environment, the user, the system; nothing is read where it names the null device."""
    named = variables.get(_PIP_FILE, "")
    if named.lower() in {"/dev/null", "nul"}:
        return
    text, is_there = answers.text(_of_pip(f"${_PIP_FILE}")), _is_there(_of_pip(f"${_PIP_FILE}"), answers)
    if named:
        yield f"{named} ({_PIP_FILE})", _inside(text, _SECTIONS)
    users = () if named and is_there else _OF_PIPS_USER
    for path in _heeded((*_OF_SITE, *users, *_GLOBAL), variables):
        yield path.replace("@prefix/", "the environment's "), _inside(answers.text(_of_pip(path)), _SECTIONS)


def _heeded(paths: Sequence[str], variables: Mapping[str, str]) -> Iterator[str]:
    for path in paths:
        if not any(path.startswith(folder) and variables.get(name) for folder, name in _IN_PLACE_OF.items()):
            yield path


def _is_there(want: Want, answers: Answers) -> bool:
    answer = answers.recording.answer(want)
    return answer is not None and not answer.absent and not answer.error


def _inside(text: str, tables: set[str]) -> str:
    """The lines of these tables, and those before any."""
    lines, counts = [], True
    for line in text.splitlines():
        header = _HEADER.match(line)
        counts = header[1] in tables if header else counts
        lines += [line] if counts else []
    return "\n".join(lines)


def _first(files: Sequence[File], keys: Sequence[str]) -> str:
    key = re.compile(rf"^\s*[\"']?(?:{'|'.join(keys)})[\"']?\s*[=:]", re.MULTILINE)
    return next((name for name, text in files if key.search(text)), "")
