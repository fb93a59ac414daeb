"""Completion for bash 3.2 and newer."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.manual.model import Argument, Command, Manual

_HEAD = """# bash completion for torchdoctor; made by: torchdoctor completion bash

_torchdoctor_words() {
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_torchdoctor_files() {
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY=($(compgen "$1" -- "$cur"))
}

_torchdoctor() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} before="" command="" index
    COMPREPLY=()
    [ "$COMP_CWORD" -gt 1 ] && before=${COMP_WORDS[COMP_CWORD-2]}
    # "=" is a word of its own: --level=quick, --format json=FILE
    if [ "$cur" = "=" ]; then
        before=$prev cur="" prev="="
    fi
    if [ "$prev" = "=" ]; then
        case $before in
            -*) prev=$before ;;
            *) _torchdoctor_files -f; return ;;
        esac
    fi
    for ((index = 1; index < COMP_CWORD; index++)); do
        case ${COMP_WORDS[index]} in
            -*) ;;
            *) command=${COMP_WORDS[index]}; break ;;
        esac
    done
"""
_TAIL = """    esac
}

complete -F _torchdoctor torchdoctor
"""


def completion(manual: Manual) -> str:
    """The script."""
    return _HEAD + "".join(f"    {line}\n" for line in _body(manual)) + _TAIL


def _body(manual: Manual) -> Iterator[str]:
    yield 'case "$command $prev" in'
    for command in manual.commands:
        for option in command.options:
            if option.takes_value:
                pattern = " | ".join(f'"{command.name} {flag}"' for flag in option.flags)
                after = "" if option.is_optional else "; return"
                yield f"    {pattern}) {_offer(option)}{after} ;;"
    yield "esac"
    yield "if [ ${#COMPREPLY[@]} -gt 0 ]; then"
    yield "    return"
    yield "fi"
    yield 'case "$command" in'
    names = " ".join(command.name for command in manual.commands)
    flags = " ".join(flag for option in manual.options for flag in option.flags)
    yield f'    "") _torchdoctor_words "{names} {flags}" ;;'
    for command in manual.commands:
        yield from _of_command(command)


def _of_command(command: Command) -> Iterator[str]:
    flags = " ".join(flag for option in command.options for flag in option.flags)
    yield f"    {command.name})"
    yield '        case "$cur" in'
    yield f'            -*) _torchdoctor_words "{flags}" ;;'
    yield f"            *) {_positional(command)} ;;"
    yield "        esac"
    yield "        ;;"


def _positional(command: Command) -> str:
    return _offer(command.positionals[0]) if command.positionals else ":"


def _offer(argument: Argument) -> str:
    if argument.kind == "words":
        return f'_torchdoctor_words "{" ".join(argument.words)}"'
    return {"files": "_torchdoctor_files -f", "folders": "_torchdoctor_files -d"}.get(argument.kind, ":")
