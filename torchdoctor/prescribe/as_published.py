"""What the wheel itself has against a host: a release that is broken there, files too deep for its folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchdoctor.prescribe.host import Host
    from torchdoctor.tables import Tables
    from torchdoctor.tables.known_bad_releases import BadRelease
    from torchdoctor.tables.torch_builds import TorchBuild


def broken(row: TorchBuild, tables: Tables) -> BadRelease | None:
    """The fault that this release has on its own system, whatever lies beside it; None for a sound one."""
    for bad in tables.known_bad_releases.matching("torch", row.torch):
        is_here = bad.os in {"", row.os} and bad.machine in {"", row.machine} and bad.build in {None, row.build}
        if is_here and not bad.beside and not bad.owner and not row.is_of_conda:
            return bad
    return None


def longest_path(row: TorchBuild, host: Host, tables: Tables) -> int:
    """Characters of the longest path in the wheel where it is longer than the host has room for, else 0.

    A wheel that was not measured has the shortest one of those that were.
    """
    if host.room is None or row.os != "windows" or row.is_of_conda:
        return 0
    wheels = tables.windows_wheels
    own = wheels.of(row.torch)
    length = (own.longest_path if own else None) or min(wheel.longest_path or 0 for wheel in wheels.measured())
    return length if length > host.room else 0
