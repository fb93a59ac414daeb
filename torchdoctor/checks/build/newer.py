"""Whether the installed torch is one that the tables know nothing of yet."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.installed import torch_release
from torchdoctor.checks.registry import check, seen
from torchdoctor.checks.torchs_own_table import disagreement
from torchdoctor.facts import Facts
from torchdoctor.findings import Evidence, Finding, Remedy, Text
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


@check("torch-table-wrong", severity="info")
def torch_table_wrong(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The list of device code in torch's own source is not what its libraries hold."""
    found = disagreement(facts, tables)
    if found is None:
        return
    yield Finding(
        summary=Text("torch's own list of the code in its build is wrong"),
        why=Text(
            "Torch names the builds that serve a GPU by a list in its source. For this build the list has {own}, and "
            "its libraries hold {real}. It changes nothing but the advice in torch's warnings.",
            own=" ".join(map(str, found.own)),
            real=" ".join(map(str, found.real)),
        ),
        evidence=(
            seen(facts, "inside.own_table", " ".join(map(str, found.own))),
            Evidence("inside.code", " ".join(map(str, found.real)), found.source),
        ),
    )
