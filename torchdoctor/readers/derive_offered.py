"""pip's "from versions:" list as a fingerprint: it holds only what has a file for this Python, system and machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from torchdoctor.facts import Facts, is_known
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import build_of
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import PythonTag, Version


class Fit(NamedTuple):
    """A kind of host, and the first wheel it can use."""

    os: str
    machine: str
    python: PythonTag
    row: TorchBuild


def offered_follows(facts: Facts, tables: Tables) -> Iterator[Said]:
    """What all hosts to whom the oldest offered version is the oldest there is have in common."""
    offered = facts.torch.offered
    if not isinstance(offered, tuple) or not offered:
        return
    fits = list(_fitting(offered, facts, tables))
    if not fits or any(fit.row.python_confidence != "read" for fit in fits):
        return
    source = f"torch_builds: {fits[0].row.key}"
    for path, values in (
        ("python.tag", {fit.python for fit in fits}),
        ("os.name", {fit.os for fit in fits}),
        ("os.machine", {fit.machine for fit in fits}),
    ):
        if len(values) == 1:
            yield Said(path, values.pop(), source)


def _fitting(offered: tuple[str, ...], facts: Facts, tables: Tables) -> Iterator[Fit]:
    offered = tuple(text for text in offered if "+" not in text) or offered  # of two indexes, PyPI's part
    versions = _plain_versions(offered)
    rows = _rows(offered, tables)
    if not versions or not rows or min(versions) == tables.torch_builds.versions()[-1]:
        return  # before the table's first version there may be others
    newest = max(versions)
    last = {row.torch for row in rows}
    for fit in _first_of_each(rows):
        has_newest = newest not in last or any(
            row.torch == newest and (row.os, row.machine) == (fit.os, fit.machine) and fit.python in row.pythons
            for row in rows
        )
        if fit.row.torch == min(versions) and has_newest and _agrees(fit, facts):
            yield fit


def _plain_versions(offered: tuple[str, ...]) -> list[Version]:
    publics = (text.partition("+")[0] for text in offered)
    return [Version.parse(text) for text in publics if re.fullmatch(r"\d{1,4}(?:\.\d{1,4}){1,3}", text)]


def _rows(offered: tuple[str, ...], tables: Tables) -> list[TorchBuild]:
    """The wheels of the index that was asked: its labels name the build; PyPI's versions have none."""
    rows = tables.torch_builds.rows
    if not any("+" in text for text in offered):
        return [row for row in rows if row.on_pypi]
    builds = {build_of(text.partition("+")[2]) for text in offered}
    return [row for row in rows if row.build in builds] if len(builds) == 1 else []


def _first_of_each(rows: list[TorchBuild]) -> Iterator[Fit]:
    first: dict[tuple[str, str, PythonTag], TorchBuild] = {}
    for row in sorted(rows, key=lambda row: row.torch.parts):
        for python in row.pythons:
            first.setdefault((row.os, row.machine, python), row)
    yield from (Fit(*kind, row) for kind, row in first.items())


def _agrees(fit: Fit, facts: Facts) -> bool:
    return all(
        not is_known(known) or known == value
        for known, value in (
            (facts.os.name, fit.os),
            (facts.os.machine, fit.machine),
            (facts.python.tag, fit.python),
        )
    )
