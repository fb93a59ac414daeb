"""NVIDIA GPUs by the name nvidia-smi prints and by PCI device id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from torchdoctor.records import record, replace
from torchdoctor.tables.cells import cell, filled, hex4, iso_date, listed, optional, paired, yes_no
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import DriverVersion, GpuArch


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(" / ")) if text else ()


@record(frozen=True, slots=True, eq=False, repr=False)
class GpuModel(TableRow):
    """One GPU name. One that was used for several chips has several ``capabilities``; its PCI id tells them apart."""

    name: str = cell(filled)
    other_names: tuple[str, ...] = cell(_names)
    capabilities: tuple[GpuArch, ...] = cell(listed(GpuArch.parse))
    architecture: str = cell(filled)
    chip: str = cell(filled)
    pci_ids: tuple[str, ...] = cell(listed(hex4))
    pci_capabilities: Mapping[str, GpuArch] = cell(paired(hex4, GpuArch.parse))
    memory_gb: str = cell(str)
    segment: str = cell(filled)
    tegra: bool = cell(yes_no)
    last_driver_branch: int | None = cell(optional(int))
    first_open_driver: DriverVersion | None = cell(optional(DriverVersion.parse))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the GPU's name."""
        return self.name

    @property
    def compute_capability(self) -> GpuArch | None:
        """The compute capability, or None when the name alone does not decide it."""
        return self.capabilities[0] if len(self.capabilities) == 1 else None


FILE = TableFile(
    "gpu_models.csv",
    GpuModel,
    ("name",),
    "NVIDIA GPUs: names, PCI ids, compute capability, last driver branch.",
)

_VGPU_OR_MIG = re.compile(r"(-\d+[abcq])?( mig [\dgc.]+gb.*)?$")
_TRADEMARK = re.compile(r"\((tm|r)\)|[™®]")
_SPACING = re.compile(r"\b(rtx|gtx|gt)(?=a?\d)|(?<=\d)(?=ti\b)")
_FORM = re.compile(
    r"\(.*?\)|[-\s](pcie|sxm\d?|dgxs|fhhl|nvl\d*|hbm\de?|lc|ls|h)\b|[-\s]\d+gb?\b"
    r"|\b(laptop|embedded|mobile|gpu|with|max-q|design|generation|edition|workstation|server|active|oem|sff)\b"
)
_BRAND = re.compile(r"\b(nvidia|geforce|quadro|tesla|grid|jetson|developer|kit)\b")
_GENERATION = re.compile(r"\b(ada|blackwell)\b")


def _plain(name: str) -> str:
    """Drop what never tells two GPUs apart: case, the vendor, trademark signs, a vGPU profile, a MIG slice."""
    lowered = " ".join(_TRADEMARK.sub("", name.lower()).split())
    return _VGPU_OR_MIG.sub("", lowered).removeprefix("nvidia ").strip()


def _loose(name: str) -> str:
    """Drop also what usually does not: brand, form factor, memory size, edition."""
    spaced = _SPACING.sub(lambda found: f"{found[0]} ", _plain(name))
    return " ".join(_BRAND.sub(" ", _FORM.sub(" ", spaced)).replace("-", " ").split())


def _loose_forms(name: str) -> set[str]:
    """The loose name, and the same without its generation: a bare RTX 6000 may be the Ada one or the Turing one."""
    loose = _loose(name)
    return {loose, " ".join(_GENERATION.sub(" ", loose).split())} - {""}


class GpuModels:
    """Look-ups over the models."""

    def __init__(self, rows: Iterable[GpuModel]) -> None:
        self.rows: tuple[GpuModel, ...] = tuple(rows)

    def by_name(self, name: str) -> GpuModel | None:
        """Return the model of this name, tolerant of vendor, form factor, memory and vGPU suffixes.

        Names that stand for several chips come back with all their capabilities; an unknown name gives None, and so
        does one that nvidia-smi cut short, unless every GPU it could be has one and the same capability.
        """
        text = " ".join(name.split())
        if text.endswith("..."):
            return self._by_cut_name(text)
        rows = self._plain_names.get(_plain(text)) or self._loose_names.get(_loose(text)) or []
        return _merged(sorted(rows, key=lambda row: row.name != text))

    def by_pci(self, device_id: str) -> GpuModel | None:
        """Return the model of a PCI id such as ``2684`` or ``0x2684``, with the capability that this id decides."""
        wanted = device_id.strip().lower().removeprefix("0x").upper()
        owners = [row for row in self.rows if wanted in row.pci_ids]
        if not owners:
            return None
        model = min(owners, key=lambda row: (len(row.capabilities), len(row.pci_ids)))
        decided = model.pci_capabilities.get(wanted)
        return replace(model, capabilities=(decided,)) if decided else model

    def suggest(self, name: str) -> list[str]:
        """Return known names near an unknown one, best first."""
        from difflib import get_close_matches

        wanted = _loose(name) or _plain(name)
        holding = sorted((known for known in self._loose_names if wanted in known.split()), key=len)
        near = holding or get_close_matches(wanted, list(self._loose_names), n=3, cutoff=0.6)
        return list(dict.fromkeys(self._loose_names[known][0].name for known in near[:3]))

    @cached_property
    def _plain_names(self) -> dict[str, list[GpuModel]]:
        return self._indexed(lambda name: {_plain(name)})

    @cached_property
    def _loose_names(self) -> dict[str, list[GpuModel]]:
        return self._indexed(_loose_forms)

    def _indexed(self, forms: Callable[[str], set[str]]) -> dict[str, list[GpuModel]]:
        found: dict[str, list[GpuModel]] = {}
        for row in self.rows:
            for form in {form for name in (row.name, *row.other_names) for form in forms(name)}:
                found.setdefault(form, []).append(row)
        return found

    def _by_cut_name(self, text: str) -> GpuModel | None:
        start = _plain(text.removesuffix("..."))
        rows = [row for name, rows in self._plain_names.items() if name.startswith(start) for row in rows]
        model = _merged(rows) if any(character.isdigit() for character in start) else None
        if model is None or model.compute_capability is None:
            return None
        return replace(model, name=text, pci_ids=(), memory_gb="")


def _merged(rows: list[GpuModel]) -> GpuModel | None:
    """The first of several rows of one name, holding the capabilities of them all."""
    if not rows:
        return None
    capabilities = tuple(sorted({arch for row in rows for arch in row.capabilities}))
    return rows[0] if capabilities == rows[0].capabilities else replace(rows[0], capabilities=capabilities)
