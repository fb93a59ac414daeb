"""Forward compatibility: a libcuda of a newer driver that an older kernel driver borrows."""

from __future__ import annotations

from torchdoctor.checks.drivers import branches_of, label
from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts, Gpu, value_or
from torchdoctor.findings import Evidence
from torchdoctor.tables import Tables

CONSUMER_SEGMENTS = ("GeForce", "TITAN")  # beginnings of gpu_models' segments that compat libraries refuse
COMPAT_FOLDER = "/compat/"


def compat_sign(facts: Facts, tables: Tables) -> Evidence | None:
    """Return what shows that a compat libcuda is in effect: its path, or a CUDA version above the branch's own."""
    path = value_or(facts.driver.libcuda, "")
    if COMPAT_FOLDER in path:
        return seen(facts, "driver.libcuda", path)
    shown, version = value_or(facts.driver.cuda_shown, None), value_or(facts.driver.version, None)
    branches = branches_of(facts, tables, version) if version else ()
    if shown is not None and branches and all(shown > branch.cuda for branch in branches):
        return seen(facts, "driver.cuda_shown", shown)
    return None


def accepts_compat(gpu: Gpu, tables: Tables) -> bool:
    """Whether a compat library may run on this GPU; unknown models get the benefit of the doubt."""
    model = tables.gpu_models.by_name(label(gpu))
    return model is None or not model.segment.startswith(CONSUMER_SEGMENTS)
