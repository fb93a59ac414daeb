"""Lines of tools that describe an environment or a GPU: pip show, conda info, inxi, rocm-smi, torch's properties."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.facts import Package, Packages
from torchdoctor.patterns import lazily
from torchdoctor.readers.gpu_words import MEBIBYTE, is_cut, named_gpu
from torchdoctor.readers.nvidia_smi_values import driver_said
from torchdoctor.readers.package_rows import normalised
from torchdoctor.readers.platform_words import distribution_said
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import torch_said
from torchdoctor.records import replace
from torchdoctor.values import CudaVersion, DriverVersion, GpuArch, Libc, Version

_NAME = lazily(r"Name: ([A-Za-z0-9][\w.-]{0,80})$")
_FIELD = lazily(r"(Version|Location|Requires): (.*)$")
_VIRTUAL = lazily(r"__(cuda|glibc)==?(\d{1,2}\.\d{1,2})")
_INXI = lazily(r"Device-\d+: NVIDIA .{0,60}?\[([^\]]{3,60})\].{0,60}?driver: (\S+)(?: v: (\d{3}\.[\d.]+))?")
_PROPERTIES = lazily(
    r"_CudaDeviceProperties\(name='([^']{3,80})', major=(\d{1,2}), minor=(\d), total_memory=(\d{1,7})MB"
)
# Windows numbers its drivers: 26.21.14.4166 is NVIDIA's 441.66.
_CONTROLLER = lazily(r"(NVIDIA .{2,80}?)\s+\d{8,12}\s+\d{14}\S{0,16}\s+\d{2}\.\d{1,2}\.1(\d)\.(\d{2})(\d{2})$")
_SHOWN = 12  # lines of one package in pip show


def _pip_show(spot: Spot) -> Iterator[Said]:
    """``pip show torch``: name and version stand on lines of their own, and what torch requires tells its CUDA."""
    name = _NAME.match(spot.text)
    if not name or not spot.next_line().startswith("Version: "):
        return
    matches = (_FIELD.match(line.strip()) for line in spot.following(_SHOWN))
    shown: dict[str, str] = {match[1]: match[2] for match in matches if match}
    package = Package(name=normalised(name[1]), version=shown["Version"].strip())
    if location := shown.get("Location", "").strip():
        package = replace(package, location=location)
    yield Said("packages", Packages((package,)), spot.source)
    if package.name == "torch":
        yield from torch_said(package.version, spot.source)
        yield from _requirements(shown, spot.source)


def _requirements(shown: dict[str, str], source: str) -> Iterator[Said]:
    if "Requires" in shown:
        names = (normalised(name.strip()) for name in shown["Requires"].split(","))
        yield Said("torch.requires", tuple(name for name in names if name), source)


def _conda_platform(spot: Spot) -> Iterator[Said]:
    yield from distribution_said(spot.text.partition(":")[2].strip(), spot.source)


def _virtual_packages(spot: Spot) -> Iterator[Said]:
    """The virtual packages of conda: the CUDA that the driver speaks, and the C library."""
    for name, version in _VIRTUAL.findall(spot.text):
        if name == "cuda":
            yield Said("driver.cuda_shown", CudaVersion.parse(version), spot.source)
        else:
            yield Said("os.libc", Libc("glibc", Version.parse(version)), spot.source)


def _inxi(spot: Spot) -> Iterator[Said]:
    if match := _INXI.search(spot.text):
        gpu = replace(named_gpu(f"NVIDIA {match[1]}", vendor="nvidia"), kernel_driver=match[2])
        yield Said("gpus", (gpu,), spot.source)
        yield Said("os.name", "linux", spot.source)
        if match[2] == "nvidia" and match[3]:
            yield from driver_said(match[3], spot.source)


def _controller(spot: Spot) -> Iterator[Said]:
    """A row of ``Get-CimInstance Win32_VideoController``: the name, perhaps cut, and the driver."""
    if match := _CONTROLLER.match(spot.text):
        model = spot.tables.gpu_models.by_name(match[1]) if is_cut(match[1]) else None
        arch = model and model.compute_capability
        gpu = named_gpu(match[1], vendor="nvidia")
        yield Said("gpus", (replace(gpu, compute_capability=arch) if arch else gpu,), spot.source)
        yield Said("os.name", "windows", spot.source)
        yield Said("driver.version", DriverVersion.parse(f"{match[2]}{match[3]}.{match[4]}"), spot.source)


def _properties(spot: Spot) -> Iterator[Said]:
    if match := _PROPERTIES.search(spot.text):
        gpu = replace(
            named_gpu(match[1], driver_sees=True),
            compute_capability=GpuArch(int(match[2]), int(match[3])),
            memory=int(match[4]) * MEBIBYTE,
        )
        yield Said("gpus", (gpu,), spot.source)


RECOGNISERS = (
    Recogniser(r"\s*Name: \w", _pip_show, "name"),
    Recogniser(r"\s*platform : \w+-\w+\s*$", _conda_platform, "platform"),
    Recogniser(r".{0,80}?__(?:cuda|glibc)==?\d", _virtual_packages, words=("__cuda=", "__glibc=")),
    Recogniser(r"\s*Device-\d+: NVIDIA", _inxi, "device"),
    Recogniser(r"\s*NVIDIA .{2,80}?\s\d{8,12}\s+\d{14}", _controller, "nvidia"),
    Recogniser(r".{0,200}?_CudaDeviceProperties\(", _properties, words=("_CudaDeviceProperties",), keeps=True),
)
