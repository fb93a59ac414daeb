"""The verdict on what ranks told, and where a rank stands: pure functions, without torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from torchdoctor.errors import UsageError
from torchdoctor.net.collectives import pairs_of
from torchdoctor.net.place import place_of
from torchdoctor.net.speed import used
from torchdoctor.net.verdict import Heard, findings_of

ROOT = Path(__file__).resolve().parent.parent
ETH = {"name": "eth0", "up": True, "address": True, "loopback": False, "speed": 10000}
LO = {"name": "lo", "up": True, "address": True, "loopback": True, "speed": None}
IB = {"name": "ib0", "up": True, "address": True, "loopback": False, "speed": 200000}


def facts(rank: int, **changes: Any) -> dict[str, Any]:
    return {
        "rank": rank, "host": f"h{rank}", "boot": "b", "torch": "2.14.1", "cuda": "13.0", "hip": None,
        "nccl": "2.29.3", "backend": "gloo", "env": {}, "interfaces": [LO, ETH, IB], "route": "eth0", **changes,
    }  # fmt: skip


def event(stage: str, state: str = "done", **fields: Any) -> dict[str, Any]:
    return {"stage": stage, "state": state, "at": 0.0, **fields}


def rank(number: int, *events: Mapping[str, Any], ends: bool = True, **changes: Any) -> list[Mapping[str, Any]]:
    first = [event("import"), event("facts", facts=facts(number, **changes)), event("rendezvous", missing=[])]
    return [*first, *events, *([event("end")] if ends else [])]


def speed(busbw: float) -> dict[str, Any]:
    return event("bandwidth", sizes=[{"bytes": 16, "seconds": 1.0, "algbw": busbw, "busbw": busbw, "rounds": 5}])


def pairs(*rows: tuple[int, int, bool]) -> dict[str, Any]:
    told = [{"ranks": [a, b], **({"busbw": 1e9} if works else {"error": "timed out"})} for a, b, works in rows]
    return event("pairs", pairs=told)


FAILED = event("group", "failed", error="connect failed")
RDMA: dict[str, Any] = {"backend": "nccl", "env": {"NCCL_SOCKET_IFNAME": "eth"}}
CASES: dict[str, tuple[dict[int, list[Mapping[str, Any]]], list[str], str]] = {
    "healthy": ({0: rank(0, speed(1e9)), 1: rank(1, speed(1e9))}, [], ""),
    "nothing heard of one": (
        {0: [*rank(0)[:2], event("rendezvous", "failed", missing=[1, 2], error="x"), event("end")]},
        ["net-rank-missing"], "ranks 1, 2 of 3 never came",
    ),
    "skew": ({0: rank(0), 1: rank(1), 2: rank(2, nccl="2.28.9")}, ["net-version-skew"], "nccl is 2.28.9 on rank 2"),
    "skew explains a failure": (
        {0: rank(0, FAILED), 1: rank(1, torch="2.9.1")}, ["net-version-skew", "net-collective-failed"], "torch is",
    ),
    "loopback": (
        {0: rank(0, FAILED), 1: rank(1, env={"GLOO_SOCKET_IFNAME": "lo"})},
        ["net-wrong-interface", "net-collective-failed"], "GLOO_SOCKET_IFNAME=lo of rank 1",
    ),
    "loopback that works": ({0: rank(0), 1: rank(1, env={"GLOO_SOCKET_IFNAME": "lo"})}, [], ""),
    "loopback on one node": (
        {0: rank(0, FAILED, host="h"), 1: rank(1, host="h", env={"GLOO_SOCKET_IFNAME": "lo"})},
        ["net-collective-failed"], "group failed on rank 0",
    ),
    "named by its beginning": (
        {0: rank(0, FAILED), 1: rank(1, backend="nccl", env={"NCCL_SOCKET_IFNAME": "ib"})},
        ["net-version-skew", "net-collective-failed"], "backend is",
    ),
    "left out": (
        {0: rank(0, FAILED), 1: rank(1, env={"GLOO_SOCKET_IFNAME": "^lo"})}, ["net-collective-failed"], "group failed",
    ),
    "lost": (
        {0: rank(0, event("barrier", "failed", error="reset")), 1: rank(1, event("barrier", "begun"), ends=False)},
        ["net-rank-lost", "net-collective-failed"], "rank 1 (node 1) stopped answering in barrier",
    ),
    "wrong sum": (
        {0: rank(0, event("all-reduce", wrong=[
            {"dtype": "float16", "elements": 9, "at": 2, "expected": 3.0, "got": 4.0, "count": 1}])), 1: rank(1)},
        ["net-sum-wrong"], "a sum of float16 is wrong on rank 0",
    ),
    "one bad node": (
        {0: rank(0, FAILED, pairs((0, 1, True), (0, 2, False))), 1: rank(1, pairs((1, 2, False))), 2: rank(2)},
        ["net-pair-bad", "net-collective-failed"], "rank 2 (node 2) works with no other rank",
    ),
    "one bad pair": (
        {0: rank(0, FAILED, pairs((0, 1, True), (0, 2, False), (0, 3, True))),
         1: rank(1, pairs((1, 2, True), (1, 3, True))), 2: rank(2, pairs((2, 3, True))), 3: rank(3)},
        ["net-pair-bad", "net-collective-failed"], "ranks 0 (node 0), 2 (node 2) do not work together",
    ),
    "slow": ({0: rank(0, speed(1e7)), 1: rank(1)}, ["net-link-slow"], "all-reduce reaches 0.01 GB/s of 1.25 GB/s"),
    "slow on one node": ({0: rank(0, speed(1e7), host="h"), 1: rank(1, host="h")}, [], ""),
    "slower than the interface, by RDMA": ({0: rank(0, speed(1e7), **RDMA), 1: rank(1, **RDMA)}, [], ""),
    "slow, and nobody knows the speed": (
        {0: rank(0, speed(1e7), interfaces=[LO]), 1: rank(1, interfaces=[LO])}, [], "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_verdict(name: str) -> None:
    told, ids, summary = CASES[name]
    found = findings_of(Heard(rank=0, world=max(3 if name == "nothing heard of one" else 0, len(told)), told=told))
    assert [item.id for item in found] == ids
    assert not found or str(found[0].summary).startswith(summary)
    assert [item.explained_by for item in found if item.id == "net-collective-failed"] == (
        [ids[0]] if len(ids) > 1 else [""] if "net-collective-failed" in ids else []
    )


def test_another_rank_that_cannot_reach_rank_0() -> None:
    own = [
        event("import"),
        event("facts", facts=facts(1)),
        event("rendezvous", "failed", error="timeout"),
        event("end"),
    ]
    found = findings_of(Heard(rank=1, world=2, told={1: own}))
    assert [str(item.summary) for item in found] == ["rank 0 of 2 never came"]


def test_another_rank_whose_store_is_gone() -> None:
    own = rank(1, event("store", "failed"), event("barrier", "failed", error="reset"))
    found = findings_of(Heard(rank=1, world=2, told={1: own}))
    assert str(found[0].summary) == "rank 0 stopped answering in unknown"


@pytest.mark.parametrize("count", range(2, 9))
def test_each_meets_each_once(count: int) -> None:
    ranks = [10 * number for number in range(count)]
    turns = [pairs_of(ranks, turn) for turn in range(count - 1 + count % 2)]
    met = [pair for turn in turns for pair in turn]
    assert sorted(met) == list(combinations(ranks, 2))
    for turn in turns:
        busy = [one for pair in turn for one in pair]
        assert len(busy) == len(set(busy))


PLACES = [
    ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "a", "MASTER_PORT": "1234",
      "TORCHELASTIC_USE_AGENT_STORE": "True"}, (3, 8, 1, "a", 1234, "torchrun", True)),
    ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_LOCALID": "0", "SLURM_STEP_NODELIST": "gpu[07-09],x1"},
     (0, 4, 0, "gpu07", 29500, "srun", False)),
    ({"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_JOB_NODELIST": "one,two"},
     (1, 2, 0, "one", 29500, "srun", False)),
    ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "MASTER_ADDR": "h"},
     (1, 2, 1, "h", 29500, "Open MPI", False)),
    ({"PMI_RANK": "0", "PMI_SIZE": "1"}, (0, 1, 0, "127.0.0.1", 29500, "PMI", False)),
]  # fmt: skip


@pytest.mark.parametrize(("env", "place"), PLACES)
def test_place(env: dict[str, str], place: tuple[Any, ...]) -> None:
    found = place_of(env)
    assert tuple(found)[:7] == place


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({}, "no launcher set RANK"),
        ({"RANK": "x", "WORLD_SIZE": "2"}, "RANK=x is no number"),
        ({"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "a"}, "RANK=2 is no rank of 2"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, "MASTER_ADDR is not set"),
        ({"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "99999"}, "MASTER_PORT=99999 is no port"),
    ],
)
def test_no_place(env: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        place_of(env)


@pytest.mark.parametrize(
    ("value", "backend", "names"),
    [
        ("", "gloo", ["eth0"]), ("eth0", "gloo", ["eth0"]), ("eth", "gloo", []), ("eth", "nccl", ["eth0"]),
        ("=eth", "nccl", []), ("=ib0,eth0", "nccl", ["eth0", "ib0"]), ("^lo", "nccl", ["eth0"]),
        ("ib0,eth0", "gloo", ["eth0", "ib0"]),
    ],
)  # fmt: skip
def test_interfaces_that_are_used(value: str, backend: str, names: list[str]) -> None:
    variable = {"gloo": "GLOO_SOCKET_IFNAME", "nccl": "NCCL_SOCKET_IFNAME"}[backend]
    env = {variable: value} if value else {}
    assert [item["name"] for item in used(facts(0, env=env, backend=backend))] == names


def test_without_a_launcher_it_says_what_to_type(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "torchdoctor.net"], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
    )  # fmt: skip
    assert told.returncode == 2
    assert "torchrun --nproc-per-node 2 -m torchdoctor.net" in told.stderr
