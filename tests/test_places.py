"""The examples of docs/places, the action and the hook: each is read as its place reads it, its commands are run."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from broken_hosts import Stubs, compile_all
from conftest import ROOT
from place_hosts import Image

from torchdoctor.checks import all_checks
from torchdoctor.cli import COMMANDS
from torchdoctor.lint.kinds import kind_of

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the places are of Linux")

PLACES = ROOT / "docs" / "places"
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
TERMINATION_BYTES = 4096  # what a kubelet keeps of a termination message
MISMATCH = {"STUB_NVML_CODE": "18"}  # NVML_ERROR_LIB_RM_VERSION_MISMATCH: the node needs a reboot
OLD_DRIVER = {  # too old for the torch beside torchdoctor
    "STUB_NVML_DRIVER": "535.183.01", "STUB_NVML_CUDA": "12020", "STUB_CUDA_VERSION": "12020",
}  # fmt: skip
BASH = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")  # as GitHub starts it

Make = Callable[[], Image]


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    return compile_all(tmp_path_factory.mktemp("stubs"))


@pytest.fixture
def image(tmp_path: Path, stubs: Stubs) -> Image:
    return Image(tmp_path, stubs)


def text(name: str) -> str:
    return (PLACES / name).read_text(encoding="utf-8")


def test_the_list_names_every_file() -> None:
    named = set(re.findall(r"\]\(([^)]+)\)", text("README.md")))
    assert {path.name for path in PLACES.iterdir()} - {"README.md"} == {name for name in named if "/" not in name}
    assert all((PLACES / name).exists() for name in named)


# ------------------------------------------------------------------------------------------------------------ GitHub


def steps() -> dict[str, dict[str, Any]]:
    return {step["name"]: step for step in ACTION["runs"]["steps"]}


def step_env(step: dict[str, Any], inputs: dict[str, str]) -> dict[str, str]:
    """The variables of a step as the runner fills them in; what is not given has its default."""
    values = {f"inputs.{name}": item["default"] for name, item in ACTION["inputs"].items()}
    values |= {f"inputs.{name}": value for name, value in inputs.items()} | {"github.action_path": str(ROOT)}
    return {
        name: re.sub(r"\$\{\{ (\S+) \}\}", lambda match: values[match[1]], value) for name, value in step["env"].items()
    }


def check(image: Image, **inputs: str) -> tuple[int, str, dict[str, str]]:
    """Run the step: status, what it printed, its outputs."""
    temp = image.work / "runner"
    temp.mkdir()
    (temp / "torchdoctor").symlink_to(image.host.folder / "venv")
    for name in ("report.json", "report.txt"):
        (temp / "torchdoctor" / name).write_text("of an earlier step")
    files = {f"GITHUB_{name}": str(temp / name) for name in ("OUTPUT", "STEP_SUMMARY")}
    step = steps()["Check"]
    env = {**step_env(step, inputs), **files, "RUNNER_TEMP": str(temp), "GITHUB_ACTIONS": "true"}
    done = image.run(*BASH, step["run"], env=env)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, outputs_of((temp / "OUTPUT").read_text())


def outputs_of(content: str) -> dict[str, str]:
    """The file of outputs as the runner reads it: a name's last value counts."""
    found = {}
    lines = content.splitlines()
    while lines:
        name, sign, value = re.fullmatch(r"([a-z-]+)(<<|=)(.*)", lines.pop(0)).groups()  # type: ignore[union-attr]
        if sign == "<<":
            end = lines.index(value)
            value, lines = "\n".join(lines[:end]), lines[end + 1 :]
        found[name] = value
    return found


def test_the_action_is_composite_and_no_input_is_part_of_a_script() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert set(ACTION["inputs"]) == {"version", "args", "python", "fail-on"}
    assert {"verdict", "report"} <= set(ACTION["outputs"])
    for step in ACTION["runs"]["steps"]:
        assert "uses" not in step
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]
        assert subprocess.run(["bash", "-n", "-c", step["run"]], check=False).returncode == 0
    for item in ACTION["outputs"].values():
        assert re.fullmatch(r"\$\{\{ steps\.check\.outputs\.[a-z-]+ \}\}", item["value"])


