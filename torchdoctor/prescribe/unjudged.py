"""A torch that the tables do not hold: it stays, since nothing here can say that another one would be better."""

from __future__ import annotations

from torchdoctor.prescribe.choose import stays_unjudged
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.install import Install
from torchdoctor.prescribe.writing import Writing
from torchdoctor.tables import Tables
from torchdoctor.values import Build


def unjudged(host: Host, writing: Writing, tables: Tables) -> Install | None:
    """The installed torch as an install that is not needed, where the tables of its owner do not hold it."""
    reason = stays_unjudged(host, tables)
    if reason is None or not isinstance(host.torch, str):
        return None
    version, _, label = host.torch.partition("+")
    build = host.build.name if isinstance(host.build, Build) else label or None
    said = (reason,)
    return Install(False, version, build, "", (), why=said, tool=writing.tool, warnings=said)
