"""``Key: value`` lists that programs and people write about a host: ``GPU: RTX 5090``, ``- **OS:** Windows 11``.

Every value is checked against its own form, because in a log the same keys mean other things.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from torchdoctor.facts import Gpu
from torchdoctor.patterns import lazily
from torchdoctor.readers.gpu_words import named_gpu, vendor_of
from torchdoctor.readers.platform_words import (
    MACHINES,
    compiler_version,
    distribution_said,
    os_name_of,
    platform_said,
    python_said,
)
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import VERSION, torch_said
from torchdoctor.values import CudaVersion, DriverVersion, GfxId, GpuArch, Libc, Version, canonical_machine

_PAIR = lazily(r"[\s*\-•`\"|]{0,40}([A-Za-z][\w .()/?-]{0,48}?)(?:[\s*`\"]{0,60}[:=|][\s*`\"]{0,60}|\s{2,80})(\S.*)$")
_TORCH = lazily(rf"(?:torch\s+)?v?({VERSION})(?:\s*\((.{{0,60}})\))?(?:\s|,|$)", re.IGNORECASE)
_DRIVER = lazily(r"(?:NVIDIA\s+|v)?(\d{3}\.\d{2,3}(?:\.\d{2,3})?)(?![\d.])", re.IGNORECASE)
_WINDOWS_NUMBER = lazily(r"\d{2}\.\d{1,2}\.1(\d)\.(\d{2})(\d{2})$")  # the registry's 32.0.15.9159 is driver 591.59
_JETPACK = lazily(r"(?:jetpack\s*)?v?(\d\.\d(?:\.\d)?)\b", re.IGNORECASE)
_L4T = lazily(r"[rR]?(\d{2}\.\d{1,2}(?:\.\d{1,2})?)\b")
_CUDA_OF_BUILD = lazily(r"(?:CUDA|cu)\s*(\d{1,2}\.\d)\b", re.IGNORECASE)
_DEVICE = lazily(r"(?:(?:cuda|xpu|hip):\d+\s+)?(?:\d+\s*x\s+)?(.{3,80}?)(?:\s+:\s+\w+|\s*[,;].*|\s+\((?!gfx).*)?$")
_PROCESSOR = lazily(r"\b(?:CPU|Xeon|Core\(TM\)|Ryzen|EPYC|Threadripper|Processor)\b", re.IGNORECASE)
_COUNT = lazily(r"(\d{1,2})\s*x\s+")
# As people say it: the key of a program's settings is lower case, and its None means that nothing was set.
_NO_GPU = lazily(
    r"[\s*\-•`\"|]{0,40}(?:GPUs?|GPU\(s\)|GPU (?:type|model|name|info)|(?i:graphics|video) card)"
    r"[\s*`\"]{0,60}[:=|][\s*`\"]{0,60}(?:none|[Nn]o|(?:none, )?[Nn]o (?:dedicated |discrete )?GPU)[\s`\",.*]{0,40}$"
)
_MODEL = lazily(r"(?:nvidia|amd|intel|apple)/\S", re.IGNORECASE)  # a language model's name on a hub
_SIZE = lazily(r"(\d{1,9}(?:\.\d{1,3})?) ?([MGT])i?B(?: RAM)?")
_UNITS = {"M": 1024**2, "G": 1024**3, "T": 1024**4}
_MOST_GPUS = 16
_LONGEST = 300  # characters of a value

KeyReader = Callable[[str, Spot], Iterator[Said]]


def _torch(value: str, spot: Spot) -> Iterator[Said]:
    """``2.1.2+cu121 (True)``: the remark is the answer of is_available() or the build's CUDA."""
    match = _TORCH.match(value)
    if not match or re.match(rf"\s*{VERSION}\b", value[match.end() :]):  # a list of several versions says nothing
        return
    yield from torch_said(match[1], spot.source)
    remark = match[2] or ""
    if remark.lower() in {"true", "false"}:
        yield Said("torch.cuda_available", remark.lower() == "true", spot.source)
    elif cuda := _CUDA_OF_BUILD.search(remark):
        yield from _cuda_of_torch(cuda[1], spot)


def _cuda_of_torch(value: str, spot: Spot) -> Iterator[Said]:
    try:
        yield Said("torch.cuda", CudaVersion.parse(value), spot.source)
    except ValueError:
        if value.lower() in {"none", "n/a"}:
            yield Said("torch.cuda", None, spot.source)


def _available(value: str, spot: Spot) -> Iterator[Said]:
    if value.lower() in {"true", "yes", "false", "no"}:
        yield Said("torch.cuda_available", value.lower() in {"true", "yes"}, spot.source)


