"""Quote words for the shell that will read them; ``~`` stands for the home folder and stays expandable."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from torchdoctor.errors import UsageError
from torchdoctor.patterns import lazily

SHELLS = ("posix", "cmd", "powershell")

_PLAIN = lazily(r"[A-Za-z0-9_./\\:=+@,~-]+")
# PowerShell takes typographic quotes for plain ones, and they end what those began.
_SINGLE = lazily("['\N{LEFT SINGLE QUOTATION MARK}-\N{SINGLE HIGH-REVERSED-9 QUOTATION MARK}]")
_SPECIAL = lazily('[$`"\N{LEFT DOUBLE QUOTATION MARK}-\N{DOUBLE LOW-9 QUOTATION MARK}]')
_NOT_FOR_CMD = lazily(r'[%"\r\n]')  # what it reads inside quotes too, and nothing escapes at its prompt


def join(words: Sequence[str], shell: str) -> str:
    """Return one command line of the words, each quoted as the shell needs."""
    if shell == "posix":
        return " ".join(map(_posix, words))
    if shell == "cmd":
        return " ".join(map(_cmd, words))
    line = " ".join(map(_powershell, words))
    return f"& {line}" if line[0] in "'\"" else line


def _posix(word: str) -> str:
    if word in {"~", "~/"}:
        return word
    if word.startswith("~/"):
        return "~/" + shlex.quote(word[2:])
    return shlex.quote(word)


def _cmd(word: str) -> str:
    odd = _NOT_FOR_CMD.search(word)
    if odd:
        raise UsageError(f"no quotes keep {odd[0]!r} from cmd: {word!r} needs --shell powershell")
    is_plain = _PLAIN.fullmatch(word) and not set(word) & set(",=") and not _is_home(word)
    if is_plain or _is_pin(word):
        return word
    word = _in_home(word, "%USERPROFILE%") if _is_home(word) else word
    slashes = len(word) - len(word.rstrip("\\"))  # before the closing quote, each stands for half of one
    return f'"{word}{slashes * chr(92)}"'


def _powershell(word: str) -> str:
    if _is_home(word):
        return '"' + _in_home(_SPECIAL.sub(r"`\g<0>", word), "$env:USERPROFILE") + '"'
    return word if _PLAIN.fullmatch(word) and "," not in word and word[0] != "@" else f"'{_SINGLE.sub(_twice, word)}'"


def _twice(match: re.Match[str]) -> str:
    return match[0] * 2


def _is_home(word: str) -> bool:
    return word == "~" or word.startswith(("~/", "~\\"))


def _in_home(word: str, home: str) -> str:
    """With what stands for the home folder: to be quoted, for on many a host that holds a blank."""
    return home + word[1:].replace("/", "\\")


def _is_pin(word: str) -> bool:
    """A pin is safe unquoted: cmd splits only a batch file's own parameters at the equals sign."""
    return bool(re.fullmatch(r"[A-Za-z0-9_-]+==[A-Za-z0-9.+]+", word))
