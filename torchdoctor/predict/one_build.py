"""One build for a whole fleet: the best one that runs on every target that any build serves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from torchdoctor.facts import Facts, Unknown
from torchdoctor.findings import Text
from torchdoctor.predict.targets import Target
from torchdoctor.predict.verdict import Judged
from torchdoctor.prescribe.choose import Choice, gpus_to_serve, ranked, rows_of
from torchdoctor.prescribe.conditions import Judge, Wish
from torchdoctor.prescribe.described import with_backend
from torchdoctor.prescribe.host import Host, host_of
from torchdoctor.prescribe.install import install_of
from torchdoctor.prescribe.jetson import jetson_route
from torchdoctor.prescribe.prescribe import Prescription, without_passwords
from torchdoctor.prescribe.writers import choose_for
from torchdoctor.prescribe.writing import Writing, writing_for
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild

_NONE = "no one build of torch runs on all of these targets"


class Served(NamedTuple):
    """A target as the solver sees it, and the builds that run on it, best first."""

    name: str
    judge: Judge
    backend: str
    rows: tuple[TorchBuild, ...]

    @property
    def builds(self) -> set[tuple[object, object]]:
        """What tells the builds apart whatever the machine is."""
        return {(row.torch, row.build) for row in self.rows}


def one_build(fleet: Sequence[tuple[Target, Judged]], image: Facts, writing: Writing, tables: Tables) -> Prescription:
    """The build that would run on all, where the installed one does not; nothing where the build is not in question."""
    mended = [_is_mended(judged) for _, judged in fleet]
    if not any(judged.roots and helps for (_, judged), helps in zip(fleet, mended, strict=True)):
        return Prescription()
    choice, writing, known = choose_for(
        writing_for(image, writing),
        tables,
        lambda known: _choice([_served(*item, known, helps=helps) for item, helps in zip(fleet, mended, strict=True)]),
    )
    if choice.row is None:
        return Prescription(refusal=choice.refusal)
    return Prescription(install=without_passwords(install_of(choice, Wish(), writing, known, explain=False)))


def _is_mended(judged: Judged) -> bool:
    """Whether nothing would be left in the way once a fitting build is installed, and which one fits was told."""
    gpus, driver, jetpack = judged.facts.gpus, judged.facts.driver.version, judged.facts.place.jetpack
    if isinstance(gpus, Unknown):
        return False
    is_open = isinstance(driver, Unknown) and not isinstance(jetpack, str)
    if is_open and any(gpu.vendor == "nvidia" for gpu in gpus or ()):
        return False
    return all(any(remedy.installs for remedy in item.remedies) for item in judged.roots)


def _served(target: Target, judged: Judged, tables: Tables, *, helps: bool) -> Served:
    host = host_of(judged.facts, tables)
    for bound in dict.fromkeys((host.bound, ())):
        served = _with(target.name, replace(host, bound=bound), tables)
        if served.rows:
            break
    return served if helps else served._replace(rows=())


def _with(name: str, host: Host, tables: Tables) -> Served:
    wish = with_backend(host, Wish(), tables)
    gpus, backend = gpus_to_serve(host, wish)
    judge = Judge(host, wish, tables, gpus)
    rows = () if jetson_route(host, gpus, wish, tables) else rows_of(tables, host, backend, judge.pythons)
    running = (row for row in rows if row.existence == "read" and judge.obstacle(row) is None)
    return Served(name, judge, backend, tuple(running))


def _choice(served: Sequence[Served]) -> Choice:
    """Targets without a GPU run any build; those that no build serves decide nothing."""
    able = [item for item in served if item.rows and item.backend != "cpu"] or [item for item in served if item.rows]
    if not able:
        return Choice(host=served[0].judge.host, backend="", refusal=Text(_NONE))
    shared = set.intersection(*(item.builds for item in able))
    first = able[0]
    rows = [row for row in first.rows if (row.torch, row.build) in shared]
    if not rows:
        return Choice(host=first.judge.host, backend="", refusal=Text(_NONE))
    row = ranked(first.judge, [row for row in rows if row.torch == rows[0].torch])[0]
    unserved = ", ".join(item.name for item in served if not item.rows)
    text = "it runs on all of these targets but {unserved}" if unserved else "it runs on all of these targets"
    why = (Text(text, unserved=unserved),)
    return Choice(host=first.judge.host, backend=first.backend, row=row, why=why, assumed=why if unserved else ())
