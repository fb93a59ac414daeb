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
    release = tables.companions.best(name, row.torch, row.cuda, os=row.os, backend=row.build.backend, python=python)
    return release if release and _is_built_for(release, row, tables) else None


def stays_beside(row: TorchBuild, name: str, version: str, tables: Tables) -> Companion | None:
    """Return the installed release where it goes with the build as it is, else None."""
    release = tables.companions.find(name, version)
    if release is None or not release.fits(row.torch) or str(release.version) != version.partition("+")[0]:
        return None
    has_code = row.cuda is None or release.has_code_for(row.cuda)
    return release if has_code and release.accepts_cuda(row.cuda, os=row.os, backend=row.build.backend) else None


def _is_built_for(release: Companion, row: TorchBuild, tables: Tables) -> bool:
    """Whether a labelled release has this label: it was built as the first torch that it goes with was."""
    if release.labelled != "yes" or release.torch_min == row.torch:
        return True
    return tables.torch_builds.find(release.torch_min, row.build, row.os, row.machine) is not None
