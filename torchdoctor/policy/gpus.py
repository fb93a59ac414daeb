"""Which GPUs a policy counts: those of the vendor that the build of torch is for; without one, those of any."""

from __future__ import annotations

from torchdoctor.facts import Facts, Gpu, Unknown, value_or
from torchdoctor.values import Build

GB = 10**9
_VENDORS = frozenset({"nvidia", "amd", "apple"})  # of Intel's only for a build for XPUs
_OF_BACKENDS = {"cuda": {"nvidia"}, "rocm": {"amd"}, "mps": {"apple"}, "xpu": {"intel"}}


def counted(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that count; one of no known vendor may be any."""
    build = facts.torch.build
    vendors = _OF_BACKENDS.get(build.backend, _VENDORS) if isinstance(build, Build) else _VENDORS
    return tuple(gpu for gpu in _known(facts) if isinstance(gpu.vendor, Unknown) or gpu.vendor in vendors)


def of_nvidia(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that have a compute capability."""
    return tuple(gpu for gpu in _known(facts) if value_or(gpu.vendor, "nvidia") == "nvidia")


def _known(facts: Facts) -> tuple[Gpu, ...]:
    return () if isinstance(facts.gpus, Unknown) else facts.gpus or ()
