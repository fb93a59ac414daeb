"""A host described in words: by host options or by one line of a batch file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torchdoctor.checks.installed import is_named_foreign, label
from torchdoctor.checks.other_vendors import is_for_xpu
from torchdoctor.facts import Unknown
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.readers.gpu_words import vendor_of
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import DriverVersion, GfxId, GpuArch, Libc, PythonTag, Version, canonical_machine

_SYSTEMS = ("linux", "windows", "macos")
_YEARS_AHEAD = 10  # one minor Python version a year: further ahead is a slip of the pen


class DescriptionError(ValueError):
    """A described host makes no sense: says what was seen and what to type."""


def describe(given: Mapping[str, Any], tables: Tables, base: Host | None = None) -> Host:
    """Return the host; a missing key leaves the base's value (or unknown), None means there is none."""
    fields = _system(given, base or Host())
    for key, read in _READERS.items():
        if key in given:
            value = given[key]
            fields[key] = _NONE.get(key) if value is None and key in {*_NULLABLE, *_NONE} else read(value, tables)
    if given.get("torch"):
        fields |= _told_by(fields["torch"])
    if "python" in given:
        fields |= {"bits": 64, "implementation": "cpython"}
    _refuse_contradictions(given, fields)
    is_other = base is None or "os" in given
    if is_other and fields["os"] != "linux":
        fields["libc"] = None
    if is_other and fields["os"] == "macos":
        fields["driver"] = None
    return replace(base, **fields) if base else Host(**fields)


_ON_LINUX_ALONE = ("wsl", "jetpack", "libc")  # WSL is a Linux; none of them, said as null, is true anywhere
_OF_ARM = ("jetpack",)
_NOT_ON_MACOS = "has no NVIDIA driver that torch could use"


