"""The Dockerfile writer: RUN lines for an image whose ``python`` is the one to install into."""

from __future__ import annotations

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writing import UNNAMED, Writing, Written


def write(plan: Plan, writing: Writing) -> Written:
    """Return the RUN lines; a build sees no GPU, so the build of torch is named and nothing is detected there."""
    pip = (*UNNAMED, "-m", "pip")
    override = ("--break-system-packages",) if writing.override or writing.base else ()
    pre = ("--pre",) if plan.pre else ()
    index = ("--index-url", plan.index_url) if plan.index_url else ()
    lines = [(*pip, "install", "--no-cache-dir", *override, *pre, *plan.due(plan.pins), *index)]
    if plan.elsewhere:
        lines.append((*pip, "install", "--no-cache-dir", *override, *plan.due(plan.elsewhere)))
    return Written((), "Dockerfile", tuple("RUN " + join(words, "posix") for words in lines))
