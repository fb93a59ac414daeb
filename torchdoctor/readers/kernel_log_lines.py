"""Lines of the kernel log about the GPU driver, and of the fabric manager."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator

from torchdoctor.facts import Gpu
from torchdoctor.patterns import lazily
from torchdoctor.readers.driver_lines import NUMBER, loaded_driver
from torchdoctor.readers.gpu_words import named_gpu, pci_address
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.values import DriverVersion

_LEGACY = lazily(rf"The NVIDIA (.{{3,80}}?) GPU installed in this system|The ({NUMBER}) NVIDIA driver will ignore")
_OPEN_ONLY = lazily(r"(?:not supported by open|requires use of the NVIDIA open kernel modules)")
_PCI_OF_LOG = lazily(
    r"NVIDIA GPU ([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]) \(PCI ID: 10de:([0-9a-f]{4})\)", re.IGNORECASE
)
_FABRIC = lazily(rf"driver interface version {NUMBER} don't match with driver version ({NUMBER})")
_CLIENT = lazily(rf"API mismatch: the client has the version ({NUMBER})")
_MODULE = lazily(rf"this kernel module has the version ({NUMBER})")
_XID = lazily(r"Xid \(([^)]{0,60})\): (\d{1,4})\b")
_LOG_WINDOW = 8  # lines of one kernel message


def _kernel_log(spot: Spot) -> Iterator[Said]:
    """A line of the GPU driver's kernel messages; what a message names is split over several lines."""
    yield Said("driver.kernel_log", (spot.text,), spot.source)
    yield Said("os.name", "linux", spot.source)
    text = " ".join((spot.text, *(line.strip() for line in spot.following(_LOG_WINDOW) if "NVRM" in line)))
    text = re.sub(r"(?:\[[ \d.]+\]\s*)?\bNVRM:\s*", " ", text)
    text = " ".join(text.split())
    if match := _PCI_OF_LOG.search(spot.text):
        yield Said(
            "gpus", (Gpu(vendor="nvidia", pci_address=pci_address(match[1]), pci_id=match[2].upper()),), spot.source
        )
    if "installed in this system" in text and _OPEN_ONLY.search(text):
        yield Said("driver.flavour", "open" if "not supported by open" in text else "proprietary", spot.source)
    if "NVIDIA" in spot.text:
        yield from _legacy(text, spot.source)
    if "API mismatch" in spot.text:
        yield from _mismatch(text, spot.source)


def _mismatch(text: str, source: str) -> Iterator[Said]:
    """The client's libraries are of another version than the kernel module that runs."""
    if client := _CLIENT.search(text):
        yield Said("driver.library_version", DriverVersion.parse(client[1]), source)
    if module := _MODULE.search(text):
        yield from loaded_driver(module[1], source)


def _legacy(text: str, source: str) -> Iterator[Said]:
    """``The NVIDIA GeForce X GPU installed in this system is supported through the NVIDIA Y Legacy drivers``."""
    for name, version in _LEGACY.findall(text):
        if name:
            yield Said("gpus", (named_gpu(name.strip(), vendor="nvidia", driver_sees=False),), source)
        else:
            yield Said("driver.module_on_disk", DriverVersion.parse(version), source)


def _loading(spot: Spot) -> Iterator[Said]:
    """``NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05`` in the kernel log."""
    yield from _kernel_log(spot)
    if match := re.search(rf"loading NVIDIA UNIX (Open )?.*?({NUMBER})", spot.text):
        yield from loaded_driver(match[2], spot.source)
        yield Said("driver.flavour", "open" if match[1] else "proprietary", spot.source)


def _fabric_manager(spot: Spot) -> Iterator[Said]:
    """The fabric manager names the driver's version when the two do not match."""
    if match := _FABRIC.search(spot.text):
        yield from loaded_driver(match[1], spot.source)


def _xid(text: str) -> Hashable:
    """Of which GPU an Xid is, and its number."""
    match = _XID.search(text)
    return match and match.groups()


_WORDS = ("NVRM:", "nvidia-uvm:", "nvidia-modeset:", "dxgk:")
RECOGNISERS = (
    Recogniser(r".{0,100}\bNVRM: loading NVIDIA UNIX", _loading, words=("NVRM: loading NVIDIA",), keeps=True),
    Recogniser(r".{0,100}\bNVRM: Xid ", _kernel_log, words=("NVRM: Xid",), keeps=True, most=2, tells=_xid),
    Recogniser(
        r".{0,100}\b(?:NVRM:(?! Xid )|nvidia-uvm:|nvidia-modeset:|dxgk:)", _kernel_log, words=_WORDS, keeps=True
    ),
    Recogniser(
        r".{0,160}driver interface version \d", _fabric_manager, words=("driver interface version",), keeps=True
    ),
)
