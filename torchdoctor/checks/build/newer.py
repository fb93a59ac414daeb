"""Whether the installed torch is one that the tables know nothing of yet."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.installed import torch_release
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.tables import Tables


@check("torch-newer-than-tables", severity="info")
def torch_newer_than_tables(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The installed torch was released after the tables were made."""
    version, newest = torch_release(facts), tables.torch_builds.newest()
    if version <= newest:
        return
    yield Finding(
        summary=Text("torch {version} is newer than the tables, which end at {newest}", version=version, newest=newest),
        why=Text(
            "What rests on a row of the tables was not judged: the code inside this build, its companions and its "
            "drivers. The tables are of {day}. What torch itself answers, and what it computes, counts as ever.",
            day=tables.date,
        ),
        evidence=(seen(facts, "torch.version", version),),
        remedies=(
            Remedy(Text("Update torchdoctor, or read the wheel index into tables of your own: tables refresh --help")),
        ),
    )
