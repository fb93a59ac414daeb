"""The Poetry writer: an explicit source, and torch from it."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writing import Writing, Written


def write(plan: Plan, writing: Writing) -> Written:
    """Return one command a line; Poetry itself edits pyproject.toml, locks and installs.

    A bare name is skipped where the project has it already; ``@latest`` is not. What comes from PyPI is a second
    addition, after torch: where the project pins a release that loads with the torch before alone, that pin must give
    way first.
    """
    return Written(tuple(join(words, writing.shell) for words in _lines(plan, writing)))


def _lines(plan: Plan, writing: Writing) -> Iterator[tuple[str, ...]]:
    poetry = ("poetry", *(("--directory", writing.in_project) if writing.in_project else ()))
    pre = ("--allow-prereleases",) if plan.pre else ()
    pins = tuple(pin.requirement if pin.constraint else f"{pin.name}@latest" for pin in plan.pins)
    if plan.elsewhere:
        yield (*poetry, "add", "--lock", *(f"{pin.name}>=0" for pin in plan.elsewhere))
    if plan.source:
        yield (*poetry, "source", "add", "--priority=explicit", plan.source.name, plan.source.url)
        yield (*poetry, "add", *pre, "--source", plan.source.name, *pins, *plan.helpers)
    else:
        yield (*poetry, "add", *pre, *pins)
    if plan.elsewhere:
        yield (*poetry, "add", *(pin.requirement for pin in plan.elsewhere))
