"""Lines about the NVIDIA driver: /proc, lsmod, modprobe, device nodes, package databases, the loader's cache."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.document import command_of
from torchdoctor.readers.recogniser import Recogniser, Spot, nothing
from torchdoctor.readers.statement import Said
from torchdoctor.values import DriverVersion

NUMBER = r"\d{3}\.\d{2,3}(?:\.\d{2,3})?"

_PROC = lazily(rf"NVRM version: NVIDIA UNIX (Open Kernel Module for \S+|\S+ Kernel Module)\s+({NUMBER})")
_BARE_NVRM = lazily(rf"NVRM ({NUMBER})$")
_LSMOD = lazily(r"(nvidia(?:_uvm|_modeset|_drm)?|nouveau)\s+\d+\s+\d+")
_MODPROBE_MISSING = lazily(r"modprobe: FATAL: .{0,40}?\bnvidia\S* .{0,60}?/lib/modules/([\w.+~-]+)")  # in any language
_NODE = lazily(r"/dev/nvidia[\w-]*")
_NO_NODE = lazily(r".*cannot access '?(/dev/nvidia\S*?)'?: No such file")
_PACKAGE = lazily(rf"(?:ii\s+)?(?:libnvidia-compute|nvidia-utils)[\w:.-]{{0,80}}?[\s-]{{1,80}}({NUMBER})-")
_DKMS = lazily(rf"nvidia(?:-open)?[/,]\s?({NUMBER})(?:,\s*([\w.+~-]+))?[^:]{{0,120}}:\s+(\w+)")
_KERNEL = lazily(r"\d+\.\d+\.\d+\S*$")
_LIBCUDA = lazily(r"\s*libcuda\.so\.1 \(.{0,60}\) => (\S+)")
_LIBCUDA_FILE = lazily(rf"libcuda\.so\.({NUMBER})\b")


def loaded_driver(text: str, source: str) -> Iterator[Said]:
    """A version that the running kernel module itself shows."""
    yield Said("driver.version", DriverVersion.parse(text), source)
    yield Said("driver.source", "proc", source)
    yield Said("driver.module_loaded", True, source)


def _proc_version(spot: Spot) -> Iterator[Said]:
    if match := _PROC.match(spot.text):
        yield from loaded_driver(match[2], spot.source)
        yield Said("driver.flavour", "open" if match[1].startswith("Open") else "proprietary", spot.source)


def _nvrm(spot: Spot) -> Iterator[Said]:
    if match := _BARE_NVRM.match(spot.text):
        yield from loaded_driver(match[1], spot.source)


def _lsmod(spot: Spot) -> Iterator[Said]:
    """A run of lsmod lines; the first one speaks for all, so that a missing nvidia_uvm is seen."""
    if _LSMOD.match(spot.preceding(1)):
        return
    names = [match[1] for line in (spot.text, *spot.following(12)) if (match := _LSMOD.match(line.strip()))]
    if names == ["nouveau"]:
        yield Said("driver.module_loaded", False, spot.source)
        return
    if "nvidia" in names:
        yield Said("driver.module_loaded", True, spot.source)
        yield Said("driver.uvm_loaded", "nvidia_uvm" in names, spot.source)


def _modprobe(spot: Spot) -> Iterator[Said]:
    if _MODPROBE_MISSING.search(spot.text):
        yield Said("driver.module_on_disk", None, spot.source)
        yield Said("driver.module_loaded", False, spot.source)
        yield Said("driver.version", None, spot.source)


def _nodes(spot: Spot) -> Iterator[Said]:
    """The answer to ``ls /dev/nvidia*``: only a list that shows nvidiactl is the whole list."""
    nodes: list[str] = []
    for line in (spot.text, *spot.following(40)):
        found = _NODE.findall(line)
        if not found or not re.match(r"\s*(?:/dev/|[c-][rw-]{9})", line):
            break
        nodes += found
    asked = re.search(r"ls\s.*?/dev/nvidia\*", spot.preceding(1))
    if "/dev/nvidiactl" in nodes and (asked or not _NODE.search(spot.preceding(1))):
        yield Said("driver.device_nodes", tuple(sorted(set(nodes))), spot.source)


def _no_nodes(spot: Spot) -> Iterator[Said]:
    match = _NO_NODE.match(spot.text)
    if match and match[1] in {"/dev/nvidia*", "/dev/nvidiactl", "/dev/nvidia0"}:
        yield Said("driver.device_nodes", (), spot.source)
    elif match and match[1].startswith("/dev/nvidia-uvm"):
        yield Said("driver.uvm_loaded", False, spot.source)


def _driver_package(spot: Spot) -> Iterator[Said]:
    """A row of dpkg, rpm or pacman that names the driver's user-space libraries."""
    if match := _PACKAGE.match(spot.text):
        yield Said("os.name", "linux", spot.source)
        yield Said("driver.library_version", DriverVersion.parse(match[1]), spot.source)


