"""Whether a pasted text can be of this host: where the two contradict each other, their facts must not be joined."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.facts import Facts, value_or


def contradiction(pasted: Facts, here: Facts) -> str:
    """The first thing in which a text and the host that was asked cannot both be right, or nothing."""
    return next(_contradictions(pasted, here), "")


def _contradictions(pasted: Facts, here: Facts) -> Iterator[str]:
    told, seen = value_or(pasted.os.name, ""), value_or(here.os.name, "")
    if told and seen and told != seen:
        yield f"it speaks of {told} and this is {seen}"
    told, seen = value_or(pasted.os.machine, ""), value_or(here.os.machine, "")
    if told and seen and told != seen:
        yield f"it speaks of {told} and this is {seen}"
    gpus = value_or(pasted.gpus, ())
    if here.gpus == () and (gpus or pasted.torch.cuda_available is True):
        yield f"it speaks of {value_or(gpus[0].name, 'a GPU') if gpus else 'a GPU'} and this host has none"
    names = {value_or(gpu.name, "") for gpu in value_or(here.gpus, ())}
    other = next((name for gpu in gpus if (name := value_or(gpu.name, "")) and name not in names), "")
    if other and names - {""} and not any(_same(other, name) for name in names):
        yield f"it speaks of {other} and this host has {', '.join(sorted(names - {''}))}"


def _same(one: str, other: str) -> bool:
    """Whether two names may be of one GPU: people leave out the vendor and the family."""
    return one.casefold() in other.casefold() or other.casefold() in one.casefold()
