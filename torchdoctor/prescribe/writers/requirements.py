"""The requirements writer: lines of requirements.txt, and pip's command that reads them."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.settled import pip_start
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers.pip import after, before, pip_words
from torchdoctor.prescribe.writing import Writing, Written

_FILE, _ALONE = "requirements.txt", "requirements-torch.txt"


def write(plan: Plan, writing: Writing) -> Written:
    """Return the lines and the commands; what no label pins stands in a file of its own, with its index alone.

    Options of a requirements file hold for all of its lines: with an extra index only a local version label decides
    which wheel is taken, and ``--index-url`` or ``--pre`` would bear on everything else in the file.
    """
    alone = bool(plan.source) and not all(pin.label for pin in plan.pins)
    file = _ALONE if alone else _FILE
    lines = (*before(plan, writing), *_installs(plan, writing, file), *after(plan, writing))
    return Written(tuple(join(words, writing.shell) for words in lines), file, tuple(_lines(plan, alone=alone)))


def _lines(plan: Plan, *, alone: bool) -> Iterator[str]:
    if plan.pre:
        yield "--pre"
    if plan.source:
        yield f"{'--index-url' if alone else '--extra-index-url'} {plan.source.url}"
    yield from (pin.requirement for pin in plan.pins)
    if not alone:
        yield from (pin.requirement for pin in plan.elsewhere)


def _installs(plan: Plan, writing: Writing, file: str) -> Iterator[tuple[str, ...]]:
    env, option = pip_start(plan, writing) if file == _ALONE else ((), ())
    yield (*env, *pip_words(writing, "install", *option), "-r", file)
    if file == _ALONE and plan.elsewhere:
        yield (*pip_words(writing, "install"), *(pin.requirement for pin in plan.elsewhere))
