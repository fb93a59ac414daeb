"""What tracebacks, torch's own warnings and typed commands give away about the interpreter, torch and the GPU.

These lines stay among the messages: what they complain about is for the readers of logs; here they only yield facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.facts import Package, Packages
from torchdoctor.patterns import lazily
from torchdoctor.readers.gpu_words import named_gpu, vendor_of
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import torch_said
from torchdoctor.records import replace
from torchdoctor.values import CudaVersion, GpuArch, PythonTag

# A path may be one that was redacted already: <user> stands in it for a name.
_POSIX = lazily(
    r"(/(?:[\w./ @+-]|<user>){0,200}?)/lib(?:64)?/python(\d\.\d{1,2}t?)/(?:site|dist)-packages/(torch(?=/))?"
)
_LIBRARY = lazily(r"[\\/](?:site|dist)-packages[\\/](\w{2,40})[\\/]")
_MAC = lazily(r"/Users/|/Library/Frameworks/|/opt/homebrew/")
_WINDOWS = lazily(
    r"(?:[A-Za-z]:\\|\.)(?:[^\"'<>|]|<user>){0,200}?\\(?:lib\\)?site-packages(?:\\(torch(?=\\))?|\s|$)", re.IGNORECASE
)
_WINDOWS_PYTHON = lazily(r"\\Python(3)(\d{1,2})\\")
_TYPED = lazily(r"\bpython(3\.\d{1,2}t?)(?:\.exe)?\s|\bpy -(3\.\d{1,2}t?)\s")
_LABELLED = r"(\d{1,2}\.\d{1,3}\.\d{1,3}(?:\.dev\d{8})?\+(?:cu\d{2,3}|cpu|xpu|rocm[\d.]+\d))"
_INSTALLED = lazily(rf"(?:you have|installed torch==|INFO\s+Torch|^Torch)\s*{_LABELLED}")
_DIST_INFO = lazily(r"((?:[\w:./\\~ -]|<user>){0,200}?)(?:[\\/]|\s|contains )torch-(\d[\w.+]{2,40})\.dist-info")
_PRINTED = lazily(
    r"\s*(\d{1,2}\.\d{1,3}\.\d{1,3}[\w.+]{0,40})\s+((?:[A-Za-z]:\\|/)(?:[^\"'<>|]|<user>){1,300}[\\/]torch)"
    r"[\\/]__init__\.py\s*$"
)
_NOT_COMPATIBLE = lazily(
    r"\s*(?:.{0,200}?Warning:\s+)?(\S.{2,80}?) with CUDA capability sm_(\d{2,3}) is not compatible"
)
_FOUND_GPU = lazily(r"Found GPU\d+ (\S.{2,80}?) which is of (?:cuda|compute) capability(?: \(CC\))? (\d{1,2}\.\d)")
_YOUR_GPU = lazily(r"Your (\S.{2,80}?) GPU has compute capability (\d{1,2}\.\d)")
_SUPPORTS = lazily(
    r"The current PyTorch install supports CUDA capabilities ((?:(?:sm|compute)_\d{2,3}[af]?[ .]*){1,30})"
)
_FOUND_VERSION = lazily(r"driver on your system is too old \(found version (\d{4,5})\)")


def _posix(spot: Spot) -> Iterator[Said]:
    match = _POSIX.search(spot.text)
    if not match:
        return
    yield Said("python.tag", PythonTag.parse(match[2]), spot.source)
    yield Said("os.name", "macos" if _MAC.search(match[1] + "/") else "linux", spot.source)
    if match[3]:
        yield Said("torch.installed", True, spot.source)


def _windows(spot: Spot) -> Iterator[Said]:
    match = _WINDOWS.search(spot.text)
    if not match:
        return
    yield Said("os.name", "windows", spot.source)
    if match[1]:
        yield Said("torch.installed", True, spot.source)
    if python := _WINDOWS_PYTHON.search(match[0]):
        yield Said("python.tag", PythonTag(int(python[1]), int(python[2])), spot.source)


def _framework(spot: Spot) -> Iterator[Said]:
    """A library in the traceback of which each release accepts one torch alone."""
    match = _LIBRARY.search(spot.text)
    name = match[1].replace("_", "-").lower() if match else ""
    if name in spot.tables.neighbours.pinning():
        yield Said("torch.used_by", name, spot.source)


def _typed_python(spot: Spot) -> Iterator[Said]:
    if match := _TYPED.search(spot.text):
        yield Said("python.tag", PythonTag.parse(match[1] or match[2]), spot.source)


def _installed_torch(spot: Spot) -> Iterator[Said]:
    """Programs that say which torch they found: ``(you have 2.1.2+cpu)``."""
    if match := _INSTALLED.search(spot.text):
        yield from torch_said(match[1], spot.source)


def _printed(spot: Spot) -> Iterator[Said]:
    """What ``print(torch.__version__, torch.__file__)`` gives: the imported torch, and where it lies."""
    if match := _PRINTED.match(spot.text):
        yield from torch_said(match[1], spot.source)
        yield Said("torch.locations", (match[2],), spot.source)


def _dist_info(spot: Spot) -> Iterator[Said]:
    """The folder of an installed torch: with another one elsewhere, there are two copies."""
    if match := _DIST_INFO.search(spot.text):
        package = Package(name="torch", version=match[2])
        folder = match[1].removesuffix("contains").strip()
        yield Said("packages", Packages((replace(package, location=folder) if folder else package,)), spot.source)


def _warned_gpu(spot: Spot) -> Iterator[Said]:
    """Torch names the GPU and its compute capability when it has no code for it."""
    if match := _NOT_COMPATIBLE.match(spot.text):
        yield from _gpu_said(match[1], f"sm_{match[2]}", spot.source)
    elif match := _FOUND_GPU.search(spot.text) or _YOUR_GPU.search(spot.text):
        yield from _gpu_said(match[1], match[2], spot.source)


def _gpu_said(name: str, arch: str, source: str) -> Iterator[Said]:
    if vendor_of(name) in {"nvidia", ""}:
        gpu = named_gpu(name, driver_sees=True, vendor="nvidia")
        yield Said("gpus", (replace(gpu, compute_capability=GpuArch.parse(arch)),), source)


def _supported(spot: Spot) -> Iterator[Said]:
    if match := _SUPPORTS.search(spot.text):
        yield Said("torch.arch_list", tuple(match[1].replace(".", " ").split()), spot.source)


def _found_version(spot: Spot) -> Iterator[Said]:
    """Torch prints what the driver's libcuda speaks."""
    if match := _FOUND_VERSION.search(spot.text):
        try:
            yield Said("driver.cuda_shown", CudaVersion.from_driver_number(int(match[1])), spot.source)
        except ValueError:
            return


