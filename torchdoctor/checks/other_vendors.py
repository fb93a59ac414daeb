"""Which official build, if any, serves a GPU of AMD's or Intel's on this host, and how to come by it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchdoctor.checks.installed import gpu_names, has_a_build
from torchdoctor.facts import Facts, Gpu, value_or
from torchdoctor.findings import Remedy, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.amd_routes import OWN_INDEX
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import GfxId

_FOR_XPU = re.compile(r"(?i)\bArc\b|\bData Center GPU Max\b")  # the kinds that PyTorch names as supported
_FIND_GFX = ("rocminfo | grep -m1 gfx", "torchdoctor install-cmd --gpu gfxNNNN")


def serves_for_xpu(gpu: Gpu) -> bool:
    """Whether it is an Intel GPU of the kinds that the XPU builds are made for."""
    return value_or(gpu.vendor, "") == "intel" and is_for_xpu(value_or(gpu.name, ""))


def is_for_xpu(name: str) -> bool:
    """Whether an Intel GPU of this name is of those kinds."""
    return bool(_FOR_XPU.search(name))


def rows_for(facts: Facts, tables: Tables, backend: str) -> tuple[TorchBuild, ...]:
    """Return the official builds of a backend for this system and machine; one that is unknown excludes nothing."""
    os_name, machine = value_or(facts.os.name, ""), value_or(facts.os.machine, "")
    return tuple(
        row
        for row in tables.torch_builds.rows
        if row.build.backend == backend
        and row.emit
        and (not os_name or row.os == os_name)
        and (not machine or row.machine == machine)
    )


def holds(row: TorchBuild, gfx: GfxId) -> bool:
    """Whether a ROCm build has working code for this target: some list one that their libraries lack."""
    return gfx in row.gfx and gfx not in row.gfx_broken


def has_rocm_build(facts: Facts, tables: Tables, gfx: GfxId) -> bool:
    """Whether an official ROCm build for this host serves this target, be its list only inferred."""
    return any(holds(row, gfx) for row in rows_for(facts, tables, "rocm"))


def is_served_card(facts: Facts, tables: Tables, gpu: Gpu) -> bool:
    """Whether it is a card of its own, AMD's or Intel's, for which this host can have a build with code."""
    if value_or(gpu.vendor, "") == "intel":
        name, pci_id = value_or(gpu.name, "") or "", value_or(gpu.pci_id, "") or ""
        is_card = bool(rows_for(facts, tables, "xpu")) and is_for_xpu(name)
        return is_card and tables.xpu_devices.is_served(pci_id, name) is not False
    gfx = value_or(gpu.gfx, None) if value_or(gpu.vendor, "") == "amd" else None
    if gfx is None or tables.amd_gpus.is_integrated(gfx, value_or(gpu.name, "") or ""):
        return False
    return has_rocm_build(facts, tables, gfx) or _on_amds_index(facts, tables, gfx)


def right_build(facts: Facts, tables: Tables, gpus: Sequence[Gpu]) -> Iterator[Remedy]:
    """Say for each vendor how to come by the build for its GPUs, or that there is no official one."""
    for vendor in dict.fromkeys(value_or(gpu.vendor, "") for gpu in gpus):
        mine = [gpu for gpu in gpus if gpu.vendor == vendor]
        if vendor == "amd":
            yield for_amd(facts, tables, mine)
        elif vendor == "intel" and rows_for(facts, tables, "xpu") and all(map(serves_for_xpu, gpus)):
            yield Remedy(Text("Install the XPU build for {gpu}", gpu=gpu_names(mine)), installs=True)
        elif vendor == "intel" and rows_for(facts, tables, "xpu"):
            yield Remedy(
                Text("Where Intel supports {gpu} for computing, take the XPU build", gpu=gpu_names(mine)),
                commands=("torchdoctor install-cmd --backend xpu",),
            )
        elif vendor == "nvidia" and any(has_a_build(facts, tables, gpu) for gpu in mine):
            yield Remedy(Text("Install the build for {gpu}", gpu=gpu_names(mine)), installs=True)
        else:
            yield _no_build(facts, mine)


def for_amd(facts: Facts, tables: Tables, gpus: Sequence[Gpu]) -> Remedy:
    """How to come by a build for AMD GPUs: the install command only where a build for one of them is known."""
    targets = [gfx for gpu in gpus if (gfx := value_or(gpu.gfx, None))]
    if any(has_rocm_build(facts, tables, gfx) for gfx in targets):
        return Remedy(Text("Install the ROCm build that has code for {gpu}", gpu=gpu_names(gpus)), installs=True)
    if any(_on_amds_index(facts, tables, gfx) for gfx in targets):
        return Remedy(
            Text("Install torch from AMD's own index, which has code for {gpu}", gpu=gpu_names(gpus)), installs=True
        )
    if targets or not rows_for(facts, tables, "rocm"):
        return _no_build(facts, gpus)
    return Remedy(Text("Find the gfx id of {gpu} and ask for its build", gpu=gpu_names(gpus)), commands=_FIND_GFX)


def _on_amds_index(facts: Facts, tables: Tables, gfx: GfxId) -> bool:
    """Whether AMD's own index holds code for this target here."""
    route = tables.amd_routes.of(value_or(facts.os.name, ""), gfx, wsl=bool(value_or(facts.place.wsl, 0)))
    return route is not None and route.way == OWN_INDEX and value_or(facts.os.machine, "x86_64") == "x86_64"


def _no_build(facts: Facts, gpus: Sequence[Gpu]) -> Remedy:
    system = {"windows": "Windows", "macos": "macOS", "linux": "Linux"}.get(value_or(facts.os.name, ""), "")
    targets = ", ".join(dict.fromkeys(str(gpu.gfx) for gpu in gpus if value_or(gpu.gfx, None)))
    named = f"{gpu_names(gpus)} ({targets})" if targets and targets not in gpu_names(gpus) else gpu_names(gpus)
    if system:
        text = Text(
            "No official torch build has code for {gpu} on {system}; torch computes on the processor there",
            gpu=named,
            system=system,
        )
    else:
        text = Text("No official torch build has code for {gpu}; torch computes on the processor there", gpu=named)
    return Remedy(text)
