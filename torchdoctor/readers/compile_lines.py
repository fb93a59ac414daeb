"""Lines that only a build of an extension or torch.compile prints: they show what is wanted, and what it found.

The lines stay among the messages: what they complain about is for the readers of logs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.values import CudaVersion

_DETECTED = lazily(r"The detected CUDA version \((\d{1,2}\.\d{1,2})\) mismatches the version that was used to compile")
_OF_TORCH = lazily(r"PyTorch \((\d{1,2}\.\d{1,2})\)")
_NO_NVCC = (
    "CUDA_HOME environment variable is not set",
    "nvcc was not found",
    "No such file or directory: '/usr/local/cuda",
)
_WRONG_COMPILER = (
    "unsupported GNU version",
    "unsupported Microsoft Visual Studio version",
    "unsupported clang version",
)
_NO_TRITON = ("Cannot find a working triton installation", "TritonMissing")
_NO_C_COMPILER = ("Failed to find C compiler",)
_NO_MSVC = ("Failed to find MSVC",)


def _compiling(spot: Spot) -> Iterator[Said]:
    yield Said("tools.compiling", True, spot.source)


def _mismatch(spot: Spot) -> Iterator[Said]:
    """torch.utils.cpp_extension names both CUDA versions, on one line or on two."""
    match = _DETECTED.search(spot.text)
    if match:
        yield from _compiling(spot)
        yield Said("tools.nvcc", CudaVersion.parse(match[1]), spot.source)
    if match and (of_torch := _OF_TORCH.search(f"{spot.text} {spot.next_line()}")):
        yield Said("torch.cuda", CudaVersion.parse(of_torch[1]), spot.source)


def _no_nvcc(spot: Spot) -> Iterator[Said]:
    """A missing nvcc counts here and nowhere else: this text comes from a build that looked for it."""
    if "No such file" in spot.text and not re.search(r"/bin/nvcc'?$", spot.text):
        return
    yield from _compiling(spot)
    yield Said("tools.nvcc", None, spot.source)


def _wants_triton(spot: Spot) -> Iterator[Said]:
    yield Said("tools.torch_compile", True, spot.source)


def _no_c_compiler(spot: Spot) -> Iterator[Said]:
    yield from _wants_triton(spot)
    yield Said("tools.gcc", None, spot.source)
    yield Said("tools.clang", None, spot.source)


def _no_msvc(spot: Spot) -> Iterator[Said]:
    yield from _wants_triton(spot)
    yield Said("tools.msvc", None, spot.source)


RECOGNISERS = (
    Recogniser(r".{0,300}?The detected CUDA version", _mismatch, words=("The detected CUDA version",), keeps=True),
    Recogniser(r"", _no_nvcc, words=_NO_NVCC, keeps=True),
    Recogniser(r".{0,400}?#error\b", _compiling, words=_WRONG_COMPILER, keeps=True),
    Recogniser(r"", _wants_triton, words=_NO_TRITON, keeps=True),
    Recogniser(r"", _no_c_compiler, words=_NO_C_COMPILER, keeps=True),
    Recogniser(r"", _no_msvc, words=_NO_MSVC, keeps=True),
)