def _dkms(spot: Spot) -> Iterator[Said]:
    """``dkms status``: a module that is only added or built, or for another kernel, is not on disk for this one."""
    if match := _DKMS.match(spot.text):
        yield Said("os.name", "linux", spot.source)
        running = _running_kernels(spot) if match[2] else set()
        installed = match[3].startswith("installed") and (not running or match[2] in running)
        yield Said("driver.module_on_disk", DriverVersion.parse(match[1]) if installed else None, spot.source)


def _running_kernels(spot: Spot) -> set[str]:
    """The kernels for which modprobe looked, or that ``uname -r`` named."""
    document = spot.document
    texts = [document.texts[index] for index in document.lines_with("/lib/modules/")]
    found = {match[1] for text in texts if (match := _MODPROBE_MISSING.search(text))}
    asked = (index for index in document.lines_with("uname -r") if index + 1 < len(document))
    answers = (document.texts[index + 1].strip() for index in asked)
    return found | {answer for answer in answers if _KERNEL.match(answer)}


def _loader_cache(spot: Spot) -> Iterator[Said]:
    """``ldconfig -p | grep libcuda``: the first line wins; no line at all means that the loader does not find it."""
    if match := _LIBCUDA.match(spot.text):
        yield Said("driver.libcuda", match[1], spot.source)


def _asked_loader_cache(spot: Spot) -> Iterator[Said]:
    following = spot.next_line() or "$ "
    if not _LIBCUDA.match(following) and (following == "$ " or command_of(following)):
        yield Said("driver.libcuda", None, spot.source)


def _libcuda_file(spot: Spot) -> Iterator[Said]:
    """A file name such as ``libcuda.so.580.95.05`` carries the version of the driver's libraries."""
    match = _LIBCUDA_FILE.search(spot.text)
    if match and "compat" not in spot.text:
        yield Said("driver.library_version", DriverVersion.parse(match[1]), spot.source)


RECOGNISERS = (
    Recogniser(r"\s*NVRM version: NVIDIA UNIX", _proc_version, "nvrm", keeps=True),
    Recogniser(r"\s*NVRM \d{3}\.", _nvrm, "nvrm"),
    Recogniser(r"\s*GCC version:\s+gcc version", nothing, "gcc", drops=True),
    Recogniser(r"\s*(?:nvidia(?:_\w+)?|nouveau)\s+\d+\s+\d+", _lsmod, "nvidia nouveau"),
    Recogniser(r"\s*modprobe: FATAL: .{0,40}?\bnvidia", _modprobe, "modprobe", keeps=True),
    Recogniser(r"\s*(?:[c-][rw-]{9}\S?\s.{0,80})?/dev/nvidia", _nodes, words=("/dev/nvidia",)),
    Recogniser(r".{0,20}cannot access '?/dev/nvidia", _no_nodes, "ls", keeps=True),
    Recogniser(
        r"(?:ii\s+)?(?:libnvidia-compute|nvidia-utils)\S{0,80}?[\s-]{1,80}\d{3}\.",
        _driver_package,
        "ii libnvidia nvidia",
        keeps=True,
    ),
    Recogniser(r"\s*nvidia(?:-open)?[/,]\s?\d{3}\.[^:]{1,120}:\s", _dkms, "nvidia", keeps=True),
    Recogniser(r"\s*libcuda\.so\.1 \(", _loader_cache, "libcuda"),
    Recogniser(r".{0,80}ldconfig -p \| grep \S{0,3}libcuda", _asked_loader_cache, words=("ldconfig -p",)),
    Recogniser(r"(?:.{0,120}[\s/])?libcuda\.so\.\d{3}\.", _libcuda_file, words=("libcuda.so.",), keeps=True),
)
