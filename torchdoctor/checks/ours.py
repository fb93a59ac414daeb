"""Commands of our own in remedies: they ask the same Python again."""

from __future__ import annotations

import shlex

from torchdoctor.facts import Facts, value_or

_NAMED = "named with --python"  # as which_python.py words it


def again(facts: Facts, words: str) -> str:
    """A command of ours, with ``--python`` where the examined Python was named so."""
    command = value_or(facts.python.command, "")
    if not command or value_or(facts.python.chosen_because, "") != _NAMED:
        return f"torchdoctor {words}"
    argv = command.split("\n")
    named = argv[0] if len(argv) == 1 else shlex.join(argv)
    if "<" in command:  # a name was taken out of it
        named = "PATH"
    return f"torchdoctor {words} --python {_quoted(named, is_windows=value_or(facts.os.name, '') == 'windows')}"


def _quoted(word: str, *, is_windows: bool) -> str:
    """One word for a shell; both of Windows take double quotes, and ``~`` stays expandable."""
    if is_windows:
        return f'"{word}"' if " " in word else word
    return f"~/{shlex.quote(word[2:])}" if word.startswith("~/") and " " not in word else shlex.quote(word)
