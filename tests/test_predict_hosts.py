"""The prediction agrees with the solver: on the hard hosts, for every official build that an image could hold."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import DATA

from torchdoctor.facts import Facts, Os, Package, Packages, Place, Python, Torch, Unknown, Variables
from torchdoctor.predict.targets import Target, target_of
from torchdoctor.predict.verdict import Judged, judge
from torchdoctor.prescribe.choose import choose, gpus_to_serve
from torchdoctor.prescribe.conditions import Judge, Wish
from torchdoctor.prescribe.described import describe
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.prescribe.jetson import JetsonRoute, Refusal, jetson_route
from torchdoctor.readers.derive import derive
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild

HOSTS = [json.loads(line) for line in (DATA / "decision_hosts.jsonl").read_text(encoding="utf-8").splitlines()]
# An image that holds a wheel has a Python it was made for, and a wheel that was published: these two of the solver's
# conditions are about getting it, not about running it.
_ABOUT_GETTING_IT = {"python", "unpublished"}


def image_with(row: TorchBuild, host: Host, tables: Tables) -> Facts:
    """An image, or a folder on a system without containers, that holds this build; its system is the host's."""
    label = "" if row.os == "macos" else f"+{row.build}"
    full = f"{row.torch}{label}"
    os_version = "" if isinstance(host.os_version, Unknown) or host.os_version is None else str(host.os_version)
    facts = Facts(
        os=Os(name=row.os, machine=row.machine, libc=host.libc, version=os_version or Os().version),
        place=Place(container="docker" if row.os == "linux" else None, image_build=row.os == "linux"),
        python=Python(tag=host.python, bits=64, implementation="cpython", machine=row.machine),
        torch=Torch(
            installed=True,
            version=str(row.torch),
            full=full,
            build=row.build,
            cuda=row.cuda,
            owner="pip",
            origin="pytorch",
            cuda_available=False,  # nothing of it may stay: where the image is made there is no GPU
        ),
        packages=Packages((Package(name="torch", version=full, owner="pip"),), complete=True),
        env=Variables({}, complete=True),
    )
    return derive(facts, tables)


def target_like(entry: dict[str, Any], tables: Tables) -> Target:
    return target_of({key: value for key, value in entry["host"].items() if key not in {"torch", "python"}}, tables)


def judge_of(host: Host, tables: Tables) -> tuple[Judge | None, tuple[GpuTarget, ...], str]:
    """The solver's judge of a host, as it makes one itself; None where only a Jetson's own wheels will do."""
    wish = Wish(allow_inferred=True)
    gpus, backend = gpus_to_serve(host, wish)
    route = jetson_route(host, gpus, wish, tables)
    if isinstance(route, Refusal) or (isinstance(route, JetsonRoute) and route.index_path):
        return None, gpus, backend
    if isinstance(route, JetsonRoute):
        host = replace(host, driver=route.driver)
        return Judge(host, wish, tables, gpus or route.gpus, route.cuda), gpus or route.gpus, "cuda"
    return Judge(host, wish, tables, gpus), gpus, backend


def rows_for(host: Host, backend: str, tables: Tables) -> Iterator[TorchBuild]:
    """The builds of a host's system: those for its kind of GPU, and those for the processor."""
    for row in tables.torch_builds.for_host(str(host.os), str(host.machine)):
        if row.build.backend in {backend, "cpu", "mps"}:
            yield row


def obstacles(judge_: Judge, row: TorchBuild) -> set[str]:
    return {item.kind for item in judge_.obstacles(row)}


def runs_somewhere(judge_: Judge, gpus: tuple[GpuTarget, ...], row: TorchBuild) -> bool:
    """Whether the row serves all GPUs, or one of them: the others are to be hidden, which is a warning."""
    subsets = [gpus, *((gpu,) for gpu in gpus)] if gpus else [()]
    return any(not obstacles(judge_.with_gpus(some), row) - _ABOUT_GETTING_IT for some in subsets)


