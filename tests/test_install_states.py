"""install-cmd from each state that an environment can be in: from facts to lines, for pip, uv and three shells."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from conftest import Run
from install_states import RADEON, TABLES, Live
from packaging.specifiers import SpecifierSet

from torchdoctor.errors import UsageError
from torchdoctor.facts import Gpu, Unknown
from torchdoctor.prescribe.choose import choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import host_of
from torchdoctor.prescribe.install import Install, install_of
from torchdoctor.prescribe.writing import ASK_AGAIN, Writing, writing_for
from torchdoctor.readers.live_conda import WANTS, taken_names
from torchdoctor.recording import Answer, Recording
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import GpuArch

URL = "https://download.pytorch.org/whl"
# How each tool's lines begin in these environments.
PIP, UV = "/w/app/.venv/bin/python -m pip", "uv pip"
TARGET = " --python /w/app/.venv/bin/python"
ML = "/opt/conda/envs/ml/bin/python"
OF_12 = "nvidia-cublas-cu12==12.6.4.1* nvidia-cudnn-cu12==9.10.2.21* triton==3.5.1*"
OF_13 = "nvidia-cublas==13.0.4.1* nvidia-cudnn-cu13==9.13.0.50* cuda-toolkit==13.0.2* triton==3.5.1*"


def old(backend: str = "auto", torch: str = "2.9.1") -> Wish:
    """That torch, whatever the newest is."""
    return Wish(backend=backend, torch=SpecifierSet(f"=={torch}"))


CU126, CPU, CU130 = old("cu126"), old("cpu"), old("cu130")
NEW_DRIVER = "580.95.05"


class State(NamedTuple):
    """Where it starts, what is wished for, and the words behind ``pip``: of the verb, then of the line."""

    name: str
    live: Live
    wish: Wish
    lines: tuple[str, ...]
    needed: bool = True

    def __str__(self) -> str:
        return self.name


def installs(*pins: str, build: str = "cu126") -> str:
    return f"install {' '.join(pins)} --index-url {URL}/{build}"


STATES = (
    State("nothing", Live(), CU126, (installs("torch==2.9.1+cu126"),)),
    State(
        "nothing, and PyPI has the build, as any index that is set may",
        Live(),
        old("cu128"),
        (installs("torch==2.9.1+cu128", build="cu128"),),
    ),
    State(
        "nothing, on a system whose one build PyPI alone has",
        Live(os="macos", driver=None),
        old("mps"),
        ("install torch==2.9.1",),
    ),
    State(
        "right already",
        Live("torch==2.9.1+cu126 torchvision==0.24.1+cu126 " + OF_12),
        CU126,
        (installs("torch==2.9.1+cu126", "torchvision==0.24.1+cu126"),),
        needed=False,
    ),
    State(
        "right already, from PyPI",
        Live("torch==2.9.1 torchvision==0.24.1 " + OF_12, build="cu128"),
        old("cu128"),
        (installs("torch==2.9.1+cu128", "torchvision==0.24.1+cu128", build="cu128"),),
        needed=False,
    ),
    State(
        "cpu in place of CUDA",
        Live("torch==2.9.1+cpu torchvision==0.24.1+cpu torchaudio==2.9.1+cpu"),
        CU126,
        (installs("torch==2.9.1+cu126", "torchvision==0.24.1+cu126", "torchaudio==2.9.1+cu126"),),
    ),
    State(
        "CUDA to another of its major",
        Live("torch==2.9.1 torchvision==0.24.1 " + OF_12, build="cu128"),
        CU126,
        (installs("torch==2.9.1+cu126", "torchvision==0.24.1+cu126"),),
    ),
    State(
        "CUDA to the next major",
        Live("torch==2.9.1+cu126 " + OF_12, driver=NEW_DRIVER),
        CU130,
        ("uninstall nvidia-cublas-cu12 nvidia-cudnn-cu12", installs("torch==2.9.1+cu130", build="cu130")),
    ),
    State(
        "CUDA to the major before",
        Live("torch==2.9.1+cu130 " + OF_13),
        CU126,
        ("uninstall nvidia-cublas nvidia-cudnn-cu13 cuda-toolkit", installs("torch==2.9.1+cu126")),
    ),
    State(
        "CUDA to CPU",
        Live("torch==2.9.1+cu126 " + OF_12, driver=None),
        CPU,
        (installs("torch==2.9.1+cpu", build="cpu"), "uninstall nvidia-cublas-cu12 nvidia-cudnn-cu12 triton"),
    ),
    State(
        "CUDA to CPU beside others who need two of the libraries",
        Live(
            "torch==2.9.1+cu126 nvidia-cublas-cu12==12.6.4.1 nvidia-cudnn-cu12==9.10.2.21 triton==3.5.1*", driver=None
        ),
        CPU,
        (installs("torch==2.9.1+cpu", build="cpu"), "uninstall triton"),
    ),
    State(
        "CUDA to CPU beside a package that loads cuDNN without requiring it",
        Live("torch==2.9.1+cu126 ctranslate2==4.6.0 " + OF_12, driver=None),
        CPU,
        (installs("torch==2.9.1+cpu", build="cpu"), "uninstall triton"),
    ),
    State(
        "orphans beside a CPU build that is right",
        Live("torch==2.9.1+cpu " + OF_13, driver=None),
        CPU,
        (
            installs("torch==2.9.1+cpu", build="cpu"),
            "uninstall nvidia-cublas nvidia-cudnn-cu13 cuda-toolkit triton",
        ),
        needed=False,
    ),
    State(
        "orphans of the wanted CUDA beside a CPU build",
        Live("torch==2.9.1+cpu " + OF_12),
        CU126,
        (installs("torch==2.9.1+cu126"),),
    ),
    State(
        "right, and libraries of another major beside it",
        Live("torch==2.9.1+cu126 nvidia-cudnn-cu13==9.13.0.50* " + OF_12),
        CU126,
        (installs("torch==2.9.1+cu126"),),
        needed=False,
    ),
    State(
        "CUDA to ROCm",
        Live("torch==2.9.1+cu126 " + OF_12, driver=None, gpu=RADEON),
        old("rocm6.4"),
        (
            "uninstall triton",
            installs("torch==2.9.1+rocm6.4", build="rocm6.4"),
            "uninstall nvidia-cublas-cu12 nvidia-cudnn-cu12",
        ),
    ),
    State(
        "ROCm to CUDA",
        Live("torch==2.9.1+rocm6.4 pytorch-triton-rocm==3.5.1*"),
        CU126,
        ("uninstall pytorch-triton-rocm", installs("torch==2.9.1+cu126")),
    ),
    State(
        "torch right and torchvision of another build",
        Live("torch==2.9.1+cu126 torchvision==0.24.1+cpu"),
        CU126,
        (installs("torchvision==0.24.1+cu126"),),
    ),
    State(
        "torch right and torchvision of another torch",
        Live("torch==2.9.1+cu126 torchvision==0.20.1+cu124 torchaudio==2.9.1+cu126"),
        CU126,
        (installs("torchvision==0.24.1+cu126"),),
    ),
    State(
        "torchvision right and torch wrong",
        Live("torch==2.9.1+cpu torchvision==0.24.1+cu126"),
        CU126,
        (installs("torch==2.9.1+cu126"),),
    ),
    State(
        "a torchvision whose label does not tell",
        Live("torch==2.14.1+cu130 torchvision==0.29.1", driver=NEW_DRIVER),
        old("cu126", "2.14.1"),
        ("uninstall torchvision", installs("torch==2.14.1+cu126", "torchvision==0.29.1")),
    ),
    State(
        "a newer torchvision than the one of this torch, which takes it",
        Live("torch==2.14.0+cu126 torchvision==0.29.1"),
        old("cu126", "2.14.0"),
        (installs("torch==2.14.0+cu126", "torchvision==0.29.1"),),
        needed=False,
    ),
    State(
        "companions without a label come from PyPI, where somebody asks for them",
        Live("torch==2.0.0+cpu torchdata==0.6.0"),
        CU126._replace(companions=("torchdata",)),
        (installs("torch==2.9.1+cu126"), "install torchdata==0.11.0"),
    ),
    State(
        "a companion that nobody asked for stays where its bound is only inferred",
        Live("torch==2.0.0+cpu torchdata==0.6.0 torchvision==0.15.1+cpu"),
        CU126,
        (installs("torch==2.9.1+cu126", "torchvision==0.24.1+cu126"),),
    ),
    State(
        "right already beside a companion of an inferred bound",
        Live("torch==2.3.0+cu121 torchdata==0.9.0"),
        old("cu121", "2.3.0"),
        (installs("torch==2.3.0+cu121", build="cu121"),),
        needed=False,
    ),
    State(
        "a companion of an inferred bound that somebody asks for moves",
        Live("torch==2.3.0+cu121 torchdata==0.9.0"),
        old("cu121", "2.3.0")._replace(companions=("torchdata",)),
        ("install torchdata==0.7.1",),
    ),
    State(
        "a companion that takes any torch stays",
        Live("torch==2.8.0+cpu torchdata==0.10.1 torchcodec==0.7.0"),
        CU126,
        (installs("torch==2.9.1+cu126"),),
    ),
    State(
        "a nightly moves those whose every release belongs to one torch",
        Live("torch==2.15.0+cpu torchvision==0.30.0+cpu torchdata==0.11.0", driver=None),
        Wish(backend="cpu", nightly=True),
        (
            "uninstall torch torchvision",
            f"install --pre torch torchvision --index-url {URL}/nightly/cpu",
        ),
    ),
    State(
        "a nightly, and a companion that is asked for",
        Live("torch==2.15.0+cpu torchdata==0.11.0", driver=None),
        Wish(backend="cpu", nightly=True, companions=("torchdata",)),
        ("uninstall torch torchdata", f"install --pre torch torchdata --index-url {URL}/nightly/cpu"),
    ),
    State(
        "conda's torch",
        Live(conda="pytorch==2.9.1", build="cpu", environment="conda", executable=ML, command=ML),
        CU126,
        ("conda remove --yes --prefix /opt/conda/envs/ml pytorch", installs("torch==2.9.1+cu126")),
    ),
    State(
        "conda's torch and pip's",
        Live("torch==2.9.1+cu126", conda="pytorch==2.9.1", environment="conda", executable=ML, command=ML),
        CU126,
        (
            "conda remove --yes --prefix /opt/conda/envs/ml pytorch",
            "uninstall torch",
            installs("torch==2.9.1+cu126"),
        ),
    ),
    State(
        "pip's torch in an environment of conda",
        Live("torch==2.9.1+cpu", environment="conda", executable=ML, command=ML),
        CU126,
        (installs("torch==2.9.1+cu126"),),
    ),
)


def written(tool: str, lines: tuple[str, ...], python: str) -> Iterator[str]:
    """The lines as one tool writes them."""
    for line in lines:
        verb, _, rest = line.partition(" ")
        if verb == "conda":
            yield line
        elif tool == "pip":
            yield f"{python} -m pip {verb} {'-y ' if verb == 'uninstall' else ''}{rest}"
        else:
            rest = rest.replace("--index-url", "--index").replace("--pre ", "--prerelease allow ")
            yield f"uv pip {verb} --python {python} {rest}"


@pytest.mark.parametrize("shell", ["posix", "cmd", "powershell"])
@pytest.mark.parametrize("tool", ["pip", "uv"])
@pytest.mark.parametrize("state", STATES, ids=str)
def test_state(state: State, tool: str, shell: str) -> None:
    install = state.live.install(tool, shell, wish=state.wish)
    assert list(install.commands) == list(written(tool, state.lines, state.live.command))
    assert install.needed is state.needed


@pytest.mark.parametrize("shell", ["posix", "cmd", "powershell"])
@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_each_shell_reads_the_same_words(tool: str, shell: str) -> None:
    words = {
        "posix": ("'C:/my env/python'", ""),
        "cmd": ('"C:/my env/python"', ""),
        "powershell": ("'C:/my env/python'", "& "),
    }[shell]
    live = Live("torch==2.9.1+cu126 " + OF_12, driver=None, executable="C:/my env/python", command="python")
    facts = live._replace(command="python").facts
    install = live.install(tool, shell, wish=CPU, python=("C:/my env/python",))
    start = words[1] if tool == "pip" else ""
    to_cpu = next(state for state in STATES if state.name == "CUDA to CPU")
    expected = [start + line for line in written(tool, to_cpu.lines, words[0])]
    assert facts.python.executable == "C:/my env/python"
    assert list(install.commands) == expected


class Place(NamedTuple):
    """A place other than a plain virtual environment, and what is written without anybody asking for a tool."""

    name: str
    live: Live
    tool: str
    lines: tuple[str, ...]
    file: str = ""
    asked: str = ""

    def __str__(self) -> str:
        return self.name


SYSTEM = Live("torch==2.9.1+cpu", environment="system", executable="/usr/bin/python3", command="/usr/bin/python3")
CONDA_BASE = Live(environment="conda-base", executable="/opt/conda/bin/python", command="/opt/conda/bin/python")
IN_CONDA = Live(environment="conda", executable=ML, command=ML)
WHOLE = f"torch==2.9.1+cu126 torchvision==0.24.1+cu126 --index-url {URL}/cu126"
HALF_RIGHT = "torch==2.9.1+cu126 torchvision==0.24.1+cpu"
FORGE = "--override-channels --channel conda-forge"
PLACES = (
    Place("no pip", Live(has_pip=False), "uv", (f"{UV} install{TARGET} torch==2.9.1+cu126 --index {URL}/cu126",)),
    Place(
        "no pip, and pip is asked for",
        Live(has_pip=False),
        "pip",
        (f"{Live().command} -m ensurepip --upgrade", f"{PIP} install torch==2.9.1+cu126 --index-url {URL}/cu126"),
        asked="pip",
    ),
    Place(
        "externally managed",
        SYSTEM._replace(managed=True, packages=""),
        "pip",
        (
            "/usr/bin/python3 -m venv .venv",
            f".venv/bin/python -m pip install torch==2.9.1+cu126 --index-url {URL}/cu126",
        ),
    ),
    Place(
        "externally managed, and all must go into the new environment",
        SYSTEM._replace(managed=True, packages=HALF_RIGHT),
        "pip",
        (
            "/usr/bin/python3 -m venv .venv",
            f".venv/bin/python -m pip install torch==2.9.1+cu126 torchvision==0.24.1+cu126 --index-url {URL}/cu126",
        ),
    ),
    Place(
        "externally managed, by uv",
        SYSTEM._replace(managed=True, packages=HALF_RIGHT),
        "uv",
        (
            "uv venv --python /usr/bin/python3 .venv",
            f"{UV} install --python .venv/bin/python {WHOLE.replace('--index-url', '--index')}",
        ),
        asked="uv",
    ),
    Place(
        "uv.lock beside the environment",
        Live("torch==2.9.1+cpu", project="uv-project"),
        "uv-project",
        ("uv add torch==2.9.1",),
        file="pyproject.toml",
    ),
    Place(
        "environment that Poetry keeps",
        Live("torch==2.9.1+cpu", project="poetry"),
        "poetry",
        (
            f"poetry source add --priority=explicit pytorch-cu126 {URL}/cu126",
            "poetry add --source pytorch-cu126 torch==2.9.1+cu126",
        ),
    ),
    Place(
        "environment that Hatch keeps",
        Live("torch==2.9.1+cpu", project="hatch"),
        "hatch",
        ("hatch run python -c 'import torch; print(torch.__version__)'",),
        file="pyproject.toml",
    ),
    Place(
        "the project's tool, and pip is asked for",
        Live("torch==2.9.1+cpu", project="poetry"),
        "pip",
        (f"{PIP} install torch==2.9.1+cu126 --index-url {URL}/cu126",),
        asked="pip",
    ),
    Place(
        "a container, entered by a command: project tools do not apply",
        SYSTEM._replace(command="docker exec web python", executable="/usr/local/bin/python", project="poetry"),
        "pip",
        (f"docker exec web python -m pip install torch==2.9.1+cu126 --index-url {URL}/cu126",),
    ),
    Place(
        "a container, entered by a script",
        SYSTEM._replace(command="/w/enter", executable="/usr/local/bin/python", project="poetry"),
        "pip",
        (f"/w/enter -m pip install torch==2.9.1+cu126 --index-url {URL}/cu126",),
    ),
    Place(
        "a container whose Python the distribution manages",
        SYSTEM._replace(command="docker exec web python", managed=True),
        "pip",
        (f"docker exec web python -m pip install --break-system-packages torch==2.9.1+cu126 --index-url {URL}/cu126",),
    ),
)
OF_CONDA = (
    Place(
        "pixi", IN_CONDA._replace(packages="torch==2.9.1+cpu", project="pixi"), "pixi", ("pixi install",), "pixi.toml"
    ),
    Place(
        "environment.yml",
        IN_CONDA._replace(packages="torch==2.9.1+cu126 " + OF_12, project="conda"),
        "conda",
        (
            f"{ML} -m pip uninstall -y torch nvidia-cublas-cu12 nvidia-cudnn-cu12 triton",
            f"conda install --yes --prefix /opt/conda/envs/ml {FORGE} PINS",
        ),
    ),
    Place(
        "conda's torch",
        IN_CONDA._replace(conda="pytorch==2.5.1", build="cpu"),
        "conda",
        (f"conda install --yes --prefix /opt/conda/envs/ml {FORGE} PINS",),
    ),
    Place(
        "conda's own environment",
        CONDA_BASE._replace(conda="pytorch==2.5.1", build="cpu"),
        "conda",
        (f"conda create --name NAME {FORGE} python=3.12 PINS",),
    ),
    Place(
        "conda's own environment, for mamba",
        CONDA_BASE,
        "mamba",
        (f"mamba create --name NAME {FORGE} python=3.12 PINS",),
        asked="mamba",
    ),
    Place(
        "conda's own environment, without a torch",
        CONDA_BASE,
        "conda",
        (f"conda create --name NAME {FORGE} python=3.12 PINS",),
    ),
    Place(
        "conda's own environment, with a torch that pip put there, for conda",
        CONDA_BASE._replace(packages="torch==2.9.1+cu126 " + OF_12),
        "conda",
        (f"conda create --name NAME {FORGE} python=3.12 PINS",),
        asked="conda",
    ),
    Place(
        "an environment that is none of conda's",
        Live("torch==2.9.1+cu126 " + OF_12),
        "conda",
        (f"conda create --name NAME {FORGE} python=3.12 PINS",),
        asked="conda",
    ),
    Place(
        "a container's conda",
        IN_CONDA._replace(command=f"docker exec web {ML}", conda="pytorch==2.5.1", build="cpu"),
        "conda",
        (f"docker exec web conda install --yes --prefix /opt/conda/envs/ml {FORGE} PINS",),
        asked="conda",
    ),
    Place(
        "an environment that conda itself enters",
        IN_CONDA._replace(command="conda run -n ml python", conda="pytorch==2.5.1", build="cpu"),
        "conda",
        (f"conda install --yes --prefix /opt/conda/envs/ml {FORGE} PINS",),
        asked="conda",
    ),
)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_place(place: Place) -> None:
    install = place.live.install(place.asked, wish=CU126)
    assert (install.tool, install.file) == (place.tool, place.file)
    assert install.commands == place.lines
    assert install.needed


@pytest.mark.parametrize("place", OF_CONDA, ids=str)
def test_place_of_conda(place: Place, tables: Tables) -> None:
    install = place.live.install(place.asked)
    newest = next(row for row in tables.of_conda().torch_builds.rows if str(row.torch) == install.torch and row.cuda)
    assert newest.indexes == ("conda-forge",)
    pins = f"pytorch-gpu={install.torch} cuda-version={install.build[2:4]}.{install.build[4:]}" if install.build else ""
    assert (install.tool, install.file) == (place.tool, place.file)
    name = f"torch-{install.torch}-{install.build}"
    assert install.commands == tuple(line.replace("PINS", pins).replace("NAME", name) for line in place.lines)


@pytest.mark.parametrize("tool", ["conda", "mamba"])
@pytest.mark.parametrize(
    ("taken", "tail", "asks"),
    [
        (None, "", True),
        ([], "", False),
        (["NAME"], "-2", False),
        (["NAME", "NAME-2"], "-3", False),
        (["NAME-2"], "", False),
        (["torch", "other"], "", False),
    ],
)
def test_a_new_environment_takes_no_name_in_use(tool: str, taken: list[str] | None, tail: str, *, asks: bool) -> None:
    plain = CONDA_BASE.install(tool)
    name = f"torch-{plain.torch}-{plain.build}"
    names = None if taken is None else frozenset(one.replace("NAME", name) for one in taken)
    install = CONDA_BASE.install(tool, taken=names)
    assert f"{tool} create --name {name}{tail} --override-channels" in install.commands[0]
    said = [str(reason) for reason in install.why if f"{tool} activate {name}{tail}" in str(reason)]
    assert len(said) == 1
    assert ("say no to its removal" in said[0]) is asks


def test_names_of_environments_come_from_the_list_and_the_folder_of_conda() -> None:
    listed, folder = WANTS
    answers = {
        listed.key: Answer("~/mini/envs/torch-2.9.1-cu126\nC:\\c\\envs\\Torch-3\n"),
        folder.key: Answer(["/opt/conda/envs/torch-4"]),
    }
    assert taken_names(Recording(answers)) == frozenset({"torch-2.9.1-cu126", "torch-3", "torch-4"})
    assert taken_names(Recording({listed.key: Answer(absent=True), folder.key: Answer([])})) == frozenset()
    assert taken_names(Recording({})) is None


def test_a_live_host_is_asked_for_the_names_in_use(torchdoctor: Run, tmp_path: Path) -> None:
    (tmp_path / ".conda").mkdir()
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    asked = ("install-cmd", "--tool", "conda", "--backend", "cpu", "--python", sys.executable)
    name = torchdoctor(*asked, env=home).stdout.split()[3]
    (tmp_path / ".conda" / "environments.txt").write_text(f"/opt/conda\n/opt/conda/envs/{name}\n")
    told = torchdoctor(*asked, "--explain", env=home)
    assert told.stdout.startswith(f"conda create --name {name}-2 ")
    assert f"why: conda makes a new environment: conda activate {name}-2 enters it\n" in told.stderr


BOBS = IN_CONDA._replace(
    conda="pytorch==2.5.1", build="cpu", executable="/home/<user>/mini/envs/ml/bin/python", command="python"
)


@pytest.mark.parametrize("tool", ["conda", "mamba", "pip", "uv"])
@pytest.mark.parametrize(
    ("live", "python", "prefix"),
    [
        (BOBS, "/home/bob/mini/envs/ml/bin/python", "/home/bob/mini/envs/ml"),
        (BOBS._replace(executable="~/mini/envs/ml/bin/python"), "envs/ml/bin/python", "envs/ml"),
        (BOBS._replace(executable="/w/ml/bin/python"), "bin/python", "."),
        (BOBS._replace(executable="~/mini/envs/ml/bin/python"), "python3", "~/mini/envs/ml"),
        (CONDA_BASE._replace(conda="pytorch==2.5.1", build="cpu"), CONDA_BASE.command, "/opt/conda"),
        (
            BOBS._replace(os="windows", driver="551.61", executable=r"C:\Users\<user>\ml\python.exe"),
            r"C:\Users\bob\ml\python.exe",
            r"C:\Users\bob\ml",
        ),
    ],
)
def test_conda_is_told_which_environment(live: Live, python: str, prefix: str, tool: str) -> None:
    lines = live.install(tool, "posix", Wish(), (python,)).commands
    word = next(line for line in lines if " --prefix " in line or " create " in line)
    if live.environment == "conda-base" and tool in {"conda", "mamba"}:
        assert word.startswith(f"{tool} create --name torch-2.")
        return
    verb = f"{tool} install" if tool in {"conda", "mamba"} else "conda remove"
    quoted = f"'{prefix}'" if "\\" in prefix else prefix
    assert word.startswith(f"{verb} --yes --prefix {quoted} ")


@pytest.mark.parametrize("tool", ["conda", "pip"])
@pytest.mark.parametrize(
    ("live", "python"),
    [
        (BOBS, ("python3",)),
        (BOBS._replace(executable="/opt/conda/envs/ml/bin/python"), ("/w/enter",)),
        (BOBS._replace(executable="~/ml/bin/python"), ("ssh", "node7", "python3")),
    ],
)
def test_an_environment_of_conda_that_cannot_be_named_is_left_alone(
    live: Live, python: tuple[str, ...], tool: str
) -> None:
    with pytest.raises(UsageError, match="--python"):
        live.install(tool, "posix", Wish(), python)
    report = live._replace(command=" ".join(python)).install(tool)
    assert report.commands == (ASK_AGAIN,)


def test_an_image_build_uses_the_environment_that_conda_came_with() -> None:
    live = CONDA_BASE.facts
    in_image = replace(live, place=replace(live.place, image_build=True))
    assert (writing_for(in_image, Writing()).tool, writing_for(live, Writing()).tool) == ("pip", "conda")
    asked = [writing_for(facts, Writing(tool="conda", asked=True)) for facts in (in_image, live)]
    assert [writing.apart for writing in asked] == [False, True]
    assert [writing.in_prefix for writing in asked] == [("--prefix", "/opt/conda")] * 2


REQUIREMENTS = "install -r requirements.txt"


@pytest.mark.parametrize(
    ("live", "lines"),
    [
        (Live(), (f"{PIP} {REQUIREMENTS}",)),
        (Live(has_pip=False), (f"{Live().command} -m ensurepip --upgrade", f"{PIP} {REQUIREMENTS}")),
        (
            SYSTEM._replace(managed=True),
            ("/usr/bin/python3 -m venv .venv", f".venv/bin/python -m pip {REQUIREMENTS}"),
        ),
        (
            SYSTEM._replace(managed=True, has_pip=False),
            ("/usr/bin/python3 -m venv .venv", f".venv/bin/python -m pip {REQUIREMENTS}"),
        ),
        (
            SYSTEM._replace(command="docker exec web python", managed=True),
            ("docker exec web python -m pip install --break-system-packages -r requirements.txt",),
        ),
        (
            IN_CONDA._replace(conda="pytorch==2.5.1", build="cpu"),
            ("conda remove --yes --prefix /opt/conda/envs/ml pytorch", f"{ML} -m pip {REQUIREMENTS}"),
        ),
        (
            Live("torch==2.9.1+rocm6.4 pytorch-triton-rocm==3.5.1*"),
            (f"{PIP} uninstall -y pytorch-triton-rocm", f"{PIP} {REQUIREMENTS}"),
        ),
    ],
)
def test_requirements_start_from_the_state_of_the_host(live: Live, lines: tuple[str, ...]) -> None:
    assert live.install("requirements", wish=CU126).commands == lines


NO_PIP = IN_CONDA._replace(conda="pytorch==2.5.1", build="cpu", has_pip=False)
TWO_OWNERS = IN_CONDA._replace(packages="torch==2.9.1", conda="pytorch==2.5.1", build="cpu")


@pytest.mark.parametrize("has_pip", [True, False])
@pytest.mark.parametrize(
    ("live", "tool", "wish", "first"),
    [
        (NO_PIP, "", CU126, "conda remove"),
        (NO_PIP._replace(driver=NEW_DRIVER), "", Wish(nightly=True), "conda remove"),
        (NO_PIP, "pip", CU126, "conda remove"),
        (NO_PIP._replace(packages="torch==2.9.1"), "", CU126, "conda remove"),
        (NO_PIP, "requirements", CU126, "conda remove"),
        (TWO_OWNERS, "mamba", Wish(), f"{ML} -m pip uninstall"),
        (TWO_OWNERS, "conda", Wish(), f"{ML} -m pip uninstall"),
    ],
)
def test_pip_is_there_before_anything_is_taken_out(
    live: Live, tool: str, wish: Wish, first: str, *, has_pip: bool
) -> None:
    lines = live._replace(has_pip=has_pip).install(tool, wish=wish).commands
    brought = () if has_pip else (f"{ML} -m ensurepip --upgrade",)
    assert lines[: len(brought)] == brought
    assert lines[len(brought)].startswith(first)
    assert sum("ensurepip" in line for line in lines) == len(brought)


def test_pip_is_brought_into_conda_environments_and_uv_serves_the_others() -> None:
    two, alone = NO_PIP._replace(packages="torch==2.9.1"), Live(has_pip=False)
    assert not any(line.startswith("uv") for line in two.install(wish=CU126).commands)
    assert all(line.startswith("uv") for line in alone.install(wish=CU126).commands)


def test_uv_and_conda_alone_need_no_pip() -> None:
    assert "ensurepip" not in "".join(NO_PIP.install("uv", wish=CU126).commands)
    assert "ensurepip" not in "".join(NO_PIP._replace(conda="").install("conda").commands)


@pytest.mark.parametrize(
    ("there", "made"),
    [
        (None, ".venv"),
        ((), ".venv"),
        (("./.venvs", "./.venv-2"), ".venv"),
        (("./.venv",), ".venv-2"),
        (("./.venv", "./.venv-2", "./.venv-3"), ".venv-4"),
    ],
)
@pytest.mark.parametrize("tool", ["pip", "uv", "requirements"])
def test_an_environment_that_is_there_is_left_alone(tool: str, there: tuple[str, ...] | None, made: str) -> None:
    """Made again with another Python, it would lose all that is installed in it."""
    live = SYSTEM._replace(managed=True).facts
    facts = replace(live, place=replace(live.place, venvs=Unknown("environments") if there is None else there))
    writing = writing_for(facts, Writing(tool=tool, asked=True))
    install = install_of(choose(host_of(facts, TABLES), CU126, TABLES), CU126, writing, TABLES)
    assert install.commands[0].split() == (
        ["uv", "venv", "--python", "/usr/bin/python3", made]
        if tool == "uv"
        else ["/usr/bin/python3", "-m", "venv", made]
    )
    assert f"{made}/bin/python" in install.commands[1]
    is_told = any(f".venv is left alone, a new environment is made in {made}" in str(item) for item in install.warnings)
    assert is_told is (made != ".venv")


def beside_venv(kind: str | None, tool: str, wish: Wish) -> Install:
    live = SYSTEM._replace(managed=True, packages="", driver=NEW_DRIVER).facts
    facts = replace(live, place=replace(live.place, venvs=("./.venv",), venv=kind))
    writing = writing_for(facts, Writing(tool=tool, asked=True))
    return install_of(choose(host_of(facts, TABLES), wish, TABLES), wish, writing, TABLES)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("own", ""),
        ("other", "--python .venv installs into the old one"),
        (None, "a new environment is made in .venv-2"),
    ],
)
@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_an_environment_of_the_same_python_is_used_again(kind: str | None, tool: str, said: str) -> None:
    install = beside_venv(kind, tool, CU126)
    told = [str(text) for text in install.warnings if ".venv is left alone" in str(text)]
    assert [text.endswith(said) for text in told] == ([True] if said else [])
    assert (".venv-2" in " ".join(install.commands)) is bool(said)
    assert any(line.startswith("uv venv") for line in install.commands) is (tool == "uv" and bool(said))
    assert not any("uninstall" in line for line in install.commands)  # the label tells whether it is right


@pytest.mark.parametrize(("kind", "is_out"), [("own", True), ("other", False)])
@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_what_would_pass_for_a_nightly_goes_from_one_that_is_used_again(tool: str, kind: str, *, is_out: bool) -> None:
    commands = beside_venv(kind, tool, Wish(nightly=True)).commands
    assert any("uninstall" in line and line.endswith(" torch") for line in commands) is is_out


def test_requirements_take_out_last_what_nothing_needs() -> None:
    install = Live("torch==2.9.1+cu126 " + OF_12, driver=None).install("requirements", wish=CPU)
    orphans = f"{PIP} uninstall -y nvidia-cublas-cu12 nvidia-cudnn-cu12 triton"
    assert install.commands == (f"{PIP} {REQUIREMENTS}", orphans)


def test_what_conda_has_right_stays() -> None:
    newest = Live(conda="pytorch==2.5.1", build="cpu").install("conda")
    assert newest.torch
    assert newest.build
    right = IN_CONDA._replace(conda=f"pytorch=={newest.torch} torchvision==0.1", build=newest.build)
    assert not right.install().needed
    assert right.install(wish=Wish(companions=("torchaudio",))).needed
    assert right._replace(packages="torch==2.9.1+cpu").install("conda").needed


@pytest.mark.parametrize(
    ("word", "executable", "is_path"),
    [
        ("/w/app/.venv/bin/python", "/w/app/.venv/bin/python", True),
        ("/home/ann/app/.venv/bin/python", "~/app/.venv/bin/python", True),
        ("/data/ann/app/bin/python", "/data/<user>/app/bin/python", True),
        (".venv/bin/python", "~/app/.venv/bin/python", True),
        ("./.venv/bin/python", "/w/app/.venv/bin/python", True),
        ("../app/.venv/bin/python", "/w/app/.venv/bin/python", True),
        (r".venv\Scripts\python", "C:\\w\\.venv\\Scripts\\python.exe", True),
        (r"C:\Users\ann\.venv\Scripts\python.exe", r"~\.venv\Scripts\python.exe", True),
        ("../home/ann/app/bin/python", "/w/home/<user>/app/bin/python", True),
        ("ann/app/bin/python", "~/app/bin/python", True),
        ("ann/enter", "/w/home/<user>/app/bin/python", False),
        ("python3", "/usr/bin/python3", True),
        ("/w/enter", "/usr/bin/python3", False),
        ("./enter", "/usr/bin/python3", False),
        ("/home/ann/enter", "~/app/.venv/bin/python", False),
    ],
)
def test_a_start_command_is_told_from_the_interpreter(word: str, executable: str, is_path: bool) -> None:
    facts = Live(project="poetry", executable=executable, command=word).facts
    assert (writing_for(facts, Writing(python=(word,))).tool == "poetry") is is_path


@pytest.mark.parametrize(
    ("packages", "wish", "torch", "warnings"),
    [
        (
            "torch==2.3.1+cpu torchtext==0.18.0",
            Wish(),
            "2.3.1",
            ["torch 2.14.1 cu126 would run here, but no torchtext"],
        ),
        ("torchtext==0.18.0", Wish(), "2.3.1", ["torch 2.14.1 cu126 would run here, but no torchtext"]),
        ("torch==2.9.1+cpu torchtext==0.18.0", Wish(), "2.14.1", ["torchtext 0.18.0 will not load beside it"]),
        ("torch==2.3.1+cpu torchtext==0.18.0", old(), "2.9.1", ["torchtext 0.18.0 will not load beside it"]),
        (
            "torch==2.9.1+cpu torchtext==0.6.0",
            Wish(),
            "2.14.1",
            ["no torchtext is known for torch 2.14.1: torchtext 0.6.0 stays and may not load beside it"],
        ),
        ("torch==2.9.1+cpu torchtext==0.6.0", old("cpu"), "2.9.1", []),
        (
            "torch==2.9.1+cpu torchaudio==2.9.1+cpu torchvision==0.24.1+cpu",
            Wish(),
            "2.14.1",
            ["there is no torchaudio 2.14.1: torchaudio 2.11.0 goes with torch 2.11.0 and later"],
        ),
        ("torch==2.8.0+cpu torchaudio==2.8.0+cpu", CPU, "2.9.1", []),
    ],
)
def test_an_installed_companion_must_exist_for_the_build(
    packages: str, wish: Wish, torch: str, warnings: list[str]
) -> None:
    install = Live(packages).install(wish=wish)
    assert install.torch == torch
    assert len(install.warnings) == len(warnings)
    assert all(words in str(told) for words, told in zip(warnings, install.warnings, strict=True))


@pytest.mark.parametrize("tool", ["pip", "dockerfile", "uv-project"])
@pytest.mark.parametrize(
    ("packages", "warnings"),
    [
        ("torch==2.9.1+cu126 torchvision==0.24.1+cu126", []),
        ("torch==2.9.1+cu126 torchvision==0.24.1+cu126 torchaudio==2.9.1+cu126", []),
        ("torch==2.3.1+cpu torchtext==0.18.0", ["torch 2.14.1 cu126 would run here, but no torchtext"]),
    ],
)
def test_a_torch_that_stays_is_not_held_back(packages: str, tool: str, warnings: list[str]) -> None:
    told = [str(text).partition(" exists")[0] for text in Live(packages).install(tool).warnings]
    assert told == warnings


INFERRED = "that it does not go with torch 2.3.0 is only inferred"


@pytest.mark.parametrize(
    ("packages", "companions", "said"),
    [
        ("torchdata==0.9.0", (), f"torchdata 0.9.0 stays: {INFERRED}"),
        ("torchcodec==0.14.0 torchdata==0.7.1", (), ""),
        ("torchtext==0.17.0", (), f"torchtext 0.17.0 stays: {INFERRED}"),
        ("torchdata==0.9.0", ("torchdata",), ""),
        ("torchdata==0.7.1", (), ""),
        ("torchdata==0.99.0", (), ""),
        ("torchvision==0.17.0+cu121", (), ""),
    ],
)
def test_a_companion_that_stays_for_want_of_proof_is_spoken_of(
    packages: str, companions: tuple[str, ...], said: str
) -> None:
    install = Live(f"torch==2.3.0+cu121 {packages}").install(wish=old("cu121", "2.3.0")._replace(companions=companions))
    told = [str(warning) for warning in install.warnings if "inferred" in str(warning)]
    assert len(told) == bool(said)
    assert all(said in line for line in told)
    moves = "torchvision" in packages or bool(companions)
    assert install.needed is moves


ORIN = Gpu(vendor="nvidia", name="Orin", compute_capability=GpuArch.parse("8.7"))
JETSON = "https://pypi.jetson-ai-lab.io/jp6/cu126"


def on_jetson(packages: str, wish: Wish, *, origin: str = "jetson", build: str = "cu126") -> Install:
    """What is told on an Orin of JetPack 6.2, whose own wheels carry no label."""
    facts = Live(packages, driver="540.4.0", gpu=ORIN, build=build, python="3.10").facts
    torch = facts.torch
    if torch.installed:
        torch = replace(torch, origin=origin, full=torch.full if origin in {"pypi", "pytorch"} else torch.version)
    facts = replace(
        facts, os=replace(facts.os, machine="aarch64"), place=replace(facts.place, jetpack="6.2"), torch=torch
    )
    choice = choose(host_of(facts, TABLES), wish, TABLES)
    return install_of(choice, wish, writing_for(facts, Writing()), TABLES)


OF_CUDA, WITH_VISION = Wish(backend="cuda"), Wish(backend="cuda", companions=("torchvision",))
AFRESH = (f"{PIP} uninstall -y torch", f"{PIP} install torch --index-url {JETSON}")


@pytest.mark.parametrize(
    ("packages", "wish", "origin", "build", "lines", "said"),
    [
        ("", OF_CUDA, "", "", AFRESH[1:], ""),
        ("torch==2.8.0", OF_CUDA, "jetson", "cu126", (), ""),
        ("torch==2.5.0a0", OF_CUDA, "nvidia", "cu126", (), ""),
        ("torch==2.8.0 torchvision==0.23.0", WITH_VISION, "jetson", "cu126", (), ""),
        ("torch==2.8.0", WITH_VISION, "jetson", "cu126", (), f"torchvision is left out: whether {JETSON} has it"),
        ("", WITH_VISION, "", "", AFRESH[1:], f"torchvision is left out: whether {JETSON} has it"),
        ("torch==2.8.0", old("cuda", "2.8.0"), "jetson", "cu126", (), ""),
        (
            "torch==2.8.0", old("cuda", "2.9.1"), "jetson", "cu126",
            (AFRESH[0], f"{PIP} install torch==2.9.1 --index-url {JETSON}"), "",
        ),
        ("torch==2.9.1", OF_CUDA, "pypi", "cu128", AFRESH, ""),
        ("torch==2.9.1+cpu", OF_CUDA, "pytorch", "", AFRESH, ""),
        ("torch==1.12.0", OF_CUDA, "jetson", "cu114", AFRESH, ""),
        (
            "torch==2.9.1 torchvision==0.24.1", OF_CUDA, "pypi", "cu128",
            AFRESH, "torchvision 0.24.1 stays and may not load beside another torch",
        ),
    ],
)  # fmt: skip
def test_a_jetson_starts_from_its_state(
    packages: str, wish: Wish, origin: str, build: str, lines: tuple[str, ...], said: str
) -> None:
    install = on_jetson(packages, wish, origin=origin, build=build)
    assert install.needed is bool(lines)
    assert install.torch == (None if lines else packages.partition(" ")[0].removeprefix("torch=="))
    assert install.commands == lines or not lines
    assert "uninstall" not in " ".join(install.commands) or lines[:1] == AFRESH[:1]
    told = [str(warning) for warning in install.warnings if "torchvision" in str(warning)]
    assert [line[: len(said)] for line in told] == ([said] if said else [])


VISION = re.compile(r"\btorchvision\s*=*\s*[\"{]*(?:version = \")?(==[\w.+]+)")
OF_UNKNOWN_LABEL = "0.29.1"


@pytest.mark.parametrize("tool", ["pip", "uv", "requirements", "dockerfile", "uv-project", "poetry", "pdm", "hatch"])
@pytest.mark.parametrize("build", ["cu126", "cu130", "cpu"])
@pytest.mark.parametrize("before", ["", "torch==2.14.1+cu132 torchvision==0.29.1", "torch==2.9.1+cpu"])
def test_what_is_printed_takes_a_wheel_with_and_without_the_label_that_nobody_has_seen(
    tables: Tables, tool: str, build: str, before: str
) -> None:
    release = tables.companions.find("torchvision", OF_UNKNOWN_LABEL)
    assert release
    assert release.labelled == "unknown"
    wish = old(build, "2.14.1")._replace(companions=("torchvision",))
    install = Live(before, driver="610.43.02").install(tool, wish=wish)
    told = [spec for line in (*install.commands, *install.lines) for spec in VISION.findall(line)]
    assert told
    for spec in map(SpecifierSet, told):
        assert all(spec.contains(f"{OF_UNKNOWN_LABEL}{label}") for label in ("", f"+{build}"))
        assert not spec.contains("0.29.2")


@pytest.mark.parametrize(
    ("vision", "is_right"),
    [("0.29.1", True), ("0.29.1+cu126", True), ("0.29.1+cu130", False), ("0.29.1+cpu", False), ("0.29.0+cpu", False)],
)
def test_what_is_installed_is_right_with_and_without_such_a_label(vision: str, *, is_right: bool) -> None:
    live = Live(f"torch==2.14.1+cu126 torchvision=={vision}")
    for tool in ("pip", "uv", "poetry", "pdm"):
        assert live.install(tool).needed is not is_right
    passes = vision.startswith(f"{OF_UNKNOWN_LABEL}+") and not is_right
    first = live.install("pip").commands[0]
    assert first.endswith("uninstall -y torchvision") is passes


def test_a_companion_that_was_never_built_so_binds_too() -> None:
    host = Live("torch==2.11.0+cpu", driver=None, gpu=RADEON)
    wish = Wish(allow_inferred=True)
    free, bound = (
        host._replace(packages=host.packages + more).install(wish=wish) for more in ("", " torchaudio==2.11.0+cpu")
    )
    assert (free.build, bound.build) == ("rocm7.14", "rocm7.2")
    assert "torchaudio==2.11.0+rocm7.2" in bound.commands[0]


def test_a_torch_that_is_right_stays_whatever_its_companions_lack() -> None:
    packages = "torch==2.14.1+rocm7.14 torchaudio==2.11.0+rocm7.2"
    install = Live(packages, driver=None, gpu=RADEON).install()
    assert (install.torch, install.build, install.needed) == ("2.14.1", "rocm7.14", False)


def test_what_removes_a_companion_is_what_the_tool_reads() -> None:
    live = Live("torch==2.9.1+cpu torchtext==0.18.0")
    told = {tool: str(live.install(tool).warnings[0]) for tool in ("pip", "uv", "poetry")}
    assert told["pip"].endswith(f"this removes it: {PIP} uninstall -y torchtext")
    assert told["uv"].endswith(f"this removes it: {UV} uninstall{TARGET} torchtext")
    assert told["poetry"].endswith("will not load beside it")


def test_how_many_libraries_go_is_said() -> None:
    gone = Live("torch==2.9.1+cu126 " + OF_12, driver=None).install(wish=CPU)
    moved = Live("torch==2.9.1+cu126 " + OF_12, driver=NEW_DRIVER).install(wish=CU130)
    assert "3 libraries that came with a CUDA torch go last: nothing else needs them" in map(str, gone.why)
    assert "2 libraries of the torch there go first: the new ones take their folders" in map(str, moved.why)
