"""The conda and mamba writer: conda-forge alone, the CUDA version pinned so that the solver takes the chosen build."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from torchdoctor.errors import UsageError
from torchdoctor.findings import Text
from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers.pip import ensurepip
from torchdoctor.prescribe.writing import Writing, Written


def write(plan: Plan, writing: Writing) -> Written:
    """Return one command; conda's base environment and one of another kind are left alone: a new one is made.

    Making one is not agreed to beforehand: where the name were in use after all, conda would delete that environment.
    Without a driver in sight conda takes the build for the CPU in silence: in an image build it is told of one.
    """
    if plan.row is None:
        raise UsageError("conda-forge has no torch for a Jetson before JetPack 7: use --tool pip")
    prefix = writing.in_prefix  # or an error: a new environment is made by the conda there, too
    lines = [tuple(_words(plan, writing, prefix))]
    if plan.owners.pip and not writing.apart:
        pip = (*writing.python, "-m", "pip", "uninstall", "-y", *plan.owners.pip, *plan.remove)
        lines = [*((ensurepip(writing),) if writing.bootstrap else ()), pip, *lines]
    return Written(tuple(join(words, writing.shell) for words in lines))


def _words(plan: Plan, writing: Writing, prefix: tuple[str, ...]) -> Iterator[str]:
    cuda = plan.row.cuda if plan.row else None
    yield from writing.enter
    if cuda and writing.image_build and writing.shell == "posix":
        yield from ("env", f"CONDA_OVERRIDE_CUDA={cuda}")
    yield writing.tool
    if writing.apart:
        yield from ("create", "--name", new_environment(plan, writing))
    else:
        yield from ("install", "--yes", *prefix)
    yield from ("--override-channels", "--channel", "conda-forge")
    if writing.apart and plan.python:
        yield f"python={plan.python}"
    yield from specs(plan)


def new_environment(plan: Plan, writing: Writing) -> str:
    """The name of the environment that is made: what it will hold, numbered where that one is there already."""
    row, taken = plan.row, writing.taken or frozenset()
    name = f"torch-{row.torch}-{row.build.name}" if row else "torch"
    return next(free for number in count(1) if (free := name if number == 1 else f"{name}-{number}") not in taken)


def about_new(plan: Plan, writing: Writing) -> Text:
    """That an environment is made, how to enter it, and what to answer where nobody could look whether it is there."""
    command = f"{writing.tool} activate {new_environment(plan, writing)}"
    if writing.taken is not None:
        return Text("{tool} makes a new environment: {command} enters it", tool=writing.tool, command=command)
    text = "{tool} makes a new environment: {command} enters it; if one of that name is there, say no to its removal"
    return Text(text, tool=writing.tool, command=command)


def specs(plan: Plan) -> Iterator[str]:
    """The match specifications: exact torch, its CUDA version, companions as the solver fits them."""
    for pin in plan.pins:
        yield f"{pin.name}={pin.version}" if pin.version else pin.name
    if plan.row and plan.row.cuda:
        yield f"cuda-version={plan.row.cuda}"
