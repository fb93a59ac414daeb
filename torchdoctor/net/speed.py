"""What a network can carry, by the speed that its interfaces tell, and whether far less was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

FAR_BELOW = 0.1  # of the slowest interface's speed: protocols and copies take most of a fast one, never so much
_BITS = 8
_MEGA = 1_000_000
_VARIABLES = {"gloo": "GLOO_SOCKET_IFNAME", "nccl": "NCCL_SOCKET_IFNAME"}


def busbw(events: Sequence[Mapping[str, Any]]) -> float | None:
    """Bytes per second on the bus for the largest size that a rank measured."""
    rows = [row for event in events for row in event.get("sizes") or ()]
    return float(rows[-1]["busbw"]) if rows else None


def named_interfaces(facts: Mapping[str, Any]) -> tuple[str, str]:
    """The variable that names interfaces for a rank's backend, and its value; both empty where it is not set."""
    variable = _VARIABLES.get(str(facts.get("backend")), "")
    value = str((facts.get("env") or {}).get(variable, ""))
    return (variable, value) if value else ("", "")


def used(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The interfaces that a rank uses: those that are named for it, else that of the way to rank 0.

    NCCL takes names for beginnings unless ``=`` stands before them, and ``^`` for what is left out.
    """
    known = [item for item in facts.get("interfaces") or () if isinstance(item, dict)]
    _, value = named_interfaces(facts)
    if not value or value.startswith("^"):
        return [item for item in known if item["name"] == facts.get("route")]
    exact = value.startswith("=") or facts.get("backend") == "gloo"
    names = [name.partition(":")[0] for name in value.removeprefix("=").split(",") if name]
    return [
        item
        for item in known
        if any(item["name"] == name or (not exact and item["name"].startswith(name)) for name in names)
    ]


def is_slow(measured: float | None, facts: Sequence[Mapping[str, Any]]) -> bool:
    """Whether ranks of several nodes measured less than a tenth of their slowest interface's speed."""
    carried = carries(facts)
    return measured is not None and carried is not None and measured < FAR_BELOW * carried


def carries(facts: Sequence[Mapping[str, Any]]) -> float | None:
    """Bytes per second of the slowest interface between nodes; None where it is one node, or nobody tells.

    RDMA goes another way than the interface that is named: of NCCL, this says something only where it is switched off.
    """
    nodes = {(item.get("host"), item.get("boot")) for item in facts}
    over_sockets = all(
        item.get("backend") == "gloo" or (item.get("env") or {}).get("NCCL_IB_DISABLE") == "1" for item in facts
    )
    speeds = [one["speed"] for item in facts for one in used(item) if one.get("speed") and one["speed"] > 0]
    return min(speeds) * _MEGA / _BITS if speeds and len(nodes) > 1 and over_sockets else None
