"""Torch or a companion of which only the entry in the packages list is left: what takes it for whole adds nothing."""

from __future__ import annotations

from collections.abc import Sequence

from torchdoctor.findings import Text
from torchdoctor.prescribe.choose import Choice
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import Host, Installed
from torchdoctor.prescribe.plan import plan_of
from torchdoctor.prescribe.writers import OF_PROJECTS
from torchdoctor.prescribe.writing import CONDAS, Writing
from torchdoctor.tables import Tables

_TAKE_IT_OUT = {"pip", "uv", "requirements", "dockerfile"}  # their lines begin with it, or fill an empty place


def gone_of(choice: Choice, wish: Wish, writing: Writing, tables: Tables) -> tuple[Installed, ...]:
    """The companions that are to be installed and whose files are gone, where a project's tool is to do it."""
    host = choice.host
    if not host.gone or writing.tool not in OF_PROJECTS:
        return ()
    moving = {pin.name for pin in plan_of(choice, wish, tables).changes}
    return tuple(item for item in host.installed if item.name in host.gone & moving)


def in_the_way(host: Host, writing: Writing, gone: Sequence[Installed] = ()) -> tuple[Text, Text] | None:
    """What to say of such entries where the tool's own lines cannot take them out, and how they go; None: they can."""
    tool = writing.tool or "pip"
    if tool in _TAKE_IT_OUT or (tool in CONDAS and (writing.apart or not host.owners.conda)):
        return None
    entries = (*((Installed("torch", host.left),) if host.left else ()), *gone)
    if not entries:
        return None
    item = entries[0]
    text = (
        "the files of {name} {version} are gone, and {tool} takes its entry in the list of packages for {name} itself"
    )
    return Text(text, name=item.name, version=item.version, tool=tool), _change(host, entries, writing, tool)


def _change(host: Host, entries: Sequence[Installed], writing: Writing, tool: str) -> Text:
    if tool in CONDAS:
        from torchdoctor.prescribe.shells import join
        from torchdoctor.prescribe.writers.pip import conda_removes

        command = join(conda_removes(writing), writing.shell)
        return Text("take it out and ask again: {command}", command=command)
    if host.owners.conda:
        return Text("empty the environment and ask again: {command}", command="pixi clean")
    names = " and ".join(f"{item.name.replace('-', '_')}-{item.version}.dist-info" for item in entries)
    folder = "folder" if len(entries) == 1 else "folders"
    return Text(
        "delete the {folder} {names} in the environment's site-packages, and ask again", folder=folder, names=names
    )
