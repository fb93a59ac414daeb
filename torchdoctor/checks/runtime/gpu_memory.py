"""GPU memory that ran out, why by the numbers of the message, and the options of the allocator."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.answers import proved
from torchdoctor.checks.registry import check, seen, told, told_by_a_text
from torchdoctor.facts import Facts, is_known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.records import fields
from torchdoctor.tables import Tables

_FINDINGS = ("gpu-memory-held", "out-of-memory")
_GIB = 2**30
_MUCH = 0.3  # of the GPU: what a desktop and a context take is less
_CONTEXT = 1.5 * _GIB  # what a CUDA context and the libraries' own buffers take beside torch's cache


@check("gpu-memory-held", severity="warning", parent="out-of-memory")
def gpu_memory_held(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Other processes hold the memory of the GPU."""
    if not _is_told(facts, tables):
        yield from told_by_a_text(facts, tables)
        return
    total, tried = need(facts.exhausted.total), need(facts.exhausted.tried)
    held = _held_by_others(facts, total)
    if tried <= total and held > _MUCH * total:
        yield Finding(
            summary=Text("Other processes hold {held} of the GPU's {total}", held=_gib(held), total=_gib(total)),
            why=Text("What this program asked for would fit; the memory is taken by others."),
            evidence=_evidence(facts),
            remedies=(
                Remedy(
                    Text("See who holds it, and end what is not needed, or choose another GPU"),
                    commands=("nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv",),
                ),
            ),
        )


@check("out-of-memory", severity="warning", after=("gpu-memory-held",))
def out_of_memory(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The GPU's memory did not suffice."""
    tried, total = value_or(facts.exhausted.tried, 0), value_or(facts.exhausted.total, 0)
    if not tried or not total or not _is_told(facts, tables):
        yield from proved(facts, tables, "out-of-memory")
        return
    why, remedy = _reason(facts, tried, total)
    yield Finding(
        summary=Text("{tried} more did not fit into the GPU's {total}", tried=_gib(tried), total=_gib(total)),
        why=why,
        evidence=_evidence(facts),
        remedies=(remedy,),
        confidence="likely",
    )


def _is_told(facts: Facts, tables: Tables) -> bool:
    """Whether the numbers are those of an error that ended something, not of a quotation or of one got over."""
    known = tables.known_errors
    real = (entry for error in facts.quoted.errors if not error.doubtful and (entry := known.find(error.id)))
    return is_known(facts.exhausted.tried) and any(entry.finding in _FINDINGS for entry in real)


def _reason(facts: Facts, tried: int, total: int) -> tuple[Text, Remedy]:
    """One allocation larger than the GPU, a cache in pieces, or simply too much."""
    reserved, allocated = value_or(facts.exhausted.reserved, 0), value_or(facts.exhausted.allocated, 0)
    loose = max(0, reserved - allocated)
    if tried > total:
        return (
            Text("One allocation alone is larger than the GPU: no other process and no fragmentation matters."),
            Remedy(Text("Look at the shape that asks for it: a smaller batch, sequence or image, or work in pieces")),
        )
    if loose >= tried:
        text = "torch holds {loose} that nothing uses, and no piece of it is large enough: it is fragmented."
        return Text(text, loose=_gib(loose)), Remedy(
            Text("Let the allocator grow its segments (not on Windows or WSL), or vary the sizes less"),
            commands=("export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",),
        )
    return (
        Text("Model, gradients, optimiser and activations together need more than there is."),
        Remedy(
            Text("Take a smaller batch, mixed precision, checkpointing, no_grad where nothing is trained, or more GPU")
        ),
    )


def _held_by_others(facts: Facts, total: int) -> int:
    """Bytes of other processes: as the message tells them, or what neither torch nor the free rest accounts for."""
    others = value_or(facts.exhausted.others, 0)
    if others or not is_known(facts.exhausted.reserved) or not is_known(facts.exhausted.free):
        return others
    rest = total - value_or(facts.exhausted.free, 0) - value_or(facts.exhausted.reserved, 0)
    return int(max(0, rest - _CONTEXT))


def _evidence(facts: Facts) -> tuple[Evidence, ...]:
    sizes = {item.name: getattr(facts.exhausted, item.name) for item in fields(facts.exhausted)}
    return tuple(seen(facts, f"exhausted.{name}", _gib(size)) for name, size in sizes.items() if isinstance(size, int))


def _gib(size: int) -> str:
    return f"{size / _GIB:.2f} GiB" if size >= _GIB else f"{size / 2**20:.0f} MiB"


told(
    __name__,
    "allocator-config-unsupported",
    "This platform refuses an option of the allocator.",
    severity="warning",
    parent="wsl-platform-limit",
)
