"""The Dockerfile writer: RUN lines for an image whose ``python`` is the one to install into."""

from __future__ import annotations

from torchdoctor.prescribe.plan import Plan
from torchdoctor.prescribe.shells import join
from torchdoctor.prescribe.writing import UNNAMED, Writing, Written


def write(plan: Plan, _writing: Writing) -> Written:
    """Return the RUN lines; a build sees no GPU, so the build of torch is named and nothing is detected there.

    Whether a distribution manages the Python of this host says nothing of the image.
    """
    pip = (*UNNAMED, "-m", "pip")
    pre = ("--pre",) if plan.pre else ()
    index = ("--index-url", plan.index_url) if plan.index_url else ()
    lines = [(*pip, "install", "--no-cache-dir", *pre, *plan.due(plan.pins), *index)]
    if plan.elsewhere:
        lines.append((*pip, "install", "--no-cache-dir", *plan.due(plan.elsewhere)))
    return Written((), "Dockerfile", tuple("RUN " + join(words, "posix") for words in lines))
