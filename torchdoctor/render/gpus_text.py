"""The GPUs of the host as a small table; equal ones share a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.facts import Facts, Gpu, value_or
from torchdoctor.render.line import Line
from torchdoctor.render.look import Look, Row, table

_HEADS = ("GPU", "name", "code", "memory", "in use", "state")
_GIB = 2**30


def gpu_lines(facts: Facts, look: Look) -> Iterator[Line]:
    """What is known of each beyond its name; nothing where that is all."""
    groups: dict[tuple[object, ...], list[int]] = {}
    gpus = value_or(facts.gpus, ())
    for place, gpu in enumerate(gpus):
        groups.setdefault((*_cells(gpu), _share(gpu)), []).append(place)
    rows = [_row(places, gpus[places[0]]) for places in groups.values()]
    if any(cell for row in rows for cell in row.cells[2:]):
        yield Line("")
        yield from table(_HEADS, rows, look)


def _row(places: Sequence[int], gpu: Gpu) -> Row:
    cells = (_numbers(places), *_cells(gpu))
    name, code, memory, used, state = _cells(gpu)
    told = (name, code, memory, f"{used} in use" if used else "", state)
    sentence = f"GPU {cells[0]}: {', '.join(filter(None, told))}"
    return Row(cells, sentence, _share(gpu), style="warning" if state else "")


def _numbers(places: Sequence[int]) -> str:
    first, last = places[0], places[-1]
    if len(places) > 1 and last - first == len(places) - 1:
        return f"{first}-{last}"
    return ", ".join(map(str, places))


def _cells(gpu: Gpu) -> tuple[str, ...]:
    arch, gfx = value_or(gpu.compute_capability, None), value_or(gpu.gfx, None)
    used = _used(gpu)
    mig = value_or(gpu.mig, "")
    return (
        value_or(gpu.name, "") or value_or(gpu.vendor, ""),
        arch.sm if arch else str(gfx or ""),
        _gib(value_or(gpu.memory, 0)),
        _gib(used) if used is not None else "",
        value_or(gpu.sick, "") or (f"MIG {mig}" if mig not in {"", "disabled"} else ""),
    )


def _used(gpu: Gpu) -> int | None:
    total, free = value_or(gpu.memory, 0), value_or(gpu.memory_free, -1)
    return total - free if total and 0 <= free <= total else None


def _share(gpu: Gpu) -> float | None:
    """Of the memory that is in use."""
    used = _used(gpu)
    return None if used is None else used / value_or(gpu.memory, 1)


def _gib(size: int) -> str:
    return f"{size / _GIB:.1f} GiB" if size else ""