def _refuse_contradictions(given: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Refuse what the host described cannot have: nothing that was said of it is passed over in silence."""
    for key in (key for key in _ON_LINUX_ALONE if given.get(key)):
        if fields["os"] in {"windows", "macos"}:
            raise DescriptionError(f"{key} {_shown(given[key])} is of Linux, and os is {fields['os']}: leave one out")
        if key in _OF_ARM and fields["machine"] == "x86_64":
            raise DescriptionError(f"{key} {_shown(given[key])} is of machine aarch64, and this one is x86_64")
    if fields["os"] == "macos":
        _refuse_nvidia(given, fields)


def _refuse_nvidia(given: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
    """Of what was said alone: no Mac has either."""
    if given.get("driver"):
        driver = _shown(given["driver"])
        raise DescriptionError(f"driver {driver} is NVIDIA's, and macos {_NOT_ON_MACOS}: leave one out")
    gpu = next((gpu for gpu in fields["gpus"] if gpu.vendor == "nvidia"), None) if given.get("gpus") else None
    if gpu:
        raise DescriptionError(f"gpu {_shown(gpu.name)} is NVIDIA's, and macos {_NOT_ON_MACOS}: leave one out")


def _system(given: Mapping[str, Any], host: Host) -> dict[str, Any]:
    os_name = given.get("os", host.os)
    if "os" in given and os_name not in _SYSTEMS:
        raise DescriptionError(f"os {_shown(os_name)} is not one of {', '.join(_SYSTEMS)}")
    machine = host.machine
    if "machine" in given:
        machine = canonical_machine(_text("machine", given["machine"]), os_name if isinstance(os_name, str) else None)
    return {"os": os_name, "machine": machine}


def _python(value: Any, tables: Tables) -> PythonTag:
    tag: PythonTag = _parsed("python", value, PythonTag.parse, "3.12 or 3.13t")
    newest = tables.pythons.rows[-1].python
    if tag.major != newest.major or tag.minor > newest.minor + _YEARS_AHEAD:
        raise DescriptionError(
            f"python {_shown(value)} does not exist (a value such as {tables.pythons.current()[-1]})"
        )
    return tag


def _libc(value: Any, _tables: Tables) -> Any:
    return _parsed("libc", value, Libc.parse, "glibc-2.35 or musl")


def _os_version(value: Any, _tables: Tables) -> Any:
    return _parsed("os_version", str(value), Version.parse, "14.5")


def _wsl(value: Any, _tables: Tables) -> bool:
    if not isinstance(value, bool):
        raise DescriptionError(f"wsl {_shown(value)} is neither true nor false")
    return value


def _jetpack(value: Any, tables: Tables) -> str:
    text = _text("jetpack", value)
    if tables.jetpacks.by_jetpack(text) is None:
        raise DescriptionError(f"jetpack {_shown(value)} is not known (a value such as 6.2)")
    return text


def _driver(value: Any, _tables: Tables) -> Any:
    return _parsed("driver", value, DriverVersion.parse, "580.65.06")


def _gpus(value: Any, tables: Tables) -> tuple[GpuTarget, ...]:
    if not isinstance(value, list):
        raise DescriptionError(f"gpus {_shown(value)} is not a list")
    return tuple(gpu_named(_text("gpu", name), tables) for name in value)


def _torch(value: Any, _tables: Tables) -> str:
    return _text("torch", value)


def _told_by(torch: str) -> dict[str, Any]:
    """What the version of an installed torch tells of its build, and of who made it."""
    return {"build": label(torch) or Unknown("torch build"), "foreign": is_named_foreign(torch)}


_READERS: Mapping[str, Callable[[Any, Tables], Any]] = {
    "python": _python,
    "libc": _libc,
    "os_version": _os_version,
    "wsl": _wsl,
    "jetpack": _jetpack,
    "driver": _driver,
    "gpus": _gpus,
    "torch": _torch,
}
_NULLABLE = {"libc", "os_version", "jetpack", "driver", "torch"}
_NONE = {"gpus": (), "wsl": False}  # what null means for these


def gpu_named(text: str, tables: Tables) -> GpuTarget:
    """A GPU by architecture or by name; an ambiguous name gives an unknown target, a name nobody knows is an error."""
    lowered = text.strip().lower()
    lowered = f"sm_{lowered[2:]}" if lowered[:2] == "sm" and lowered[2:3].isdigit() else lowered
    if lowered.startswith("gfx"):
        return GpuTarget("amd", _parsed("gpu", lowered, GfxId.parse, "gfx1100"), lowered)
    if lowered.startswith("sm_") or lowered.replace(".", "").isdigit():
        arch = _parsed("gpu", lowered, GpuArch.parse, "sm_86")
        if not _exists(arch, tables):
            raise DescriptionError(f"gpu {_shown(text)} is not a compute capability of any GPU")
        return GpuTarget("nvidia", arch, arch.sm)
    vendor = _vendor(text, tables)
    if vendor in {"intel", "apple"}:
        return GpuTarget(vendor, None, text.strip())
    if vendor == "amd":
        return _amd_named(text, tables)
    model = tables.gpu_models.by_name(text)
    if model is None:
        raise _not_known(text, tables.gpu_models.suggest(text))
    return GpuTarget("nvidia", model.compute_capability, text.strip())


def _vendor(text: str, tables: Tables) -> str:
    """Whose GPU it is, by a word of the name or by its stem alone: RX 7900 XTX, MI300X, Arc B580."""
    if vendor := vendor_of(text):
        return vendor
    if is_for_xpu(text):
        return "intel"
    return "amd" if tables.amd_gpus.named(text) or tables.amd_gpus.is_named_like(text) else ""


def _amd_named(text: str, tables: Tables) -> GpuTarget:
    found = sorted(tables.amd_gpus.named(text), key=str)
    if len(found) > 1:
        chips = ", ".join(map(str, found))
        raise DescriptionError(f"gpu {_shown(text)} is the name of several chips: give one of {chips}")
    if not found:
        raise _not_known(text, tables.amd_gpus.suggest(text))
    return GpuTarget("amd", found[0], text.strip())


def _not_known(text: str, near: list[str]) -> DescriptionError:
    meant = f"; did you mean: {', '.join(near)}?" if near else ": give sm_XX or gfxNNNN"
    return DescriptionError(f"gpu {_shown(text)} is not known{meant}")


def with_backend(host: Host, wish: Wish, tables: Tables) -> Wish:
    """Ask for the XPU build where the only GPUs to serve are Intel's, of the kinds it is made for, and there is one."""
    gpus = () if isinstance(host.gpus, Unknown) else host.gpus
    if wish.backend != "auto" or {gpu.vendor for gpu in gpus} & {"nvidia", "amd"}:
        return wish
    serves = any(gpu.vendor == "intel" and is_for_xpu(gpu.name) for gpu in gpus)
    exists = serves and tables.torch_builds.of_backend(str(host.os), str(host.machine), "xpu", ())
    return wish._replace(backend="xpu") if exists else wish


def _exists(arch: GpuArch, tables: Tables) -> bool:
    return tables.coverage.is_tegra(arch) or bool(tables.driver_branches.branches_supporting(arch))


def _parsed(key: str, value: Any, parse: Callable[[str], Any], example: str) -> Any:
    try:
        return parse(_text(key, value))
    except ValueError as error:
        raise DescriptionError(f"{key} {_shown(value)} cannot be read (a value such as {example})") from error


def _text(key: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DescriptionError(f"{key} {_shown(value)} is not a text in quotes" if value != "" else f"{key} is empty")
    return value


def _shown(value: Any) -> str:
    return repr(value)[:60]
