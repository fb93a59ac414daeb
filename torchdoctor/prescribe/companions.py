"""Which release of a companion goes beside a torch build on a host."""

from __future__ import annotations

from torchdoctor.prescribe.host import Host
from torchdoctor.tables import Tables
from torchdoctor.tables.companions import Companion
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import PythonTag, Version


def release_beside(row: TorchBuild, name: str, tables: Tables, host: Host) -> Companion | None:
    """Return the release that has a wheel for the host's Python and loads beside the build; None when none does."""
    python = Version((host.python.major, host.python.minor)) if isinstance(host.python, PythonTag) else None
    return tables.companions.best(name, row.torch, row.cuda, os=row.os, backend=row.build.backend, python=python)
