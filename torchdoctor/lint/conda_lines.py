"""The lines that take torch from a living channel of conda, or from PyPI, in the syntax of the file that is judged."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.lint.knowledge import torch_versions
from torchdoctor.lint.model import Group, Pin
from torchdoctor.lint.readers.pixi import PLATFORMS
from torchdoctor.lint.worlds import pythons
from torchdoctor.prescribe.writers import toml
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import CHANNEL, TorchBuild
from torchdoctor.values import CudaVersion, PythonTag

_COMPANIONS = ("torchvision", "torchaudio")
_GPU_SYSTEMS = {"linux", "windows"}


def conda_lines(group: Group, torch: Pin | None, tables: Tables) -> tuple[str, ...]:
    """Lines for the newest torch that the file allows; none where the tables know of none for its Python."""
    row = _newest(_fitting(group, torch, tables.of_conda().torch_builds.rows, tables))
    if row is not None:
        return _of_conda(group, row)
    wheel = _newest(_fitting(group, torch, tables.torch_builds.rows, tables))
    return _of_pip(group, wheel, tables) if wheel else ()


def _fitting(group: Group, torch: Pin | None, rows: Sequence[TorchBuild], tables: Tables) -> list[TorchBuild]:
    """What fits the version, the Python and the system that the file names."""
    allowed = torch_versions(torch, tables) if torch and torch.spec else None
    tags: tuple[PythonTag, ...] = pythons(group, tables) if group.python else ()
    hosts = group.platforms or (("linux", "x86_64"),)
    return [
        row
        for row in rows
        if (allowed is None or row.torch in allowed)
        and (not tags or any(tag in row.pythons for tag in tags))
        and (row.os, row.machine) in hosts
        and row.emit
    ]


def _newest(rows: list[TorchBuild]) -> TorchBuild | None:
    """The newest release; of its builds the one for the newest CUDA."""
    return max(
        rows, key=lambda row: (row.torch, row.cuda is not None, row.cuda.order if row.cuda else ()), default=None
    )


def _of_conda(group: Group, row: TorchBuild) -> tuple[str, ...]:
    is_named = any(pin.text.startswith("pytorch-cpu") for pin in group.find("torch"))
    is_cpu = is_named or bool(group.find("cpuonly")) or row.cuda is None
    name = ("pytorch-cpu" if row.os in _GPU_SYSTEMS else "pytorch") if is_cpu else "pytorch-gpu"
    pins = [(name, str(row.torch)), *([("cuda-version", str(row.cuda))] if row.cuda and not is_cpu else [])]
    if group.kind == "dockerfile":
        return (f"RUN conda install -y -c {CHANNEL} {' '.join(f'{name}={version}' for name, version in pins)}",)
    if group.tool == "conda":
        return ("channels:", f"  - {CHANNEL}", "dependencies:", *(f"  - {name}={version}" for name, version in pins))
    cuda = row.cuda if row.cuda and not is_cpu else None
    lines = (
        f"{name} = {toml.text(f'{version}.*' if name == 'cuda-version' else f'=={version}')}" for name, version in pins
    )
    return (*_workspace(group), *_platforms(group, cuda), f"[{_table(group)}dependencies]", *lines)


def _platforms(group: Group, cuda: CudaVersion | None) -> tuple[str, ...]:
    """The platforms that the workspace has, those of Linux and Windows with the CUDA of their drivers."""
    names = [name for name, platform in PLATFORMS.items() if platform in (group.platforms or PLATFORMS.values())]
    told = (
        f"{{ platform = {toml.text(name)}, cuda = {toml.text(str(cuda))} }}"
        if PLATFORMS[name][0] in _GPU_SYSTEMS
        else toml.text(name)
        for name in names
    )
    return (f"platforms = [{', '.join(told)}]",) if cuda and group.platforms else ()


def _of_pip(group: Group, row: TorchBuild, tables: Tables) -> tuple[str, ...]:
    """The wheels of PyPI, for a release that the channel is not known to have."""
    if not row.on_pypi:
        return ()
    best = ((name, tables.companions.best(name, row.torch)) for name in _COMPANIONS if group.find(name))
    pins = [("torch", row.torch), *((name, found.version) for name, found in best if found)]
    if group.kind == "dockerfile":
        return (f"RUN pip install {' '.join(f'{name}=={version}' for name, version in pins)}",)
    if group.tool == "conda":
        lines = (f"    - {name}=={version}" for name, version in pins)
        return ("channels:", f"  - {CHANNEL}", "dependencies:", "  - pip", "  - pip:", *lines)
    return (
        *_workspace(group),
        f"[{_table(group)}pypi-dependencies]",
        *(f'{name} = "=={version}"' for name, version in pins),
    )


def _workspace(group: Group) -> tuple[str, str]:
    return f"[{_table(group)}workspace]", f'channels = ["{CHANNEL}"]'


def _table(group: Group) -> str:
    """What stands before pixi's tables in the file of a Python project."""
    return "tool.pixi." if group.place.file.endswith("pyproject.toml") else ""
