"""The ``uv pip`` writer: for environments without a pip of their own."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writing import UNNAMED, VENV, Writing


def write(plan: Plan, writing: Writing) -> tuple[str, ...]:
    """Return one command a line; raise ``ValueError`` for an interpreter that only a command starts."""
    if len(writing.python) != 1:
        raise ValueError("uv takes the path of an interpreter, not a command that starts one: leave --tool uv out")
    return tuple(join(words, writing.shell) for words in _lines(plan, writing))


def _lines(plan: Plan, writing: Writing) -> Iterator[tuple[str, ...]]:
    target = ("--python", writing.python[0]) if tuple(writing.python) != UNNAMED else ()
    override = ("--break-system-packages",) if writing.override else ()
    index = ("--index-url", plan.index_url) if plan.index_url else ()
    if writing.base:
        yield ("uv", "venv", "--python", writing.base[-1], VENV)
    if plan.remove and not writing.base:
        yield ("uv", "pip", "uninstall", *target, *override, *plan.remove)
    yield ("uv", "pip", "install", *target, *override, *plan.requirements, *index)
    if plan.elsewhere:
        yield ("uv", "pip", "install", *target, *override, *plan.elsewhere)