def _used(spot: Spot) -> Iterator[Said]:
    """A kernel was started, so torch had initialised the driver."""
    yield Said("torch.installed", True, spot.source)
    yield Said("torch.cuda_available", True, spot.source)


def _not_compiled(spot: Spot) -> Iterator[Said]:
    """A build without CUDA and without HIP says so itself."""
    yield Said("torch.installed", True, spot.source)
    yield Said("torch.cuda", None, spot.source)
    yield Said("torch.hip", None, spot.source)


_SITE = r".{0,400}?/python\d\.\d{1,2}t?/(?:site|dist)-packages/"
_HAVE = r".{0,200}?(?:you have|nstalled torch==|INFO\s+Torch )\s*\d|\s*Torch \d"
_COMMAND = r"\s*(?:.{0,120}[$#>]\s*)?(?:python3\.\d{1,2}t?(?:\.exe)?|py -3\.\d{1,2}t?)\s"
_PACKAGES = ("/site-packages/", "/dist-packages/", "\\site-packages\\")
RECOGNISERS = (
    Recogniser(r"\s*\S.{2,290}? with CUDA capability sm_\d", _warned_gpu, words=("with CUDA capability",), keeps=True),
    Recogniser(r".{0,200}?Found GPU\d+ ", _warned_gpu, words=("Found GPU",), keeps=True),
    Recogniser(r".{0,200}?Your \S.{2,80}? GPU has compute", _warned_gpu, words=("GPU has compute",), keeps=True),
    Recogniser(r"\s*The current PyTorch install supports", _supported, "the", keeps=True),
    Recogniser(r".{0,300}?is too old \(found version", _found_version, words=("is too old (found",), keeps=True),
    Recogniser(r".{0,300}?\bCUDA error: no kernel image", _used, words=("CUDA error: no kernel image",), keeps=True),
    Recogniser(r".{0,300}?\bTorch not compiled with CUDA", _not_compiled, words=("Torch not compiled",), keeps=True),
    Recogniser(_HAVE, _installed_torch, words=("you have ", "nstalled torch==", "Torch "), keeps=True),
    Recogniser(
        r"\s*\d{1,2}\.\d\S{0,60}\s.{1,300}[\\/]torch[\\/]__init__\.py", _printed, words=("__init__.py",), keeps=True
    ),
    Recogniser(r".{0,200}?\btorch-\d[\w.+]*\.dist-info", _dist_info, words=(".dist-info",), keeps=True),
    Recogniser(_COMMAND, _typed_python, words=("python3.", "py -3"), keeps=True),
    Recogniser(r".{0,400}?[\\/](?:site|dist)-packages[\\/]", _framework, words=_PACKAGES, keeps=True),
    Recogniser(_SITE, _posix, words=("/site-packages/", "/dist-packages/"), keeps=True),
    Recogniser(r".{0,400}?\\(?:(?i:lib)\\)?site-packages\b", _windows, words=("\\site-packages",), keeps=True),
)
