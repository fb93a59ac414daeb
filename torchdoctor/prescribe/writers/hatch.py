"""The Hatch writer: pins and the index in the default environment's table; hatch installs with pip or uv."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writers import toml
from torchdoctor.prescribe.writing import Writing, Written


def write(plan: Plan, writing: Writing) -> Written:
    """Return the lines of pyproject.toml and a command that makes hatch install them.

    The index is an extra one, so that the project's other packages still come from PyPI: the label in the pin decides.
    Where a pin has none, one of another build passes for it: the environment is made anew. Hatch has no option for the
    project's folder: the shell goes there.
    """
    if plan.source and any(not pin.version for pin in plan.pins):
        raise UsageError(
            "Hatch cannot keep an index to torch alone, and this build has no label to pin: use --tool pip"
        )
    command = join(("hatch", "run", "python", "-c", "import torch; print(torch.__version__)"), writing.shell)
    is_passed = plan.source is not None and not all(pin.label for pin in plan.pins)
    first = ("hatch env remove default",) if is_passed else ()
    return Written((*_to(writing), *first, command), writing.file("pyproject.toml"), tuple(_lines(plan)))


def _to(writing: Writing) -> tuple[str, ...]:
    if not writing.in_project:
        return ()
    return (join(("cd", *(("/d",) if writing.shell == "cmd" else ()), writing.in_project), writing.shell),)


def _lines(plan: Plan) -> Iterator[str]:
    yield "[tool.hatch.envs.default]"
    yield f"extra-dependencies = {toml.array([pin.requirement for pin in (*plan.pins, *plan.elsewhere)])}"
    if plan.source:
        yield ""
        yield "[tool.hatch.envs.default.env-vars]"
        yield f"PIP_EXTRA_INDEX_URL = {toml.text(plan.source.url)}"
        yield f"UV_INDEX = {toml.text(plan.source.url)}"
        yield 'UV_INDEX_STRATEGY = "unsafe-best-match"'
