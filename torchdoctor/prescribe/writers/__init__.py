"""One module per tool: a plan as that tool's commands, or as the lines of its file."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from torchdoctor.errors import UsageError
from torchdoctor.findings import Text
from torchdoctor.prescribe.choices import TOOLS
from torchdoctor.prescribe.choose import Choice
from torchdoctor.prescribe.plan import ENVIRONMENT, IMAGE, OF_AMD, PROJECT, Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writing import UNNAMED, Writing, Written
from torchdoctor.records import replace
from torchdoctor.tables import Tables

_FOR_AMDS_INDEX = {"pip", "uv", "dockerfile"}
_OF_CONDA = {"conda", "mamba", "pixi"}
OF_PROJECTS = {"uv-project", "poetry", "pdm", "hatch"}


def into(tool: str) -> str:
    """What a tool installs into: an environment as it is, what a project's file names, or an empty image."""
    return PROJECT if tool in OF_PROJECTS else IMAGE if tool == "dockerfile" else ENVIRONMENT


def write(plan: Plan, writing: Writing) -> Written:
    """Write the plan for ``writing.tool``; raise ``UsageError`` where that tool cannot do it, with what to do."""
    if plan.source and plan.source.name == OF_AMD and writing.tool not in _FOR_AMDS_INDEX:
        raise UsageError("AMD's own index, which holds torch alone, is written for pip and uv only: use --tool pip")
    module = import_module(f"torchdoctor.prescribe.writers.{TOOLS[writing.tool]}")
    written: Written = module.write(plan, writing)
    return written


def uninstall_line(names: tuple[str, ...], writing: Writing) -> str:
    """The command that takes packages out of the examined environment; empty for tools that keep a project's list."""
    if writing.tool not in {"pip", "uv", "requirements"} or not writing.python or writing.base:
        return ""
    uv = ("uv", "pip", "uninstall", *(() if tuple(writing.python) == UNNAMED else ("--python", *writing.python)))
    pip = (*writing.python, "-m", "pip", "uninstall", "-y", *(("--break-system-packages",) if writing.override else ()))
    return join((*(uv if writing.tool == "uv" else pip), *names), writing.shell)


def choose_for(writing: Writing, tables: Tables, choose: Callable[[Tables], Choice]) -> tuple[Choice, Writing, Tables]:
    """Choose among what the tool can install: wheels, or conda-forge's packages.

    Where conda-forge has nothing for the host and nobody asked for that tool, pip takes its place.
    """
    if writing.tool in _OF_CONDA:
        of_conda = tables.of_conda()
        choice = choose(of_conda)
        if choice.runs and choice.jetson is None:
            return choice, writing, of_conda
        if writing.asked:
            return _or_pip(choice, tables, choose), writing, of_conda
        writing = writing._replace(tool="pip")
    return choose(tables), writing, tables


def _or_pip(choice: Choice, tables: Tables, choose: Callable[[Tables], Choice]) -> Choice:
    """A refusal of conda-forge's packages, with pip as the change where a wheel runs."""
    if choice.runs or choice.asks or not choose(tables).runs:
        return choice
    return replace(choice, change=Text("use --tool pip"))


def about(tool: str) -> str:
    """What the writer of a tool writes: the head of its module, behind the colon."""
    doc = import_module(f"torchdoctor.prescribe.writers.{TOOLS[tool]}").__doc__ or ""
    return doc.partition("\n")[0].partition(": ")[2].rstrip(".").replace("``", "`")
