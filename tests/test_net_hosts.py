"""Two hosts (network namespaces on this machine) and gloo: every fault is named, within its deadline."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from broken_hosts import real_torch
from jsonschema import validate
from netns import FIRST, Hosts, two_hosts, why_not

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "torchdoctor" / "schema" / "net-1.schema.json").read_text("utf-8"))
SECONDS = 4
LONG = ("--sizes", ",".join(["268435456"] * 40))  # many seconds of all-reduce
LARGE = 400_000_000  # bytes: torch and one of these arrays
OTHER_TORCH = """
import importlib.abc, importlib.machinery, sys
class Older(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == "torch.version" else None
    def exec_module(self, module):
        module.__version__, module.cuda, module.hip, module.xpu, module.git_version = "1.13.1", None, None, None, ""
        module.debug = False
sys.meta_path.insert(0, Older())
"""

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "-"),
]


class Ran:
    """How a run on two hosts went."""

    def __init__(self, folder: Path, seconds: float, statuses: list[int | None]) -> None:
        self.seconds, self.statuses = seconds, statuses
        self.text = (folder / "out-0").read_text("utf-8", "replace")
        self.told = json.loads((folder / "told" / "net-rank-0.json").read_text("utf-8"))
        validate(self.told, SCHEMA)

    @property
    def first(self) -> str:
        return str(self.told["findings"][0]["id"]) if self.told["findings"] else ""

    @property
    def summary(self) -> str:
        return str(self.told["findings"][0]["summary"]) if self.told["findings"] else ""


Act = Callable[[Sequence[subprocess.Popen[bytes]]], None]


def run(
    hosts: Hosts, folder: Path, *extra: str, env: tuple[dict[str, str], dict[str, str]] = ({}, {}), ranks: int = 2,
    act: Act | None = None, port: int = 29511,
) -> Ran:  # fmt: skip
    """Start a rank on each host, as srun would, and wait for rank 0."""
    python = real_torch()
    told = folder / "told"
    command = [
        python,
        "-m",
        "torchdoctor.net",
        "--timeout",
        str(SECONDS),
        "--rendezvous-timeout",
        "40",
        "--output",
        str(told),
        *extra,
    ]
    begun = time.monotonic()
    children = []
    for rank in range(ranks):
        variables = {
            "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1",
            "SLURM_PROCID": str(rank), "SLURM_NTASKS": "2", "SLURM_LOCALID": "0",
            "MASTER_ADDR": FIRST, "MASTER_PORT": str(port), **env[rank],
        }  # fmt: skip
        children.append(hosts.start(rank, command, variables, folder / f"out-{rank}"))
    try:
        if act:
            act(children)
        statuses: list[int | None] = [children[0].wait(timeout=90)]
        seconds = time.monotonic() - begun
        statuses += [child.wait(timeout=30) for child in children[1:]]
    finally:
        for child in children:
            if child.poll() is None:
                os.killpg(child.pid, signal.SIGKILL)
                child.wait()
    return Ran(folder, seconds, statuses)


def to_the_work_of_rank_1(number: int) -> Act:
    """Send a signal to the process that does the work of rank 1, while it sums eight large arrays."""

    def act(children: Sequence[subprocess.Popen[bytes]]) -> None:
        until = time.monotonic() + 60
        while not (found := [pid for pid in workers_of(children[1].pid) if memory_of(pid) > LARGE]):
            assert time.monotonic() < until, "rank 1 never came to its large sums"
            time.sleep(0.05)
        os.kill(found[0], number)

    return act


def memory_of(pid: int) -> int:
    """Bytes that a process holds; torch alone takes about half of what one array of the large sums takes besides."""
    pages = Path(f"/proc/{pid}/statm").read_text("ascii").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def workers_of(pid: int) -> list[int]:
    """Those that a rank's own process started; another run of the tests may have such processes too."""
    listed = Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()
    return [int(child) for child in listed if b"net.worker" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with two_hosts() as made:
        yield made


def test_healthy(hosts: Hosts, tmp_path: Path) -> None:
    ran = run(hosts, tmp_path, "--pairwise")
    assert (ran.first, ran.statuses) == ("", [0, 0])
    assert "ok: 2 ranks on 2 nodes work together" in ran.text
    stages = {event["stage"]: event for event in ran.told["ranks"][0]["stages"] if event["state"] == "done"}
    assert stages["all-reduce"]["wrong"] == []
    assert {"float32", "float64", "int32", "int64"} <= set(stages["all-reduce"]["dtypes"])
    assert [row["bytes"] for row in stages["bandwidth"]["sizes"]] == [65536, 1048576, 16777216]
    assert ran.told["pairs"][0]["busbw"] > 0
    assert [rank["node"] for rank in ran.told["ranks"]] == [0, 1]
    assert "node-0" not in json.dumps(ran.told)  # names of hosts are for people alone
    assert (tmp_path / "told" / "net-rank-1.json").exists()


def test_a_slow_link(tmp_path: Path) -> None:
    with two_hosts(slow="100mbit") as slow:
        ran = run(slow, tmp_path)
    assert ran.first == "net-link-slow"
    assert ran.statuses == [0, 0]  # a warning
    measured = next(item for item in ran.told["findings"][0]["evidence"] if item["fact"] == "net.busbw")
    assert 0.008 < float(measured["value"].split()[0]) < 0.014  # GB/s; 100 Mbit/s are 0.0125


def test_less_than_was_asked_for(hosts: Hosts, tmp_path: Path) -> None:
    ran = run(hosts, tmp_path, "--min-busbw", "1000")
    assert (ran.first, ran.statuses) == ("net-link-slow", [1, 1])


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("lo", "lo", "GLOO_SOCKET_IFNAME=lo of rank 0 (node 0)"),
        ("", "ib7", "GLOO_SOCKET_IFNAME=ib7 of rank 1 (node 1)"),
    ],
)
def test_a_wrong_interface(hosts: Hosts, tmp_path: Path, first: str, second: str, says: str) -> None:
    env = tuple({"GLOO_SOCKET_IFNAME": name} if name else {} for name in (first, second))
    ran = run(hosts, tmp_path, env=(env[0], env[1]))
    assert ran.first == "net-wrong-interface"
    assert says in ran.summary
    assert ran.statuses[0] == 1
    assert ran.seconds < 2 * SECONDS + 3 + 10


