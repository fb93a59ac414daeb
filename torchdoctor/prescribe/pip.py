"""The pip writer: a plan as ``python -m pip install`` lines."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join


def write(plan: Plan, python: Sequence[str], shell: str) -> tuple[str, ...]:
    """Return one command a line; ``python`` is the argument vector that starts the examined interpreter."""
    index = ("--index-url", plan.index_url) if plan.index_url else ()
    lines = [join((*python, "-m", "pip", "install", *plan.requirements, *index), shell)]
    if plan.elsewhere:
        lines.append(join((*python, "-m", "pip", "install", *plan.elsewhere), shell))
    return tuple(lines)
