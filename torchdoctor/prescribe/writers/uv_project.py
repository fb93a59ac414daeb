"""The writer for a uv project: an explicit index and its sources in pyproject.toml, then ``uv add``."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.prescribe.plan import Pin, Plan, Source
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers import toml
from torchdoctor.prescribe.writers.standing import Standing, standing
from torchdoctor.prescribe.writing import Writing, Written

_PLATFORMS = {"linux": "linux", "windows": "win32", "macos": "darwin"}


def write(plan: Plan, writing: Writing) -> Written:
    """Return the lines of pyproject.toml, where an index must be named, and the command that adds and locks.

    Sources bind only direct dependencies: torch's own helpers of ROCm and XPU are added beside it. ``explicit`` keeps
    every other package on PyPI; the marker leaves other systems alone. A development release as the lower bound
    admits nightlies of that package alone.
    """
    lines = tuple(_lines(plan, plan.source)) if plan.source else ()
    newest = (word for pin in plan.pins if not pin.version for word in ("--upgrade-package", pin.name))
    marker = _marker(plan)
    helpers = (f"{name}; {marker}" for name in plan.helpers)  # on no index of another system
    place = standing(plan, writing)
    wanted = (*(_wanted(pin, plan, place) for pin in (*plan.pins, *plan.elsewhere)), *helpers)
    folder = ("--project", writing.in_project) if writing.in_project else ()
    command = join(("uv", "add", *folder, *place.options, *newest, *wanted), writing.shell)
    return Written((command,), writing.file("pyproject.toml") if lines else "", lines)


def _wanted(pin: Pin, plan: Plan, place: Standing) -> str:
    """The requirement, under the marker of the line that it is to take the place of: uv adds a second one else."""
    requirement, marker = pin.public.afresh(pre=plan.pre), place.marker(pin.name)
    return f"{requirement}; {marker}" if marker else requirement


def _lines(plan: Plan, source: Source) -> Iterator[str]:
    yield "[[tool.uv.index]]"
    yield f"name = {toml.text(source.name)}"
    yield f"url = {toml.text(source.url)}"
    yield "explicit = true"
    yield ""
    yield "[tool.uv.sources]"
    for name in (*(pin.name for pin in plan.pins), *plan.helpers):
        yield f"{name} = {toml.inline({'index': source.name, 'marker': _marker(plan)})}"
    yield from (f"# no line for {pin.name}: it comes from PyPI" for pin in plan.elsewhere)  # for one that is there


def _marker(plan: Plan) -> str:
    return f"sys_platform == '{_PLATFORMS[plan.os]}'"
