"""What programs built on torch print of a host when they start: ComfyUI, web UIs, Unsloth, vLLM, Ultralytics."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.facts import Gpu, Package, Packages
from torchdoctor.patterns import lazily
from torchdoctor.readers.gpu_words import MEBIBYTE, named_gpu, vendor_of
from torchdoctor.readers.package_rows import normalised
from torchdoctor.readers.platform_words import python_said
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import VERSION, torch_said
from torchdoctor.records import replace
from torchdoctor.values import CudaVersion, GfxId, GpuArch

_UNSLOTH_GPU = lazily(
    r"(?:^\S{1,3}\s+/\|\s+(?:GPU: )?)?(\w[^.]{2,80}?)\. (?:Num GPUs = (\d{1,2})\. )?"
    r"Max memory: [\d.]{1,12} GB\. Platform\s?[:=] ?(\w+)"
)
_UNSLOTH_TORCH = lazily(rf"(?:Torch|Pytorch): ({VERSION})\.(?: CUDA(?::| =) (\d{{1,2}}\.\d)\.)?")
_UNSLOTH_CUDA = lazily(r"CUDA Toolkit(?::| =) (\d{1,2}\.\d{1,2})\b")
_ULTRALYTICS = lazily(rf"Python-(\d\.\d{{1,2}}\.\d{{1,3}}) torch-({VERSION})(?: CUDA:\d \((.{{3,80}}?), \d)?")
_RUNNING = lazily(rf"You are running torch ({VERSION})")
_TORCH_PINNED = lazily(rf"\b[Tt]orch: torch==({VERSION})(?=\s|$)")
_DETECTED_GPU = lazily(r"Torch detected GPU: (.{3,80}?) VRAM (\d{1,7}) Arch \((\d{1,2}), (\d)\)")
_FOOTER = lazily(r"\b(python|torch): (\S{3,60})")
_PYTHON_YOU_HAVE = lazily(r"Python\s+\S+ \(you have (\d\.\d{1,2}\.\d{1,3}\S*)\)")
_MEMORY = lazily(r"Total VRAM \d+ MB, total RAM (\d{1,9}) MB")
_MAC = lazily(r"Mac Version \((\d{2}), (\d{1,2})")
_JETSON = lazily(
    r"[\s*-]{0,20}(?:Model: )?(NVIDIA Jetson [\w() ]{2,60}?)(?=\s+-\s|\s+\[|\s+Engineering|\s+Developer|$)"
)
_JETPACK = lazily(r"(?i:jetpack) (\d\.\d(?:\.\d)?) \[L4T (\d{2}\.\d{1,2}(?:\.\d{1,2})?)\]")
_AMD_ARCH = lazily(r"AMD arch: (gfx[0-9a-f]{3,4})\b")
_SETTINGS = lazily(
    r"PyTorch settings found: CUDA_VERSION=(\d{2,3}), Highest Compute Capability: \(?(\d{1,2})(?:\.|, )(\d)"
)
_HIGHEST = lazily(r"Highest compute capability among GPUs detected: (\d{1,2}\.\d)")
_REPORT = lazily(r"(torch version|torch cuda version|shared memory \(/dev/shm\) size) \.{3,} (\S.{0,60})$")
_SIZE = lazily(r"([\d.]{1,12}) ([KMGT])B$")
_UNITS = {"K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_ENGINE = lazily(
    r"(?:Initializing an? (?:V1 )?LLM engine \(v|vLLM API server version |vLLM server version |bitsandbytes v)"
    r"(\d[\w.+]{1,40}?)(?:\)|\s|$)"
)
_VERSION_OF = lazily(
    r"[\s*`-]{0,20}(xformers|transformers|accelerate|diffusers|peft|bitsandbytes|huggingface_hub|safetensors|triton"
    r"|flash[_-]attn|deepspeed|vllm|numpy|torchvision|torchaudio)`? version\s*[:=]\s*v?(\d[\w.+]{0,40})\s*$",
    re.IGNORECASE,
)
_LISTED = lazily(
    r"(?:^|[,;|]\s{1,4}|\b(?:using|with)\s)(vllm|sglang|tensorrt-llm)[ =]{1,2}"
    r"v?(\d{1,2}\.\d{1,3}\.\d{1,3}[\w.]{0,12})(?=[,;|]|\s*$)",
    re.IGNORECASE,
)


def _unsloth(spot: Spot) -> Iterator[Said]:
    """The banner's line on the GPU, and behind the drawing on the next one torch; CUDA there is the capability."""
    if not (match := _UNSLOTH_GPU.search(spot.text)) or not vendor_of(match[1]):
        return
    torch = _UNSLOTH_TORCH.search(spot.next_line())
    gpu = named_gpu(match[1], driver_sees=True)
    if torch and torch[2]:
        gpu = replace(gpu, compute_capability=GpuArch.parse(torch[2]))
    yield Said("gpus", (gpu,) * max(1, min(int(match[2] or 1), 16)), spot.source)
    if match[3].lower() in {"linux", "windows"}:
        yield Said("os.name", match[3].lower(), spot.source)


