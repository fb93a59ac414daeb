"""Completion for zsh."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.manual.model import Argument, Command, Manual

_TAIL = """
# Where it is loaded as a function (from a folder of $fpath) it completes; where it is sourced it names itself.
if [ "$funcstack[1]" = "_torchdoctor" ]; then
    _torchdoctor "$@"
else
    compdef _torchdoctor torchdoctor
fi
"""


def completion(manual: Manual) -> str:
    """The script."""
    return "\n".join(_lines(manual)) + "\n" + _TAIL


def _lines(manual: Manual) -> Iterator[str]:
    yield "#compdef torchdoctor"
    yield "# zsh completion for torchdoctor; made by: torchdoctor completion zsh"
    yield ""
    yield "_torchdoctor() {"
    yield "    local context state state_descr line"
    yield "    typeset -A opt_args"
    yield "    local -a commands"
    yield "    commands=("
    for command in manual.commands:
        yield f"        {_quoted(f'{command.name}:{command.about}')}"
    yield "    )"
    yield "    _arguments -C \\"
    for option in manual.options:
        yield from (f"        {spec} \\" for spec in _specs(option))
    yield "        '1: :->command' \\"
    yield "        '*:: :->arguments'"
    yield "    case $state in"
    yield "        command) _describe -t commands command commands ;;"
    yield "        arguments)"
    yield "            case $words[1] in"
    for command in manual.commands:
        yield from _of_command(command)
    yield "            esac"
    yield "            ;;"
    yield "    esac"
    yield "}"


def _of_command(command: Command) -> Iterator[str]:
    specs = [spec for option in command.options for spec in _specs(option)]
    specs += [_quoted(_positional(argument)) for argument in command.positionals]
    yield f"                {command.name})"
    yield "                    _arguments \\"
    yield from (f"                        {spec} \\" for spec in specs[:-1])
    yield f"                        {specs[-1]}"
    yield "                    ;;"


def _specs(option: Argument) -> list[str]:
    """One specification for each flag; the others are not offered once it is given, unless it may be repeated."""
    others = "" if option.is_repeatable else f"({' '.join(option.flags)})"
    star = "*" if option.is_repeatable else ""
    equals = "=" if option.takes_value else ""
    return [
        _quoted(
            f"{others}{star}{flag}{equals if flag.startswith('--') else ''}[{_escaped(option.help)}]{_value(option)}"
        )
        for flag in option.flags
    ]


def _value(option: Argument) -> str:
    if not option.takes_value:
        return ""
    return f"{'::' if option.is_optional else ':'}{_escaped(option.metavar)}:{_action(option)}"


def _positional(argument: Argument) -> str:
    many = "*" if argument.is_repeatable else ""
    return f"{many}{'::' if argument.is_optional and not many else ':'}{_escaped(argument.metavar)}:{_action(argument)}"


def _action(argument: Argument) -> str:
    if argument.kind == "words":
        return f"({' '.join(argument.words)})"
    return {"files": "_files", "folders": "_files -/"}.get(argument.kind, " ")


def _escaped(text: str) -> str:
    """Text in a specification, where brackets and colons mean something."""
    for mark in "\\[]:":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
