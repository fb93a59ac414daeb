"""What says that there has to be a GPU."""

from __future__ import annotations

from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts
from torchdoctor.findings import Evidence
from torchdoctor.intent import Requirement

_GPUS = "require.gpus."


def gpus_required(facts: Facts) -> tuple[Requirement, ...]:
    """What a policy requires of the GPUs."""
    return tuple(item for item in facts.request.requires if item.key.startswith(_GPUS))


def gpu_wanted(facts: Facts) -> tuple[Evidence, ...]:
    """The requirements on GPUs, else the option, file or variable that asks for any; nothing where none is wanted."""
    request = facts.request
    if not request.require_gpu:
        return ()
    asked = tuple(seen(facts, item.key, item.wanted, item.source) for item in gpus_required(facts))
    return asked or (seen(facts, "request.require_gpu", value=True, at=request.gpu_from or "--require-gpu"),)
