"""The pip writer: a plan as ``python -m pip install`` lines."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writing import VENV, Writing


def write(plan: Plan, writing: Writing) -> tuple[str, ...]:
    """Return one command a line."""
    return tuple(join(words, writing.shell) for words in _lines(plan, writing))


def _lines(plan: Plan, writing: Writing) -> Iterator[tuple[str, ...]]:
    pip = (*writing.python, "-m", "pip")
    override = ("--break-system-packages",) if writing.override else ()
    index = ("--index-url", plan.index_url) if plan.index_url else ()
    if writing.base:
        yield (*writing.base, "-m", "venv", VENV)
    if writing.bootstrap:
        yield (*writing.python, "-m", "ensurepip", "--upgrade")
    if plan.remove and not writing.base:
        yield (*pip, "uninstall", "-y", *override, *plan.remove)
    yield (*pip, "install", *override, *plan.requirements, *index)
    if plan.elsewhere:
        yield (*pip, "install", *override, *plan.elsewhere)
