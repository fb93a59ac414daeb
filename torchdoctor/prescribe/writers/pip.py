"""The pip writer: ``python -m pip install`` lines."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.settled import pip_start
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writing import Writing, Written


def write(plan: Plan, writing: Writing) -> Written:
    """Return one command a line."""
    lines = (*before(plan, writing), *_installs(plan, writing), *after(plan, writing))
    return Written(tuple(join(words, writing.shell) for words in lines))


def pip_words(writing: Writing, verb: str, *options: str) -> tuple[str, ...]:
    """The beginning of one of pip's commands."""
    override = ("--break-system-packages",) if writing.override else ()
    return (*writing.python, "-m", "pip", verb, *options, *override)


def _installs(plan: Plan, writing: Writing) -> Iterator[tuple[str, ...]]:
    if writing.base:  # nothing is there yet
        plan = plan._replace(changes=())
    pre = ("--pre",) if plan.pre else ()
    index = ("--index-url", plan.index_url) if plan.index_url else ()
    if due := plan.due(plan.pins):
        env, option = pip_start(plan, writing)
        yield (*env, *pip_words(writing, "install", *option), *pre, *due, *index)
    if elsewhere := plan.due(plan.elsewhere):
        yield (*pip_words(writing, "install"), *elsewhere)


def before(plan: Plan, writing: Writing) -> Iterator[tuple[str, ...]]:
    """What must be done before pip installs: an environment and pip itself, and what is in the way taken out."""
    if writing.base:
        yield (*writing.base, "-m", "venv", writing.venv)
    if writing.bootstrap:
        yield ensurepip(writing)
    if plan.owners.conda and not writing.base:
        yield conda_removes(writing)
    if remove := writing.passing(plan) if writing.base else plan.remove:
        yield (*pip_words(writing, "uninstall", "-y"), *remove)


def ensurepip(writing: Writing) -> tuple[str, ...]:
    """Pip itself, which comes before anything is taken out: an interpreter without one could put nothing back."""
    return (*writing.python, "-m", "ensurepip", "--upgrade")


def after(plan: Plan, writing: Writing) -> Iterator[tuple[str, ...]]:
    """What nothing needs any more is taken out."""
    if plan.orphans and not writing.base:
        yield (*pip_words(writing, "uninstall", "-y"), *plan.orphans)


def conda_removes(writing: Writing) -> tuple[str, ...]:
    """Conda's own torch, and what needs it, go first: two owners of one folder overwrite each other's files."""
    return (*writing.enter, "conda", "remove", "--yes", *writing.in_prefix, "pytorch")