def has_a_build(judge_: Judge, gpus: tuple[GpuTarget, ...], tables: Tables) -> bool:
    rows = tables.torch_builds.for_host(str(judge_.host.os), str(judge_.host.machine))
    return any(row.emit and judge_.serves(row, gpu) for row in rows for gpu in gpus)


def expected(judge_: Judge | None, gpus: tuple[GpuTarget, ...], backend: str, row: TorchBuild, tables: Tables) -> str:
    """The verdict that the solver's hard conditions give."""
    if judge_ is None:
        return "will-not-run"
    if gpus and row.build.backend != backend:
        return "will-not-run" if has_a_build(judge_, gpus, tables) else "runs"  # nobody wants a display card used
    version = (row.torch, row.torch)
    known_bad = [bad for bad in tables.known_bad_releases.matching("torch", version[0], None) if not bad.beside]
    if any((not bad.os or bad.os == row.os) and (bad.build in {None, row.build}) for bad in known_bad):
        return "will-not-run"  # of which the solver knows nothing
    if not runs_somewhere(judge_, gpus, row):
        return "will-not-run"
    if gpus and row.code_confidence == "unknown":
        return "unknown"
    return "runs" if not obstacles(judge_, row) - _ABOUT_GETTING_IT else "runs-with-warnings"


def distinct(rows: Iterator[TorchBuild]) -> Iterator[TorchBuild]:
    """One of each kind of row: what is judged of a build is the same for all of equal code, CUDA and system."""
    seen = set()
    for row in rows:
        key = (row.build, row.code, row.ptx, row.code_confidence, row.glibc_min, row.os_min, row.gfx)
        if key not in seen or row.torch.parts[1:] == (4, 0):  # a release that is broken on one system
            seen.add(key)
            yield row


@pytest.mark.parametrize("entry", HOSTS, ids=[f"{entry['host']['id']} {entry['title']}" for entry in HOSTS])
def test_an_image_is_foretold_to_run_exactly_where_the_solver_lets_it(entry: dict[str, Any], tables: Tables) -> None:
    host, target = describe(entry["host"], tables), target_like(entry, tables)
    judge_, gpus, backend = judge_of(host, tables)
    rows = list(distinct(rows_for(host, backend, tables)))
    assert rows
    verdicts = {row.key: judge(image_with(row, host, tables), target, tables).verdict for row in rows}
    wanted = {row.key: expected(judge_, gpus, backend, row, tables) for row in rows}
    assert {key: (verdicts[key], wanted[key]) for key in verdicts if verdicts[key] != wanted[key]} == {}


@pytest.mark.parametrize("entry", [entry for entry in HOSTS if entry["expect"]["torch"]], ids=lambda e: e["host"]["id"])
def test_the_build_that_the_solver_chooses_runs(entry: dict[str, Any], tables: Tables) -> None:
    host = describe(entry["host"], tables)
    choice = choose(host, Wish(), tables)
    assert choice.row is not None
    judged: Judged = judge(image_with(choice.row, host, tables), target_like(entry, tables), tables)
    assert judged.verdict == ("runs-with-warnings" if choice.hidden else "runs"), judged.findings


def test_the_hosts_decide_both_ways(tables: Tables) -> None:
    """The comparison above compares something: many pairs run, and many do not for each kind of reason."""
    kinds: dict[str, int] = {}
    for entry in HOSTS:
        host = describe(entry["host"], tables)
        judge_, _, backend = judge_of(host, tables)
        for row in rows_for(host, backend, tables):
            for kind in (obstacles(judge_, row) if judge_ else {"jetson"}) or {"runs"}:
                kinds[kind] = kinds.get(kind, 0) + 1
    assert {kind for kind, count in kinds.items() if count > 9} >= {"runs", "driver", "kernels", "libc", "jetson"}, (
        kinds
    )
