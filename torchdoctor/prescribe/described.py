"""A host described in words: by host options or by one line of a batch file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.tables import Tables
from torchdoctor.values import DriverVersion, GfxId, GpuArch, Libc, PythonTag, Version, canonical_machine

KEYS = ("os", "machine", "python", "libc", "os_version", "wsl", "jetpack", "driver", "gpus", "torch")
_SYSTEMS = ("linux", "windows", "macos")
_YEARS_AHEAD = 10  # one minor Python version a year: further ahead is a slip of the pen


class DescriptionError(ValueError):
    """A described host makes no sense: says what was seen and what to type."""


def describe(given: Mapping[str, Any], tables: Tables, base: Host | None = None) -> Host:
    """Return the host; a missing key leaves the base's value (or unknown), None means there is none."""
    host = _system(given, base or Host())
    for key, read in _READERS.items():
        if key in given:
            host = read(host, given[key], tables)
    if base is None and host.os != "linux":
        host = replace(host, libc=None)
    return host


def _system(given: Mapping[str, Any], host: Host) -> Host:
    os_name = given.get("os", host.os)
    if "os" in given and os_name not in _SYSTEMS:
        raise DescriptionError(f"os {_shown(os_name)} is not one of {', '.join(_SYSTEMS)}")
    machine = host.machine
    if "machine" in given:
        machine = canonical_machine(_text("machine", given["machine"]), os_name if isinstance(os_name, str) else None)
    return replace(host, os=os_name, machine=machine)


def _python(host: Host, value: Any, tables: Tables) -> Host:
    tag = _parsed("python", value, PythonTag.parse, "3.12 or 3.13t")
    newest = tables.pythons.rows[-1].python
    if tag.major != newest.major or tag.minor > newest.minor + _YEARS_AHEAD:
        raise DescriptionError(f"python {_shown(value)} does not exist (a value such as {newest})")
    return replace(host, python=tag, bits=64, implementation="cpython")


def _libc(host: Host, value: Any, _tables: Tables) -> Host:
    return replace(host, libc=None if value is None else _parsed("libc", value, Libc.parse, "glibc-2.35 or musl"))


def _os_version(host: Host, value: Any, _tables: Tables) -> Host:
    if value is None:
        return replace(host, os_version=None)
    return replace(host, os_version=_parsed("os_version", str(value), Version.parse, "14.5"))


def _wsl(host: Host, value: Any, _tables: Tables) -> Host:
    if not isinstance(value, bool):
        raise DescriptionError(f"wsl {_shown(value)} is neither true nor false")
    return replace(host, wsl=value)


def _jetpack(host: Host, value: Any, tables: Tables) -> Host:
    if value is None:
        return replace(host, jetpack=None)
    if tables.jetpacks.by_jetpack(_text("jetpack", value)) is None:
        raise DescriptionError(f"jetpack {_shown(value)} is not known (a value such as 6.2)")
    return replace(host, jetpack=str(value))


def _driver(host: Host, value: Any, _tables: Tables) -> Host:
    return replace(host, driver=None if value is None else _parsed("driver", value, DriverVersion.parse, "580.65.06"))


def _gpus(host: Host, value: Any, tables: Tables) -> Host:
    if not isinstance(value, list):
        raise DescriptionError(f"gpus {_shown(value)} is not a list")
    return replace(host, gpus=tuple(gpu_named(_text("gpu", name), tables) for name in value))


def _torch(host: Host, value: Any, _tables: Tables) -> Host:
    return replace(host, torch=None if value is None else _text("torch", value))


_READERS: Mapping[str, Callable[[Host, Any, Tables], Host]] = {
    "python": _python, "libc": _libc, "os_version": _os_version, "wsl": _wsl, "jetpack": _jetpack,
    "driver": _driver, "gpus": _gpus, "torch": _torch,
}  # fmt: skip


def gpu_named(text: str, tables: Tables) -> GpuTarget:
    """A GPU by architecture or by name; an ambiguous name gives an unknown target, a name nobody knows is an error."""
    lowered = text.strip().lower()
    if lowered.startswith("gfx"):
        return GpuTarget("amd", _parsed("gpu", lowered, GfxId.parse, "gfx1100"), lowered)
    if lowered.startswith("sm_") or lowered.replace(".", "").isdigit():
        arch = _parsed("gpu", lowered, GpuArch.parse, "sm_86")
        if not _exists(arch, tables):
            raise DescriptionError(f"gpu {_shown(text)} is not a compute capability of any GPU")
        return GpuTarget("nvidia", arch, arch.sm)
    model = tables.gpu_models.by_name(text)
    if model is None:
        near = ", ".join(tables.gpu_models.suggest(text))
        raise DescriptionError(
            f"gpu {_shown(text)} is not known" + (f"; did you mean: {near}?" if near else ": give sm_XX or gfxNNNN")
        )
    return GpuTarget("nvidia", model.compute_capability, text.strip())


def _exists(arch: GpuArch, tables: Tables) -> bool:
    return tables.coverage.is_tegra(arch) or bool(tables.driver_branches.branches_supporting(arch))


def _parsed(key: str, value: Any, parse: Callable[[str], Any], example: str) -> Any:
    try:
        return parse(_text(key, value))
    except ValueError as error:
        raise DescriptionError(f"{key} {_shown(value)} cannot be read (a value such as {example})") from error


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DescriptionError(f"{key} {_shown(value)} is not a text")
    return value


def _shown(value: Any) -> str:
    return repr(value)[:60]
