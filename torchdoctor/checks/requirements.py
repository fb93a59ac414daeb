"""Whether the facts are what a policy requires: each requirement holds, does not, or cannot be told."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from torchdoctor.checks.drivers import FULL_DRIVER
from torchdoctor.checks.floors import judged_floor
from torchdoctor.checks.judged import Judged, unknown_in
from torchdoctor.facts import Facts, Gpu, Unknown, is_known, value_or
from torchdoctor.intent import Requirement
from torchdoctor.policy.gpus import GB, UNTOLD, counted, of_nvidia, usable
from torchdoctor.policy.kinds import ANY, capabilities, drivers, pattern
from torchdoctor.values import Build, DriverVersion, GpuArch

_GPUS, _PACKAGES, _FLOORS = "require.gpus.", "require.packages.", "bench."
_LAST_PATCH = ".999"


def judged(facts: Facts) -> Iterator[Judged]:
    """Every requirement, with what is known of it; those of ``gpus`` are one."""
    of_gpus = [item for item in facts.request.requires if item.key.startswith(_GPUS)]
    for item in facts.request.requires:
        if item.key.startswith(_FLOORS):
            yield judged_floor(facts, item)
        elif item.key.startswith(_PACKAGES):
            yield _package(facts, item)
        elif item not in of_gpus:
            yield _RULES[item.key](facts, item)
    if of_gpus:
        yield _gpus(facts, of_gpus)


def undecided(facts: Facts) -> tuple[Judged, ...]:
    """The requirements on facts that are not known."""
    return tuple(item for item in judged(facts) if item.holds is None and item.counts)


def _python(facts: Facts, item: Requirement) -> Judged:
    full, tag = facts.python.version, facts.python.tag
    if not isinstance(full, Unknown) or not is_known(tag) or tag is None:
        return _by(item, "python.version", full, lambda value: _is_in(str(value), item.wanted))
    first = f"{value_or(tag, None)}".rstrip("t")
    answers = {_is_in(text, item.wanted) for text in (f"{first}.0", first + _LAST_PATCH)}
    if len(answers) > 1:
        return unknown_in(item, "python.version", full)
    return _by(item, "python.tag", tag, lambda _: answers == {True})


def _torch(facts: Facts, item: Requirement) -> Judged:
    installed = facts.torch.installed is False
    version = None if installed else facts.torch.full if is_known(facts.torch.full) else facts.torch.version
    return _by(item, "torch.full", version, lambda value: _is_in(str(value), item.wanted))


def _is_in(version: str, wanted: str) -> bool:
    """Whether a version lies in a range; one that says nothing to the standard lies in none."""
    from packaging.specifiers import SpecifierSet
    from packaging.version import InvalidVersion

    try:
        return SpecifierSet(wanted).contains(version, prereleases=True)
    except InvalidVersion:
        return False


def _build(facts: Facts, item: Requirement) -> Judged:
    return _by(item, "torch.build", _build_of(facts), lambda value: str(value) in _words(item))


def _backend(facts: Facts, item: Requirement) -> Judged:
    build = _build_of(facts)
    backend = build.backend if isinstance(build, Build) else build
    return _by(item, "torch.build", backend, lambda value: value in _words(item))


def _build_of(facts: Facts) -> Build | None | Unknown:
    return None if facts.torch.installed is False else facts.torch.build


def _words(item: Requirement) -> list[str]:
    return [word.strip() for word in item.wanted.split(",")]


def _driver(facts: Facts, item: Requirement) -> Judged:
    version, path, range_ = facts.driver.version, "driver.version", drivers(item.wanted)
    if isinstance(version, DriverVersion) and range_.holds(version) is None:
        return unknown_in(item, path, Unknown(FULL_DRIVER))
    return _by(item, path, version, lambda number: range_.holds(number) is True)


def _shm(facts: Facts, item: Requirement) -> Judged:
    size = facts.memory.shm
    if isinstance(size, Unknown):
        return unknown_in(item, "memory.shm", size)
    return Judged(item, (size or 0) / GB >= float(item.wanted), "memory.shm", f"{(size or 0) / GB:.3g}")


def _capability(facts: Facts, item: Requirement) -> Judged:
    path = "gpus[].compute_capability"
    if isinstance(facts.gpus, Unknown):
        return unknown_in(item, path, facts.gpus)
    seen = [gpu.compute_capability for gpu in of_nvidia(facts)]
    told = [fact for fact in seen if fact is not None and not isinstance(fact, Unknown)]
    low = [fact for fact in told if capabilities(item.wanted).holds(fact) is False]
    if low or not seen:
        return Judged(item, False, path, ", ".join(map(str, low)) or "none")
    for missing in (fact for fact in seen if isinstance(fact, Unknown)):
        return unknown_in(item, path, missing)
    return Judged(item, True, path, ", ".join(map(str, told)))


def _package(facts: Facts, item: Requirement) -> Judged:
    name = re.sub(r"[-_.]+", "-", item.key.removeprefix(_PACKAGES)).lower()
    found = facts.packages.find(name)
    version = found.version if found is not None and not isinstance(found, Unknown) else found
    is_in = item.wanted == ANY or (isinstance(version, str) and _is_in(version, item.wanted))
    return _by(item, f"packages.{name}", version, lambda _: is_in)


def _gpus(facts: Facts, items: Sequence[Requirement]) -> Judged:
    """So many GPUs of a name and with so much memory; one that may or may not fit leaves it open."""
    said = {item.key.removeprefix(_GPUS): item.wanted for item in items}
    whole = Requirement("require.gpus", _wanted(said), items[0].source)
    if isinstance(facts.gpus, Unknown):
        return unknown_in(whole, "gpus", facts.gpus)
    least = int(said.get("min", "1"))
    answers = [_fits(gpu, said) if gpu else _any_fits(counted(facts), said) for gpu in usable(facts)]
    if answers.count(True) < least <= sum(answer is not False for answer in answers):
        missing = next(answer for answer in answers if isinstance(answer, Unknown))
        return unknown_in(whole, "gpus", missing)
    return Judged(whole, answers.count(True) >= least, "gpus", _there(facts, said))


def _wanted(said: dict[str, str]) -> str:
    """What is required of the GPUs, as a sentence has it."""
    name = f" named {said['name']}" if "name" in said else ""
    memory = f" of at least {said['memory-gb']} GB" if "memory-gb" in said else ""
    return f">={said.get('min', '1')}{name}{memory}"


def _there(facts: Facts, said: dict[str, str]) -> str:
    """The GPUs that are there, those alike told once, with what is asked of them."""
    fit = counted(facts)
    hidden = len(fit) - len(usable(facts))
    words = Counter(_described(gpu, said, is_used=gpu in fit) for gpu in value_or(facts.gpus, None) or ())
    told = ", ".join(f"{number} {word}" if number > 1 else word for word, number in words.items()) or "none"
    return f"{told} ({hidden} hidden by CUDA_VISIBLE_DEVICES)" if hidden else told


def _described(gpu: Gpu, said: dict[str, str], *, is_used: bool) -> str:
    memory = value_or(gpu.memory, None)
    size = f" of {memory / GB:.3g} GB" if memory and "memory-gb" in said else ""
    return f"{value_or(gpu.name, None) or 'a GPU'}{size}{'' if is_used else ' (not used by this build)'}"


def _fits(gpu: Gpu, said: dict[str, str]) -> bool | Unknown:
    """Whether one GPU has the name and the memory; the fact that is missing where that cannot be told."""
    facts = [(_name(gpu), lambda name: pattern(said["name"]).search(name) is not None)] if "name" in said else []
    tests: list[tuple[object, Callable[..., bool]]] = [*facts]
    if "memory-gb" in said:
        tests.append((gpu.memory, lambda size: size >= float(said["memory-gb"]) * GB))
    answers = [fact if isinstance(fact, Unknown) else fact is not None and test(fact) for fact, test in tests]
    if any(answer is False for answer in answers):
        return False
    return next((answer for answer in answers if isinstance(answer, Unknown)), True)


def _any_fits(gpus: Sequence[Gpu], said: dict[str, str]) -> bool | Unknown:
    """Whether one of these fits, or a part of one, of which it is not told which one it is."""
    answers = [_fits(gpu, said) for gpu in gpus]
    if all(answer is False for answer in answers):
        return False
    return True if all(answer is True for answer in answers) and "memory-gb" not in said else UNTOLD


def _name(gpu: Gpu) -> str | None | Unknown:
    """The GPU's name; that of its architecture, by which a target may describe it, is none."""
    arch, chip = gpu.compute_capability, gpu.gfx
    is_described = (isinstance(arch, GpuArch) and gpu.name == arch.sm) or gpu.name == str(chip)
    return Gpu().name if is_described else gpu.name


def _by(item: Requirement, path: str, fact: object, holds: Callable[..., bool]) -> Judged:
    """Judge by one fact; what is not there is not as it has to be."""
    if isinstance(fact, Unknown):
        return unknown_in(item, path, fact)
    return Judged(item, fact is not None and holds(fact), path, "none" if fact is None else str(fact))


_RULES: dict[str, Callable[[Facts, Requirement], Judged]] = {
    "require.python": _python,
    "require.torch": _torch,
    "require.build": _build,
    "require.backend": _backend,
    "require.driver": _driver,
    "require.compute-capability": _capability,
    "require.shm-gb": _shm,
}