def _unsloth_torch(spot: Spot) -> Iterator[Said]:
    """What the banner calls the CUDA toolkit is the CUDA of the torch build."""
    if torch := _UNSLOTH_TORCH.search(spot.text):
        yield from torch_said(torch[1], spot.source)
        if cuda := _UNSLOTH_CUDA.search(spot.text):
            yield Said("torch.cuda", CudaVersion.parse(cuda[1]), spot.source)


def _ultralytics(spot: Spot) -> Iterator[Said]:
    if match := _ULTRALYTICS.search(spot.text):
        yield from python_said(match[1], spot.source)
        yield from torch_said(match[2], spot.source)
        if match[3] and vendor_of(match[3]):
            yield Said("gpus", (named_gpu(match[3], driver_sees=True),), spot.source)


def _running(spot: Spot) -> Iterator[Said]:
    if match := _RUNNING.search(spot.text):
        yield from torch_said(match[1], spot.source)


def _sdnext(spot: Spot) -> Iterator[Said]:
    """SD.Next lists what it found installed as ``Torch: torch==2.9.0+cpu torchvision==0.24.0+cpu``."""
    if match := _TORCH_PINNED.search(spot.text):
        yield from torch_said(match[1], spot.source)


def _detected_gpu(spot: Spot) -> Iterator[Said]:
    if match := _DETECTED_GPU.search(spot.text):
        gpu = replace(named_gpu(match[1], driver_sees=True), memory=int(match[2]) * MEBIBYTE)
        if gpu.vendor == "nvidia":
            gpu = replace(gpu, compute_capability=GpuArch(int(match[3]), int(match[4])))
        yield Said("gpus", (gpu,), spot.source)


def _footer(spot: Spot) -> Iterator[Said]:
    """The last line of a web UI's page: versions between bullets."""
    for name, version in _FOOTER.findall(spot.text):
        yield from python_said(version, spot.source) if name == "python" else torch_said(version, spot.source)


def _python_you_have(spot: Spot) -> Iterator[Said]:
    """XFormers names the Python it was built for, and then the one that runs."""
    if match := _PYTHON_YOU_HAVE.search(spot.text):
        yield from python_said(match[1], spot.source)


def _memory(spot: Spot) -> Iterator[Said]:
    if match := _MEMORY.search(spot.text):
        yield Said("memory.total", int(match[1]) * MEBIBYTE, spot.source)


def _mac(spot: Spot) -> Iterator[Said]:
    if match := _MAC.search(spot.text):
        yield Said("os.name", "macos", spot.source)
        yield Said("os.version", f"{match[1]}.{match[2]}", spot.source)


def _jetson(spot: Spot) -> Iterator[Said]:
    """jetson-stats: ``Model: NVIDIA Jetson Orin NX ... - Jetpack 6.2 [L4T 36.4.3]``, or on two lines."""
    if match := _JETPACK.search(spot.text):
        yield Said("place.jetpack", match[1], spot.source)
        yield Said("place.l4t", match[2], spot.source)
    if match := _JETSON.match(spot.text):
        yield Said("gpus", (named_gpu(match[1].strip(), vendor="nvidia"),), spot.source)


def _amd_arch(spot: Spot) -> Iterator[Said]:
    if match := _AMD_ARCH.search(spot.text):
        yield Said("gpus", (Gpu(vendor="amd", gfx=GfxId.parse(match[1])),), spot.source)


def _settings(spot: Spot) -> Iterator[Said]:
    """Bitsandbytes prints the CUDA of torch without its dot."""
    if match := _SETTINGS.search(spot.text):
        yield Said("torch.cuda", CudaVersion(int(match[1][:-1]), int(match[1][-1])), spot.source)
        yield _capability(f"{match[2]}.{match[3]}", spot)
    elif match := _HIGHEST.search(spot.text):
        yield _capability(match[1], spot)


