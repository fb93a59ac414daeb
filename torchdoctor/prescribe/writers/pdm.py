"""The PDM writer: a source that serves torch and its companions alone, then ``pdm add``."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.prescribe.plan import Plan, Source
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers import toml
from torchdoctor.prescribe.writing import Writing, Written

_NAME = "pytorch"


def write(plan: Plan, writing: Writing) -> Written:
    """Return the lines of pyproject.toml, where an index must be named, and the command that adds and locks.

    The source has one name whatever the build is: one that stays would be asked first.
    """
    lines = tuple(_lines(plan, plan.source)) if plan.source else ()
    pre = ("--prerelease",) if plan.pre else ()
    wanted = (*(pin.requirement for pin in (*plan.pins, *plan.elsewhere)), *plan.helpers)
    return Written((join(("pdm", "add", *pre, *wanted), writing.shell),), "pyproject.toml" if lines else "", lines)


def _lines(plan: Plan, source: Source) -> Iterator[str]:
    yield "[[tool.pdm.source]]"
    yield f"name = {toml.text(_NAME)}"
    yield f"url = {toml.text(source.url)}"
    yield f"include_packages = {toml.array([*(pin.name for pin in plan.pins), *plan.helpers])}"
    yield ""
    yield "[tool.pdm.resolution]"
    yield "respect-source-order = true"