def test_the_action_gives_verdict_and_report(image: Image) -> None:
    status, printed, outputs = check(image)
    assert (status, outputs["verdict"], outputs["exit-status"]) == (0, "ok", "0")
    assert printed.splitlines()[0].startswith(("ok: ", "::"))
    assert json.loads(Path(outputs["report"]).read_text())["schema"] == "torchdoctor.report/1"
    assert set(ACTION["outputs"]) <= set(outputs)


def test_the_action_fails_where_torch_cannot_do_what_is_required(image: Image) -> None:
    status, printed, outputs = check(image, args='--static --require-gpu --require "driver>=550"')
    assert (status, outputs["verdict"]) == (1, "fail")
    assert "::error" in printed
    assert "\nfail: " in printed or printed.startswith("fail: ")


def test_the_action_may_be_told_never_to_fail(image: Image) -> None:
    assert check(image, args="--static --require-gpu", **{"fail-on": "never"})[0] == 0


@pytest.mark.parametrize(
    "inputs",
    [
        {"args": "--static --nonsense"},
        {"args": '--static --require "driver>=550'},
        {"args": "--static --format json"},
        {"args": "--static --require nonsense=1"},
        {"python": "/no/such/python"},
        {"fail-on": "sometimes"},
    ],
)
def test_a_wrong_input_is_a_usage_fault_with_outputs(image: Image, inputs: dict[str, str]) -> None:
    status, printed, outputs = check(image, **inputs)
    assert (status, outputs) == (2, {"verdict": "unknown", "exit-status": "2", "report": ""})
    assert "of an earlier step" not in printed


@pytest.mark.parametrize(
    "inputs",
    [
        {"args": "--static; touch owned"},
        {"args": "--static $(touch owned) `touch owned`"},
        {"args": '--static "&& touch owned'},
        {"args": "--static\n--nothing\ntouch owned"},
        {"python": "$(touch owned)"},
        {"python": "x; touch owned"},
        {"fail-on": "never; touch owned"},
        {"fail-on": '"; touch owned; "'},
    ],
)
def test_no_input_is_run(image: Image, inputs: dict[str, str]) -> None:
    assert check(image, **inputs)[0] != 0
    assert not list(image.host.folder.rglob("owned"))


@pytest.mark.parametrize("version", ["", "1.0; touch owned", "$(touch owned)", "--index-url=x", "1.0 --pre", "../x"])
def test_a_version_that_is_none_installs_nothing(image: Image, version: str) -> None:
    step = steps()["Install torchdoctor"]
    done = image.run(*BASH, step["run"], env={**step_env(step, {"version": version}), "RUNNER_TEMP": str(image.work)})
    assert done.returncode == 2
    assert list(image.work.iterdir()) == []


@pytest.mark.slow
def test_the_action_installs_its_own_sources(image: Image) -> None:
    pytest.importorskip("hatchling", reason="hatchling is not installed, and no index is asked for it")
    import hatchling

    image.host.program("python3", f'exec {sys.executable} "$@"')
    step = steps()["Install torchdoctor"]
    offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}  # 0: none of it
    env = {**step_env(step, {}), **offline, "RUNNER_TEMP": str(image.work), "PATH": image.host.env["PATH"]}
    env["PYTHONPATH"] = str(Path(hatchling.__file__).parent.parent)
    done = image.run(*BASH, step["run"], env=env)
    assert done.returncode == 0, done.stderr
    assert (image.work / "torchdoctor" / "share" / "man" / "man1" / "torchdoctor.1").is_file()
    version = image.run(image.work / "torchdoctor" / "bin" / "torchdoctor", "--version")
    assert version.stdout.startswith("torchdoctor ")


