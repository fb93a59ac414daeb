"""The ``uv pip`` writer: for environments without a pip of their own."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join


def write(plan: Plan, python: Sequence[str], shell: str) -> tuple[str, ...]:
    """Return one command a line; uv takes the interpreter's path, so ``python`` holds that path alone."""
    target = ("--python", python[-1]) if python != ("python",) else ()
    index = ("--index-url", plan.index_url) if plan.index_url else ()
    lines = [join(("uv", "pip", "install", *target, *plan.requirements, *index), shell)]
    if plan.elsewhere:
        lines.append(join(("uv", "pip", "install", *target, *plan.elsewhere), shell))
    return tuple(lines)