def _os(value: str, spot: Spot) -> Iterator[Said]:
    if wsl := re.search(r"(?<!no )(?<!not )(?<!without )\bWSL\s?([12])?\b", value):
        yield from _wsl_os(value, wsl, spot)
    elif value.lower() in {"nt", "win32"}:
        yield Said("os.name", "windows", spot.source)
    else:
        platform = list(platform_said(value, spot.source))
        yield from platform or distribution_said(value, spot.source)
        yield from _machine_in(value, spot)


def _wsl_os(value: str, wsl: re.Match[str], spot: Spot) -> Iterator[Said]:
    """``Windows 11 + WSL2 Ubuntu 24.04``: the Linux inside is what torch runs on."""
    yield Said("os.name", "linux", spot.source)
    yield Said("place.wsl", int(wsl[1] or 2), spot.source)
    inside = value[wsl.end() :].strip(" (),-:")
    if os_name_of(inside) == "linux":
        yield from distribution_said(inside, spot.source)


def _machine_in(value: str, spot: Spot) -> Iterator[Said]:
    name = os_name_of(value)
    if match := re.search(rf"\b({MACHINES})\b", value):
        yield Said("os.machine", canonical_machine(match[1], name or None), spot.source)


def _machine(value: str, spot: Spot) -> Iterator[Said]:
    if match := re.fullmatch(rf"({MACHINES})(?:-based PC)?", value):
        yield Said("os.machine", canonical_machine(match[1], None), spot.source)


def _python(value: str, spot: Spot) -> Iterator[Said]:
    yield from python_said(re.sub(r"^(?:cpython|python)[- ]", "", value, flags=re.IGNORECASE), spot.source)
    if match := re.search(r"-windows-(x86|x86_64|aarch64)-none", value):  # uv's name of an interpreter
        yield Said("os.name", "windows", spot.source)
        yield Said("python.machine", canonical_machine(match[1], "windows"), spot.source)
        yield Said("python.bits", 32 if match[1] == "x86" else 64, spot.source)


def _gpu(value: str, spot: Spot) -> Iterator[Said]:
    if _NO_GPU.match(spot.text):
        yield Said("gpus", (), spot.source)
        return
    match = _DEVICE.match(value)
    if not match or not vendor_of(match[1]) or _PROCESSOR.search(value) or _MODEL.match(value):
        return
    count = _COUNT.match(value)
    gpus = (named_gpu(match[1].strip()),) * min(int(count[1]) if count else 1, _MOST_GPUS)
    yield Said("gpus", gpus, spot.source)


def _driver(value: str, spot: Spot) -> Iterator[Said]:
    if numbered := _WINDOWS_NUMBER.match(value):
        value = f"{numbered[1]}{numbered[2]}.{numbered[3]}"
    match = _DRIVER.match(value)
    if match and (not value[match.end() :].strip() or value[match.end()] in " ,;("):
        yield Said("driver.version", DriverVersion.parse(match[1]), spot.source)
        yield Said("driver.source", "pasted", spot.source)


def _driver_cuda(value: str, spot: Spot) -> Iterator[Said]:
    """``CUDA Driver Version / Runtime Version   12.4 / 12.1``: the first is what the driver speaks."""
    if match := re.match(r"(\d{1,2}\.\d{1,2})(?:\s*/|\s*$)", value):
        yield Said("driver.cuda_shown", CudaVersion.parse(match[1]), spot.source)
    else:
        yield from _driver(value, spot)


def _windows_driver(value: str, spot: Spot) -> Iterator[Said]:
    """The driver on the Windows side of WSL."""
    yield from _driver(value, spot)
    yield Said("place.wsl", 2, spot.source)
    yield Said("os.name", "linux", spot.source)


def _wsl(value: str, spot: Spot) -> Iterator[Said]:
    """``wsl --version`` prints the version of WSL itself, which only the second kind has."""
    if re.match(r"\d+\.\d+\.\d+", value):
        yield Said("place.wsl", 2, spot.source)
        yield Said("os.name", "linux", spot.source)


def _jetpack(value: str, spot: Spot) -> Iterator[Said]:
    if match := _JETPACK.match(value):
        yield Said("place.jetpack", match[1], spot.source)


def _l4t(value: str, spot: Spot) -> Iterator[Said]:
    if match := _L4T.match(value):
        yield Said("place.l4t", match[1], spot.source)


def _arch(value: str, spot: Spot) -> Iterator[Said]:
    """The compute capability beside a device's name."""
    try:
        arch = GpuArch.parse(value)
    except ValueError:
        return
    yield Said("gpus", (Gpu(vendor="nvidia", compute_capability=arch),), spot.source)


