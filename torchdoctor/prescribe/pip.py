"""The pip writer: a plan as ``python -m pip install`` lines."""

from __future__ import annotations

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writing import VENV, Writing


def write(plan: Plan, writing: Writing) -> tuple[str, ...]:
    """Return one command a line."""
    start = (*writing.python, "-m", "pip", "install", *(("--break-system-packages",) if writing.override else ()))
    index = ("--index-url", plan.index_url) if plan.index_url else ()
    lines = [(*writing.base, "-m", "venv", VENV)] if writing.base else []
    lines.append((*start, *plan.requirements, *index))
    if plan.elsewhere:
        lines.append((*start, *plan.elsewhere))
    return tuple(join(words, writing.shell) for words in lines)
