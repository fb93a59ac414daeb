"""The ``uv pip`` writer: for environments without a pip of their own."""

from __future__ import annotations

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writing import VENV, Writing


def write(plan: Plan, writing: Writing) -> tuple[str, ...]:
    """Return one command a line; uv takes the path of the interpreter it installs into."""
    target = ("--python", writing.python[-1]) if tuple(writing.python) != ("python",) else ()
    start = ("uv", "pip", "install", *target, *(("--break-system-packages",) if writing.override else ()))
    index = ("--index-url", plan.index_url) if plan.index_url else ()
    lines = [("uv", "venv", "--python", writing.base[-1], VENV)] if writing.base else []
    lines.append((*start, *plan.requirements, *index))
    if plan.elsewhere:
        lines.append((*start, *plan.elsewhere))
    return tuple(join(words, writing.shell) for words in lines)
