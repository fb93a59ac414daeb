"""The torch that a project's own file asks for: kept to where a build in it runs, spoken of where none does."""

from __future__ import annotations

import pytest
from install_states import TABLES
from packaging.specifiers import SpecifierSet

from torchdoctor import toml
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.decide import decide
from torchdoctor.prescribe.described import describe
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.install import Install
from torchdoctor.prescribe.writing import Writing
from torchdoctor.readers.project_pixi import kept_by_pixi
from torchdoctor.readers.project_torch import kept_in

P = "[project]\nrequires-python = '==3.12.*'\n"
POETRY = "[tool.poetry.dependencies]\npython = '~3.12'\ntorch = "
HOST: dict[str, object] = {"os": "linux", "machine": "x86_64", "python": "3.12", "libc": "glibc-2.35"}
P100 = {**HOST, "driver": "550.54.15", "gpus": ["sm_60"]}
OLD_DRIVER = {**HOST, "driver": "470.82.01", "gpus": ["sm_75"]}
NO_GPU: dict[str, object] = {**HOST, "driver": None, "gpus": []}
TAKES = ": torch {} breaks that, and takes its place"
NEWER = "would run, but the project asks for torch{} (--torch "


def answer(text: str, given: dict[str, object], tool: str = "uv-project", wish: Wish | None = None) -> Install:
    kept = kept_by_pixi(toml.loads(text), in_pyproject=False) if tool == "pixi" else kept_in(toml.loads(text), tool)
    host: Host = describe(given, TABLES)
    decision = decide(host, wish or Wish(), Writing(tool=tool, asked=True, kept=kept), TABLES)
    assert decision.refusal(require_gpu=False) is None
    return decision.install(explain=False)


def listed(*lines: str) -> str:
    return f"{P}dependencies = {list(lines)}\n"


RANGES = [
    # tool, what the file says, the host, the torch that is taken, what is said of it
    ("uv-project", listed("torch>=2.8,<2.10"), P100, "2.9.1 cu126", NEWER.format(">=2.8,<2.10")),
    ("uv-project", listed("torch[opt-einsum] ==2.8.*"), P100, "2.8.0 cu126", NEWER.format("==2.8.*")),
    ("uv-project", listed("torch>=2.6"), P100, "2.14.1 cu126", ""),
    ("uv-project", listed("torch"), P100, "2.14.1 cu126", ""),
    ("uv-project", listed("torch @ https://x/torch-2.9.1-cp312-cp312-linux_x86_64.whl"), P100, "2.14.1 cu126", ""),
    ("uv-project", listed("torchvision<0.25"), P100, "2.14.1 cu126", ""),  # of torch it says nothing
    ("uv-project", listed("torch<2.10; sys_platform == 'linux'"), P100, "2.9.1 cu126", NEWER.format("<2.10")),
    (
        "uv-project",
        listed("torch<2.10; sys_platform == 'darwin'", "torch>=2.6; sys_platform == 'linux'"),
        P100,
        "2.14.1 cu126",
        "",
    ),
    ("uv-project", P + "[dependency-groups]\nml = ['torch~=2.7.0']\n", P100, "2.7.1 cu118", NEWER.format("~=2.7.0")),
    (
        "uv-project",
        listed("torch>=2.6") + "[tool.uv]\nconstraint-dependencies = ['torch<2.9']\n",
        P100,
        "2.8.0 cu126",
        NEWER.format(">=2.6 and torch<2.9"),
    ),
    ("uv-project", listed("torch>=2.8,<2.10"), OLD_DRIVER, "2.7.1 cu118", TAKES.format("2.7.1")),
    ("uv-project", listed("torch==2.9.1+cu126"), NO_GPU, "cpu", "the project asks for torch==2.9.1+cu126: "),
    ("poetry", f"{POETRY}'2.9.1'\n", P100, "2.9.1 cu126", NEWER.format("==2.9.1")),
    ("poetry", f"{POETRY}'~2.8'\n", P100, "2.8.0 cu126", NEWER.format(">=2.8,==2.8.*")),
    ("poetry", f"{POETRY}'^2.8'\n", P100, "2.14.1 cu126", ""),
    ("poetry", f"{POETRY}'*'\n", P100, "2.14.1 cu126", ""),
    ("poetry", f"{POETRY}{{version = '>=2.8,<2.9', source = 'x'}}\n", P100, "2.8.0 cu126", NEWER.format(">=2.8,<2.9")),
    ("pdm", listed("torch<2.10,>=2.9"), P100, "2.9.1 cu126", NEWER.format("<2.10,>=2.9")),
    ("pixi", "[dependencies]\npytorch = '>=2.6,<2.9'\n", NO_GPU, "2.8.0 cpu", NEWER.format(">=2.6,<2.9")),
    ("pixi", "[dependencies]\npytorch-cpu = {version = '=2.8', build = 'cpu*'}\n", NO_GPU, "2.8.0 cpu",
     NEWER.format("==2.8.*")),
    ("pixi", "[target.osx-arm64.dependencies]\npytorch = '<2.9'\n", NO_GPU, "cpu", ""),
    ("pixi", "[feature.old.dependencies]\npytorch = '<2.9'\n", NO_GPU, "cpu", ""),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "text", "given", "build", "said"), RANGES)
def test_the_range_of_the_project(tool: str, text: str, given: dict[str, object], build: str, said: str) -> None:
    install = answer(text, given, tool)
    assert f"{install.torch} {install.build}".endswith(build)
    told = [str(item) for item in install.warnings if "the project asks for" in str(item)]
    assert len(told) == bool(said)
    assert all(said in line for line in told)


@pytest.mark.parametrize(
    ("spec", "said"), [("==2.14.1", True), (">=2.6", True), ("==2.9.1", False), ("==2.8.0", False)]
)
def test_whoever_names_a_torch_changes_the_file(spec: str, *, said: bool) -> None:
    install = answer(listed("torch>=2.8,<2.10"), P100, wish=Wish(torch=SpecifierSet(spec)))
    assert SpecifierSet(spec).contains(str(install.torch))
    told = [str(item) for item in install.warnings if "the project asks for" in str(item)]
    assert [line.endswith(TAKES.format(install.torch)) for line in told] == [True] * said


@pytest.mark.parametrize(
    ("there", "torch", "needed"),
    [("2.9.1+cu126", "2.9.1", False), ("2.8.0+cu126", "2.8.0", False), ("2.14.1+cu126", "2.9.1", True)],
)
def test_what_is_installed_stays_where_the_project_asks_for_it(there: str, torch: str, *, needed: bool) -> None:
    install = answer(listed("torch>=2.8,<2.10"), {**P100, "torch": there})
    assert (install.torch, install.needed) == (torch, needed)


def test_two_gpus_are_worth_more_than_the_range() -> None:
    """A V100 and a newest one: only a torch past the range serves the second."""
    install = answer(listed("torch==2.6.0"), {**HOST, "driver": "580.65.06", "gpus": ["sm_75", "sm_120"]})
    assert install.torch != "2.6.0"
    assert not any("hide" in str(item) for item in install.warnings)
