"""The ``uv pip`` writer: ``uv pip install`` lines."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.settled import uv_start
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers.pip import conda_removes
from torchdoctor.prescribe.writing import UNNAMED, Writing, Written


def write(plan: Plan, writing: Writing) -> Written:
    """Return one command a line; raise ``UsageError`` for an interpreter that only a command starts."""
    if len(writing.python) != 1:
        raise UsageError("uv takes the path of an interpreter, not a command that starts one: leave --tool uv out")
    return Written(tuple(join(words, writing.shell) for words in _lines(plan, writing)))


def _lines(plan: Plan, writing: Writing) -> Iterator[tuple[str, ...]]:
    if writing.base:  # nothing is there yet
        plan = plan._replace(changes=())
    target = ("--python", writing.python[0]) if tuple(writing.python) != UNNAMED else ()
    override = ("--break-system-packages",) if writing.override else ()
    pre = ("--prerelease", "allow") if plan.pre else ()
    index = ("--index", plan.index_url) if plan.index_url else ()
    if writing.base and not writing.is_again:  # which uv refuses to make once more
        yield ("uv", "venv", "--python", writing.base[-1], writing.venv)
    if plan.owners.conda and not writing.base:
        yield conda_removes(writing)
    if remove := writing.passing(plan) if writing.base else plan.remove:
        yield ("uv", "pip", "uninstall", *target, *override, *remove)
    uv, options = uv_start(plan, writing)
    if due := plan.due(plan.pins):
        yield (*uv, "pip", "install", *target, *override, *pre, *due, *index, *options)
    if elsewhere := plan.due(plan.elsewhere):
        yield (*uv, "pip", "install", *target, *override, *elsewhere)
    if plan.orphans and not writing.base:
        yield ("uv", "pip", "uninstall", *target, *override, *plan.orphans)
