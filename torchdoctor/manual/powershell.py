"""Completion for PowerShell 5.1 and newer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from torchdoctor.manual.model import Argument, Command, Manual

_TAIL = """
Register-ArgumentCompleter -Native -CommandName torchdoctor -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($wordToComplete) { $words = @($words | Select-Object -SkipLast 1) }
    $command = @($words | Where-Object { -not $_.StartsWith('-') })[0]
    $before = if ($words.Count) { $words[-1] } else { '' }
    $offered = if (-not $command) { $TorchdoctorCommands.Keys }
    elseif ($TorchdoctorValues.Contains("$command $before")) { $TorchdoctorValues["$command $before"] }
    elseif ($wordToComplete.StartsWith('-')) { $TorchdoctorOptions[$command] }
    else { $TorchdoctorValues[$command] }
    $offered | Where-Object { $_ -like "$wordToComplete*" } | ForEach-Object {
        $about = if ($TorchdoctorCommands.Contains($_)) { $TorchdoctorCommands[$_] } else { $_ }
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $about)
    }
}
"""


def completion(manual: Manual) -> str:
    """The script."""
    return "\n".join(_lines(manual)) + "\n" + _TAIL


def _lines(manual: Manual) -> Iterator[str]:
    yield "# PowerShell completion for torchdoctor; made by: torchdoctor completion powershell"
    yield "$TorchdoctorCommands = [ordered]@{"
    yield from (f"    {_quoted(command.name)} = {_quoted(command.about)}" for command in manual.commands)
    yield "}"
    yield "$TorchdoctorOptions = @{"
    for command in manual.commands:
        yield f"    {_quoted(command.name)} = {_array(flag for option in command.options for flag in option.flags)}"
    yield "}"
    yield "# What follows an option, or stands where no option does; file names PowerShell completes itself."
    yield "$TorchdoctorValues = @{"
    for command in manual.commands:
        yield from (f"    {_quoted(key)} = {_array(argument.words)}" for key, argument in _values(command))
    yield "}"


def _values(command: Command) -> Iterator[tuple[str, Argument]]:
    for option in command.options:
        for flag in option.flags if option.kind == "words" else ():
            yield f"{command.name} {flag}", option
    for argument in command.positionals[:1]:
        if argument.kind == "words":
            yield command.name, argument


def _array(words: Iterable[str]) -> str:
    return f"@({', '.join(map(_quoted, words))})"


def _quoted(text: str) -> str:
    return "'" + " ".join(text.split()).replace("'", "''") + "'"
