"""Many hosts: every planted outlier is found, and none is invented."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fleet_reports import FAULTS, cluster, healthy, write_cluster
from jsonschema import validate

from torchdoctor.errors import UsageError
from torchdoctor.fleet.merge import Fleet, merge
from torchdoctor.fleet.sources import hosts_of

ROOT = Path(__file__).resolve().parent.parent
SCHEMA = json.loads((ROOT / "torchdoctor" / "schema" / "fleet-1.schema.json").read_text("utf-8"))
drawing = random.Random
FORMATS = ("junit", "github", "gitlab", "tap", "nagios", "prometheus", "markdown", "quiet")


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A real report of this host."""
    path = tmp_path_factory.mktemp("base") / "host.json"
    subprocess.run(
        [sys.executable, "-m", "torchdoctor", "check", "--static", "--format", f"json={path}"],
        check=False, cwd=ROOT, capture_output=True,
    )  # fmt: skip
    return dict(json.loads(path.read_text("utf-8")))


def merged(reports: list[tuple[str, Any]], **asked: Any) -> Fleet:
    return merge(lambda: reports, **asked)


def told(fleet: Fleet) -> dict[str, set[str]]:
    """What is said of each host: the facts that differ, and the lists it stands in."""
    said: dict[str, set[str]] = {}
    for group in fleet.groups:
        for name in group.names:
            said.setdefault(name, set()).update(item.fact for item in group.odd)
    for word, hosts in (("slow", [item.host for item in fleet.slow]), ("sick", [item.host for item in fleet.sick])):
        for name in hosts:
            said.setdefault(name, set()).add(word)
    return said


@pytest.mark.parametrize("seed", range(5))
def test_each_planted_fault_is_found_and_nothing_else(base: dict[str, Any], seed: int) -> None:
    hosts = list(cluster(base, 60, seed))
    fleet = merged([(name, report) for name, report, _ in hosts])
    said = told(fleet)
    assert {name: fault for name, _, fault in hosts if fault}.keys() == said.keys()
    for name, _, fault in hosts:
        if fault:
            assert FAULTS[fault][1] in said[name], fault
            assert len(said[name]) <= 2, (fault, said[name])
    assert fleet.ties == ()
    assert fleet.alike == 60 - sum(not said[name] & {"slow", "sick"} for name in said)


def test_hosts_that_are_alike(base: dict[str, Any]) -> None:
    draw = drawing(3)
    fleet = merged([(f"n{at}", healthy(base, draw)) for at in range(20)])
    assert (fleet.hosts, fleet.alike, fleet.groups, fleet.slow, fleet.ties) == (20, 20, (), (), ())
    assert [item.kind for item in fleet.slowest] == ["NVIDIA H100 80GB HBM3, throughput bf16"]


@pytest.mark.parametrize("count", [1, 2])
def test_two_hosts_make_no_majority(base: dict[str, Any], count: int) -> None:
    hosts = [(f"n{at}", healthy(base, drawing(at))) for at in range(count)]
    FAULTS["driver"][0](hosts[0][1])
    fleet = merged(hosts)
    assert (fleet.groups, fleet.slow) == ((), ())


def test_a_tie_is_said_and_nobody_is_called_odd(base: dict[str, Any]) -> None:
    hosts = [(f"n{at}", healthy(base, drawing(at))) for at in range(4)]
    for _, report in hosts[:2]:
        FAULTS["driver"][0](report)
    fleet = merged(hosts)
    assert fleet.groups == ()
    assert [(tie.fact, tie.values) for tie in fleet.ties] == [("driver.version", (("570.86.15", 2), ("580.95.05", 2)))]


def test_two_hosts_that_differ_are_not_called_alike(base: dict[str, Any]) -> None:
    hosts = [(f"n{at}", healthy(base, drawing(at))) for at in range(2)]
    FAULTS["driver"][0](hosts[0][1])
    assert [tie.fact for tie in merged(hosts).ties] == ["driver.version"]


