"""One list of GPUs out of several views: what the driver lists, what the PCI bus holds, what a text merely names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchdoctor.facts import Gpu, Unknown, is_known
from torchdoctor.records import fields, replace

View = tuple[Gpu, ...]

_SAME = ("pci_address", "pci_id", "name", "compute_capability")  # what identifies a GPU, surest first


def merge_views(views: Sequence[View], *, driver_absent: bool = False, driver_mute: bool = False) -> View | Unknown:
    """Merge what several readers saw.

    A view whose GPUs are all seen by the driver is the driver's; an empty one beside others is the driver's too.
    A GPU of the bus that no known driver's view shows gets ``driver_sees`` False. ``driver_absent``: no NVIDIA driver
    is loaded. ``driver_mute``: nvidia-smi failed in a way that makes an empty list worthless.
    """
    listed = [view for view in views if view and _is_drivers(view)]
    others = [view for view in views if view and not _is_drivers(view)]
    empty = any(not view for view in views) and not driver_mute
    if not listed and not others:
        return () if empty else Unknown("list of GPUs")
    merged = list(_joined(listed))
    for view in sorted(others, key=_is_named_only):
        merged = _add(merged, view, extends=not _is_named_only(view))
    if driver_absent or empty or _lists_nvidia(listed):
        merged = [_unseen(gpu) if _is_nvidia(gpu) else gpu for gpu in merged]
    return tuple(merged)


def _is_drivers(view: View) -> bool:
    return all(gpu.driver_sees is True for gpu in view)


def _is_named_only(view: View) -> bool:
    return not any(is_known(gpu.pci_address) or is_known(gpu.pci_id) for gpu in view)


def _joined(views: Iterable[View]) -> Iterator[Gpu]:
    """The driver's GPUs: views of one vendor describe the same GPUs, another vendor's stand beside them."""
    merged: list[Gpu] = []
    for view in views:
        merged = _add(merged, view)
    yield from merged


def _add(merged: list[Gpu], view: View, *, extends: bool = True) -> list[Gpu]:
    """Fill in what a further view knows of the same GPUs, and append those it alone knows.

    A view of mere names does not extend a list that has that vendor: people name one GPU in several ways.
    """
    vendors = {gpu.vendor for gpu in merged}
    merged, pairs = list(merged), _pairs(merged, view)
    for place, gpu in enumerate(view):
        partner = pairs.get(place)
        if partner is None and (extends or gpu.vendor not in vendors):
            merged.append(gpu)
        elif partner is not None:
            merged[partner] = filled(merged[partner], gpu)
    return merged


def _pairs(merged: Sequence[Gpu], view: View) -> dict[int, int]:
    """Which GPU of a view is which one we have: by address, id, name, capability; else by order."""
    pairs: dict[int, int] = {}
    for field in _SAME:
        for place, gpu in enumerate(view):
            if place not in pairs:
                partner = _partner(gpu, field, merged, set(pairs.values()))
                if partner is not None:
                    pairs[place] = partner
    for vendor in dict.fromkeys(gpu.vendor for gpu in view if isinstance(gpu.vendor, str)):
        _pair_by_order(vendor, merged, view, pairs)
    return pairs


def _partner(gpu: Gpu, field: str, merged: Sequence[Gpu], used: set[int]) -> int | None:
    value = getattr(gpu, field)
    if value is None or not is_known(value):
        return None
    fitting = [place for place, other in enumerate(merged) if place not in used and _fits(gpu, other)]
    return next((place for place in fitting if _same(getattr(merged[place], field), value)), None)


def _same(left: object, right: object) -> bool:
    return _bare(left) == _bare(right) if isinstance(left, str) and isinstance(right, str) else left == right


def _bare(name: str) -> str:
    return name.lower().removeprefix("nvidia ").removeprefix("geforce ")


def _fits(one: Gpu, other: Gpu) -> bool:
    """Whether nothing known of two GPUs says that they are two."""
    for field in ("pci_address", "pci_id", "compute_capability"):
        left, right = getattr(one, field), getattr(other, field)
        if is_known(left) and is_known(right) and left is not None and right is not None and left != right:
            return False
    return True


def _pair_by_order(vendor: str, merged: Sequence[Gpu], view: View, pairs: dict[int, int]) -> None:
    here = [place for place, gpu in enumerate(view) if gpu.vendor == vendor]
    there = [place for place, gpu in enumerate(merged) if gpu.vendor == vendor]
    free = [place for place in there if place not in pairs.values()]
    waiting = [place for place in here if place not in pairs]
    if len(here) == len(there) and len(free) == len(waiting):
        matches = zip(waiting, free, strict=True)
        pairs.update({place: partner for place, partner in matches if _fits(view[place], merged[partner])})


def filled(gpu: Gpu, other: Gpu) -> Gpu:
    """The first GPU with what only the second knows."""
    names = [field.name for field in fields(Gpu)]
    return replace(
        gpu, **{name: getattr(other, name) for name in names if _adds(getattr(gpu, name), getattr(other, name))}
    )


def _adds(mine: object, theirs: object) -> bool:
    """Whether the other value says more: anything over unknown, a value over none."""
    if not is_known(theirs):
        return False
    return not is_known(mine) or (mine is None and theirs is not None)


def _lists_nvidia(views: Iterable[View]) -> bool:
    return any(_is_nvidia(gpu) for view in views for gpu in view)


def _is_nvidia(gpu: Gpu) -> bool:
    return gpu.vendor == "nvidia"


def _unseen(gpu: Gpu) -> Gpu:
    """A GPU of the bus that the driver's list lacks; one known by name alone may be among those it lists."""
    on_bus = is_known(gpu.pci_address) or is_known(gpu.pci_id) or is_known(gpu.kernel_driver)
    return replace(gpu, driver_sees=False) if on_bus and not is_known(gpu.driver_sees) else gpu
