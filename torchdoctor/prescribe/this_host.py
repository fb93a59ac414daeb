"""What a recording of this host tells a prescription beyond its facts: files of the project, settings of installers.

One way for install-cmd, which asks for all of it, and for reports, whose recordings hold less.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchdoctor.facts import Facts
from torchdoctor.prescribe.host import COMPANIONS, Host, host_of, with_named, with_oldest
from torchdoctor.prescribe.writing import Writing, writing_for
from torchdoctor.readers.installer_settings import settings_of
from torchdoctor.readers.live_conda import taken_names
from torchdoctor.readers.live_packages import gone_companions, requirers_of_torch
from torchdoctor.readers.project_files import are_read, kept, named
from torchdoctor.recording import Recording
from torchdoctor.records import replace
from torchdoctor.tables import Tables

if TYPE_CHECKING:
    from torchdoctor.readers.project_torch import Pixi


def written_here(facts: Facts, writing: Writing, recording: Recording) -> Writing:
    """How lines are written that are typed on this host, whose files may set what pip and uv do."""
    is_unread = bool(recording.answers) and not are_read(recording)
    writing = writing_for(facts, writing)
    return writing._replace(taken=taken_names(recording), settings=settings_of(recording), is_unread=is_unread)


def host_here(facts: Facts, writing: Writing, recording: Recording, tables: Tables) -> tuple[Host, Writing]:
    """The host, and the writing with what the project's file says of torch and of Pythons.

    A member of a workspace has a file of its own, that of the current folder.
    """
    host = with_named(host_of(facts, tables), named(recording, writing.tool, COMPANIONS))
    host = replace(host, requirers=requirers_of_torch(recording), gone=gone_companions(recording))
    told = kept(recording, writing.tool)
    if told is None:
        return host, writing
    if told.pixi:
        told = told._replace(pixi=_with_ended(told.pixi, tables))
    folder = "" if told.is_member else writing.project
    return with_oldest(host, told.oldest), writing._replace(kept=told, project=folder)


def _with_ended(pixi: Pixi, tables: Tables) -> Pixi:
    names = (entry.get("channel") if isinstance(entry, Mapping) else entry for entry in pixi.channels)
    rows = ((name, tables.conda_channels.find(name)) for name in names if isinstance(name, str))
    return pixi._replace(ended=frozenset(name.rstrip("/") for name, row in rows if row and row.ended))