def _gfx(value: str, spot: Spot) -> Iterator[Said]:
    try:
        yield Said("gpus", (Gpu(vendor="amd", gfx=GfxId.parse(value)),), spot.source)
    except ValueError:
        return


def _memory(value: str, spot: Spot) -> Iterator[Said]:
    if match := _SIZE.fullmatch(value.replace(",", "")):
        yield Said("memory.total", int(float(match[1]) * _UNITS[match[2]]), spot.source)


def _nvcc(value: str, spot: Spot) -> Iterator[Said]:
    if match := re.search(r"(?:release |cuda_|V|^)(\d{1,2}\.\d)", value):
        yield Said("tools.nvcc", CudaVersion.parse(match[1]), spot.source)


def _gcc(value: str, spot: Spot) -> Iterator[Said]:
    if version := compiler_version(value):
        yield Said("tools.gcc", version, spot.source)


def _libc(value: str, spot: Spot) -> Iterator[Said]:
    try:
        yield Said("os.libc", Libc.parse(value.replace(" ", "-")), spot.source)
    except ValueError:
        if re.fullmatch(r"\d\.\d{1,2}", value):
            yield Said("os.libc", Libc("glibc", Version.parse(value)), spot.source)


def _cpu(value: str, spot: Spot) -> Iterator[Said]:
    if re.fullmatch(MACHINES, value):
        yield from _machine(value, spot)
    elif re.search(r"[A-Za-z]{3}", value):  # a processor's name, not a count
        yield Said("cpu.model", value, spot.source)


_WORDS: tuple[tuple[KeyReader, str], ...] = (
    (
        _torch,
        "torch, torch version, pytorch, pytorch version, pytorch version (gpu?), pytorch version (gpu)",
    ),
    (_torch, "pytorch.version"),
    (
        _cuda_of_torch,
        "torch cuda, torch cuda version, torch.version.cuda, pytorch cuda version, cuda used to build pytorch",
    ),
    (_available, "cuda available, is cuda available, cuda is available"),
    (
        _os,
        "os, os name, os version, operating system, system, platform, sys.platform, distro, distribution, host",
    ),
    (_os, "host os, python platform, platform_system, os_name, ostype, os type, system version, macos version"),
    (_machine, "machine, arch, architecture, platform_machine, cpu architecture, system type"),
    (_python, "python, python version, python_full_version"),
    (_gpu, "gpu, gpus, gpu type, gpu model, gpu name, gpu device, gpu 0, device, device name, name, cuda device"),
    (_gpu, "graphics card, graphics, video card, accelerator, gpu.name, chipset model, chip, card name, board name"),
    (_gpu, "gpu(s), gpu info, using torch device, display adapter, graphics processor, cuda device name"),
    (_gfx, "gfx version, gfx arch, gpu arch, gcn arch, gcnarchname"),
    (_memory, "total physical memory, system ram, system memory, host memory"),
    (
        _driver,
        "driver, driver version, nvidia driver, nvidia driver version, nvidia drivers, nvidia-driver, gpu driver",
    ),
    (_driver_cuda, "cuda driver, cuda driver version, cuda driver version / runtime version"),
    (_windows_driver, "windows driver version"),
    (_wsl, "wsl version"),
    (_jetpack, "jetpack, jetpack version"),
    (_l4t, "l4t, l4t version, jetson linux"),
    (_arch, "cuda arch, cuda arch bin, compute capability, cuda capability, compute_cap, gpu.compute_capability"),
    (_arch, "compute capability (nv), cuda capability major/minor version number, sm version, sm arch"),
    (_nvcc, "nvcc, nvcc version, cuda toolkit, cuda toolkit version"),
    (_gcc, "gcc, gcc version"),
    (_libc, "glibc, glibc version, libc, libc version"),
    (_cpu, "cpu, cpu model, processor"),
)
KEYS: Mapping[str, KeyReader] = {key: reader for reader, keys in _WORDS for key in keys.split(", ")}


def _pair(spot: Spot) -> Iterator[Said]:
    match = _PAIR.match(spot.text)
    reader = KEYS.get(" ".join(match[1].lower().split())) if match else None
    value = match[2].rstrip(' \t`",*') if match else ""
    if reader and 0 < len(value) <= _LONGEST:
        yield from reader(value, spot)


def _key_pattern() -> str:
    keys = sorted((re.escape(key) for key in KEYS), key=len, reverse=True)
    return rf"[\s*\-•`\"|]{{0,40}}(?i:{'|'.join(keys)})(?:[\s*`\"]{{0,60}}[:=|](?!=)\s{{0,80}}|\s{{2,80}})\S"


RECOGNISERS = (Recogniser(_key_pattern(), _pair, " ".join({re.split(r"[^a-z]", key)[0] for key in KEYS})),)
