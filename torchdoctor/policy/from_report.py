"""From the facts of a report in JSON back to facts: as many of them as a policy is written from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from torchdoctor.facts import Driver, Facts, Gpu, Memory, Package, Packages, Python, Torch
from torchdoctor.records import replace
from torchdoctor.values import Build, DriverVersion, GpuArch, PythonTag, Version

_READ: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "python.version": (str, Version.parse),
    "python.tag": (str, PythonTag.parse),
    "torch.installed": (bool, bool),
    "torch.full": (str, str),
    "torch.version": (str, str),
    "torch.build": (str, Build.parse),
    "driver.version": (str, DriverVersion.parse),
    "memory.shm": (int, int),
}
_OF_GPU: dict[str, tuple[type, Callable[[Any], Any]]] = {
    "vendor": (str, str),
    "name": (str, str),
    "compute_capability": (str, GpuArch.parse),
    "memory": (int, int),
}


def facts_of_report(report: Mapping[str, Any]) -> Facts:
    """The facts; raise ``ValueError`` where the report has none."""
    told = report.get("facts")
    if not isinstance(told, Mapping):
        raise ValueError("no report: it has no facts")  # noqa: TRY004 - one type for whatever is wrong with a file
    groups: dict[str, Any] = {"python": Python(), "torch": Torch(), "driver": Driver(), "memory": Memory()}
    for path, (kind, read) in _READ.items():
        group, _, name = path.partition(".")
        for value in _values(told.get(group), name, kind, read):
            groups[group] = replace(groups[group], **{name: value})
    gpus = told.get("gpus")
    facts = Facts(**groups, packages=_packages(told.get("packages")))
    return replace(facts, gpus=tuple(map(_gpu, gpus))) if isinstance(gpus, list) else facts


def _values(group: Any, name: str, kind: type, read: Callable[[Any], Any]) -> Iterator[Any]:
    """The value, or None where the report says that there is none; nothing where it says neither."""
    if isinstance(group, Mapping) and name in group:
        value = group[name]
        if value is None:
            yield None
        elif isinstance(value, kind):
            with suppress(ValueError):
                yield read(value)


def _gpu(told: Any) -> Gpu:
    gpu = Gpu()
    for name, (kind, read) in _OF_GPU.items():
        for value in _values(told, name, kind, read):
            gpu = replace(gpu, **{name: value})
    return gpu


def _packages(told: Any) -> Packages:
    named = told.items() if isinstance(told, Mapping) else ()
    return Packages(tuple(Package(name=str(name), version=str(version)) for name, version in named))
