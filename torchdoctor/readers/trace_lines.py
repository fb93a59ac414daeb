"""What tracebacks, torch's own warnings and typed commands give away about the interpreter, torch and the GPU.

These lines stay among the messages: what they complain about is for the readers of logs; here they only yield facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.facts import Package, Packages
from torchdoctor.readers.gpu_words import named_gpu, vendor_of
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import torch_said
from torchdoctor.records import replace
from torchdoctor.values import CudaVersion, GfxId, GpuArch, PythonTag

_POSIX = re.compile(r"(/[\w./ @+-]{0,200}?)/lib(?:64)?/python(\d\.\d{1,2}t?)/(?:site|dist)-packages/(torch(?=/))?")
_MAC = re.compile(r"/Users/|/Library/Frameworks/|/opt/homebrew/")
_WINDOWS = re.compile(
    r"(?:[A-Za-z]:\\|\.)[^\"'<>|]{0,200}?\\(?:lib\\)?site-packages(?:\\(torch(?=\\))?|\s|$)", re.IGNORECASE
)
_WINDOWS_PYTHON = re.compile(r"\\Python(3)(\d{1,2})\\")
_TYPED = re.compile(r"\bpython(3\.\d{1,2}t?)(?:\.exe)?\s|\bpy -(3\.\d{1,2}t?)\s")
_LABELLED = r"(\d{1,2}\.\d{1,3}\.\d{1,3}(?:\.dev\d{8})?\+(?:cu\d{2,3}|cpu|xpu|rocm[\d.]+\d))"
_INSTALLED = re.compile(rf"(?:you have|installed torch==|INFO\s+Torch)\s*{_LABELLED}")
_DIST_INFO = re.compile(r"([\w:./\\~ -]{0,200}?)(?:[\\/]|\s|contains )torch-(\d[\w.+]{2,40})\.dist-info")
_NOT_COMPATIBLE = re.compile(r"\s*(\S.{2,80}?) with CUDA capability sm_(\d{2,3}) is not compatible")
_FOUND_GPU = re.compile(r"Found GPU\d+ (\S.{2,80}?) which is of (?:cuda|compute) capability(?: \(CC\))? (\d{1,2}\.\d)")
_YOUR_GPU = re.compile(r"Your (\S.{2,80}?) GPU has compute capability (\d{1,2}\.\d)")
_SUPPORTS = re.compile(
    r"The current PyTorch install supports CUDA capabilities ((?:(?:sm|compute)_\d{2,3}[af]?[ .]*){1,30})"
)
_FOUND_VERSION = re.compile(r"driver on your system is too old \(found version (\d{4,5})\)")
_ROCMINFO = re.compile(r"Name:\s+(gfx[0-9a-f]{3,4})\s*$")
_MARKETING = re.compile(r"\s*Marketing Name:\s+(\S.*?)\s*$")


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


def _typed_python(spot: Spot) -> Iterator[Said]:
    if match := _TYPED.search(spot.text):
        yield Said("python.tag", PythonTag.parse(match[1] or match[2]), spot.source)


def _installed_torch(spot: Spot) -> Iterator[Said]:
    """Programs that say which torch they found: ``(you have 2.1.2+cpu)``."""
    if match := _INSTALLED.search(spot.text):
        yield from torch_said(match[1], spot.source)


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


def _not_compiled(spot: Spot) -> Iterator[Said]:
    """A build without CUDA and without HIP says so itself."""
    yield Said("torch.installed", True, spot.source)
    yield Said("torch.cuda", None, spot.source)
    yield Said("torch.hip", None, spot.source)


def _rocminfo(spot: Spot) -> Iterator[Said]:
    """An agent of rocminfo: its gfx id, and a few lines on its marketing name."""
    if match := _ROCMINFO.match(spot.text):
        name = next((found[1] for line in spot.following(4) if (found := _MARKETING.match(line))), match[1])
        yield Said("gpus", (replace(named_gpu(name, vendor="amd"), gfx=GfxId.parse(match[1])),), spot.source)


_SITE = r".{0,400}?/python\d\.\d{1,2}t?/(?:site|dist)-packages/"
_HAVE = r".{0,200}?(?:you have|nstalled torch==|INFO\s+Torch )\s*\d"
_COMMAND = r"\s*(?:.{0,120}[$#>]\s*)?(?:python3\.\d{1,2}t?(?:\.exe)?|py -3\.\d{1,2}t?)\s"
RECOGNISERS = (
    Recogniser(r"\s*Name:\s+gfx", _rocminfo, "name"),
    Recogniser(r"\s*\S.{2,80}? with CUDA capability sm_\d", _warned_gpu, words=("with CUDA capability",), keeps=True),
    Recogniser(r".{0,200}?Found GPU\d+ ", _warned_gpu, words=("Found GPU",), keeps=True),
    Recogniser(r".{0,200}?Your \S.{2,80}? GPU has compute", _warned_gpu, words=("GPU has compute",), keeps=True),
    Recogniser(r"\s*The current PyTorch install supports", _supported, "the", keeps=True),
    Recogniser(r".{0,300}?is too old \(found version", _found_version, words=("is too old (found",), keeps=True),
    Recogniser(r".{0,300}?\bTorch not compiled with CUDA", _not_compiled, words=("Torch not compiled",), keeps=True),
    Recogniser(_HAVE, _installed_torch, words=("you have ", "nstalled torch==", " Torch "), keeps=True),
    Recogniser(r".{0,200}?\btorch-\d[\w.+]*\.dist-info", _dist_info, words=(".dist-info",), keeps=True),
    Recogniser(_COMMAND, _typed_python, words=("python3.", "py -3"), keeps=True),
    Recogniser(_SITE, _posix, words=("/site-packages/", "/dist-packages/"), keeps=True),
    Recogniser(r".{0,400}?\\(?:(?i:lib)\\)?site-packages\b", _windows, words=("\\site-packages",), keeps=True),
)
