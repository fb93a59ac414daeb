"""By which rows of the tables a nightly is judged: no table holds nightlies, and each is built as its last release was.

A variant that the newest release no longer has gets no nightlies either. What a refreshed table does not tell of the
newest row, or only infers, the one before tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from torchdoctor.findings import Text
from torchdoctor.prescribe.conditions import Judge
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild

_ONLY_OF_ROWS = {"unsure", "unpublished", "companion"}  # what says something of a row, and nothing of the host


def lenient(judge: Judge) -> Judge:
    """The same judge where only inferred rows are left."""
    return judge.with_wish(judge.wish._replace(allow_inferred=True))


def rows_for_nightly(judge: Judge, rows: Sequence[TorchBuild]) -> tuple[TorchBuild, ...]:
    """Those of the rows that the judge may hold a nightly by, newest torch first."""
    newest_first = sorted(rows, key=lambda row: row.torch, reverse=True)
    fitting: set[int] = set()
    for name in still_built(rows, judge.tables):
        fitting.update(map(id, _of_variant(judge, [row for row in newest_first if row.build.name == name])))
    return tuple(row for row in newest_first if id(row) in fitting)


def still_built(rows: Sequence[TorchBuild], tables: Tables) -> tuple[str, ...]:
    """Those of the variants that the newest torch of which more is known than its name has, or one after it."""
    families = {(row.os, row.machine, row.build.backend) for row in rows}
    every = [row for row in tables.torch_builds.rows if (row.os, row.machine, row.build.backend) in families]
    last = max((row.torch for row in every if row.code_confidence != "unknown"), default=None)
    built = {row.build.name for row in every if last is None or row.torch >= last}
    return tuple(dict.fromkeys(row.build.name for row in rows if row.build.name in built))


def _of_variant(judge: Judge, rows: Sequence[TorchBuild]) -> Sequence[TorchBuild]:
    """From the newest row that is known to the first that is sure; one alone where the host itself does not fit it."""
    known = [row for row in rows if row.code_confidence != "unknown"] or rows
    for row in (rows[0], known[0]):
        obstacle = lenient(judge).obstacle(row)
        if obstacle and obstacle.kind not in _ONLY_OF_ROWS:
            return (row,)
    unsure = list(takewhile(lambda row: not _is_sure(row), known))
    return known[: len(unsure) + 1]


def _is_sure(row: TorchBuild) -> bool:
    return row.emit and row.advertised and row.code_confidence not in {"inferred", "unknown"}


def judged_by(row: TorchBuild) -> Iterator[Text]:
    """What to say of the row that stands for a nightly."""
    yield Text("the nightly was judged by torch {torch} {build}", torch=row.torch, build=row.build)
    if row.code_confidence == "inferred" and row.code + row.gfx:
        yield Text("for which GPUs torch {torch} {build} has code is only inferred", torch=row.torch, build=row.build)