def test_the_workflow_gives_the_action_inputs_that_it_has(image: Image) -> None:
    workflow = yaml.safe_load(text("github.yml"))
    (step,) = [step for step in workflow["jobs"]["torch"]["steps"] if step.get("id") == "torchdoctor"]
    assert set(step["with"]) <= set(ACTION["inputs"])
    status, printed, outputs = check(image, **step["with"])
    assert (status, outputs["verdict"]) == (0, "ok"), printed
    for script in (step["run"] for step in workflow["jobs"]["torch"]["steps"] if "run" in step):
        assert "${{" not in script


# ------------------------------------------------------------------------------------------------------------ GitLab


@pytest.mark.parametrize(("job", "status"), [("torchdoctor", 0), ("torchdoctor-gpu", 1)])
def test_the_gitlab_jobs_write_the_reports_that_they_keep(image: Image, job: str, status: int) -> None:
    jobs = yaml.safe_load(text("gitlab.yml"))
    own = jobs[job]
    base = jobs[own["extends"]]
    variables = {**base["variables"], **own.get("variables", {})}
    for line in base["script"]:
        done = image.run("bash", "-eo", "pipefail", "-c", line, env=variables)
        assert done.returncode == status, done.stderr
    assert base["artifacts"]["when"] == "always"
    assert ET.parse(image.work / base["artifacts"]["reports"]["junit"]).getroot().tag in {"testsuites", "testsuite"}  # noqa: S314 - written by our own process a moment ago
    assert isinstance(json.loads((image.work / base["artifacts"]["reports"]["codequality"]).read_text()), list)
    assert all((image.work / path).is_file() for path in base["artifacts"]["paths"])


# ------------------------------------------------------------------------------------------------------------- Docker


