"""GPUs as lspci lists them: what is on the bus, and which kernel driver holds it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.facts import Gpu, Unknown
from torchdoctor.patterns import lazily
from torchdoctor.readers.gpu_words import named_gpu, pci_address
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said

_ADDRESS = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]"
_CLASS = r"(?:VGA compatible controller|3D controller|Display controller|Processing accelerators)(?: \[[0-9a-f]{4}\])?:"
_LSPCI = lazily(rf"(?:({_ADDRESS})\s+)?(?:{_CLASS}\s*)?(.{{1,200}})$")
_CONTROLLER = lazily(r"(?:controller|accelerators)(?: \[[0-9a-f]{4}\])?:")
_IDS = lazily(r"\[(10de|1002|8086):([0-9a-f]{4})\]")
_IN_USE = lazily(r"\s*Kernel driver in use:\s*(\S+)")
_MODEL = lazily(r"\[([^\[\]]{3,120})\]")
_MAKERS = (("NVIDIA", "nvidia"), ("Advanced Micro Devices", "amd"), ("AMD", "amd"), ("Intel", "intel"))


def _lspci(spot: Spot) -> Iterator[Said]:
    match = _LSPCI.match(spot.text)
    vendor = next((vendor for word, vendor in _MAKERS if word in match[2]), "") if match else ""
    if not match or not vendor:
        return
    ids, model = _IDS.search(match[2]), _MODEL.findall(_IDS.sub("", match[2]).replace("[AMD/ATI]", ""))
    gpu = named_gpu(_model_name(model, match[2], vendor), vendor=vendor)
    gpu = Gpu(
        vendor=vendor,
        name=gpu.name,
        gfx=gpu.gfx,
        pci_id=ids[2].upper() if ids else Unknown("PCI device id"),
        pci_address=pci_address(match[1] or "") or Unknown("PCI address"),
        kernel_driver=_driver_in_use(spot),
    )
    yield Said("gpus", (gpu,), spot.source)
    yield Said("os.name", "linux", spot.source)


def _model_name(models: list[str], text: str, vendor: str) -> str:
    """The marketing name in brackets, when lspci shows one; else the words after the maker."""
    name = models[-1] if models else text.partition("Corporation ")[2] or text
    name = name.partition("[AMD/ATI] ")[2] or name
    name = re.sub(r"\s*\(rev [0-9a-f]+\)", "", name).strip()
    return f"NVIDIA {name}" if vendor == "nvidia" and models and not name.startswith("NVIDIA") else name


def _driver_in_use(spot: Spot) -> str | Unknown:
    for line in spot.following(6):
        if match := _IN_USE.match(line):
            return match[1]
        if _CONTROLLER.search(line):
            break
    return Unknown("kernel driver bound to the GPU")


_WORDS = ("VGA compatible controller", "3D controller", "Display controller", "Processing accelerators")
RECOGNISERS = (
    Recogniser(rf"\s*(?:{_ADDRESS}\s+)?{_CLASS}", _lspci, words=_WORDS),
    Recogniser(r"\s*NVIDIA Corporation \w+ \[", _lspci, "nvidia"),
)