def test_a_missing_node(hosts: Hosts, tmp_path: Path) -> None:
    ran = run(hosts, tmp_path, "--rendezvous-timeout", str(SECONDS), ranks=1)
    assert (ran.first, ran.summary, ran.statuses) == ("net-rank-missing", "rank 1 of 2 never came", [1])
    assert ran.seconds < 2 * SECONDS + 10


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_rank_that_is_killed_or_stopped(hosts: Hosts, tmp_path: Path, number: signal.Signals) -> None:
    ran = run(hosts, tmp_path, *LONG, act=to_the_work_of_rank_1(number))
    assert ran.first == "net-rank-lost", ran.text
    assert "rank 1 (node 1) stopped answering in" in ran.summary
    assert ran.statuses == [1, 1]  # the one that watches the stopped rank ends too
    assert ran.seconds < 6 * SECONDS + 20


def test_other_versions(hosts: Hosts, tmp_path: Path) -> None:
    shim = tmp_path / "shim"
    shim.mkdir()
    (shim / "sitecustomize.py").write_text(OTHER_TORCH)
    ran = run(hosts, tmp_path, env=({}, {"PYTHONPATH": f"{shim}{os.pathsep}{ROOT}"}))
    assert ran.first == "net-version-skew", ran.text
    assert "torch is 1.13.1 on rank 1 (node 1)" in ran.summary


def test_under_torchrun(tmp_path: Path) -> None:
    told = subprocess.run(
        [real_torch(), "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "torchdoctor.net",
         "--timeout", "20", "--format", "json"],
        capture_output=True, text=True, check=False, timeout=120, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    whole: dict[str, Any] = json.loads(told.stdout)
    validate(whole, SCHEMA)
    assert (whole["status"], whole["world"], len(whole["ranks"])) == ("ok", 2, 2)