def instructions(source: str) -> Iterator[tuple[str, str]]:
    """Every instruction of a Dockerfile: continued lines joined, comments left out."""
    lines = [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", " ", "\n".join(lines)).splitlines():
        name, _, rest = line.strip().partition(" ")
        yield name, rest.strip()


def test_the_dockerfile_is_built_and_its_health_is_checked(image: Image) -> None:
    found = list(instructions(text("Dockerfile")))
    assert found[0][0] == "FROM"
    assert {name for name, _ in found} == {"FROM", "RUN", "HEALTHCHECK", "CMD"}
    commands = [rest for name, rest in found if name == "RUN"]
    assert commands.pop(0).startswith("python -m pip install ")
    for command in commands:
        done = image.run("/bin/sh", "-c", command)
        assert done.returncode == 0, done.stdout + done.stderr
    (health,) = (rest for name, rest in found if name == "HEALTHCHECK")
    options, _, command = health.partition(" CMD ")
    assert re.fullmatch(r"(--(interval|timeout|start-period)=\d+s ?)+", options)
    assert image.run("/bin/sh", "-c", command).returncode == 1
    assert image.gpu().run("/bin/sh", "-c", command).returncode == 0


# --------------------------------------------------------------------------------------------------------- Kubernetes


def containers() -> dict[str, dict[str, Any]]:
    """The containers that run torchdoctor, by the kind of their object."""
    found = {}
    for thing in yaml.safe_load_all(text("kubernetes.yaml")):
        spec = thing["spec"]["template"]["spec"] if thing["kind"] == "Job" else thing["spec"]
        assert spec["restartPolicy"] in {"Never", "OnFailure", "Always"}
        for container in (*spec.get("initContainers", ()), *spec["containers"]):
            if container["name"] == "torchdoctor":
                found[thing["kind"]] = container
    return found


@pytest.mark.parametrize("kind", ["Pod", "Job"])
@pytest.mark.parametrize("sick", [False, True])
def test_the_verdict_stands_in_the_termination_log(image: Image, kind: str, *, sick: bool) -> None:
    log = image.work / "termination-log"
    command = [word.replace("/dev/termination-log", str(log)) for word in containers()[kind]["command"]]
    if sick:
        command = [word.replace("--wait 120", "--wait 1") for word in command]
    else:
        image.gpu()
    done = image.run(*command)
    said = log.read_text(encoding="utf-8")
    assert 0 < len(said.encode()) <= TERMINATION_BYTES
    verdict = [line for line in said.splitlines() if re.match(r"(ok|warning|fail|unknown): ", line)]
    assert len(verdict) == 1, said
    if sick:
        assert (done.returncode, verdict[0].startswith("fail: ")) == (1, True)
    else:
        assert done.returncode == {"ok": 0, "warning": 0, "fail": 1, "unknown": 3}[verdict[0].partition(":")[0]]
        assert "no GPU" not in verdict[0]


# ------------------------------------------------------------------------------------------------------ Slurm and NHC


def prolog(image: Image, **env: str) -> tuple[int, str]:
    """Run as slurmd does: no variable of a shell, no PATH."""
    kept = {name: image.env[name] for name in image.env if name.startswith(("LD_", "STUB_"))}
    given = {"TORCHDOCTOR": str(image.program), **kept, **env}
    done = image.run("/bin/sh", PLACES / "slurm_prolog.sh", env=given, alone=True)
    return done.returncode, done.stdout


def test_the_prolog_drains_a_node_for_its_gpus_alone(image: Image) -> None:
    assert prolog(image) == (0, "")  # the job wants no GPU
    assert prolog(image.gpu(), SLURM_JOB_GPUS="0") == (0, "")
    status, said = prolog(image, SLURM_JOB_GPUS="0", **MISMATCH)
    assert (status, said.count("\n")) == (1, 1)
    assert said.startswith("fail: ")
    assert prolog(image, **MISMATCH) == (0, "")


def selected(name: str) -> set[str]:
    """What a script selects of the findings."""
    return {word for words in re.findall(r"--select (\S+)", text(name)) for word in words.rstrip(")").split(",")}


def test_a_fault_of_the_torch_beside_torchdoctor_drains_nothing(image: Image) -> None:
    image.gpu(**OLD_DRIVER)
    plain = image.run(image.program, "check", "--static", "--format", "json")
    found = {item["id"] for item in json.loads(plain.stdout)["findings"] if item["severity"] == "error"}
    assert found == {"driver-too-old"}
    assert prolog(image, SLURM_JOB_GPUS="0") == (0, "")
    assert selected("slurm_prolog.sh") == selected("nhc.conf")
    assert "driver-too-old" not in selected("slurm_prolog.sh")
    assert selected("slurm_prolog.sh") <= {item.id for item in all_checks()}


@pytest.mark.parametrize("broken", ["/gone/torchdoctor", "/bin/false.not", "/"])
def test_a_torchdoctor_that_cannot_run_drains_nothing(image: Image, broken: str) -> None:
    assert prolog(image, SLURM_JOB_GPUS="0", TORCHDOCTOR=broken)[0] == 0


def test_the_line_of_nhc(image: Image) -> None:
    (line,) = [line for line in text("nhc.conf").splitlines() if not line.startswith("#")]
    match = re.fullmatch(r"gpu\* \|\| check_cmd_status -t (\d+) -r 0 (.*)", line)
    assert match
    program, *arguments = shlex.split(match[2])
    assert program.startswith("/")
    assert int(match[1]) >= 20
    alone = {"LD_LIBRARY_PATH": str(image.host.folder / "lib")}
    assert image.gpu().run(image.program, *arguments, env=alone, alone=True).returncode == 0
    assert image.run(image.program, *arguments, env={**alone, **MISMATCH}, alone=True).returncode == 1
    assert image.run(image.program, *arguments, env={**alone, **OLD_DRIVER}, alone=True).returncode == 0


def collected(image: Image, *arguments: str) -> tuple[int, set[str]]:
    """Run the script for the textfile collector: status, and the series that are not 0."""
    env = {"TORCHDOCTOR": str(image.program), "TEXTFILE_COLLECTOR": str(image.work)}
    done = image.run("/bin/sh", PLACES / "node_exporter.sh", *arguments, env=env)
    assert [path.name for path in image.work.iterdir()] == ["torchdoctor.prom"]  # in one step, nothing beside it
    lines = (image.work / "torchdoctor.prom").read_text().splitlines()
    return done.returncode, {line.rpartition(" ")[0] for line in lines if not line.endswith(" 0") and line[0] != "#"}


def test_the_textfile_collector_gets_its_file(image: Image) -> None:
    status, series = collected(image)
    assert status == 0
    assert 'torchdoctor_status{status="ok"}' in series


def test_the_node_is_watched_without_a_torch(image: Image) -> None:
    """As the file says: torchdoctor alone in its environment is a healthy node; a Python that is named is watched."""
    shutil.rmtree(image.host.site / "torch")
    for info in image.host.site.glob("torch-*.dist-info"):
        shutil.rmtree(info)
    status, series = collected(image.gpu())
    assert (status, 'torchdoctor_findings{severity="error"}' in series) == (0, False)
    status, series = collected(image, str(image.program.with_name("python")))
    assert (status, 'torchdoctor_finding{id="torch-missing"}' in series) == (1, True)
    image.env |= MISMATCH
    status, series = collected(image)
    assert (status, 'torchdoctor_finding{id="driver-library-mismatch"}' in series) == (1, True)


@pytest.mark.parametrize("script", sorted(path.name for path in PLACES.glob("*.sh")))
@pytest.mark.parametrize("shell", ["sh", "bash", "dash"])
def test_scripts_are_read_by_every_shell(script: str, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    assert subprocess.run([shell, "-n", PLACES / script], check=False).returncode == 0
    assert text(script).startswith("#!/bin/sh\n")


# -------------------------------------------------------------------------------------------- pre-commit, devcontainer


def test_the_hook_is_what_pre_commit_reads() -> None:
    (hook,) = HOOKS
    assert {"id", "name", "description", "entry", "language", "files"} <= set(hook)
    assert hook["entry"].split()[0] == "torchdoctor"
    assert hook["entry"].split()[1] in COMMANDS
    used = yaml.safe_load(text("pre-commit.yaml"))
    assert [item["id"] for repo in used["repos"] for item in repo["hooks"]] == [hook["id"]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *((name, True) for name in (
            "requirements.txt", "requirements-gpu.txt", "ci/requirements.in", "pyproject.toml", "pkg/pyproject.toml",
            "environment.yml", "environment-gpu.yaml", "pylock.toml", "pylock.gpu.toml", "uv.lock", "poetry.lock",
            "pixi.toml", "Dockerfile", "docker/Dockerfile.gpu", "gpu.Dockerfile", "Containerfile", "constraints.txt",
            "requirements/base.txt", "pdm.lock",
        )),
        *((name, False) for name in (
            "setup.py", "my_requirements.md", "requirements.txt.bak", "conda.lock", "Dockerfile/readme/x.md",
            "uv.lock.py",
        )),
    ],
)  # fmt: skip
def test_the_hook_takes_the_files_that_lint_reads(name: str, *, expected: bool) -> None:
    assert bool(re.search(HOOKS[0]["files"], name)) is expected
    assert bool(kind_of(Path(name))) is expected


def test_the_hook_runs(image: Image) -> None:
    (image.work / "requirements.txt").write_text("requests==2.32.3\n")
    done = image.run(*HOOKS[0]["entry"].split(), "requirements.txt")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_devcontainer(image: Image) -> None:
    container = json.loads(text("devcontainer.json"))
    done = image.run("/bin/sh", "-c", container["postCreateCommand"])
    assert done.returncode == 0, done.stderr
    assert done.stdout
