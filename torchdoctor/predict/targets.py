"""A host for which a prediction is wanted: what its description says, and nothing besides."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchdoctor.facts import Cpu, Unknown
from torchdoctor.prescribe.described import DescriptionError, describe
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.records import replace
from torchdoctor.tables import Tables

# The host options' names and those of a batch line, as one.
_ALIASES = {"python_version": "python", "gpu": "gpus", "id": "name"}
_OF_HOSTS = ("os", "machine", "os_version", "libc", "wsl", "jetpack", "driver", "gpus", "cpu", "count")
# What a batch line may say of a host and what is examined brings along itself.
BROUGHT = ("python", "torch")
KEYS = ("name", *_OF_HOSTS, *BROUGHT)
_MOST_GPUS = 64
_FLAG = re.compile(r"[a-z0-9][a-z0-9_.-]{1,30}")
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Target(NamedTuple):
    """One host by name; ``host`` and ``cpu`` hold what was said of it, ``said`` the words it was said in."""

    name: str
    host: Host
    said: Mapping[str, str]
    cpu: frozenset[str] | Unknown = Cpu().flags  # type: ignore[assignment]  # the default of that fact is unknown

    @property
    def key(self) -> tuple[object, ...]:
        """What two targets of which the same is predicted have in common."""
        return (self.host, self.cpu)


def target_of(given: Mapping[str, Any], tables: Tables) -> Target:
    """Read a description; raise ``DescriptionError`` with what was seen and what to type."""
    given = {_key(key): value for key, value in given.items()}
    said = {_spelt(key): _words(value) for key, value in given.items() if key in _OF_HOSTS}
    name = _name(given.pop("name", None)) or " ".join(f"{key}={value}" for key, value in said.items())
    if not said:
        raise DescriptionError(f"nothing is said of {name or 'the host'} (as driver=535.183 gpu=T4)")
    cpu, count = given.pop("cpu", None), given.pop("count", None)
    libc = describe({"os": "linux", "libc": given.pop("libc")}, tables).libc if "libc" in given else Host().libc
    host = describe({key: _value(key, value) for key, value in given.items() if key not in BROUGHT}, tables)
    host = replace(host, libc=libc, gpus=_counted(host.gpus, count))
    if cpu is None:
        return Target(name, host, said)
    return Target(name, host, said, frozenset(_flags(cpu, tables)))


def _key(word: str) -> str:
    """The one spelling of a key; a misspelt one would leave its fact unknown, unheard."""
    plain = word.strip().lstrip("-").lower().replace("-", "_")
    plain = _ALIASES.get(plain, plain)
    if plain in KEYS:
        return plain
    from difflib import get_close_matches

    near = get_close_matches(plain, [*KEYS, *_ALIASES], n=1)
    meant = f"; did you mean: {_spelt(near[0])}?" if near else ""
    raise DescriptionError(f"{word[:40]!r} is not known of a host{meant} (keys: {', '.join(map(_spelt, _OF_HOSTS))})")


def _spelt(key: str) -> str:
    return "gpu" if key == "gpus" else key.replace("_", "-")


def _name(value: Any) -> str:
    return "" if value is None else str(value).strip()[:100]


def _words(value: Any) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(key: str, value: Any) -> Any:
    """The value as a batch line has it: a list of GPUs, a truth for WSL, None for "none"."""
    if key == "gpus":
        names = [name.strip() for name in re.split("[,;]", value)] if isinstance(value, str) else value
        return [] if names in (None, ["none"]) else names
    if isinstance(value, str) and value.lower() == "none" and key in {"driver", "jetpack"}:
        return None
    if key == "wsl" and isinstance(value, str):
        return _TRUTHS.get(value.lower(), value)
    return value


def _counted(gpus: tuple[GpuTarget, ...] | Unknown, count: Any) -> tuple[GpuTarget, ...] | Unknown:
    """Each of the GPUs so many times."""
    if count is None or isinstance(gpus, Unknown):
        return gpus
    number = int(count) if re.fullmatch(r"\d{1,4}", str(count)) else 0
    if not 1 <= number <= _MOST_GPUS:
        raise DescriptionError(f"count {str(count)[:40]!r} is not a number of GPUs from 1 to {_MOST_GPUS}")
    return tuple(gpu for gpu in gpus for _ in range(number))


def _flags(value: Any, tables: Tables) -> Iterator[str]:
    """The instruction sets that are named, one by one or by a level."""
    for word in re.split(r"[,;\s]+", value.strip()) if isinstance(value, str) else value:
        flag = str(word).lower()
        if not _FLAG.fullmatch(flag):
            raise DescriptionError(f"cpu {flag[:40]!r} is not the name of an instruction set (as avx2 or x86-64-v3)")
        yield from tables.cpu_levels.flags(flag) or (_known_flag(flag),)


def _known_flag(word: str) -> str:
    if word.startswith("x86"):
        raise DescriptionError(f"cpu {word!r} is not a level of the tables (as x86-64-v3)")
    return word
