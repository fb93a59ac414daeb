"""How an install command is to be written: for which tool, shell and interpreter."""

from __future__ import annotations

import ntpath
import posixpath
import re
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.checks.installed import is_from_conda
from torchdoctor.errors import UsageError
from torchdoctor.facts import Facts, is_known, value_or
from torchdoctor.findings import Text
from torchdoctor.patterns import lazily
from torchdoctor.prescribe.shells import join
from torchdoctor.readers.installer_settings import InstallerSettings
from torchdoctor.readers.live_venv import OTHER, OWN
from torchdoctor.which_python import is_local

if TYPE_CHECKING:
    from torchdoctor.prescribe.plan import Plan
    from torchdoctor.readers.project_torch import Kept

VENV = ".venv"
_LEFT_OUT = lazily(r"^~|<[^<>/]*>")  # what redaction puts in the place of a home folder or a name
UNNAMED = ("python",)
# A path that holds a user's name is not in the report; the command that prints it is.
ASK_AGAIN = "torchdoctor install-cmd"
IS_ELSEWHERE = "where the project lies does not show: name its Python by --python PATH, or run torchdoctor there"
IS_LOST = "which conda environment it is does not show: name its Python by --python PATH, or run torchdoctor there"


class Written(NamedTuple):
    """What a writer gives: whole lines for the shell, and lines to be put into a file of the project first."""

    commands: tuple[str, ...] = ()
    file: str = ""
    lines: tuple[str, ...] = ()


class Writing(NamedTuple):
    """``python`` is the argument vector that starts the examined interpreter; an empty one is not in the report.

    ``base`` is set where a virtual environment must be made first, because the distribution manages its own Python
    (PEP 668), in the folder ``venv``; ``override`` where that Python is started by a command, so that none can be made
    beside it; ``bootstrap`` where the Python that is installed into has no pip. An empty ``shell`` or ``tool`` is
    chosen by the host.
    """

    python: Sequence[str] = UNNAMED
    tool: str = ""
    shell: str = ""
    index_base: str = ""
    base: Sequence[str] = ()
    venv: str = VENV
    is_again: bool = False  # ``venv`` is there, made by the same Python: what is in it is not known
    is_other: bool = False  # the usual name is that of an environment of another Python
    override: bool = False
    bootstrap: bool = False
    prefix: str = ""  # the conda environment that the examined interpreter belongs to
    is_lost: bool = False  # its path, or the way to the conda there, is not known
    enter: Sequence[str] = ()  # what starts a program where the interpreter is, if that is another place than this
    apart: bool = False  # conda's packages do not belong where the interpreter is: its base, or none of conda
    taken: frozenset[str] | None = None  # names of conda environments that are there; None: nobody looked
    project: str = ""  # the folder of the project, where it is another than the current one
    kept: Kept | None = None  # what the project's file says of torch; None: nobody read it
    is_unread: bool = False  # a report on a live host: the files of its project were not asked for
    if_needed: bool = False  # where all is right nothing is printed, so that nothing is in the way of it
    image_build: bool = False  # no driver is in sight where the command runs
    variables: tuple[str, ...] = ()  # those that are set, and bear on which place or build pip and uv take
    settings: InstallerSettings = InstallerSettings()  # files that do the same
    asked: bool = False  # the tool was named by the user: no other one is taken in its place

    @property
    def reason(self) -> Text | None:
        """Why the command looks as it does, where that needs saying."""
        if self.base:
            return Text("the distribution manages this Python: packages go into an environment, {venv}", venv=self.venv)
        if self.override:
            return Text("the distribution manages this Python: pip needs --break-system-packages")
        return None

    @property
    def warning(self) -> Text | None:
        """What must be said unasked of the environment that is made: another one has the usual name."""
        if not self.base or self.venv == VENV:
            return None
        text = "{there} is left alone, a new environment is made in {venv}"
        more = ": --python {there} installs into the old one" if self.is_other else ""
        return Text(text + more, there=VENV, venv=self.venv)

    def passing(self, plan: Plan) -> tuple[str, ...]:
        """What must go from an environment that is used again: any that is there would pass for what is wanted."""
        if not self.is_again or not plan.index_url:
            return ()
        return tuple(pin.name for pin in plan.pins if not pin.label)

    @property
    def in_prefix(self) -> tuple[str, ...]:
        """Conda's option for the examined environment; none where the host is only described: it is the active one."""
        if self.is_lost:
            raise UsageError(IS_LOST)
        return ("--prefix", self.prefix) if self.prefix else ()

    @property
    def what_is_lost(self) -> str:
        """What to say where the lines cannot be written from what is known."""
        return IS_ELSEWHERE if "<" in self.project else IS_LOST

    @property
    def in_project(self) -> str:
        """The folder of the project, to be named to its tool; empty where it is the current one."""
        if "<" in self.project:
            raise UsageError(IS_ELSEWHERE)
        return self.project

    def file(self, name: str) -> str:
        """The path of a file of the project."""
        return f"{self.in_project.rstrip('/')}/{name}" if self.in_project else name

    @property
    def asking_again(self) -> str:
        """The command that prints what a report cannot know, for the same Python and tool."""
        is_named = len(self.python) == 1 and tuple(self.python) != UNNAMED
        python = ("--python", self.python[0]) if is_named else ()
        tool = ("--tool", self.tool) if self.asked else ()
        return join((*ASK_AGAIN.split(), *python, *tool), self.shell)

    def for_system(self, os_name: str) -> Writing:
        """With the shell and the tool chosen, where nobody chose them."""
        shell = self.shell or ("powershell" if os_name == "windows" else "posix")
        return self._replace(shell=shell, tool=self.tool or "pip")


