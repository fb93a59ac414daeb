"""The manual page, in the man macros that groff and mandoc read."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.manual.model import Argument, Command, Group, Manual

_FILES = (
    ("[tool.torchdoctor] in pyproject.toml, or torchdoctor.toml", "the policy of a project, in the nearest folder"),
)
ENVIRONMENT = (
    ("TORCHDOCTOR_CONFIG", "the file with the policy, in place of the nearest one"),
    (
        "TORCHDOCTOR_REQUIRE",
        'what the host has to be, as --require; semicolons between: "driver>=550; gpus.min=8"',
    ),
    ("TORCHDOCTOR_REQUIRE_GPU", "true: as --require-gpu; or false"),
    ("TORCHDOCTOR_FAIL_ON", "error, warning, info or never: as --fail-on"),
    ("TORCHDOCTOR_IGNORE", "findings to set aside, as --ignore, with commas between"),
    ("TORCHDOCTOR_SELECT", "the only findings that count, as --select, with commas between"),
    ("TORCHDOCTOR_INDEX_BASE", "a mirror of the PyTorch index, for the commands that are printed"),
    ("TORCHDOCTOR_TABLES", "the folder with further rows of the compatibility tables; none: no such folder"),
    ("NO_COLOR, FORCE_COLOR, CLICOLOR_FORCE", "no colour, or colour where there is no terminal"),
    ("TERM", "dumb: no colour, and no line of progress"),
    ("GITHUB_ACTIONS", "true: annotations, step summary and outputs as GitHub Actions reads them"),
)


def page(manual: Manual, version: str, date: str) -> str:
    """The page as roff."""
    return "\n".join(_lines(manual, version, date)) + "\n"


def _lines(manual: Manual, version: str, date: str) -> Iterator[str]:
    yield f'.TH TORCHDOCTOR 1 "{date}" "torchdoctor {_text(version)}" "User Commands"'
    yield ".SH NAME"
    yield f"torchdoctor \\- {_text(manual.about[:1].lower() + manual.about[1:].rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield "\\fBtorchdoctor\\fR \\fICOMMAND\\fR [\\fIOPTIONS\\fR]"
    yield ".SH DESCRIPTION"
    yield _text(manual.about)
    yield "It never changes the system, never asks a question, and uses no network unless told to."
    yield ".SH OPTIONS"
    for option in manual.options:
        yield from _argument(option)
    yield ".SH COMMANDS"
    for command in manual.commands:
        yield from _command(command)
    yield ".SH EXIT STATUS"
    for status in " ".join(manual.epilog.split()).removeprefix("exit status: ").split("; "):
        yield from (".TP", *_status(status))
    yield ".SH ENVIRONMENT"
    for name, meaning in ENVIRONMENT:
        yield from (".TP", f"\\fB{_text(name)}\\fR", _text(meaning))
    yield ".SH FILES"
    for name, meaning in _FILES:
        yield from (".TP", f"\\fI{_text(name)}\\fR", _text(meaning))


def _status(status: str) -> tuple[str, str]:
    """The number, and what it means; what the statuses are with an option stands under that option."""
    if status.startswith("with "):
        option, _, meaning = status.removeprefix("with ").partition(" ")
        return f"\\fB{_text(option)}\\fR", _text(meaning)
    number, _, meaning = status.partition(" told " if status.startswith("128") else " ")
    return f"\\fB{_text(number)}\\fR", _text(("told " if number.startswith("128") else "") + meaning)


def _command(command: Command) -> Iterator[str]:
    yield f".SS torchdoctor {_text(command.name)}"
    yield _text(f"{command.about}.")
    for argument in command.positionals:
        yield from _argument(argument)
    for group in command.groups:
        yield from _group(group)


def _group(group: Group) -> Iterator[str]:
    if group.title != "options":
        yield ".PP"
        yield f"\\fI{_text(group.title)}\\fR"
        if group.about:
            yield ".br"
            yield _text(group.about)
    for option in group.options:
        if option.flags != ("-h", "--help"):
            yield from _argument(option)


def _argument(argument: Argument) -> Iterator[str]:
    flags = ", ".join(f"\\fB{_text(flag)}\\fR" for flag in argument.flags)
    value = f"\\fI{_text(argument.metavar)}\\fR" if argument.metavar else ""
    if argument.flags and argument.is_optional and value:
        value = f"[{value}]"
    yield ".TP"
    yield " ".join(filter(None, (flags, value)))
    yield _text(argument.help or argument.metavar)


def _text(text: str) -> str:
    """Text on one line that means nothing to roff."""
    escaped = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{escaped}" if escaped.startswith(".") else escaped
