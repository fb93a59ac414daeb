"""The PDM writer: a source that serves torch and its companions alone, then ``pdm add``."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.prescribe.plan import Pin, Plan, Source
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers import toml
from torchdoctor.prescribe.writers.standing import gaps, standing
from torchdoctor.prescribe.writing import Writing, Written

_NAME = "pytorch"


def write(plan: Plan, writing: Writing) -> Written:
    """Return the lines of pyproject.toml, where an index must be named, and the command that adds and locks.

    The source has one name whatever the build is: one that stays would be asked first. What is installed of another
    build passes for a pin without a label, though the lock names the right file: all is put in anew.
    """
    lines = tuple(_lines(plan, plan.source)) if plan.source else ()
    pre = ("--prerelease",) if plan.pre else ()
    place = standing(plan, writing)
    wanted = (*(_wanted(pin, writing) for pin in (*plan.pins, *plan.elsewhere)), *plan.helpers)
    folder = ("--project", writing.in_project) if writing.in_project else ()
    passes = any(pin.version and not pin.label and pin.name in plan.remove for pin in plan.pins)
    group = ("--group", place.group) if place.group else ()
    anew = (("pdm", "sync", *folder, *group, "--reinstall"),) if passes else ()
    commands = (("pdm", "add", *folder, *place.options, *pre, *wanted), *anew)
    return Written(
        tuple(join(words, writing.shell) for words in commands), writing.file("pyproject.toml") if lines else "", lines
    )


def _wanted(pin: Pin, writing: Writing) -> str:
    """The requirement, but for Pythons that the project allows and the package excludes: PDM locks for each."""
    found = " and ".join(f"python_full_version != '{gap}'" for gap in gaps((pin,), writing.kept))
    return f"{pin.requirement}; {found}" if found else pin.requirement


def _lines(plan: Plan, source: Source) -> Iterator[str]:
    yield "[[tool.pdm.source]]"
    yield f"name = {toml.text(_NAME)}"
    yield f"url = {toml.text(source.url)}"
    yield f"include_packages = {toml.array([*(pin.name for pin in plan.pins), *plan.helpers])}"
    yield ""
    yield "[tool.pdm.resolution]"
    yield "respect-source-order = true"
