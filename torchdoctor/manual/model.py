"""The command line as data: read from the argument parser itself, so that nothing written from it can be stale."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

Kind = Literal["none", "words", "files", "folders", "text"]
Build = Callable[[Sequence[str]], argparse.ArgumentParser]

_FOLDER = re.compile(r"\bDIR\b")
_FILE = re.compile(r"\bFILE\b|\bPATH\b|\.json\b")


class Words(NamedTuple):
    """Words that stand in no parser: the ids of findings, the kinds of numbers, the formats of a report."""

    ids: tuple[str, ...]
    kinds: tuple[str, ...]
    formats: tuple[str, ...]


class Argument(NamedTuple):
    """An option (with flags) or a positional argument (without), and what may stand there."""

    flags: tuple[str, ...]
    metavar: str
    help: str
    kind: Kind
    words: tuple[str, ...] = ()
    is_optional: bool = False  # its value may be left out
    is_repeatable: bool = False

    @property
    def long(self) -> str:
        """The flag that says most."""
        return max(self.flags, key=len)

    @property
    def takes_value(self) -> bool:
        """Whether a word follows it."""
        return self.kind != "none"


class Group(NamedTuple):
    """Options under one heading."""

    title: str
    about: str
    options: tuple[Argument, ...]


class Command(NamedTuple):
    """One command."""

    name: str
    about: str
    usage: str
    groups: tuple[Group, ...]
    positionals: tuple[Argument, ...]

    @property
    def options(self) -> list[Argument]:
        """Every option."""
        return [option for group in self.groups for option in group.options]


class Manual(NamedTuple):
    """The whole command line."""

    about: str
    epilog: str
    options: tuple[Argument, ...]
    commands: tuple[Command, ...]


def manual_of(build: Build, words: Words) -> Manual:
    """Read every command from the parser that ``build`` makes for it."""
    bare = build(())
    commands = tuple(_command(name, build, words) for name in _commands(bare).choices or ())
    (group,) = (group for group in _groups(bare, words) if group.options)
    return Manual(bare.description or "", bare.epilog or "", group.options, commands)


def _commands(parser: argparse.ArgumentParser) -> argparse.Action:
    return next(action for action in parser._actions if isinstance(action, argparse._SubParsersAction))  # noqa: SLF001 - argparse tells what it holds in no other way


def _command(name: str, build: Build, words: Words) -> Command:
    choices = _commands(build((name,))).choices
    parser: argparse.ArgumentParser = dict(choices or {})[name]
    own = [action for action in parser._actions if not action.option_strings]  # noqa: SLF001 - as above
    usage = " ".join(parser.format_usage().split()).removeprefix("usage: ") if parser.usage is None else parser.usage
    return Command(
        name=name,
        about=(parser.description or "").rstrip("."),
        usage=usage,
        groups=tuple(_groups(parser, words)),
        positionals=tuple(_argument(action, words) for action in own),
    )


def _groups(parser: argparse.ArgumentParser, words: Words) -> Iterator[Group]:
    for group in parser._action_groups:  # noqa: SLF001 - as above
        actions = [action for action in group._group_actions if action.option_strings]  # noqa: SLF001 - as above
        shown = (action for action in actions if action.help != argparse.SUPPRESS)
        if actions:
            yield Group(group.title or "options", group.description or "", tuple(_argument(a, words) for a in shown))


def _argument(action: argparse.Action, words: Words) -> Argument:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    choices = tuple(map(str, action.choices)) if action.choices else ()
    kind, known = ("none", ()) if action.nargs == 0 else _value(metavar, choices, action.help or "", words)
    return Argument(
        flags=tuple(action.option_strings),
        metavar=metavar or ("|".join(choices) or action.dest.upper().replace("_", "-") if kind != "none" else ""),
        help=(action.help or "").replace("%%", "%"),
        kind=kind,
        words=known,
        is_optional=action.nargs in ("?", "*"),
        is_repeatable=action.nargs in ("*", "+") or "Append" in type(action).__name__,
    )


def _value(metavar: str, choices: tuple[str, ...], about: str, words: Words) -> tuple[Kind, tuple[str, ...]]:
    """What may stand there, by the parser's choices, else by the name that people read."""
    if choices:
        return "words", choices
    if metavar.startswith("FORMAT"):
        return "words", tuple(name for name in words.formats if re.search(rf"\b{name}\b", about))
    if re.search(r"\bID\b", metavar):
        return "words", (*words.ids, *(words.kinds if "KIND" in metavar else ()))
    if _FOLDER.search(metavar):
        return "folders", ()
    return ("files" if _FILE.search(metavar) else "text"), ()
