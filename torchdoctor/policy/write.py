"""A policy made of what a good host is, for its like: what ``torchdoctor init`` writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from torchdoctor.facts import Facts, Unknown, is_known, value_or
from torchdoctor.policy.gpus import GB, counted, of_nvidia, usable
from torchdoctor.policy.show import written, written_key
from torchdoctor.values import Build

TABLE = "tool.torchdoctor"
_SPECIAL = re.compile(r"[\\.^$*+?{}\[\]|()]")
_RELEASE = re.compile(r"\d+\.\d+(?=\D|$)")


def lines(
    facts: Facts, packages: Iterable[str], floors: Mapping[str, float], *, table: str = "", gpus: bool = True
) -> Iterator[str]:
    """The lines of the policy, as that table of a larger file where one is named; ``gpus``: they are required too."""
    groups: dict[str, dict[str, Any]] = {"require": {}, "bench": dict(floors)}
    for path, value in (*_of_host(facts, gpus=gpus), *_of_packages(facts, packages)):
        groups["require"][path] = value
    for group, values in groups.items():
        if values:
            yield f"[{table}.{group}]" if table else f"[{group}]"
            for path, value in values.items():
                yield f"{written_key(f'require.{path}').removeprefix('require.')} = {written(value)}"


def _of_host(facts: Facts, *, gpus: bool) -> Iterator[tuple[str, Any]]:
    version = value_or(facts.python.version, None) or value_or(facts.python.tag, None)
    yield from _release("python", str(version or ""))
    if facts.torch.installed is not False:
        yield from _release("torch", value_or(facts.torch.full, "") or value_or(facts.torch.version, ""))
    build = facts.torch.build
    if not isinstance(build, Build):
        return
    yield "build", (build.name,)
    if build.backend == "cpu":
        return  # and /dev/shm is as large as the memory of the host makes it: nothing here needs so much
    if gpus:
        yield from _of_gpus(facts, build)
    shm = value_or(facts.memory.shm, 0) // GB
    if shm:
        yield "shm-gb", shm


def _of_gpus(facts: Facts, build: Build) -> Iterator[tuple[str, Any]]:
    driver = value_or(facts.driver.version, None)
    left = usable(facts)  # on which the policy is to hold as well
    gpus = counted(facts) if None in left else tuple(gpu for gpu in left if gpu)
    if driver and build.backend == "cuda" and gpus:
        yield "driver", f">={driver}"
    told = [gpu.compute_capability for gpu in of_nvidia(facts)]
    known = [fact for fact in told if fact is not None and not isinstance(fact, Unknown)]
    if known and len(known) == len(told):
        yield "compute-capability", f">={min(known)}"
    if not left:
        return
    yield "gpus.min", len(left)
    names = list(dict.fromkeys(value_or(gpu.name, "") for gpu in gpus))
    if all(names):
        yield "gpus.name", "|".join(_SPECIAL.sub(r"\\\g<0>", name) for name in names)
    memory = min((value_or(gpu.memory, 0) for gpu in gpus), default=0) // GB
    if memory and None not in left:
        yield "gpus.memory-gb", memory


def _of_packages(facts: Facts, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
    for name in names:
        found = facts.packages.find(name)
        if is_known(found) and found is not None and not isinstance(found, Unknown):
            yield from _release(f"packages.{name}", found.version)


def _release(path: str, version: str) -> Iterator[tuple[str, Any]]:
    """Any patch of the same release."""
    if match := _RELEASE.match(version):
        yield path, f"=={match[0]}.*"
