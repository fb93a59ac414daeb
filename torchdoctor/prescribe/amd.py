"""AMD GPUs that no official build serves: AMD's own index, the processor where that is right, work on the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.prescribe.refuse import is_of_conda
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.amd_routes import CPU, DXG, OWN_INDEX, WRONG, AmdRoute
from torchdoctor.values import Build, PythonTag

if TYPE_CHECKING:
    from torchdoctor.prescribe.choose import Choice

INDEX = "amd"
_ROCM = "rocm"
_WITH_EXTRA = ("torch", "torchvision")  # whose packages on AMD's index hold no code: the extra brings that of one GPU


class OwnIndex(NamedTuple):
    """AMD's own index as the source: the extras that name the GPUs."""

    extras: tuple[str, ...]

    def extra_of(self, name: str) -> str:
        """What stands in brackets behind a package's name."""
        return ",".join(self.extras) if name in _WITH_EXTRA else ""


def by_route(choice: Choice, wish: Wish, tables: Tables, on_cpu: Callable[[], Choice]) -> Choice:
    """The choice, or what the table of routes has in place of a refusal; WSL asks for work on the host in any case."""
    host = choice.host
    gpus = (
        () if isinstance(host.gpus, Unknown) else tuple(gpu for gpu in host.gpus if gpu.vendor == "amd" and gpu.target)
    )
    if choice.asks or is_of_conda(tables) or not gpus or wish.backend not in {"auto", _ROCM} or choice.backend != _ROCM:
        return choice
    routes = {gpu: tables.amd_routes.of(str(host.os), gpu.target, wsl=host.wsl) for gpu in gpus}
    if host.wsl:
        return _under_wsl(choice, routes)
    if choice.runs:
        return choice
    ways = {route.way if route else "" for route in routes.values()}
    if ways <= {CPU, WRONG} and wish.backend == "auto":
        cpu = on_cpu()
        return replace(cpu, why=(*map(_why_cpu, routes.items()), *cpu.why)) if cpu.runs else choice
    return _from_own_index(choice, wish, tables, routes)


def _why_cpu(item: tuple[GpuTarget, AmdRoute | None]) -> Text:
    gpu, route = item
    return Text("{gpu} is left out: {notes}", gpu=gpu, notes=route.notes if route else "")


def _under_wsl(choice: Choice, routes: dict[GpuTarget, AmdRoute | None]) -> Choice:
    """The official wheel finds a GPU only through AMD's ROCm for WSL, which serves few."""
    served = next((route for route in routes.values() if route and route.way == DXG), None)
    if served is None:
        names = ", ".join(map(str, routes))
        text = Text("AMD's ROCm for WSL does not serve {gpus}", gpus=names)
        return replace(choice, row=None, why=(), assumed=(), hidden=(), visible=(), refusal=text, is_hopeless=True)
    if not choice.runs:
        return choice
    first = Text("AMD GPUs under WSL: {notes}", notes=served.notes)
    return replace(choice, why=(*choice.why, first), assumed=(*choice.assumed, first))


def _from_own_index(choice: Choice, wish: Wish, tables: Tables, routes: dict[GpuTarget, AmdRoute | None]) -> Choice:
    """What AMD's index serves, where nothing is asked for that no table tells of it: versions, nightlies."""
    host = choice.host
    served = {gpu: route for gpu, route in routes.items() if route and route.way == OWN_INDEX}
    if not served or wish.torch is not None or wish.nightly or host.machine != "x86_64" or not _has_libc(host, tables):
        return choice
    if any(_official(gpu, choice, tables) for gpu in served):
        return choice  # an official build has its code, and something else is in the way
    pythons = next(iter(served.values())).pythons
    python = host.python
    if isinstance(python, PythonTag) and python not in pythons:
        text = Text(
            "AMD's own index, which has code for {gpus}, has no wheel for Python {python}",
            gpus=", ".join(map(str, served)),
            python=python,
        )
        return replace(choice, refusal=text, change=Text("use Python {needs}", needs=pythons[-1]), is_hopeless=False)
    return _taken(choice, routes, served, pythons)


def _taken(
    choice: Choice,
    routes: dict[GpuTarget, AmdRoute | None],
    served: dict[GpuTarget, AmdRoute],
    pythons: tuple[PythonTag, ...],
) -> Choice:
    text = "no official build has code for {gpus}; AMD's own index has, and decides which torch"
    why = [Text(text, gpus=", ".join(dict.fromkeys(map(str, served))))]
    notes = dict.fromkeys(route.notes for route in served.values() if route.notes)
    assumed = [Text("{gpus}: {notes}", gpus=", ".join(map(str, served)), notes=note) for note in notes]
    if isinstance(choice.host.python, Unknown):
        words = "the Python version is unknown; AMD's index has wheels for {first} to {last}"
        assumed.append(Text(words, first=pythons[0], last=pythons[-1]))
    extras = tuple(dict.fromkeys(route.extra for route in served.values()))
    hidden = tuple(gpu for gpu in routes if gpu not in served)
    visible = tuple(place for place, gpu in enumerate(routes) if gpu in served) if hidden else ()
    return replace(
        choice,
        amd=OwnIndex(extras),
        refusal=None,
        change=None,
        is_hopeless=False,
        why=(*why, *assumed),
        assumed=tuple(assumed),
        hidden=hidden,
        visible=visible,
    )


def _has_libc(host: Host, tables: Tables) -> bool:
    """Whether the C library is as new as the official wheels of ROCm want it; Windows has none."""
    rows = tables.torch_builds.of_backend("linux", "x86_64", _ROCM)
    floor, libc = rows[0].glibc_min if rows else None, host.libc
    if host.os != "linux" or isinstance(libc, Unknown) or libc is None or floor is None:
        return True
    return libc.kind == "glibc" and (libc.version is None or libc.version >= floor)


def _official(gpu: GpuTarget, choice: Choice, tables: Tables) -> bool:
    """Whether an official build that is known well enough to be offered has code for the GPU."""
    rows = tables.torch_builds.of_backend(str(choice.host.os), str(choice.host.machine), _ROCM)
    surely = [row for row in rows if row.emit and row.advertised and row.code_confidence in {"measured", "read"}]
    return any(gpu.target in row.gfx and gpu.target not in row.gfx_broken for row in surely)


def is_right_from_amd(choice: Choice, tables: Tables) -> bool:
    """Whether the torch there is a ROCm build that is none of the official ones: AMD's, or one like it."""
    host, build = choice.host, choice.host.build
    if not isinstance(host.torch, str) or not isinstance(build, Build) or build.backend != _ROCM:
        return False
    rows = tables.torch_builds.of_backend(str(host.os), str(host.machine), _ROCM)
    return host.torch not in {f"{row.torch}+{row.build}" for row in rows}
