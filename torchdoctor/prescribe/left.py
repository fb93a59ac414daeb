"""A torch of which only its entry in the list of packages is left: what takes that for torch installs nothing."""

from __future__ import annotations

from torchdoctor.findings import Text
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.writing import CONDAS, Writing

_TAKE_IT_OUT = {"pip", "uv", "requirements", "dockerfile"}  # their lines begin with it, or fill an empty place


def in_the_way(host: Host, writing: Writing) -> tuple[Text, Text] | None:
    """What to say of such an entry where the tool's own lines cannot take it out, and how it goes; None: they can."""
    tool = writing.tool or "pip"
    if not host.left or tool in _TAKE_IT_OUT or (tool in CONDAS and (writing.apart or not host.owners.conda)):
        return None
    said = "the files of torch {version} are gone, and {tool} takes its entry in the list of packages for torch itself"
    return Text(said, version=host.left, tool=tool), _change(host, writing, tool)


def _change(host: Host, writing: Writing, tool: str) -> Text:
    if tool in CONDAS:
        from torchdoctor.prescribe.shells import join
        from torchdoctor.prescribe.writers.pip import conda_removes

        command = join(conda_removes(writing), writing.shell)
        return Text("take it out and ask again: {command}", command=command)
    if host.owners.conda:
        return Text("empty the environment and ask again: {command}", command="pixi clean")
    name = f"torch-{host.left}.dist-info"
    return Text("delete the folder {name} in the environment's site-packages, and ask again", name=name)