def _capability(text: str, spot: Spot) -> Said:
    return Said("gpus", (Gpu(vendor="nvidia", compute_capability=GpuArch.parse(text)),), spot.source)


def _report(spot: Spot) -> Iterator[Said]:
    """A row of DeepSpeed's report, dotted up to the value."""
    if not (match := _REPORT.match(spot.text)):
        return
    if match[1] == "torch version":
        yield from torch_said(match[2], spot.source)
    elif match[1] == "torch cuda version" and re.fullmatch(r"\d{1,2}\.\d{1,2}", match[2]):
        yield Said("torch.cuda", CudaVersion.parse(match[2]), spot.source)
    elif size := _SIZE.match(match[2]):
        yield from _shm(size, spot)


def _shm(size: re.Match[str], spot: Spot) -> Iterator[Said]:
    if size[1].count(".") <= 1 and size[1] != ".":
        yield Said("memory.shm", int(float(size[1]) * _UNITS[size[2]]), spot.source)


def _engine(spot: Spot) -> Iterator[Said]:
    if match := _ENGINE.search(spot.text):
        name = "bitsandbytes" if "bitsandbytes v" in match[0] else "vllm"
        yield Said("packages", Packages((Package(name=name, version=match[1]),)), spot.source)


def _version_of(spot: Spot) -> Iterator[Said]:
    if match := _VERSION_OF.match(spot.text):
        package = Package(name=normalised(match[1]), version=match[2])
        yield Said("packages", Packages((package,)), spot.source)


def _listed(spot: Spot) -> Iterator[Said]:
    """``vllm 0.6.3, torch 2.4.0, RTX 4090``: a host described in one line."""
    yield from (
        Said("packages", Packages((Package(name=normalised(name), version=version),)), spot.source)
        for name, version in _LISTED.findall(spot.text)
    )


_NAMES = (
    "xformers transformers accelerate diffusers peft bitsandbytes huggingface safetensors triton flash deepspeed vllm "
    "numpy torchvision torchaudio"
)
_ENGINES = ("LLM engine (v", "server version ", "bitsandbytes v")
RECOGNISERS = (
    Recogniser(r".{0,40}?Max memory: |.{0,140}?Max memory: ", _unsloth, words=(" GB. Platform",)),
    Recogniser(r".{0,40}?(?:Torch|Pytorch): \d.{0,60}? Toolkit", _unsloth_torch, words=(" Toolkit: ", " Toolkit = ")),
    Recogniser(r".{0,80}?Python-\d", _ultralytics, words=(" torch-",)),
    Recogniser(r"\s*You are running torch \d", _running, "you"),
    Recogniser(r".{0,80}?[Tt]orch: torch==\d", _sdnext, words=("orch: torch==",)),
    Recogniser(r".{0,60}?Torch detected GPU: ", _detected_gpu, words=("Torch detected GPU",)),
    Recogniser(r".{0,120}?\u2022\s+torch: ", _footer, words=("\u2022  torch: ",)),
    Recogniser(r"\s*Python\s+\d\S* \(you have", _python_you_have, "python"),
    Recogniser(r"\s*Total VRAM \d+ MB", _memory, "total"),
    Recogniser(r"\s*Mac Version \(", _mac, "mac"),
    Recogniser(
        r".{0,160}?(?:\[L4T \d|Model: NVIDIA Jetson|- NVIDIA Jetson)",
        _jetson,
        words=("[L4T ", "Model: NVIDIA Jetson", "- NVIDIA Jetson"),
    ),
    Recogniser(r"\s*AMD arch: gfx", _amd_arch, "amd"),
    Recogniser(
        r".{0,40}?(?:PyTorch settings found: |Highest compute capability among)", _settings, "pytorch cuda", keeps=True
    ),
    Recogniser(r"\s*(?:torch (?:cuda )?version|shared memory \(/dev/shm\) size) \.{3,}", _report, "torch shared"),
    Recogniser(r".{0,100}?(?:LLM engine \(v|server version |bitsandbytes v)\d", _engine, words=_ENGINES, keeps=True),
    Recogniser(
        r".{0,200}?(?i:vllm|sglang|tensorrt-llm)[ =]",
        _listed,
        words=("llm ", "LLM ", "llm=", "lang ", "Lang "),
        keeps=True,
    ),
    Recogniser(r"[\s*`-]{0,20}[\w-]+`? (?i:version)\s*[:=]\s*v?\d", _version_of, _NAMES),
)
