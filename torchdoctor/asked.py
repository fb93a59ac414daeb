"""What is to be proved by running; apart from how, which needs more modules than a static check has time for."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

LEVELS = ("quick", "standard", "long")
NOTHING = ("import",)  # no test has this name: torch is imported, its devices are started, and that is all
CHECK_BENCH: Mapping[str, Any] = {"seconds": 3, "sweep": False, "devices": [], "force": False, "profile": "check"}


class Asked(NamedTuple):
    """What is to be proved: the level, tests by name, devices, the benchmark's request, reproducibility.

    ``force`` runs heavy tests also on a GPU that is ``busy`` (why, by its address, UUID or name); ``blocking`` lets
    CUDA end each kernel before the next, so that an error is met where it is made.
    """

    level: str = "quick"
    only: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    bench: Mapping[str, Any] | None = None
    repro: bool = False
    force: bool = False
    busy: Mapping[str, str] = MappingProxyType({})
    blocking: bool = False

    def request(self) -> dict[str, Any]:
        """The request of target/smoke.py."""
        bench = dict(self.bench) if self.bench is not None else None
        return {
            "level": self.level,
            "only": list(self.only),
            "devices": list(self.devices),
            "bench": bench,
            "repro": self.repro,
            "force": self.force,
            "busy": dict(self.busy),
            "blocking": self.blocking,
        }
