"""Which settings files of pip and uv bear on where a live host's torch comes from, whatever a command names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from torchdoctor.readers.answers import Answers
from torchdoctor.recording import Recording, Want

_BACKEND, _STRATEGY, _LINKS = "torch-backend", "index-strategy", "find-links"
_FURTHER = ("extra-index-url", "extra_index_url", _LINKS, "find_links")
_OF_UV = (
    "uv.toml", "pyproject.toml", "../uv.toml", "../pyproject.toml", "../../uv.toml", "../../pyproject.toml",
    "$XDG_CONFIG_HOME/uv/uv.toml", "~/.config/uv/uv.toml", "$APPDATA/uv/uv.toml", "/etc/uv/uv.toml",
)  # fmt: skip
_OF_PIP = (
    "@prefix/pip.conf", "$XDG_CONFIG_HOME/pip/pip.conf", "~/.config/pip/pip.conf", "~/.pip/pip.conf",
    "~/Library/Application Support/pip/pip.conf", "/etc/pip.conf", "/etc/xdg/pip/pip.conf",
    "@prefix/pip.ini", "$APPDATA/pip/pip.ini", "$ProgramData/pip/pip.ini",
)  # fmt: skip
# The whole of pyproject.toml: others ask for that of the current folder, too, and an answer is known by its path.
_KEPT = (_BACKEND, _STRATEGY, _LINKS)
_UV_WANTS = tuple(Want("file", (path,), keep=() if path.endswith("pyproject.toml") else _KEPT) for path in _OF_UV)
_PIP_WANTS = tuple(Want("file", (path,), keep=_FURTHER) for path in _OF_PIP)
WANTS = (*_UV_WANTS, *_PIP_WANTS)  # asked where a command is written that is typed on this host


class InstallerSettings(NamedTuple):
    """The files that set uv's torch-backend, its index-strategy and its find-links, and pip's further places."""

    uv_backend: str = ""
    uv_strategy: str = ""
    uv_links: str = ""
    pip_further: str = ""


def settings_of(recording: Recording) -> InstallerSettings:
    """The first file for each setting; empty where none has it."""
    answers = Answers(recording)
    return InstallerSettings(
        uv_backend=_file(answers, _UV_WANTS, (_BACKEND,)),
        uv_strategy=_file(answers, _UV_WANTS, (_STRATEGY,)),
        uv_links=_file(answers, _UV_WANTS, (_LINKS,)),
        pip_further=_file(answers, _PIP_WANTS, _FURTHER),
    )


def _file(answers: Answers, wants: Sequence[Want], keys: Sequence[str]) -> str:
    key = re.compile(rf"^\s*[\"']?(?:{'|'.join(keys)})[\"']?\s*[=:]", re.MULTILINE)
    found = next((want.args[0] for want in wants if key.search(answers.text(want))), "")
    return found.replace("@prefix/", "the environment's ")
