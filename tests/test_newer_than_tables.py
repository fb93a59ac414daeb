"""A torch that is newer than the tables is told, judged by nothing, and never a failure."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Literal, NamedTuple

import pytest
from conftest import CASES, ROOT, Run
from install_states import RADEON, Live

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.prescribe.described import describe
from torchdoctor.prescribe.host import host_of
from torchdoctor.prescribe.prescribe import prescribe
from torchdoctor.prescribe.unjudged import unjudged
from torchdoctor.prescribe.writing import Writing
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import Build

PASTED = (CASES / "torch-newer-than-the-tables" / "collect_env.txt").read_text(encoding="utf-8")
HOST = (
    "--os",
    "linux",
    "--machine",
    "x86_64",
    "--python-version",
    "3.12",
    "--libc",
    "glibc-2.35",
    "--driver",
    "580.65.06",
    "--gpu",
    "sm_86",
)
ID = "torch-newer-than-tables"


def test_a_pasted_report_of_one_is_well_and_says_so(torchdoctor: Run) -> None:
    result = torchdoctor("diagnose", "-", "--format", "json", stdin=PASTED)
    report = json.loads(result.stdout)
    assert (result.returncode, report["status"]) == (0, "ok")
    assert [(one["id"], one["severity"]) for one in report["findings"]] == [(ID, "info")]
    assert [one["id"] for one in report["checks"] if one["outcome"] == "crashed"] == []
    text = torchdoctor("diagnose", "-", stdin=PASTED).stdout
    assert "torch 9.9.0 is newer than the tables, which end at " in text


@pytest.mark.parametrize("version", ["2.9.1+cu126", "2.14.1"])
def test_one_that_the_tables_know_is_not_called_so(torchdoctor: Run, version: str) -> None:
    pasted = PASTED.replace("9.9.0+cu199", version).replace("19.9", "12.6")
    report = json.loads(torchdoctor("diagnose", "-", "--format", "json", stdin=pasted).stdout)
    assert ID not in {one["id"] for one in report["findings"]}


def test_a_nightly_is_no_release(torchdoctor: Run) -> None:
    pasted = PASTED.replace("9.9.0+cu199", "9.9.0.dev20261101+cu199")
    report = json.loads(torchdoctor("diagnose", "-", "--format", "json", stdin=pasted).stdout)
    assert ID not in {one["id"] for one in report["findings"]}


@pytest.mark.parametrize("spec", ["==9.9.0", "9.9.0", ">=9", ">2.99.0", "~=9.9", "==9.9.*", "==9.9.0+cu199"])
def test_asking_for_one_names_the_end_of_the_tables_and_the_remedy(torchdoctor: Run, spec: str) -> None:
    result = torchdoctor("install-cmd", *HOST, "--torch", spec)
    assert (result.returncode, result.stdout) == (1, "")
    assert "is newer than the tables: of 20" in result.stderr
    assert "tables refresh --from INDEX" in result.stderr


@pytest.mark.parametrize("spec", ["==2.13.7", "==0.4", "<1", "==2.14.0.dev20260101"])
def test_a_version_that_never_was_is_not_called_newer(torchdoctor: Run, spec: str) -> None:
    result = torchdoctor("install-cmd", *HOST, "--torch", spec)
    assert result.returncode == 1
    assert "newer than the tables" not in result.stderr


def test_install_cmd_on_a_host_that_has_one_says_that_it_was_not_judged(torchdoctor: Run, tmp_path: Path) -> None:
    recorded = torchdoctor("diagnose", "-", "--format", "json", stdin=PASTED)
    assert json.loads(recorded.stdout)["install"] is None  # what is there may stay: nothing is in question
    line = {
        "id": "a",
        "os": "linux",
        "machine": "x86_64",
        "python": "3.12",
        "libc": "glibc-2.35",
        "driver": "580.65.06",
        "gpus": ["sm_86"],
        "torch": "9.9.0+cu199",
    }
    (tmp_path / "hosts.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    batch = torchdoctor("install-cmd", "--batch", "hosts.jsonl")
    answer = json.loads(batch.stdout)
    assert batch.returncode == 0
    assert answer["build"]
    assert "newer than the tables" in json.dumps(answer)


NEWER = "torch==99.1.0+cu132"


class Newer(NamedTuple):
    """A torch newer than the tables, and whether it stays where nothing was asked for."""

    name: str
    live: Live
    stays: bool = True

    def __str__(self) -> str:
        return self.name


NEWER_ONES = (
    Newer("no GPU", Live(NEWER, driver=None)),
    Newer("a driver that is new enough", Live(NEWER, driver="595.45")),
    Newer("a driver of the same branch as before", Live(NEWER, driver="580.95.05")),
    Newer("a driver below the floor of that CUDA", Live(NEWER, driver="470.57.02"), stays=False),
    Newer("a CUDA that the tables do not know", Live("torch==99.1.0+cu199")),
    Newer("built for the CPU, beside a GPU", Live("torch==99.1.0+cpu"), stays=False),
    Newer("built for the CPU, and no GPU", Live("torch==99.1.0+cpu", driver=None)),
    Newer("built for another vendor's GPU", Live(NEWER, driver=None, gpu=RADEON), stays=False),
    Newer("a nightly", Live("torch==99.1.0.dev20261120+cu132", driver="595.45")),
    Newer("on a Mac", Live("torch==99.1.0", driver=None, os="macos", build="mps")),
    Newer("conda's", Live(conda="pytorch==99.1.0", build="cu132", driver="595.45")),
    Newer("a companion beside it that no table can judge", Live(NEWER + " torchvision==0.24.1+cu126", driver="595.45")),
    Newer("no newer one", Live("torch==2.9.1+cu126"), stays=False),
    Newer("none at all", Live(), stays=False),
)


@pytest.mark.parametrize("state", NEWER_ONES, ids=str)
def test_a_torch_newer_than_the_tables_stays_where_nothing_known_speaks_against_it(
    state: Newer, tables: Tables
) -> None:
    host = host_of(state.live.facts, tables)
    install = unjudged(host, Writing(), tables.of_conda() if host.owners.conda else tables)
    assert (install is not None) is state.stays
    if install:
        assert (install.needed, install.commands, install.lines, install.wheels) == (False, (), (), ())
        assert install.torch
        assert install.torch.startswith("99.1.0")
        assert "was not judged" in str(install.why[0])


@pytest.mark.parametrize(("severity", "offers"), [("error", True), ("warning", False), ("info", False)])
def test_a_report_offers_no_older_torch_unless_the_newer_one_is_proved_broken(
    tables: Tables, severity: Literal["error", "warning", "info"], offers: bool
) -> None:
    remedies = (Remedy(Text("c"), installs=True),)
    finding = Finding(id="torch-import", severity=severity, summary=Text("a"), why=Text("b"), remedies=remedies)
    told = prescribe(Live(NEWER, driver=None).facts, [finding], Writing(), tables)
    assert (told.install is not None, told.refusal) == (offers, None)
    known = prescribe(Live("torch==2.9.1+cu126", driver=None).facts, [finding], Writing(), tables)
    assert known.install is not None


@pytest.mark.parametrize(
    ("argv", "prints", "says"),
    [
        ((), "", "already installed: torch 99.1.0 cu132"),
        (("--if-needed",), "", "it was not judged"),
        (("--if-needed", "--online"), "", "it was not judged"),
        (("--if-needed", "--torch", "2.9.1", "--backend", "cpu"), "torch==2.9.1+cpu", "it was not judged"),
        (("--if-needed", "--backend", "cpu"), "+cpu", "it was not judged"),
    ],
)
def test_install_cmd_leaves_a_newer_torch_unless_something_was_asked_for(
    torchdoctor: Run, tmp_path: Path, argv: tuple[str, ...], prints: str, says: str
) -> None:
    there = {
        "torch/__init__.py": "",
        "torch/version.py": "__version__ = '99.1.0+cu132'\ncuda = '13.2'\nhip = None\n",
        "torch-99.1.0+cu132.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 99.1.0+cu132\n",
    }
    for name, text in there.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    paths = os.pathsep.join(map(str, (ROOT, tmp_path)))
    host = ("--driver", "595.45", "--gpu", "sm_86", "--tool", "pip")
    done = torchdoctor("install-cmd", "--python", sys.executable, *host, *argv, env={"PYTHONPATH": paths})
    assert (done.returncode, says in done.stderr) == (0, True), done.stderr
    assert (prints in done.stdout) if prints else done.stdout == ""


GPU_HOST = {
    "os": "linux", "machine": "x86_64", "python": "3.12", "libc": "glibc-2.35", "driver": "595.45", "gpus": ["sm_90"],
}  # fmt: skip


@pytest.mark.parametrize("version", ["2.12.0a0+1a2b3c4.nv26.01", "2.14.0a0+git1234567"])
def test_another_makers_torch_stays_where_nobody_asks_for_another(version: str, tables: Tables) -> None:
    build = Build("cu130")
    host = replace(describe({**GPU_HOST, "torch": version}, tables), build=build, foreign=True)
    install = unjudged(host, Writing(tool="pip"), tables)
    assert install is not None
    assert install.needed is False
    assert "another maker's build" in str(install.why[0])
    assert unjudged(replace(host, build=Build("cpu")), Writing(tool="pip"), tables) is None
