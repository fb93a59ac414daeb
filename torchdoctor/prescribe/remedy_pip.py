"""A remedy's ``python`` line for the interpreter that was examined, and its ``pip`` for the tool that it has."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from torchdoctor.errors import UsageError
from torchdoctor.facts import Facts
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers.pip import ensurepip
from torchdoctor.prescribe.writing import UNNAMED, Writing, writing_for

_PIP = ["python", "-m", "pip"]
_OF_UV = frozenset({"uv", "uv-project"})
_IN_UV = {"--force-reinstall": "--reinstall", "-y": ""}  # what uv calls it; empty: what it has no need of
_UVS = frozenset({"check", "freeze", "install", "list", "show", "uninstall"})  # the commands of pip that uv has
_CHANGES = frozenset({"install", "uninstall"})
_BEHIND = frozenset({"|", "||", "&&", ";", ">", ">>"})


def lines_of(command: str, facts: Facts, writing: Writing) -> tuple[str, ...]:
    """A command that begins with ``python`` as lines that start the examined interpreter, where that is known.

    Nothing where it asks pip, and that interpreter has none and no tool that answers the same.
    """
    writing = writing_for(facts, writing)
    if writing.base:  # the environment that install-cmd would make is another than the one examined
        writing = writing._replace(python=tuple(writing.base), base=(), override=True)
    if not writing.python:
        writing = writing._replace(python=UNNAMED)
    words = _words(command)
    is_plain = tuple(writing.python) == UNNAMED and not (writing.override or writing.bootstrap)
    if is_plain and writing.shell == "posix" and writing.tool != "uv":
        return (command,)
    if _BEHIND & set(words):
        return (f"{join(writing.python, writing.shell)}{command.removeprefix('python')}",)
    try:
        return tuple(join(line, writing.shell) for line in _lines(words, writing))
    except UsageError:  # words that this shell takes in no quotes
        return (command,)


def _words(command: str) -> list[str]:
    """The words of a line; a backslash is one of a Windows path."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=False)
    lexer.whitespace_split, lexer.escape, lexer.commenters = True, "", ""
    return list(lexer)


def _lines(words: Sequence[str], writing: Writing) -> Iterator[tuple[str, ...]]:
    verb, *rest = words[len(_PIP) :] or ("",)
    if words[: len(_PIP)] != _PIP:
        yield (*writing.python, *words[1:])
    elif _takes_uv(writing):
        if verb in _UVS:
            yield _uv(verb, rest, writing)
    elif not writing.bootstrap or verb in _CHANGES:
        if writing.bootstrap:
            yield ensurepip(writing)
        yield (*writing.python, "-m", "pip", verb, *_override(verb, writing), *rest)


def _takes_uv(writing: Writing) -> bool:
    """Whether uv keeps the environment, which then has no pip of its own."""
    of_uv = writing.tool == "uv" or (writing.tool in _OF_UV and writing.bootstrap)
    return of_uv and len(writing.python) == 1


def _uv(verb: str, rest: Sequence[str], writing: Writing) -> tuple[str, ...]:
    target = () if tuple(writing.python) == UNNAMED else ("--python", *writing.python)
    return (
        "uv",
        "pip",
        verb,
        *target,
        *_override(verb, writing),
        *filter(None, (_IN_UV.get(word, word) for word in rest)),
    )


def _override(verb: str, writing: Writing) -> tuple[str, ...]:
    return ("--break-system-packages",) if writing.override and verb in _CHANGES else ()
