"""Jetsons: before the move to server-class (SBSA) CUDA they are served by their own index, never by server wheels."""

from __future__ import annotations

from typing import NamedTuple

from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.tables import Tables
from torchdoctor.tables.jetpacks import Jetpack
from torchdoctor.values import CudaVersion, DriverVersion, GpuArch, PythonTag


class JetsonRoute(NamedTuple):
    """How a Jetson gets torch. An empty ``index_path`` means official wheels, judged with its own CUDA."""

    cuda: CudaVersion
    driver: DriverVersion | None | Unknown
    index_path: str
    why: Text
    gpus: tuple[GpuTarget, ...] = ()


class Refusal(NamedTuple):
    """Why a Jetson gets nothing, and the smallest change."""

    text: Text
    change: Text | None = None


def jetson_route(host: Host, gpus: tuple[GpuTarget, ...], wish: Wish, tables: Tables) -> JetsonRoute | Refusal | None:
    """Return the route for a Jetson, a refusal, or None when the host is not one."""
    named = host.jetpack if isinstance(host.jetpack, str) else None
    driver = host.driver if isinstance(host.driver, DriverVersion) else None
    is_tegra = any(isinstance(gpu.target, GpuArch) and tables.coverage.is_tegra(gpu.target) for gpu in gpus)
    if host.machine != "aarch64" or (named is None and (not is_tegra or host.jetpack is None)):
        return None
    row = tables.jetpacks.by_jetpack(named) if named else tables.jetpacks.by_driver(str(driver)) if driver else None
    if row is None and not (named or driver):
        text = Text("this is a Jetson: its JetPack version, by /etc/nv_tegra_release, decides which wheels fit")
        return Refusal(text, Text("torchdoctor install-cmd --jetpack VERSION"))
    if row is None:
        seen = named or driver
        text = Text("this Jetson's JetPack version is needed, and {seen} is not in the tables", seen=seen)
        return Refusal(text, Text("torchdoctor install-cmd --jetpack VERSION"))
    if row.cuda_stack != "Tegra":
        return _server(driver, row, tables)
    return _unserved(row, wish, tables) or _tegra(host, row)


def _unserved(row: Jetpack, wish: Wish, tables: Tables) -> Refusal | None:
    """What was asked for and the Jetson's own index cannot give; what it holds beyond that is not known."""
    if wish.nightly:
        return Refusal(Text("no nightlies are known for JetPack {jetpack}", jetpack=row.jetpack))
    if wish.max_cuda and row.cuda > wish.max_cuda:
        text = "the wheels for JetPack {jetpack} are for CUDA {cuda}, and none newer than {limit} is wanted"
        said = Text(text, jetpack=row.jetpack, cuda=row.cuda, limit=wish.max_cuda)
        return Refusal(said, Text("leave --max-cuda out"))
    spec = wish.torch
    if spec is not None and not any(spec.contains(str(build.torch)) for build in tables.torch_builds.rows):
        text = "no torch {spec} is known for JetPack {jetpack}, whose wheels carry no build in their version"
        return Refusal(
            Text(text, spec=spec, jetpack=row.jetpack),
            Text("ask for a release, as --torch {newest}", newest=tables.torch_builds.newest()),
        )
    return None


def _tegra(host: Host, row: Jetpack) -> JetsonRoute | Refusal:
    if not row.index_path:
        return Refusal(Text("JetPack {jetpack} is served only by NVIDIA's own wheels for it", jetpack=row.jetpack))
    if isinstance(host.python, PythonTag) and host.python != row.python:
        text = Text("the wheels for JetPack {jetpack} are for Python {python}", jetpack=row.jetpack, python=row.python)
        return Refusal(text, Text("use Python {python}", python=row.python))
    why = Text("JetPack {jetpack} uses the Tegra CUDA stack: server wheels have no code for it", jetpack=row.jetpack)
    return JetsonRoute(row.cuda, host.driver, row.index_path, why)


def _server(driver: DriverVersion | None, row: Jetpack, tables: Tables) -> JetsonRoute:
    why = Text("JetPack {jetpack} runs server (SBSA) CUDA {cuda}", jetpack=row.jetpack, cuda=row.cuda)
    gpus = tuple(GpuTarget("nvidia", arch, arch.sm) for arch in row.capabilities[:1] if len(row.capabilities) == 1)
    return JetsonRoute(row.cuda, driver or tables.cuda_drivers.floor(row.cuda, "linux"), "", why, gpus)
