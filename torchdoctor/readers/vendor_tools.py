"""Tools that list GPUs and what holds them: rocminfo, rocm-smi, amd-smi, xpu-smi, sycl-ls, lshw, mokutil."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchdoctor.facts import Gpu, Unknown
from torchdoctor.patterns import lazily
from torchdoctor.readers.gpu_words import named_gpu, pci_address, vendor_of
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.records import replace
from torchdoctor.values import GfxId

_AGENT = lazily(r"\s*Name:\s+(gfx[0-9a-f]{3,4})\s*$")
_MARKETING = lazily(r"\s*Marketing Name:\s+(\S.*?)\s*$")
_CARD = lazily(r"\s*GPU\[(\d{1,2})\]\s*:\s*(Card [Ss]eries|Card [Mm]odel|GFX Version|Device Name):\s*(\S.*?)\s*$")
_AMD_SMI = lazily(r"\s*(MARKET_NAME|TARGET_GRAPHICS_VERSION|BDF|DEVICE_ID):\s*(\S.*?)\s*$")
_XPU_SMI = lazily(r"[|\s\d]{0,30}(Device Name|PCI Device ID|PCI BDF Address):\s*(\S.*?)[\s|]*$")
_SYCL = lazily(r"\[(?:ext_oneapi_)?level_zero:gpu\b.{0,160}?, (.{3,80}?) \d{1,3}\.\d[\d.]*\s*\[")
_LSHW = lazily(r"\s*(product|vendor|bus info|configuration): (\S.*?)\s*$")
_SHOWN = 40  # lines that one GPU takes at most
_MOST_AGENTS = 64


def _agents(spot: Spot) -> Iterator[Said]:
    """rocminfo: its GPU agents are read together, at the first of them."""
    document = spot.document
    places = [place for place in document.lines_with("gfx")[:_MOST_AGENTS] if _AGENT.match(document.texts[place])]
    if places and places[0] == spot.index:
        gpus = tuple(_agent(document.texts[place : place + 5]) for place in places)
        yield Said("gpus", gpus, spot.source)


def _agent(lines: list[str]) -> Gpu:
    match = _AGENT.match(lines[0])
    gfx = match[1] if match else ""
    name = next((found[1] for line in lines[1:] if (found := _MARKETING.match(line))), gfx)
    return replace(named_gpu(name, vendor="amd"), gfx=GfxId.parse(gfx))


def _cards(spot: Spot) -> Iterator[Said]:
    """rocm-smi: every line names its GPU's number; all of them are read together, at the first."""
    if _CARD.match(spot.preceding(1)):
        return
    cards: dict[str, dict[str, str]] = {}
    for line in (spot.text, *spot.following(_SHOWN * 8)):
        if match := _CARD.match(line):
            cards.setdefault(match[1], {})[match[2].lower()] = match[3]
        elif line.startswith("="):
            break
    if gpus := tuple(_card(card) for card in cards.values()):
        yield Said("gpus", gpus, spot.source)


def _card(card: Mapping[str, str]) -> Gpu:
    names = (card.get(key, "") for key in ("card series", "device name", "card model"))
    name = next((name for name in names if name and not re.fullmatch(r"N/A|0x[0-9a-f]+", name)), "")
    return Gpu(vendor="amd", name=name or Unknown("GPU name"), gfx=_gfx(card.get("gfx version", "")))


def _gfx(text: str) -> GfxId | Unknown:
    try:
        return GfxId.parse(text)
    except ValueError:
        return Unknown("gfx id")


def _fields(spot: Spot, pattern: re.Pattern[str], first: str) -> dict[str, str]:
    """The labelled values from here on, up to the same label of the next GPU."""
    shown: dict[str, str] = {}
    for line in (spot.text, *spot.following(_SHOWN)):
        if match := pattern.match(line):
            if match[1] == first and first in shown:
                break
            shown.setdefault(match[1], match[2])
    return shown


def _amd_smi(spot: Spot) -> Iterator[Said]:
    shown = _fields(spot, _AMD_SMI, "MARKET_NAME")
    if name := shown.get("MARKET_NAME"):
        address = pci_address(shown.get("BDF", "")) or Unknown("PCI address")
        gfx = _gfx(shown.get("TARGET_GRAPHICS_VERSION", ""))
        yield Said("gpus", (replace(named_gpu(name, vendor="amd"), pci_address=address, gfx=gfx),), spot.source)


def _xpu_smi(spot: Spot) -> Iterator[Said]:
    shown = _fields(spot, _XPU_SMI, "Device Name")
    name = shown.get("Device Name", "")
    if vendor_of(name) == "intel":
        gpu = replace(
            named_gpu(name, vendor="intel"),
            pci_id=_pci_id(shown.get("PCI Device ID", "")),
            pci_address=pci_address(shown.get("PCI BDF Address", "")) or Unknown("PCI address"),
        )
        yield Said("gpus", (gpu,), spot.source)


def _pci_id(text: str) -> str | Unknown:
    match = re.fullmatch(r"0x([0-9a-fA-F]{4})", text)
    return match[1].upper() if match else Unknown("PCI device id")


def _sycl(spot: Spot) -> Iterator[Said]:
    """sycl-ls: a GPU that Level Zero lists is one that torch's Intel build can use."""
    if (match := _SYCL.match(spot.text)) and vendor_of(match[1]) == "intel":
        yield Said("gpus", (named_gpu(match[1].strip(), driver_sees=True),), spot.source)


def _lshw(spot: Spot) -> Iterator[Said]:
    """``lshw -C display``: the GPU on the bus and the kernel driver that holds it."""
    shown: dict[str, str] = {}
    for line in spot.following(_SHOWN // 2):
        if line.strip().startswith("*-"):
            break
        if match := _LSHW.match(line):
            shown.setdefault(match[1], match[2])
    maker = vendor_of(shown.get("vendor", "").replace("Advanced Micro Devices", "AMD"))
    if not maker or "product" not in shown:
        return
    model = re.findall(r"\[([^\[\]]{3,80})\]", shown["product"])
    driver = re.search(r"\bdriver=(\S+)", shown.get("configuration", ""))
    gpu = named_gpu(model[-1] if model else shown["product"], vendor=maker)
    address = pci_address(shown.get("bus info", "").removeprefix("pci@")) or Unknown("PCI address")
    kernel_driver = driver[1] if driver else Unknown("kernel driver bound to the GPU")
    yield Said("gpus", (replace(gpu, pci_address=address, kernel_driver=kernel_driver),), spot.source)
    yield Said("os.name", "linux", spot.source)


def _secure_boot(spot: Spot) -> Iterator[Said]:
    yield Said("driver.secure_boot", spot.text.endswith("enabled"), spot.source)


RECOGNISERS = (
    Recogniser(r"\s*Name:\s+gfx", _agents, "name", drops=True),
    Recogniser(
        r"\s*GPU\[\d+\]\s*:\s*(?:Card [Ss]eries|Card [Mm]odel|GFX Version|Device Name):", _cards, "gpu", drops=True
    ),
    Recogniser(r"\s*MARKET_NAME: ", _amd_smi, "market"),
    Recogniser(r"[|\s\d]{0,30}Device Name:\s+Intel", _xpu_smi, words=("Device Name: Intel",)),
    Recogniser(r"\s*\[(?:ext_oneapi_)?level_zero:gpu\b", _sycl, words=("level_zero:gpu",)),
    Recogniser(r"\s*\*-display", _lshw, words=("*-display",)),
    Recogniser(r"\s*SecureBoot (?:enabled|disabled)$", _secure_boot, "secureboot"),
)
