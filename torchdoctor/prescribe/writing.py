"""How an install command is to be written: for which tool, shell and interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torchdoctor.facts import Facts, value_or
from torchdoctor.findings import Text

VENV = ".venv"
UNNAMED = ("python",)
# A path that holds a user's name is not in the report; the command that prints it is.
ASK_AGAIN = "torchdoctor install-cmd"


class Writing(NamedTuple):
    """``python`` is the argument vector that starts the examined interpreter; an empty one is not in the report.

    ``base`` is set where a virtual environment must be made first, because the distribution manages its own Python
    (PEP 668); ``override`` where that Python is started by a command, so that none can be made beside it;
    ``bootstrap`` where such a Python has no pip. An empty ``shell`` or ``tool`` is chosen by the host.
    """

    python: Sequence[str] = UNNAMED
    tool: str = ""
    shell: str = ""
    index_base: str = ""
    base: Sequence[str] = ()
    override: bool = False
    bootstrap: bool = False

    @property
    def reason(self) -> Text | None:
        """Why the command looks as it does, where that needs saying."""
        if self.base:
            return Text("the distribution manages this Python: packages go into an environment, {venv}", venv=VENV)
        if self.override:
            return Text("the distribution manages this Python: pip needs --break-system-packages")
        return None

    def for_system(self, os_name: str) -> Writing:
        """With the shell and the tool chosen, where nobody chose them."""
        shell = self.shell or ("powershell" if os_name == "windows" else "posix")
        return self._replace(shell=shell, tool=self.tool or "pip")


def writing_for(facts: Facts, writing: Writing) -> Writing:
    """Fill in what only the host knows: interpreter, shell, uv where it has no pip, an environment where it must."""
    command = value_or(facts.python.command, "")
    if tuple(writing.python) == UNNAMED and command:
        writing = writing._replace(python=() if "<" in command else tuple(command.split("\n")))
    is_path = len(writing.python) == 1 and _is_here(writing.python[0], value_or(facts.python.executable, ""))
    if facts.python.externally_managed is True:
        writing = _outside_the_distribution(facts, writing, is_path=is_path)
    if facts.python.has_pip is False and not writing.base and not writing.tool:
        writing = writing._replace(tool="uv") if is_path else writing._replace(bootstrap=True)
    return writing.for_system(value_or(facts.os.name, ""))


def _is_here(word: str, executable: str) -> bool:
    """Whether a one-word start command is the interpreter itself, not a script that enters another place."""
    return "/" not in word.replace("\\", "/") or word == executable or not executable


def _outside_the_distribution(facts: Facts, writing: Writing, *, is_path: bool) -> Writing:
    if not is_path:
        return writing._replace(override=True)
    base = value_or(facts.python.executable, "") or writing.python[0]
    return writing._replace(base=(base,), python=(f"{VENV}/bin/python",))
