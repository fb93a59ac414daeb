"""Whose environment the ``.venv`` of the current folder is: one that the examined Python made can be used again."""

from __future__ import annotations

import posixpath
import re

from torchdoctor.readers.answers import Answers
from torchdoctor.recording import Want

VENV_MARK = Want("file", ("./.venv/pyvenv.cfg",), keep=("home", "version"))
OWN, OTHER = "own", "other"


def kind_of_venv(answers: Answers) -> str | None:
    """``own`` where the examined Python made it, ``other`` where another did, None where it is no environment."""
    lines = (line.partition("=") for line in answers.text(VENV_MARK).splitlines())
    marks = {name.strip().lower(): value.strip() for name, _, value in lines}
    home, version = marks.get("home", ""), marks.get("version", "") or marks.get("version_info", "")
    if not home:
        return None
    here, ours = posixpath.dirname(answers.said("executable")), _minor(answers.said("version"))
    is_own = bool(ours) and _minor(version) == ours and _folder(home) == _folder(here)
    return OWN if is_own else OTHER


def _minor(version: str) -> str:
    found = re.match(r"\d+\.\d+", version)
    return found[0] if found else ""


def _folder(path: str) -> str:
    """The folder of programs; the one of the system has two names where ``/bin`` is a link."""
    return path.rstrip("/").removeprefix("/usr")
