"""The Poetry writer: an explicit source, and torch from it."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.prescribe.plan import Pin, Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers.standing import Standing, gaps, standing
from torchdoctor.prescribe.writing import Writing, Written
from torchdoctor.readers.project_torch import EXTRA, GROUP


def write(plan: Plan, writing: Writing) -> Written:
    """Return one command a line; Poetry itself edits pyproject.toml, locks and installs.

    A bare name is skipped where the project has it already; ``@latest`` is not. What comes from PyPI is a second
    addition, after torch: where the project pins a release that loads with the torch before alone, that pin must give
    way first. A source that the project names stays through an addition: such a line is taken out first.
    """
    return Written(tuple(join(words, writing.shell) for words in _lines(plan, writing)))


def _lines(plan: Plan, writing: Writing) -> Iterator[tuple[str, ...]]:
    poetry = ("poetry", *(("--directory", writing.in_project) if writing.in_project else ()))
    place = standing(plan, writing)
    pre = ("--allow-prereleases",) if plan.pre else ()
    pins = tuple(pin.requirement if pin.constraint else f"{pin.name}@latest" for pin in plan.pins)
    yield from _make_way(plan, writing, place, poetry)
    if plan.source:
        yield (*poetry, "source", "add", "--priority=explicit", plan.source.name, plan.source.url)
        source = ("--source", plan.source.name)
        yield (*poetry, "add", *place.options, *_python(plan.pins, writing), *pre, *source, *pins, *plan.helpers)
    else:
        yield (*poetry, "add", *place.options, *_python(plan.pins, writing), *pre, *pins)
    if plan.elsewhere:
        elsewhere = (pin.requirement for pin in plan.elsewhere)
        yield (*poetry, "add", *place.options, *_python(plan.elsewhere, writing), *elsewhere)
    if place.kind == EXTRA:  # an addition locks it and leaves it out
        yield (*poetry, "install", "--extras", place.group)


def _make_way(plan: Plan, writing: Writing, place: Standing, poetry: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """What the project says for another build, and no addition would take back."""
    of_pypi = plan.elsewhere if plan.source else (*plan.pins, *plan.elsewhere)
    stale = [pin.name for pin in of_pypi if pin.name in place.lines and place.lines[pin.name].source]
    if stale:
        group = ("--group", place.group) if place.kind == GROUP else ()
        yield (*poetry, "remove", "--lock", *group, *stale)
    stays = [pin.name for pin in plan.elsewhere if pin.name not in stale]
    loosen = [f"{name}>=0" for name in stays if writing.kept is None or name in place.lines]
    if loosen:
        yield (*poetry, "add", "--lock", *place.options, *_python(plan.elsewhere, writing), *loosen)


def _python(pins: tuple[Pin, ...], writing: Writing) -> tuple[str, ...]:
    """The option that leaves out Pythons that the project allows and a package excludes: all must lock for each."""
    found = gaps(pins, writing.kept)
    return ("--python", ",".join(f"!={gap}" for gap in found)) if found else ()
