"""Which GPUs a policy counts: those that some build of torch uses."""

from __future__ import annotations

from torchdoctor.facts import Facts, Gpu, Unknown, value_or
from torchdoctor.values import Build

GB = 10**9
_VENDORS = {"nvidia", "amd", "apple"}  # of Intel's only for a build for XPUs


def counted(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that count; one of no known vendor may be any."""
    build = facts.torch.build
    is_xpu = isinstance(build, Build) and build.backend == "xpu"
    return tuple(gpu for gpu in _known(facts) if is_xpu or value_or(gpu.vendor, "nvidia") in _VENDORS)


def of_nvidia(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that have a compute capability."""
    return tuple(gpu for gpu in _known(facts) if value_or(gpu.vendor, "nvidia") == "nvidia")


def _known(facts: Facts) -> tuple[Gpu, ...]:
    return () if isinstance(facts.gpus, Unknown) else facts.gpus or ()
