"""AMD GPUs: the gfx id that a marketing name, a chip name or a PCI device id decides."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, hex4, iso_date, listed, one_of, yes_no
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import GfxId

_NOISE = re.compile(
    r"\((?:tm|r)\)|[™®]|\(.*?\)|\[.*?\]|\b(?:amd|ati|radeon|instinct|graphics|series|gpu|advanced micro devices)\b"
)

_STEMS = re.compile(r"(?i)(?:RX|R[579X]|MI|Vega|Navi|W[5-7])[ -]?\d")  # RX 7900, MI300X, W7900


@record(frozen=True, slots=True, eq=False, repr=False)
class AmdGpu(TableRow):
    """One marketing name of one chip; a name that several chips share has several rows."""

    name: str = cell(filled)
    gfx: GfxId = cell(GfxId.parse)
    chip: str = cell(filled)
    pci_ids: tuple[str, ...] = cell(listed(hex4))
    kind: str = cell(one_of("discrete", "integrated"))  # a part of a processor, whose memory is the host's
    windows_wheels: bool = cell(yes_no)  # whether AMD publishes torch wheels of its own for Windows
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the GPU's name and its gfx id."""
        return f"{self.name} {self.gfx}"


FILE = TableFile("amd_gpus.csv", AmdGpu, ("name", "gfx"), "AMD GPUs: names, chip, PCI ids, gfx id.")


def _plain(name: str) -> str:
    """Drop what never tells two GPUs apart; of a list of names for one chip the first is kept."""
    return " ".join(_NOISE.sub(" ", name.lower()).split("/")[0].replace(",", " ").split())


class AmdGpus:
    """Look-ups over the GPUs."""

    def __init__(self, rows: Iterable[AmdGpu]) -> None:
        self.rows: tuple[AmdGpu, ...] = tuple(rows)

    def gfx(self, name: str, pci_id: str = "") -> GfxId | None:
        """Return the gfx id that a PCI id decides, else the name; None where several chips have it, or none."""
        wanted = pci_id.strip().lower().removeprefix("0x").upper()
        by_id = {row.gfx for row in self.rows if wanted and wanted in row.pci_ids}
        found = by_id or self.named(name)
        return next(iter(found)) if len(found) == 1 else None

    def name_of(self, pci_id: str) -> str:
        """Return the name behind a PCI id; that of the chip where cards of several names share it; empty for none."""
        rows = [row for row in self.rows if pci_id.upper() in row.pci_ids]
        names, chips = {row.name for row in rows}, {row.chip for row in rows}
        return names.pop() if len(names) == 1 else f"AMD {chips.pop()}" if len(chips) == 1 else ""

    def named(self, name: str) -> set[GfxId]:
        """Return the gfx ids of the chips that bear this name; none when it is not known."""
        return self._by_name.get(_plain(name), set())

    def is_named_like(self, name: str) -> bool:
        """Whether it begins as AMD's names do, so that no GPU of another vendor can be meant."""
        return bool(_STEMS.match(name.strip()))

    def is_integrated(self, gfx: GfxId, name: str) -> bool:
        """Whether a GPU is a part of its processor: by its name, else where all of its gfx id are."""
        rows = [row for row in self.rows if row.gfx == gfx]
        named = [row for row in rows if _plain(row.name) == _plain(name)]
        return bool(rows) and all(row.kind == "integrated" for row in named or rows)

    def suggest(self, name: str) -> list[str]:
        """Return known names near an unknown one, best first."""
        from difflib import get_close_matches

        if not _plain(name):  # "AMD Radeon Graphics": the name of many chips, near to none
            return []
        names = {_plain(row.name): row.name for row in reversed(self.rows)}
        return [names[near] for near in get_close_matches(_plain(name), list(names), n=3, cutoff=0.6)]

    def has_windows_wheels(self, gfx: object) -> bool:
        """Whether AMD itself publishes torch wheels for this gfx id on Windows, where no official ROCm build is."""
        return any(row.gfx == gfx and row.windows_wheels for row in self.rows)

    @cached_property
    def _by_name(self) -> dict[str, set[GfxId]]:
        found: dict[str, set[GfxId]] = {}
        for row in self.rows:
            for name in (row.name, *row.chip.split("/")):
                found.setdefault(_plain(name), set()).add(row.gfx)
        found.pop("", None)
        return found
