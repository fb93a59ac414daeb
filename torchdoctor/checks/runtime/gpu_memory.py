"""GPU memory that ran out, why by the numbers of the message, and the options of the allocator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from torchdoctor.checks.answers import proved
from torchdoctor.checks.registry import check, seen, told, told_by_a_text
from torchdoctor.checks.shown import lines_of
from torchdoctor.facts import ErrorText, Exhausted, Facts, is_known, need, value_or
from torchdoctor.findings import UNEXPLAINED, Env, Evidence, Finding, Remedy, Text, setting
from torchdoctor.records import fields, record
from torchdoctor.tables import Tables
from torchdoctor.values import Build

_FINDINGS = ("gpu-memory-held", "out-of-memory")
_GIB = 2**30
_MUCH = 0.3  # of the GPU: what a desktop and a context take is less
_GROW = "expandable_segments:True"
_HOLDERS = "nvidia-smi --query-compute-apps=pid,process_name,used_memory --format=csv"
_CONTEXT = 1.5 * _GIB  # what a CUDA context and the libraries' own buffers take beside torch's cache


@record(frozen=True, slots=True)
class _Message:
    """One "out of memory": its numbers, and its line where the numbers are no facts of a recording."""

    memory: Exhausted
    error: ErrorText | None = None


@check("gpu-memory-held", severity="warning", parent="out-of-memory")
def gpu_memory_held(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Other processes hold the memory of the GPU."""
    messages = _messages(facts, tables)
    if not messages:
        yield from told_by_a_text(facts, tables)
        return
    if not any(is_known(one.memory.total) for one in messages):
        need(messages[0].memory.total)
    held = [one for one in messages if _is_held(one.memory)]
    if held:
        first = held[0].memory
        yield Finding(
            summary=Text(
                "Other processes hold {held} of the GPU's {total}",
                held=_gib(_held_by_others(first)),
                total=_gib(need(first.total)),
            ),
            why=Text("What this program asked for would fit; the memory is taken by others."),
            evidence=_evidence(facts, held),
            remedies=(
                Remedy(
                    Text("See who holds it, and end what is not needed, or choose another GPU"),
                    commands=("rocm-smi --showpids" if _is_rocm(facts) else _HOLDERS,),
                ),
            ),
        )


@check("out-of-memory", severity="warning", after=("wsl-platform-limit", "gpu-memory-held"))
def out_of_memory(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The GPU's memory did not suffice."""
    messages = [one for one in _messages(facts, tables) if value_or(one.memory.tried, 0) and _total(one.memory)]
    if not messages:
        yield from proved(facts, tables, "out-of-memory")
        return
    own = [one for one in messages if not _is_held(one.memory)]
    for alike in _by_reason(facts, own) if own else (messages,):
        memory = alike[0].memory
        why, remedy = _reason(facts, memory)
        yield Finding(
            summary=Text(
                "{tried} more did not fit into the GPU's {total}",
                tried=_gib(need(memory.tried)),
                total=_gib(_total(memory)),
            ),
            why=why,
            evidence=_evidence(facts, alike),
            remedies=(remedy,),
            confidence="likely",
            explained_by=UNEXPLAINED if own else None,
        )


def _messages(facts: Facts, tables: Tables) -> list[_Message]:
    """The messages of errors that ended something, not of a quotation or of one got over."""
    real = [error for error in facts.quoted.errors if not error.doubtful]
    real = [one for one in real if (entry := tables.known_errors.find(one.id)) and entry.finding in _FINDINGS]
    messages = [_Message(error.memory, error) for error in real if error.memory]
    return messages or [_Message(facts.exhausted) for _ in real[:1] if is_known(facts.exhausted.tried)]


def _by_reason(facts: Facts, messages: Sequence[_Message]) -> Iterable[list[_Message]]:
    """The messages, those of one reason together."""
    groups: dict[str, list[_Message]] = {}
    for one in messages:
        groups.setdefault(_reason(facts, one.memory)[0].template, []).append(one)
    return groups.values()


def _total(memory: Exhausted) -> int:
    return value_or(memory.total, 0) or 0


def _is_held(memory: Exhausted) -> bool:
    total = _total(memory)
    return 0 < value_or(memory.tried, 0) <= total and _held_by_others(memory) > _MUCH * total


def _reason(facts: Facts, memory: Exhausted) -> tuple[Text, Remedy]:
    """One allocation larger than the GPU, a cache in pieces, or simply too much."""
    tried, reserved, allocated = need(memory.tried), value_or(memory.reserved, 0), value_or(memory.allocated, 0)
    loose = max(0, reserved - allocated)
    if tried > _total(memory):
        return (
            Text("One allocation alone is larger than the GPU: no other process and no fragmentation matters."),
            Remedy(Text("Look at the shape that asks for it: a smaller batch, sequence or image, or work in pieces")),
        )
    if loose >= tried:
        text = "torch holds {loose} that nothing uses, and no piece of it is large enough: it is fragmented."
        return Text(text, loose=_gib(loose)), Remedy(
            Text("Let the allocator grow its segments (not on Windows or WSL), or vary the sizes less"),
            commands=_let_grow(facts),
        )
    return (
        Text("Model, gradients, optimiser and activations together need more than there is."),
        Remedy(
            Text("Take a smaller batch, mixed precision, checkpointing, no_grad where nothing is trained, or more GPU")
        ),
    )


def _let_grow(facts: Facts) -> tuple[Env, ...]:
    """The allocator's variable, which has a name of its own in a ROCm build; nothing where segments cannot grow."""
    if facts.os.name == "windows" or value_or(facts.place.wsl, None):
        return ()
    return (setting(PYTORCH_HIP_ALLOC_CONF=_GROW) if _is_rocm(facts) else setting(PYTORCH_CUDA_ALLOC_CONF=_GROW),)


def _is_rocm(facts: Facts) -> bool:
    """Whether torch computes on AMD GPUs: its build tells, else the GPUs that are known, else the error's name."""
    if isinstance(facts.torch.build, Build):
        return facts.torch.build.backend == "rocm"
    vendors = {value_or(gpu.vendor, "") for gpu in value_or(facts.gpus, ()) or ()}
    return vendors == {"amd"} or any(error.id.startswith("hip-") for error in facts.quoted.errors)


def _held_by_others(memory: Exhausted) -> int:
    """Bytes of other processes: as the message tells them, or what neither torch nor the free rest accounts for."""
    others = value_or(memory.others, 0)
    if others or not is_known(memory.reserved) or not is_known(memory.free):
        return others
    rest = _total(memory) - value_or(memory.free, 0) - value_or(memory.reserved, 0)
    return int(max(0, rest - _CONTEXT))


def _evidence(facts: Facts, messages: Sequence[_Message]) -> tuple[Evidence, ...]:
    """The numbers of the first message, and the line of every one."""
    memory, error = messages[0].memory, messages[0].error
    sizes = {item.name: getattr(memory, item.name) for item in fields(memory)}
    at = error.source if error else ""
    numbers = (
        seen(facts, f"exhausted.{name}", _gib(size), at) for name, size in sizes.items() if isinstance(size, int)
    )
    return (*numbers, *lines_of([one.error for one in messages if one.error]))


def _gib(size: int) -> str:
    return f"{size / _GIB:.2f} GiB" if size >= _GIB else f"{size / 2**20:.0f} MiB"


told(
    __name__,
    "allocator-config-unsupported",
    "This platform refuses an option of the allocator.",
    severity="warning",
    parent="wsl-platform-limit",
)