CONDAS = {"conda", "mamba"}
# Tools that keep a project in a folder: what they are told depends on what its file says already.
KEEPERS = {"uv-project", "poetry", "pdm", "hatch", "pixi"}


def writing_for(facts: Facts, writing: Writing) -> Writing:
    """Fill in what only the host knows: interpreter, shell, uv where it has no pip, an environment where it must."""
    command, is_told = value_or(facts.python.command, ""), tuple(writing.python) != UNNAMED
    if tuple(writing.python) == UNNAMED and command:
        writing = writing._replace(python=() if "<" in command else tuple(command.split("\n")))
    is_path = len(writing.python) == 1 and _is_here(writing.python[0], value_or(facts.python.executable, ""))
    if not writing.tool and is_path:
        writing = writing._replace(tool=_tool_of(facts))
    if facts.python.externally_managed is True and writing.tool in _INTO_AN_ENVIRONMENT:
        writing = _outside_the_distribution(facts, writing, is_path=is_path)
    if facts.python.has_pip is False and not writing.base:
        takes_uv = is_path and not writing.tool and not _is_of_conda(facts)  # which has ensurepip, and seldom uv
        writing = writing._replace(tool="uv") if takes_uv else writing._replace(bootstrap=True)
    writing = _for_conda(facts, writing, is_path=is_path)
    if writing.tool in KEEPERS and is_path:
        writing = writing._replace(project=_project(facts, writing))
        if "<" in writing.project and not is_told:
            writing = writing._replace(python=())
    if writing.is_lost and not is_told and (writing.tool in CONDAS or is_from_conda(facts)):
        writing = writing._replace(python=())  # a report: install-cmd knows more, or says what to type
    return writing.for_system(value_or(facts.os.name, ""))


def _is_of_conda(facts: Facts) -> bool:
    return value_or(facts.python.environment, "").startswith("conda")


def _project(facts: Facts, writing: Writing) -> str:
    """The project's folder by the path that was typed, as far as it is one: reports leave a user's name out."""
    folder = value_or(facts.place.project_folder, "")
    head, typed = _LEFT_OUT.split(folder)[-1], writing.python[0].replace("\\", "/")
    if folder == head or not head or f"{head}/" not in typed:
        return folder
    return typed[: typed.rindex(f"{head}/")] + head


# Tools that install into the examined environment itself; empty: pip, unless something speaks against it.
_INTO_AN_ENVIRONMENT = {"", "pip", "uv", "requirements"}


