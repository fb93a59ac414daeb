"""Quote words for the shell that will read them; ``~`` stands for the home folder and stays expandable."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

SHELLS = ("posix", "cmd", "powershell")

_PLAIN = re.compile(r"[A-Za-z0-9_./\\:=+@,~-]+")


def join(words: Sequence[str], shell: str) -> str:
    """Return one command line of the words, each quoted as the shell needs."""
    if shell == "posix":
        return " ".join(map(_posix, words))
    if shell == "cmd":
        return " ".join(map(_cmd, words))
    line = " ".join(map(_powershell, words))
    return f"& {line}" if line[0] in "'\"" else line


def _posix(word: str) -> str:
    if word.startswith("~/"):
        return "~/" + shlex.quote(word[2:])
    return shlex.quote(word)


def _cmd(word: str) -> str:
    word = _expand(word, "%USERPROFILE%")
    return (
        word
        if (_PLAIN.fullmatch(word.replace("%USERPROFILE%", "")) and not set(word) & set(",=")) or _is_pin(word)
        else f'"{word}"'
    )


def _powershell(word: str) -> str:
    if word.startswith(("~/", "~\\")):
        return '"' + _expand(word, "$env:USERPROFILE") + '"'
    return (
        word if _PLAIN.fullmatch(word) and "," not in word and word[0] != "@" else "'" + word.replace("'", "''") + "'"
    )


def _expand(word: str, home: str) -> str:
    return home + word[1:].replace("/", "\\") if word.startswith(("~/", "~\\")) else word


def _is_pin(word: str) -> bool:
    """A pin is safe unquoted: cmd splits only a batch file's own parameters at the equals sign."""
    return bool(re.fullmatch(r"[A-Za-z0-9_-]+==[A-Za-z0-9.+]+", word))
