"""How an install command is to be written: for which tool, shell and interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torchdoctor.facts import Facts, value_or
from torchdoctor.findings import Text

VENV = ".venv"


class Writing(NamedTuple):
    """``python`` is the argument vector that starts the examined interpreter.

    ``base`` is set where a virtual environment must be made first, because the distribution manages its own Python
    (PEP 668); ``override`` where that Python is started by a command, so that none can be made beside it.
    """

    python: Sequence[str] = ("python",)
    tool: str = "pip"
    shell: str = "posix"
    index_base: str = ""
    base: Sequence[str] = ()
    override: bool = False

    @property
    def reason(self) -> Text | None:
        """Why the command looks as it does, where that needs saying."""
        if self.base:
            return Text("the distribution manages this Python: packages go into an environment, {venv}", venv=VENV)
        if self.override:
            return Text("the distribution manages this Python: pip needs --break-system-packages")
        return None


def writing_for(facts: Facts, writing: Writing) -> Writing:
    """Fill in what only the host knows: the interpreter, uv where it has no pip, a new environment."""
    command = value_or(facts.python.command, "")
    if tuple(writing.python) == ("python",) and command and "<" not in command:  # a redacted path must not be printed
        writing = writing._replace(python=tuple(command.split("\n")))
    if facts.python.externally_managed is True:
        writing = _outside_the_distribution(facts, writing)
    if facts.python.has_pip is False and writing.tool == "pip" and not writing.base:
        writing = writing._replace(tool="uv")
    return writing


def _outside_the_distribution(facts: Facts, writing: Writing) -> Writing:
    if tuple(writing.python) != (value_or(facts.python.executable, ""),):
        return writing._replace(override=True)
    return writing._replace(base=tuple(writing.python), python=(f"{VENV}/bin/python",))
