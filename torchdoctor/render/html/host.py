"""The facts that the picture of driver, build and GPU needs, read back from a report's JSON.

What cannot be read stays unknown, as in a recording that does not hold it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from torchdoctor.facts import Driver, Facts, Gpu, Inside, Os, Place, Torch, Unknown, Variables
from torchdoctor.inside import DeviceCode
from torchdoctor.render.html.told import Told, items, member, number
from torchdoctor.values import Build, CudaVersion, DriverVersion, GfxId, GpuArch

T = TypeVar("T")


def facts_of(report: Told) -> Facts:
    """The system, the driver, the torch, its device code and the GPUs."""
    told = report.get("facts")
    return Facts(
        os=Os(name=_text(told, "os", "name"), machine=_text(told, "os", "machine"), kernel=_text(told, "os", "kernel")),
        place=Place(
            wsl=_read(told, int, "place", "wsl"),
            jetpack=_text(told, "place", "jetpack"),
            l4t=_text(told, "place", "l4t"),
            container=_text(told, "place", "container"),
        ),
        torch=_torch(told),
        driver=Driver(
            version=_read(told, DriverVersion.parse, "driver", "version"),
            cuda_shown=_read(told, CudaVersion.parse, "driver", "cuda_shown"),
        ),
        gpus=_gpus(told),
        env=Variables({name: str(value) for name, value in _object(told, "env").items()}),
        inside=Inside(code=tuple(map(_code, items(report.get("code")))) or Unknown("device code of the libraries")),
    )


def _torch(told: object) -> Torch:
    archs = member(told, "torch", "arch_list")
    installed, available = member(told, "torch", "installed"), member(told, "torch", "cuda_available")
    return Torch(
        installed=installed if isinstance(installed, bool) else Unknown("presence of torch"),
        version=_text(told, "torch", "version"),
        full=_text(told, "torch", "full"),
        build=_read(told, Build.parse, "torch", "build"),
        cuda=_read(told, CudaVersion.parse, "torch", "cuda"),
        owner=_text(told, "torch", "owner"),
        origin=_text(told, "torch", "origin"),
        arch_list=tuple(map(str, archs)) if isinstance(archs, list) else Unknown("architecture list of the build"),
        cuda_available=available if isinstance(available, bool) else Unknown("answer of torch.cuda.is_available()"),
    )


def _gpus(told: object) -> tuple[Gpu, ...] | None | Unknown:
    gpus = member(told, "gpus")
    return tuple(map(_gpu, items(gpus))) if isinstance(gpus, list) else Unknown("list of GPUs")


def _gpu(told: Told) -> Gpu:
    return Gpu(
        vendor=_text(told, "vendor"),
        name=_text(told, "name"),
        compute_capability=_read(told, GpuArch.parse, "compute_capability"),
        gfx=_read(told, GfxId.parse, "gfx"),
        kernel_driver=_text(told, "kernel_driver"),
    )


def _code(told: Told) -> DeviceCode:
    return DeviceCode(
        library=str(told.get("library") or ""),
        package=str(told.get("package") or ""),
        version=str(told.get("version") or ""),
        fatbins=int(number(told.get("fatbins")) or 0),
        sass=_counts(told.get("sass")),
        ptx=_counts(told.get("ptx")),
        ptx_isa=str(told.get("ptx_isa") or ""),
        gfx=_counts(told.get("gfx")),
        error=str(told.get("error") or ""),
    )


def _counts(told: object) -> tuple[tuple[str, int], ...]:
    """Names of code that can be read, and how often each is there."""
    if not isinstance(told, dict):
        return ()
    return tuple((name, int(count)) for name, count in told.items() if isinstance(count, int) and _is_code(name))


def _is_code(name: str) -> bool:
    return name.startswith("gfx") or any(GpuArch.parse_each([name]))


def _object(told: object, name: str) -> Told:
    value = member(told, name)
    return value if isinstance(value, dict) else {}


def _text(told: object, *names: str) -> str | None | Unknown:
    return _read(told, str, *names)


def _read(told: object, reader: Callable[[Any], T], *names: str) -> T | None | Unknown:
    """What lies below the names: None where it says so, unknown where it is left out or cannot be read."""
    above = member(told, *names[:-1]) if len(names) > 1 else told
    if not isinstance(above, dict) or names[-1] not in above:
        return Unknown(names[-1])
    value = above[names[-1]]
    if value is None:
        return None
    try:
        return reader(value if reader is int else str(value))
    except (TypeError, ValueError):
        return Unknown(names[-1])
