"""Names of GPUs as people and tools write them: whose they are, and whether they are whole."""

from __future__ import annotations

import re

from torchdoctor.facts import Gpu, Unknown
from torchdoctor.patterns import lazily
from torchdoctor.values import GfxId

MEBIBYTE = 1024 * 1024

_VENDORS = (
    (
        "amd",
        lazily(
            r"\b(?:AMD|Radeon|Instinct|FirePro|gfx[0-9a-f]{3,4}|RX ?(?:Vega\b|\d{3,4}(?: ?(?:XTX?|GRE|[MS]))?))\b",
            re.IGNORECASE,
        ),
    ),
    (
        "intel",
        lazily(
            r"\bIntel(?:\(R\))?|\bArc(?:\(TM\))?\s+(?:Pro\s+)?[AB]\d|\bIris (?:Xe|Plus|Pro)\b|\bUHD Graphics\b",
            re.IGNORECASE,
        ),
    ),
    ("apple", lazily(r"\bApple\s+M\d", re.IGNORECASE)),
    ("nvidia", lazily(r"\b(?:NVIDIA|GeForce|Tesla|Quadro|RTX|GTX|TITAN|Jetson|GRID|nvgpu)\b", re.IGNORECASE)),
)
_GFX = lazily(r"\bgfx[0-9a-f]{3,4}\b", re.IGNORECASE)
_DOMAIN = lazily(r"([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})\.([0-9a-f])", re.IGNORECASE)
_SHORT = lazily(r"([0-9a-f]{2}):([0-9a-f]{2})\.([0-9a-f])", re.IGNORECASE)


def vendor_of(name: str) -> str:
    """The vendor a GPU's name shows, or an empty string."""
    return next((vendor for vendor, pattern in _VENDORS if pattern.search(name)), "")


def named_gpu(name: str, *, driver_sees: bool | None = None, vendor: str = "") -> Gpu:
    """A GPU known by name; a name cut by a narrow table stays unknown."""
    gfx = _GFX.search(name)
    return Gpu(
        vendor=vendor or vendor_of(name) or Unknown("GPU vendor"),
        name=Unknown("GPU name") if is_cut(name) or _GFX.fullmatch(name) else name,
        gfx=GfxId.parse(gfx[0]) if gfx else Unknown("gfx id"),
        driver_sees=Unknown("driver's view of this GPU") if driver_sees is None else driver_sees,
    )


def is_cut(name: str) -> bool:
    """Whether a table was too narrow for the name."""
    return name.endswith(("...", "…"))


def pci_address(text: str) -> str | None:
    """``00000000:01:00.0`` or ``01:00.0`` as the kernel writes it: ``0000:01:00.0``."""
    text = text.strip().lower()
    if match := _DOMAIN.fullmatch(text):
        return f"{int(match[1], 16):04x}:{match[2]}:{match[3]}.{match[4]}"
    return f"0000:{text}" if _SHORT.fullmatch(text) else None