def test_a_variable_of_every_host_s_own_makes_nobody_odd(base: dict[str, Any]) -> None:
    hosts = [(f"n{at}", healthy(base, drawing(at), gpus=1)) for at in range(450)]
    for name, report in hosts:
        report["facts"]["env"]["TRITON_CACHE_DIR"] = f"/scratch/{name}"
    fleet = merged(hosts)
    assert (fleet.alike, fleet.groups) == (450, ())


@pytest.mark.parametrize(
    ("there", "expected", "missing"),
    [
        (["10.0.0.1", "10.0.0.2"], ["10.0.0.1", "10.0.0.2", "10.0.0.3"], ("10.0.0.3",)),
        (["node1.site", "node2"], ["node1", "node2.site", "node3"], ("node3",)),
        (["gpu1.a"], ["gpu1.b"], ("gpu1.b",)),
    ],
)
def test_who_is_missing(base: dict[str, Any], there: list[str], expected: list[str], missing: tuple[str, ...]) -> None:
    report = healthy(base, drawing(1))
    assert merged([(name, report) for name in there], expected=expected).missing == missing


def test_a_number_without_end_stops_nothing(base: dict[str, Any]) -> None:
    hosts = [(f"n{at}", healthy(base, drawing(at))) for at in range(3)]
    hosts[0][1]["facts"]["memory"]["total"] = 10**400
    hosts[1][1]["bench"]["figures"][0]["seconds"] = 10**400
    assert merged(hosts).hosts == 3


def test_equal_outliers_are_one_group(base: dict[str, Any]) -> None:
    hosts = [(f"n{at}", healthy(base, drawing(at))) for at in range(64)]
    for _, report in hosts[:2]:
        FAULTS["driver"][0](report)
    fleet = merged(hosts)
    assert [(group.count, group.names) for group in fleet.groups] == [(2, ("n0", "n1"))]
    assert fleet.alike == 62
    assert fleet.groups[0].odd[0].share == "62 of 64"


def test_a_golden_report_overrules_the_majority(base: dict[str, Any]) -> None:
    hosts = [(f"n{at}", healthy(base, drawing(at))) for at in range(5)]
    for _, report in hosts[:4]:
        FAULTS["driver"][0](report)
    fleet = merged(hosts, golden=("good.json", hosts[4][1]))
    assert [(group.count, group.names) for group in fleet.groups] == [(4, ("n0", "n1", "n2", "n3"))]
    assert fleet.groups[0].odd[0].share == "good.json"


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("node[001-003]", ["node001", "node002", "node003"]),
        ("node[8-10],login1", ["node8", "node9", "node10", "login1"]),
        ("r[1-2]n[1-2]", ["r1n1", "r1n2", "r2n1", "r2n2"]),
        ("a b,c a", ["a", "b", "c"]),
        ("gpu[1,3-4].site", ["gpu1.site", "gpu3.site", "gpu4.site"]),
    ],
)
def test_lists_of_hosts(asked: str, names: list[str]) -> None:
    assert hosts_of(asked) == names


def test_a_file_of_hosts(tmp_path: Path) -> None:
    path = tmp_path / "hosts"
    path.write_text("# rack 1\nnode[1-2]\n\nnode3  # new\n")
    assert hosts_of(str(path)) == ["node1", "node2", "node3"]


@pytest.mark.parametrize(
    "asked", ["", "# nobody", "node[a-b]", "node[1-]", "node[1-9999999]", "node[3-1]", "node[1-3", "no-such-hosts.txt"]
)
def test_no_list_of_hosts(asked: str) -> None:
    with pytest.raises(UsageError, match="--expect"):
        hosts_of(asked)


# ------------------------------------------------------------------------------------------------- the command


def run(*args: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "torchdoctor", "fleet", *args]
    return subprocess.run(command, capture_output=True, text=True, input=text, check=False, cwd=ROOT)


