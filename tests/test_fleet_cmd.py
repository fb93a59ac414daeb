"""The scripts and manifests for a site: each is parsed, the scripts run with stand-ins of the site's own commands."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from torchdoctor.errors import UsageError
from torchdoctor.fleet.site import SITES, Shape, written

yaml = pytest.importorskip("yaml", reason="PyYAML, which reads manifests, is not installed")
ROOT = Path(__file__).resolve().parent.parent
PLACES = ROOT / "docs" / "places"
needs_bash = pytest.mark.skipif(os.name != "posix" or not shutil.which("bash"), reason="no bash here")


@pytest.mark.parametrize("name", sorted(SITES))
def test_the_documentation_shows_what_is_printed(name: str) -> None:
    told = subprocess.run(
        [sys.executable, "-m", "torchdoctor", "fleet-cmd", f"--{name}"],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    kept = PLACES / f"fleet_{name}{Path(SITES[name].file).suffix}"
    assert told.stdout == kept.read_text("utf-8")
    assert "@" not in told.stdout.replace("$@", "")


@needs_bash
@pytest.mark.parametrize("name", ["slurm", "mpi"])
@pytest.mark.parametrize("shape", [Shape(), Shape(gpus=0), Shape(python="/opt/my env/bin/python", folder="a b/$c")])
def test_scripts_are_ones_of_sh(name: str, shape: Shape) -> None:
    assert subprocess.run(["sh", "-n"], input=written(name, shape), text=True, check=False).returncode == 0


def documents(name: str, shape: Shape) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(written(name, shape)))


@pytest.mark.parametrize("gpus", [0, 4])
def test_manifests_of_kubernetes(gpus: int) -> None:
    daemons, service, job = documents("k8s", Shape(nodes=5, gpus=gpus, image="registry.example/torch:2"))
    pods = [daemons["spec"]["template"], job["spec"]["template"]]
    for owner, pod in zip((daemons, job), pods, strict=True):
        labels = pod["metadata"]["labels"]
        if owner is daemons:
            assert owner["spec"]["selector"]["matchLabels"] == labels
        for container in (*pod["spec"]["containers"], *pod["spec"].get("initContainers", ())):
            assert container["image"] == "registry.example/torch:2"
            mounted = {item["name"] for item in container.get("volumeMounts", ())}
            assert mounted <= {item["name"] for item in pod["spec"]["volumes"]}
            assert subprocess.run(["bash", "-n", "-c", container["args"][0]], check=False).returncode == 0
    limits = [pods[0]["spec"]["initContainers"][0].get("resources"), pods[1]["spec"]["containers"][0].get("resources")]
    assert limits == ([{"limits": {"nvidia.com/gpu": gpus}}] * 2 if gpus else [None, None])
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == pods[1]["metadata"]["labels"]
    assert service["metadata"]["name"] == pods[1]["spec"]["subdomain"]
    assert job["spec"]["completions"] == job["spec"]["parallelism"] == 5
    assert f"{job['metadata']['name']}-0.{service['metadata']['name']}" in pods[1]["spec"]["containers"][0]["args"][0]


@pytest.mark.parametrize("gpus", [0, 4])
def test_a_task_of_skypilot(gpus: int) -> None:
    (task,) = documents("sky", Shape(nodes=3, gpus=gpus, accelerator="A100-80GB"))
    assert task["num_nodes"] == 3
    assert task["resources"].get("accelerators") == ("A100-80GB:4" if gpus else None)
    assert subprocess.run(["bash", "-n", "-c", task["run"]], check=False).returncode == 0


@pytest.mark.parametrize(
    "shape",
    [
        Shape(image="a b"), Shape(image="x\nrun: evil"), Shape(image="$(id)"), Shape(accelerator="H100: 8}"),
        Shape(python="a b"), Shape(python="$(id)"),
    ],
)  # fmt: skip
def test_nothing_gets_into_a_manifest(shape: Shape) -> None:
    for name in ("k8s", "sky"):
        with pytest.raises(UsageError):
            written(name, shape)


@pytest.mark.parametrize("args", [[], ["--slurm", "--mpi"], ["--slurm", "--nodes", "0"], ["--slurm", "--gpus", "x"]])
def test_what_makes_no_sense(args: list[str]) -> None:
    command = [sys.executable, "-m", "torchdoctor", "fleet-cmd", *args]
    told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert (told.returncode, told.stdout) == (2, "")
    assert len(told.stderr.splitlines()) == 1


# ------------------------------------------------------------------------------------------------- run

STAND_INS = {
    "scontrol": 'printf "%s\\nnode2\\n" "$(hostname -s)"',
    "srun": 'while [ "${1#-}" != "$1" ]; do shift; done\n"$@"',
    "mpirun": 'while [ "${1#-}" != "$1" ]; do [ "$1" = -x ] && shift && export "$1" || shift; shift; done\n"$@"',
    "hostname": "echo node1",
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of commands that stand in for a site's, and a Python whose torch.distributed.run and net are told."""
    folder = tmp_path / "site bin"
    folder.mkdir()
    python = f'case "$*" in *torchdoctor.net*) echo "$*" > "$TOLD";; *) exec {sys.executable} "$@";; esac'
    for name, body in {**STAND_INS, "python": python}.items():
        path = folder / name
        path.write_text(f"#!/bin/bash\n{body}\n")
        path.chmod(0o755)
    return folder


@needs_bash
@pytest.mark.parametrize("name", ["slurm", "mpi"])
def test_the_scripts_run(name: str, site: Path, tmp_path: Path) -> None:
    script, told, reports = tmp_path / "script.sh", tmp_path / "told", tmp_path / "reports of nodes"
    script.write_text(written(name, Shape(nodes=2, gpus=0, python=str(site / "python"), folder=str(reports))))
    (tmp_path / "hostfile").write_text("# two\nnode1 slots=1\nnode2 slots=1\n")
    env = {
        **os.environ, "PATH": f"{site}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "TOLD": str(told),
        "SLURM_JOB_NODELIST": "node[1-2]", "SLURM_JOB_ID": "7",
    }  # fmt: skip
    done = subprocess.run(
        ["sh", str(script), str(tmp_path / "hostfile")], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr  # node2 sent no report
    assert "fail: 1 expected hosts sent no report: node2" in done.stdout
    assert json.loads((reports / "node1.json").read_text("utf-8"))["schema"] == "torchdoctor.report/1"
    asked = told.read_text()
    assert "-m torchdoctor.net" in asked
    assert f"--output {reports}" in asked
    assert name == "mpi" or "--rdzv-endpoint=node1:29500" in asked
