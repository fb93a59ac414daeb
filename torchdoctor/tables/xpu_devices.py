"""Intel GPUs by PCI id: which of them torch's XPU builds are made for. The name that a driver prints is ambiguous."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property

from torchdoctor.records import record
from torchdoctor.tables.cells import cell, filled, hex4, iso_date, listed, one_of, optional
from torchdoctor.tables.loading import TableFile, TableRow
from torchdoctor.values import Version

_LEGACY = r"(?i)\b(?:U?HD Graphics|Iris)\b"  # up to the eleventh generation: on no list, and older ids have no row
_NOISE = r"\((?:R|TM)\)|\b(?:Intel|Graphics|GPU)\b"
YES, NO = "yes", "no"


@record(frozen=True, slots=True, eq=False, repr=False)
class XpuDevice(TableRow):
    """Some PCI ids of one product. ``support`` unsure: of that id some parts are on PyTorch's list and some are not."""

    pci_ids: tuple[str, ...] = cell(listed(hex4))
    name: str = cell(str)
    family: str = cell(filled)
    codename: str = cell(filled)
    support: str = cell(one_of(YES, NO, "unsure"))
    systems: tuple[str, ...] = cell(listed(one_of("linux", "windows")))
    first_torch: Version | None = cell(optional(Version.parse))
    notes: str = cell(str)
    source: str = cell(filled)
    checked: str = cell(iso_date)

    @property
    def key(self) -> str:
        """The row's name in findings: the first id and the name."""
        return f"{self.pci_ids[0]} {self.name or self.codename}"


FILE = TableFile(
    "xpu_devices.csv", XpuDevice, ("pci_ids",), "Intel GPUs: PCI ids, names, whether the XPU builds are made for them."
)


class XpuDevices:
    """Look-ups over the devices."""

    def __init__(self, rows: Iterable[XpuDevice]) -> None:
        self.rows: tuple[XpuDevice, ...] = tuple(rows)

    def by_id(self, pci_id: str) -> XpuDevice | None:
        """Return the row of a PCI device id such as E20B; None when it is not known."""
        return self._by_id.get(pci_id.upper())

    def is_served(self, pci_id: str, name: str) -> bool | None:
        """Whether the XPU builds are made for this GPU, by its id, else by its name; None where neither tells."""
        row = self.by_id(pci_id)
        supports = {row.support} if row else {other.support for other in self._named(name)}
        if supports == {NO} or (not supports and re.search(_LEGACY, name)):
            return False
        return True if supports == {YES} else None

    def _named(self, name: str) -> tuple[XpuDevice, ...]:
        return self._by_name.get(_plain(name), ())

    @cached_property
    def _by_id(self) -> dict[str, XpuDevice]:
        return {pci_id: row for row in self.rows for pci_id in row.pci_ids}

    @cached_property
    def _by_name(self) -> dict[str, tuple[XpuDevice, ...]]:
        found: dict[str, tuple[XpuDevice, ...]] = {}
        for row in self.rows:
            found[_plain(row.name)] = (*found.get(_plain(row.name), ()), row)
        found.pop("", None)
        return found


def _plain(name: str) -> str:
    """The name without what tells no two GPUs apart; "Intel Graphics" is left empty, and so found under no name."""
    return " ".join(re.sub(_NOISE, " ", name, flags=re.IGNORECASE).lower().split())
