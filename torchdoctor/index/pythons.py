"""Bring python_support up to the builds: it says of each Python which torch was its first and which its last."""

from __future__ import annotations

from collections import defaultdict

from torchdoctor.index.sheet import Sheet
from torchdoctor.values import PythonTag, Version

SOURCE = "the rows of torch_builds.csv"


def follow_builds(pythons: Sheet, builds: Sheet, day: str) -> None:
    """Set the first and last torch of every Python; the end of its life is left for a person to find out."""
    torch: dict[PythonTag, list[Version]] = defaultdict(list)
    for cells in builds.rows.values():
        for tag in map(PythonTag.parse, cells["pythons"].split()):
            torch[tag].append(Version.parse(cells["torch"]))
    for tag, versions in torch.items():
        ends = {"first_torch": str(min(versions)), "last_torch": str(max(versions))}
        row = pythons.find(str(tag))
        if row is None:
            pythons.add(python=str(tag), **ends, source=SOURCE, checked=day)
        elif row != {**row, **ends}:
            row.update(ends, checked=day)
