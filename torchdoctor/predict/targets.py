"""A host for which a prediction is wanted: what its description says, and nothing besides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from torchdoctor.facts import Cpu, Memory, Unknown
from torchdoctor.policy.gpus import GB
from torchdoctor.predict.specs import twice
from torchdoctor.prescribe.described import DescriptionError, describe
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.cpu_levels import CpuLevels

# The host options' names and those of a batch line, as one.
_ALIASES = {"python_version": "python", "gpu": "gpus", "id": "name"}
_OF_HOSTS = ("os", "machine", "os_version", "libc", "wsl", "jetpack", "driver", "gpus", "count", "memory", "cpu", "shm")
# What a batch line may say of a host and what is examined brings along itself.
BROUGHT = ("python", "torch")
KEYS = ("name", *_OF_HOSTS, *BROUGHT)
_MOST_GPUS = 64
_DECISIVE = "avx"  # what is asked of a processor
# Sets were named, and whether that one is there does not follow: other than where nothing is said of the processor.
UNSETTLED = Unknown("whether the processor has AVX")
_FLAG = re.compile(r"[a-z0-9][a-z0-9_.-]{1,30}")
_TRUTHS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


class Target(NamedTuple):
    """One host by name; ``said`` are the words it was described in, all else is what they say, in bytes where a size.

    ``memory`` is that of each GPU, ``shm`` the size of /dev/shm where torch will run.
    """

    name: str
    host: Host
    said: Mapping[str, str]
    cpu: frozenset[str] | Unknown = Cpu().flags  # type: ignore[assignment]  # the default of that fact is unknown
    memory: int | Unknown = Memory().shm  # type: ignore[assignment]  # as above
    shm: int | Unknown = Memory().shm  # type: ignore[assignment]  # as above

    @property
    def key(self) -> tuple[object, ...]:
        """What two targets of which the same is predicted have in common."""
        return (self.host, self.cpu, self.memory, self.shm)


def target_of(given: Mapping[str, Any], tables: Tables) -> Target:
    """Read a description; raise ``DescriptionError`` with what was seen and what to type."""
    given = _by_key(given)
    said = {_spelt(key): _words(value) for key, value in given.items() if key in _OF_HOSTS}
    name = _name(given.pop("name", None)) or " ".join(f"{key}={value}" for key, value in said.items())
    if not said:
        raise DescriptionError(f"nothing is said of {name or 'the host'} (as driver=535.183 gpu=T4)")
    cpu, count, *sizes = (given.pop(key, None) for key in ("cpu", "count", "memory", "shm"))
    memory, shm = map(_bytes, ("memory", "shm"), sizes)
    libc = _libc(given, tables)
    host = describe({key: _value(key, value) for key, value in given.items() if key not in BROUGHT}, tables)
    host = replace(_of_jetson(host), libc=libc, gpus=_counted(host.gpus, count))
    return Target(name, host, said, Cpu().flags if cpu is None else _flags(cpu, tables), memory, shm)  # type: ignore[arg-type]  # as above


def _by_key(given: Mapping[str, Any]) -> dict[str, Any]:
    """What was said, each by the one spelling of its key; two spellings of one key are two values of it."""
    by_key: dict[str, Any] = {}
    for word, value in given.items():
        if (key := _key(word)) in by_key:
            raise twice(word, by_key[key], value)
        by_key[key] = value
    return by_key


def _libc(given: dict[str, Any], tables: Tables) -> Any:
    """Taken out of the description: where no system is named, the one that has a choice of them is meant."""
    if "libc" not in given:
        return None if given.get("os") in {"macos", "windows"} else Host().libc
    return describe({"os": _value("os", given.get("os", "linux")), "libc": given.pop("libc")}, tables).libc


def _of_jetson(host: Host) -> Host:
    """A JetPack is for one system and one machine alone."""
    if not isinstance(host.jetpack, str):
        return host
    return replace(host, os="linux", machine="aarch64")


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
        return [] if names is None or [str(name).lower() for name in names] == ["none"] else names
    if key == "os" and isinstance(value, str):
        return value.lower()
    if key in {"driver", "jetpack"} and isinstance(value, int) and not isinstance(value, bool):
        return str(value)  # a whole branch; of any other number a file may have lost a zero
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


def _flags(value: Any, tables: Tables) -> frozenset[str] | Unknown:
    """The instruction sets named, with all they bring along; a single old one does not tell that newer are absent."""
    levels = tables.cpu_levels
    words = re.split(r"[,;\s]+", value.strip()) if isinstance(value, str) else value
    names = [str(word).lower() for word in (words if isinstance(words, list) else [words])]
    is_whole, found = levels.is_whole(names), set[str]()
    for name in names:
        flags = levels.flags(name) or ((name,) if is_whole and _FLAG.fullmatch(name) else ())
        if not flags:
            meant = _nearest(name, levels)
            raise DescriptionError(f"cpu {name[:40]!r} is no level or instruction set of the tables{meant}")
        found.update(flags)
    tells_all = is_whole or any(map(levels.is_level, names))
    return frozenset(found) if tells_all or _DECISIVE in found else UNSETTLED


def _bytes(key: str, value: Any) -> int | Unknown:
    """A size in GB as bytes; unknown where nothing is said."""
    if value is None:
        return Memory().shm  # type: ignore[return-value]  # the default of that fact is unknown
    match = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)\s*(?:gb)?", str(value).strip().lower())
    if match is None:
        raise DescriptionError(f"{key} {str(value)[:40]!r} is not a number of GB (as {key}=16)")
    return int(float(match[1]) * GB)


def _nearest(name: str, levels: CpuLevels) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, [row.level for row in levels.rows], n=1)
    return f"; did you mean: {near[0]}?" if near else " (as avx2 or x86-64-v3)"
