"""Jetsons: before the move to server-class (SBSA) CUDA they are served by their own index, never by server wheels."""

from __future__ import annotations

from typing import NamedTuple

from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion, DriverVersion, GpuArch


class JetsonRoute(NamedTuple):
    """How a Jetson gets torch. An empty ``index_path`` means official wheels, judged with its own CUDA."""

    jetpack: str
    cuda: CudaVersion
    driver: DriverVersion | None | Unknown
    index_path: str
    why: Text


def jetson_route(host: Host, gpus: tuple[GpuTarget, ...], tables: Tables) -> JetsonRoute | Text | None:
    """Return the route for a Jetson, a refusal in words, or None when the host is not one."""
    named = host.jetpack if isinstance(host.jetpack, str) else None
    driver = host.driver if isinstance(host.driver, DriverVersion) else None
    is_tegra = any(isinstance(gpu.target, GpuArch) and tables.coverage.is_tegra(gpu.target) for gpu in gpus)
    if host.machine != "aarch64" or (named is None and (not is_tegra or host.jetpack is None)):
        return None
    row = tables.jetpacks.by_jetpack(named) if named else tables.jetpacks.by_driver(str(driver)) if driver else None
    if row is None:
        seen = named or driver or "unknown"
        return Text("this Jetson's JetPack version is needed and {seen} is not in the tables: add --jetpack", seen=seen)
    if row.cuda_stack == "Tegra":
        if not row.index_path:
            return Text(
                "JetPack {jetpack} is served only by NVIDIA's own wheels for it; no official build runs there",
                jetpack=row.jetpack,
            )
        why = Text(
            "JetPack {jetpack} uses the Tegra CUDA stack: server wheels have no code for it", jetpack=row.jetpack
        )
        return JetsonRoute(row.jetpack, row.cuda, host.driver, row.index_path, why)
    why = Text("JetPack {jetpack} runs server (SBSA) CUDA {cuda}", jetpack=row.jetpack, cuda=row.cuda)
    return JetsonRoute(row.jetpack, row.cuda, driver or tables.cuda_drivers.floor(row.cuda, "linux"), "", why)