def _tool_of(facts: Facts) -> str:
    """The tool that keeps a live host's project, or that owns its torch: what is installed past it does not last."""
    if not is_known(facts.place.project):
        return ""
    environment, builds = value_or(facts.python.environment, ""), facts.place.image_build is True
    is_conda = environment.startswith("conda") and is_from_conda(facts)
    is_bare = environment == "conda-base" and facts.torch.installed is False and not builds
    return value_or(facts.place.project, "") or ("conda" if is_conda or is_bare else "")


def _for_conda(facts: Facts, writing: Writing, *, is_path: bool) -> Writing:
    """Where conda's packages go: a line without a prefix would change whatever environment is active.

    An image has no other environment than conda's base, and its build has nobody who answers a question.
    """
    environment, builds = value_or(facts.python.environment, ""), facts.place.image_build is True
    writing = writing._replace(
        apart=environment in _NOT_CONDAS and not (builds and environment == "conda-base"),
        image_build=builds,
        variables=tuple(name for name in _BEARING if value_or(facts.env.get(name), "")),
    )
    if not environment or not writing.python:
        return writing
    is_elsewhere = not is_path and (len(writing.python) == 1 or not is_local(writing.python))
    enter = tuple(writing.python[:-1]) if is_elsewhere else ()
    is_reached = not is_elsewhere or (enter and posixpath.basename(writing.python[-1]).startswith("python"))
    prefix = _prefix(facts, writing, is_path=is_path) if environment.startswith("conda") else ""
    if is_elsewhere and prefix[:1] == "~":  # which this shell would read as its own user's
        prefix = ""
    needs_prefix = environment.startswith("conda") and is_known(facts.place.project)
    return writing._replace(prefix=prefix, enter=enter, is_lost=not is_reached or (needs_prefix and not prefix))


_BEARING = ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "UV_TORCH_BACKEND", "UV_INDEX_STRATEGY", "UV_FIND_LINKS")
_NOT_CONDAS = {"conda-base", "venv", "system"}


def _prefix(facts: Facts, writing: Writing, *, is_path: bool) -> str:
    """The folder of the environment, by the path that was typed: the one in a report may be without a user's name."""
    path, typed = value_or(facts.python.executable, ""), writing.python[0]
    if is_path and re.search(r"[/\\]", typed):
        path = typed
    if "<" in path:
        return ""
    if facts.os.name == "windows":
        return ntpath.dirname(path)
    folder = posixpath.dirname(path)
    return (posixpath.dirname(folder) or ".") if posixpath.basename(folder) == "bin" else folder


def _is_here(word: str, executable: str) -> bool:
    """Whether a one-word start command is the interpreter itself, not a script that enters another place.

    The interpreter's own path may be told without a user's name, and the word may begin in the current folder.
    """
    word, executable = (path.replace("\\", "/").removesuffix(".exe") for path in (word, executable))
    if "/" not in word or executable in {"", word}:
        return True
    if word[0] == "/" or word[1:2] == ":":
        told = (re.escape(part) for part in _LEFT_OUT.split(executable))
        return re.fullmatch(".+".join(told), word) is not None
    word, tail = re.sub(r"^(?:\.{1,2}/)+", "", word), _LEFT_OUT.split(executable)[-1]
    return executable.endswith(f"/{word}") or (tail != executable and word.endswith(tail))


def _outside_the_distribution(facts: Facts, writing: Writing, *, is_path: bool) -> Writing:
    if not is_path:
        return writing._replace(override=True)
    seen = value_or(facts.python.executable, "")
    base = seen if seen and "<" not in seen else writing.python[0]  # reports hide a user's folder, lines to type do not
    kind = value_or(facts.place.venv, None)
    venv = VENV if kind == OWN else _free(value_or(facts.place.venvs, ()))
    made = writing._replace(is_again=kind == OWN, is_other=kind == OTHER)
    return made._replace(base=(base,), venv=venv, python=(f"{venv}/bin/python",))


def _free(there: Sequence[str]) -> str:
    """The name of an environment that is to be made: one that is there may be of another Python, and hold packages."""
    taken = {ntpath.basename(path.rstrip("/\\")) for path in there}
    return next(name for number in count(1) if (name := VENV if number == 1 else f"{VENV}-{number}") not in taken)
