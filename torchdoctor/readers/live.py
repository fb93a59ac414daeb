"""All that a live host is asked, and the reading of its answers, in ladder order."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from torchdoctor.readers import (
    installer_settings,
    live_compute,
    live_env,
    live_gpus,
    live_host,
    live_nvidia,
    live_nvidia_parts,
    live_packages,
    live_place,
    live_project,
    live_python,
    live_tools,
    live_torch,
    live_trial,
    live_windows,
)
from torchdoctor.readers.answers import PYTHON
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want
from torchdoctor.tables import Tables

# What a second program reads of the installed files, by the answer's key: most recordings hold none of it.
ON_DEMAND = {
    "device code": "live_code",
    "loader's view": "live_loading",
    "files of wheels": "live_records",
    "torch's own table of device code": "own_tables",
}
_READERS = (
    live_host,
    live_place,
    live_python,
    live_project,
    live_torch,
    live_packages,
    live_windows,
    live_gpus,
    live_compute,
    live_tools,
    live_env,
)

ALL_WANTS: tuple[Want, ...] = tuple(
    dict.fromkeys(
        want
        for reader in (live_nvidia_parts, live_nvidia, *_READERS, installer_settings)  # the last is for what is typed
        for want in reader.WANTS
    )
)


def read_live(recording: Recording, tables: Tables) -> Iterator[Said]:
    """Everything a live recording says; nothing when it holds only pasted texts."""
    if PYTHON.key not in recording.answers:
        return
    yield from live_trial.read(recording)  # what torch says of itself outranks its files
    yield from live_nvidia_parts.read(recording)  # first, since a borrowed libcuda counts more than the driver's own
    yield from live_nvidia.read(recording, tables)
    for reader in _READERS:
        yield from reader.read(recording)
    for key, name in ON_DEMAND.items():
        if key in recording.answers:
            yield from import_module(f"torchdoctor.readers.{name}").read(recording)