@pytest.fixture(scope="session")
def folder(base: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    place = tmp_path_factory.mktemp("reports")
    faults = write_cluster(place, base, 30)
    (place / "cut.json").write_text('{"schema": "torchdoctor.report/1", "fac')
    (place / "list.json").write_text("[]")
    (place / "other.json").write_text('{"schema": "somebody.else/1"}')
    (place / "empty.json").write_text('{"schema": "torchdoctor.report/1"}')
    (place / "notes.txt").write_text("not a report")
    return place, faults


def test_every_format_says_it(folder: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    place, faults = folder
    files = {name: tmp_path / name for name in ("text", "json", "html", *FORMATS)}
    asked = [f"--format={name}={path}" for name, path in files.items() if name != "quiet"]
    told = run(str(place), "--expect", "node[00001-00031]", "--fail-on=warning", *asked)
    assert told.returncode == 1
    assert told.stdout == ""
    whole = json.loads(files["json"].read_text("utf-8"))
    validate(whole, SCHEMA)
    assert whole["missing"] == ["node00031"]
    assert sorted(name for name, _ in whole["unreadable"]) == ["cut", "empty", "list", "other"]
    hosts = [name for name, fault in faults.items() if fault == "driver"]
    for name in ("text", "html", "junit", "gitlab", "tap", "markdown", "github"):
        text = files[name].read_text("utf-8")
        assert "node00031" in text, name
        assert name in {"github", "markdown"} or hosts[0] in text, name  # these are cut short
    assert "fleet-host-differs" in files["prometheus"].read_text("utf-8")
    assert files["nagios"].read_text("utf-8").startswith("TORCHDOCTOR CRITICAL") or "CRITICAL" in files[
        "nagios"
    ].read_text("utf-8")


def test_a_page_needs_nothing_and_shows_text_as_text(base: dict[str, Any], tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.mkdir()
    for at in range(4):
        report = healthy(base, drawing(at))
        if at == 3:
            report["facts"]["driver"]["version"] = "<script>alert(1)</script>\x1b[31m"
        (hosts / f"n{at}.json").write_text(json.dumps(report), "utf-8")
    page = tmp_path / "page.html"
    run(str(hosts), f"--format=html={page}")
    text = page.read_text("utf-8")
    assert "&lt;script&gt;alert(1)" in text
    assert "<script" not in text
    assert "\x1b" not in text
    assert "http:" not in text
    assert "https:" not in text
    assert "src=" not in text


def test_lines_from_stdin_and_answers_of_each(base: dict[str, Any]) -> None:
    hosts = [(name, report) for name, report, _ in cluster(base, 20)]
    lines = "".join(json.dumps({"id": name, "report": report}) + "\n" for name, report in hosts)
    told = run("-", "--format", "json", text=lines + '{"id": "x", "error": "picture"}\n')
    whole = json.loads(told.stdout)
    assert whole["hosts"] == 20
    assert whole["unreadable"] == [["x", "picture"]]


@pytest.mark.parametrize(("threshold", "status"), [("error", 1), ("never", 0), ("warning", 1)])
def test_exit_status(folder: tuple[Path, dict[str, str]], threshold: str, status: int) -> None:
    assert run(str(folder[0]), "--fail-on", threshold, "-q").returncode == status


def test_differences_alone_are_warnings(base: dict[str, Any], tmp_path: Path) -> None:
    for at in range(4):
        report = healthy(base, drawing(at))
        if at == 3:
            FAULTS["driver"][0](report)
        (tmp_path / f"n{at}.json").write_text(json.dumps(report), "utf-8")
    assert run(str(tmp_path), "-q").returncode == 0
    assert run(str(tmp_path), "-q", "--fail-on", "warning").returncode == 1
    assert run(str(tmp_path), "-q", "--golden", str(tmp_path / "n0.json")).returncode == 1
    assert run(str(tmp_path), "-q", "--fail-on", "warning", "--ignore", "fleet-host-differs").returncode == 0


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nowhere"], "cannot read nowhere"),
        (["{empty}"], "no report (*.json, *.jsonl) in"),
        (["{folder}/list.json"], "none of the 1 files is a report: list: no JSON object"),
        (["{folder}", "--golden", "{folder}/cut.json"], "--golden"),
        (["{folder}", "--format", "yaml"], "not a format"),
    ],
)
def test_what_makes_no_sense(folder: tuple[Path, dict[str, str]], tmp_path: Path, args: list[str], says: str) -> None:
    told = run(*(arg.format(folder=folder[0], empty=tmp_path) for arg in args))
    assert told.returncode == 2
    assert says in told.stderr
    assert len(told.stderr.splitlines()) == 1
