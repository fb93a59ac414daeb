"""The wheels that compat_tables says exist, as pages for a loopback index: torch, its companions, what they need."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from loopback_index import Wheel

from torchdoctor.tables import Tables
from torchdoctor.tables.companions import Companion
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import PythonTag

COMPANIONS = ("torchvision", "torchaudio", "torchdata")
ONLY_ON_DEFAULT = "plain-client"
ONLY_ON_TORCH_INDEX = {"pytorch-triton-rocm", "triton-rocm", "pytorch-triton-xpu", "triton-xpu"}
# Where a row does not tell the number: any will do, since our wheels pin what they ask for themselves.
CUDNN, NCCL, TRITON, SYCL, LIBRARY_PATCH = "9.10.2.21", "2.27.5", "3.5.1", "2025.2.1", "4.1"
# The other CUDA libraries that a real build asks for, and what it asks for in pure Python: for a page of real size.
CUDA_LIBRARIES = (
    "cuda-runtime",
    "cuda-nvrtc",
    "cuda-cupti",
    "cufft",
    "curand",
    "cusolver",
    "cusparse",
    "cusparselt",
    "cufile",
    "nvjitlink",
    "nvshmem",
    "nvtx",
)
PURE_LIBRARIES = (
    Wheel("sympy", "1.14.0", requires=("mpmath>=1.1.0,<1.4",)),
    Wheel("mpmath", "1.3.0"),
    Wheel("networkx", "3.6"),
    Wheel("jinja2", "3.1.6", requires=("MarkupSafe>=2.0",)),
    Wheel("MarkupSafe", "3.0.3"),
    Wheel("fsspec", "2025.10.0"),
)
PATCH = 3  # numbers of a whole version of Python
ON_LINUX = ' ; platform_system == "Linux"'
PURE = (
    Wheel("filelock", "3.20.0"),
    Wheel("typing-extensions", "4.15.0"),
    Wheel("numpy", "2.3.5"),
    Wheel("pillow", "12.0.0"),
)


def wheels_of_tables(
    tables: Tables, versions: Sequence[str], *, os: str = "linux", machine: str = "x86_64", every_library: bool = False
) -> dict[str, list[Wheel]]:
    """Return the pages of an official index and of PyPI for these torch versions on one system.

    ``whl/<build>`` holds the builds with their labels and what they need, as the official index does, ``whl`` all of
    them; ``simple`` holds what PyPI has, without labels, and one package that the others lack. Of the many libraries
    that a real build asks for three stand for all, unless ``every_library`` is wanted.
    """
    rows = [row for row in tables.torch_builds.for_host(os, machine) if str(row.torch) in versions]
    pages: dict[str, list[Wheel]] = {"whl": [], "simple": []}
    for row in rows:
        page = pages.setdefault(f"whl/{'cpu' if os == 'macos' else row.build}", [])
        needs = (*_needs(row, every_library=every_library), *(PURE_LIBRARIES if every_library else ()))
        page += _of_row(row, tables, needs, f"+{row.build}" if row.os != "macos" else "")
        pages["simple"] += (wheel for wheel in needs if wheel.name not in ONLY_ON_TORCH_INDEX)
        if row.on_pypi:
            pages["simple"] += _of_row(row, tables, needs, "")
    pages["whl"] += [wheel for name, wheels in pages.items() if name.startswith("whl/") for wheel in wheels]
    pages["simple"] += [Wheel(ONLY_ON_DEFAULT, version, requires=("filelock>=3",)) for version in ("1.0", "2.0")]
    pages["simple"] += [Wheel("filelock", "3.25.0")]
    return {name: _distinct(wheels) for name, wheels in pages.items()}


def nightly_pages() -> dict[str, list[Wheel]]:
    """The nightly page of the build for the CPU: a torch that is newer than every release, and its companions."""
    tag = PythonTag(*sys.version_info[:2])
    tags = f"cp{tag.major}{tag.minor}-cp{tag.major}{tag.minor}-manylinux_2_28_x86_64"
    version = "9.0.0.dev20261120"
    needs = {
        "torch": ("filelock",),
        "torchvision": (f"torch=={version}", "numpy"),
        "torchaudio": (f"torch=={version}",),
    }
    wheels = (Wheel(name, f"{version}+cpu", tags, asks, says=f"{version}+cpu") for name, asks in needs.items())
    return {"whl/nightly/cpu": [*wheels, *PURE]}


def _distinct(wheels: Sequence[Wheel]) -> list[Wheel]:
    ordered = sorted(wheels, key=lambda wheel: wheel.file)
    return [next(same) for _, same in groupby(ordered, key=lambda wheel: wheel.file)]


def _of_row(row: TorchBuild, tables: Tables, needs: tuple[Wheel, ...], label: str) -> Iterator[Wheel]:
    """The torch of a row, its companions and everything they ask for."""
    lowest = min(row.pythons)
    python = f">={lowest.major}.{lowest.minor}"
    says = f"{row.torch}+{row.build}" if row.os != "macos" else ""
    for tag in row.pythons:
        yield Wheel("torch", f"{row.torch}{label}", _tags(tag, row), _asked(needs), python, says)
    yield from needs
    yield from PURE
    for name in COMPANIONS:
        for companion in tables.companions.releases(name):
            if row.torch in companion.listed_for:
                yield from _companion(companion, row, label, python)


def _companion(companion: Companion, row: TorchBuild, label: str, python: str) -> Iterator[Wheel]:
    """The wheels of one release on one page. A release that is one wheel for all stands on PyPI alone."""
    python = ",".join(
        [python, *(f"!={gap}{'.*' if len(gap.parts) < PATCH else ''}" for gap in companion.pythons_excluded)]
    )
    torch = f"torch=={companion.torch_min}" if companion.is_pinned else f"torch>={companion.torch_min}"
    asks = (torch, "numpy", "pillow") if companion.name == "torchvision" else (torch,)
    if companion.labelled == "no":
        yield Wheel(companion.name, str(companion.version), "py3-none-any", asks, python)
    elif companion.labelled == "unknown" and len(companion.built_cuda) == 1:
        if not label:
            yield Wheel(companion.name, str(companion.version), f"py3-none-{_platform(row)}", asks, python)
    elif companion.has_code_for(row.cuda) if row.cuda else True:
        for tag in row.pythons:
            says = f"{companion.version}+{row.build}" if row.os != "macos" else ""
            yield Wheel(companion.name, f"{companion.version}{label}", _tags(tag, row), asks, python, says)


def _asked(needs: Sequence[Wheel]) -> tuple[str, ...]:
    pins = [f"{wheel.name}=={wheel.version}{ON_LINUX}" for wheel in needs]
    return ("filelock", "typing-extensions>=4.10.0", *pins)


def _needs(row: TorchBuild, *, every_library: bool) -> Iterator[Wheel]:
    """The library and compiler wheels that a build pins, named as the real ones."""
    if row.os != "linux":
        return
    if row.cuda:
        suffix = f"-cu{row.cuda.major}"
        yield Wheel("nvidia-cublas" + (suffix if row.cuda.major < 13 else ""), f"{row.cuda}.{LIBRARY_PATCH}")
        for name in CUDA_LIBRARIES if every_library else ():
            yield Wheel(f"nvidia-{name}{suffix}", f"{row.cuda}.{LIBRARY_PATCH}")
        yield Wheel(f"nvidia-cudnn{suffix}", row.cudnn if row.cudnn.count(".") == 3 else CUDNN)
        yield Wheel(f"nvidia-nccl{suffix}", row.nccl or NCCL)
    if row.build.backend == "xpu":
        yield Wheel("intel-sycl-rt", SYCL)
    if found := re.fullmatch(r"([a-z-]*)[ ~=]*([\d.]*)", row.triton):
        name, version = found.groups()
        if name != "none" and (name or version):
            yield Wheel(name or "triton", version or TRITON)


def _tags(tag: PythonTag, row: TorchBuild) -> str:
    """The tags of a compiled wheel: ``cp313-cp313t-manylinux_2_28_x86_64``."""
    python = f"cp{tag.major}{tag.minor}"
    return f"{python}-{python}{'t' if str(tag).endswith('t') else ''}-{_platform(row)}"


def _platform(row: TorchBuild) -> str:
    if row.os == "windows":
        return "win_amd64" if row.machine == "x86_64" else "win_arm64"
    if row.os == "macos":
        return f"macosx_{str(row.os_min or '11.0').replace('.', '_')}_{row.machine}"
    return f"manylinux_{str(row.glibc_min or '2.28').replace('.', '_')}_{row.machine}"
