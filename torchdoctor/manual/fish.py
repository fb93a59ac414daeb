"""Completion for fish."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.manual.model import Argument, Command, Manual


def completion(manual: Manual) -> str:
    """The script."""
    return "\n".join(_lines(manual)) + "\n"


def _lines(manual: Manual) -> Iterator[str]:
    yield "# fish completion for torchdoctor; made by: torchdoctor completion fish"
    yield "complete -c torchdoctor -f"
    for option in manual.options:
        yield f"complete -c torchdoctor -n __fish_use_subcommand{_flags(option)} -d {_quoted(option.help)}"
    for command in manual.commands:
        yield f"complete -c torchdoctor -n __fish_use_subcommand -a {command.name} -d {_quoted(command.about)}"
    for command in manual.commands:
        yield from _of_command(command)


def _of_command(command: Command) -> Iterator[str]:
    start = f"complete -c torchdoctor -n '__fish_seen_subcommand_from {command.name}'"
    for option in command.options:
        yield f"{start}{_flags(option)}{_value(option)} -d {_quoted(option.help)}"
    for argument in command.positionals[:1]:
        yield f"{start}{_value(argument)} -d {_quoted(argument.help)}"


def _flags(option: Argument) -> str:
    return "".join(f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}" for flag in option.flags)


def _value(argument: Argument) -> str:
    required = " -r" if argument.flags and not argument.is_optional else ""
    if argument.kind == "words":
        return f"{required} -f -a {_quoted(' '.join(argument.words))}"
    if argument.kind in ("files", "folders"):
        return f"{required} -F" if argument.kind == "files" else f"{required} -f -a '(__fish_complete_directories)'"
    return f"{required} -f" if argument.takes_value else ""


def _quoted(text: str) -> str:
    return "'" + " ".join(text.split()).replace("\\", "\\\\").replace("'", "\\'") + "'"
