"""Which GPUs a policy counts: those of the vendor that the build of torch is for, and that this process may use."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.facts import Facts, Gpu, Unknown, value_or
from torchdoctor.values import Build, visible_count

GB = 10**9
UNTOLD = Unknown("which GPUs CUDA_VISIBLE_DEVICES leaves")
_VENDORS = frozenset({"nvidia", "amd", "apple"})  # of Intel's only for a build for XPUs
_OF_BACKENDS = {"cuda": {"nvidia"}, "rocm": {"amd"}, "mps": {"apple"}, "xpu": {"intel"}}
_MASK, _ORDER, _BY_BUS = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "PCI_BUS_ID"
_BY_ID = ("GPU-", "MIG-")  # beginnings of entries that name a GPU whatever its place is


def counted(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that count, hidden ones among them; one of no known vendor may be any."""
    build = facts.torch.build
    vendors = _OF_BACKENDS.get(build.backend, _VENDORS) if isinstance(build, Build) else _VENDORS
    return tuple(gpu for gpu in _known(facts) if isinstance(gpu.vendor, Unknown) or gpu.vendor in vendors)


def usable(facts: Facts) -> tuple[Gpu | None, ...]:
    """Those of them that CUDA_VISIBLE_DEVICES leaves; None for each of which only the number is told, not which one.

    The variable is CUDA's, and the driver's list of GPUs is the same with and without it.
    """
    gpus = counted(facts)
    mask = value_or(facts.env.get(_MASK), None)
    is_set = mask is not None and (mask or facts.env.complete)  # else empty may be unset
    if mask is None or not is_set or not gpus or any(value_or(gpu.vendor, "") != "nvidia" for gpu in gpus):
        return gpus
    left = visible_count(mask, len(gpus))
    if left == len(gpus) or (not left and facts.torch.cuda_available is True):  # of another list than this one
        return gpus
    entries = [entry.strip() for entry in mask.split(",")][:left]
    if any(entry.startswith(_BY_ID) for entry in entries) or not _have_places(facts, gpus):
        return gpus[:left] if _are_alike(gpus) and not any(map(_is_slice, entries)) else (None,) * left
    return tuple(gpus[int(entry)] for entry in entries)


def _have_places(facts: Facts, gpus: Sequence[Gpu]) -> bool:
    """Whether CUDA counts the GPUs as the driver lists them; by itself it puts the fastest one first."""
    return _are_alike(gpus) or value_or(facts.env.get(_ORDER), "") == _BY_BUS


def _are_alike(gpus: Sequence[Gpu]) -> bool:
    return len({(str(gpu.name), str(gpu.memory)) for gpu in gpus}) == 1


def _is_slice(entry: str) -> bool:
    return entry.startswith("MIG-")


def of_nvidia(facts: Facts) -> tuple[Gpu, ...]:
    """The GPUs that have a compute capability."""
    return tuple(gpu for gpu in _known(facts) if value_or(gpu.vendor, "nvidia") == "nvidia")


def _known(facts: Facts) -> tuple[Gpu, ...]:
    return () if isinstance(facts.gpus, Unknown) else facts.gpus or ()
