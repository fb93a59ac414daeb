"""The lines for a file of pixi that says something already: its channels and platforms stay, each header is its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from install_states import TABLES
from proof_projects import merged

from torchdoctor import toml
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.decide import decide
from torchdoctor.prescribe.described import describe
from torchdoctor.prescribe.install import Install
from torchdoctor.prescribe.writing import Writing
from torchdoctor.readers.project_pixi import kept_by_pixi

CUDA = {"os": "linux", "machine": "x86_64", "python": "3.12", "libc": "glibc-2.35", "driver": "580.65.06",
        "gpus": ["sm_75"]}  # fmt: skip
CPU = {**CUDA, "driver": None, "gpus": []}
T4 = {"platform": "linux-64", "cuda": "13.0"}
ENDED = frozenset({"pytorch"})


def written(text: str, given: dict[str, Any] | None = None, *, in_pyproject: bool = False) -> Install:
    kept = kept_by_pixi(toml.loads(text), in_pyproject=in_pyproject)
    assert kept.pixi is not None
    kept = kept._replace(pixi=kept.pixi._replace(ended=ENDED))
    writing = Writing(tool="pixi", asked=True, kept=kept)
    return decide(describe(given or CUDA, TABLES), Wish(), writing, TABLES).install(explain=False)


def file_after(text: str, given: dict[str, Any] | None = None, *, in_pyproject: bool = False) -> dict[str, Any]:
    """The whole file with the lines put in as a person would: TOML itself refuses a table or key twice."""
    table: dict[str, Any] = dict(toml.loads(merged(f"\n{text}", written(text, given, in_pyproject=in_pyproject).lines)))
    return table


HEADS = [
    # channels and platforms of the file, the host, and both of them after
    ("['conda-forge', 'bioconda']", "['linux-64', 'osx-arm64']", CUDA, ["conda-forge", "bioconda"], [T4, "osx-arm64"]),
    ("['mine', 'conda-forge']", "['osx-arm64']", CUDA, ["mine", "conda-forge"], ["osx-arm64", T4]),
    ("['bioconda']", "['linux-64']", CUDA, ["conda-forge", "bioconda"], [T4]),
    ("['pytorch', 'nvidia', 'conda-forge']", "['linux-64']", CUDA, ["conda-forge", "pytorch", "nvidia"], [T4]),
    ("['conda-forge', 'pytorch']", "['linux-64']", CUDA, ["conda-forge", "pytorch"], [T4]),
    ("['not-conda-forge']", "['linux-64']", CUDA, ["conda-forge", "not-conda-forge"], [T4]),
    ("['https://m.example/conda-forge']", "['linux-64']", CUDA, ["https://m.example/conda-forge"], [T4]),
    (
        "[{channel = 'x', priority = 2}, 'conda-forge']",
        "['linux-64']",
        CUDA,
        [{"channel": "x", "priority": 2}, "conda-forge"],
        [T4],
    ),
    ("['conda-forge']", "[{platform = 'linux-64', cuda = '12.4'}]", CUDA, ["conda-forge"], [T4]),
    ("['conda-forge']", "[{platform = 'linux-64', cuda = '13.1', libc = '2.35'}]", CUDA, ["conda-forge"],
     [{"platform": "linux-64", "cuda": "13.1", "libc": "2.35"}]),
    ("['conda-forge']", "[{platform = 'linux-64', cuda = '14'}]", CUDA, ["conda-forge"],
     [{"platform": "linux-64", "cuda": "14"}]),
    ("['conda-forge']", "['linux-64', 'win-64']", CPU, ["conda-forge"], ["linux-64", "win-64"]),
    ("['conda-forge']", "[{platform = 'linux-64', cuda = '12.4'}]", CPU, ["conda-forge"],
     [{"platform": "linux-64", "cuda": "12.4"}]),
]  # fmt: skip


@pytest.mark.parametrize("header", ["workspace", "project", "tool.pixi.workspace", "tool.pixi.project"])
@pytest.mark.parametrize(("channels", "platforms", "given", "channels_after", "platforms_after"), HEADS)
def test_the_head_of_the_file(
    header: str,
    channels: str,
    platforms: str,
    given: dict[str, Any],
    channels_after: list[Any],
    platforms_after: list[Any],
) -> None:
    in_pyproject = header.startswith("tool.")
    text = f"[{header}]\nname = 'a'\nchannels = {channels}\nplatforms = {platforms}\n"
    table = file_after(text, given, in_pyproject=in_pyproject)
    table = table["tool"]["pixi"] if in_pyproject else table
    head = table.pop(header.rpartition(".")[2])
    assert head == {"name": "a", "channels": channels_after, "platforms": platforms_after}
    assert not {"workspace", "project"} & table.keys()


WIDE = "[workspace]\nchannels = ['conda-forge']\nplatforms = ['linux-64', 'osx-arm64']\n"
NARROW = WIDE.replace(", 'osx-arm64'", "")
UNIX = "[target.unix.dependencies]\npytorch = '*'\ncuda-version = '12.*'\n"
GIVES = "# no line for {} in [{}]: {} takes its place"
ELSE = " (other platforms keep theirs in tables of their own)"
TABLES_OF_TORCH = [
    # the file, the host, the table that the lines are for, what is there of torch, what gives way
    (NARROW, CUDA, "dependencies", {"pytorch-gpu", "cuda-version"}, []),
    (NARROW + "[dependencies]\npytorch-gpu = '*'\n", CUDA, "dependencies", {"pytorch-gpu", "cuda-version"}, []),
    (
        NARROW + "[dependencies]\npytorch-cpu = '*'\ncuda-version = '12.*'\n",
        CUDA,
        "dependencies",
        {"pytorch-gpu", "cuda-version"},
        [GIVES.format("pytorch-cpu", "dependencies", "pytorch-gpu")],
    ),
    (WIDE, CUDA, "target.linux-64.dependencies", {"pytorch-gpu", "cuda-version"}, []),
    (WIDE, CPU, "target.linux-64.dependencies", {"pytorch-cpu"}, []),
    (
        WIDE + "[dependencies]\npytorch = '*'\n",
        CUDA,
        "target.linux-64.dependencies",
        {"pytorch-gpu", "cuda-version", "pytorch"},
        [],
    ),
    (
        WIDE + "[dependencies]\npytorch-cpu = '*'\n",
        CUDA,
        "target.linux-64.dependencies",
        {"pytorch-gpu", "cuda-version"},
        [GIVES.format("pytorch-cpu", "dependencies", "pytorch-gpu") + ELSE],
    ),
    (
        NARROW + "[target.linux-64.dependencies]\npytorch-gpu = '*'\n",
        CUDA,
        "target.linux-64.dependencies",
        {"pytorch-gpu", "cuda-version"},
        [],
    ),
    (
        NARROW + UNIX + "[target.win.dependencies]\npytorch = '*'\n",
        CUDA,
        "dependencies",
        {"pytorch-gpu", "cuda-version"},
        [
            GIVES.format("pytorch", "target.unix.dependencies", "pytorch-gpu"),
            GIVES.format("cuda-version", "target.unix.dependencies", "the line above"),
        ],
    ),
    (
        NARROW + "[feature.cpu.dependencies]\npytorch-cpu = '*'\n",
        CUDA,
        "dependencies",
        {"pytorch-gpu", "cuda-version"},
        [GIVES.format("pytorch-cpu", "feature.cpu.dependencies", "pytorch-gpu")],
    ),
]


@pytest.mark.parametrize(("text", "given", "title", "names", "gone"), TABLES_OF_TORCH)
def test_the_table_for_torch(text: str, given: dict[str, Any], title: str, names: set[str], gone: list[str]) -> None:
    lines = written(text, given).lines
    assert [line for line in lines if line.startswith("[")] == ["[workspace]", f"[{title}]"]
    assert [line for line in lines if line.startswith("#")] == gone
    table: Any = file_after(text, given)
    for key in title.split("."):
        table = table[key]
    assert set(table) >= names
    of_torch = {name: version for name, version in table.items() if name in names - {"cuda-version"}}
    assert len(set(of_torch.values())) == 1
    assert all(re.fullmatch(r"==\d+\.\d+\.\d+", version) for version in of_torch.values())


@pytest.mark.skipif(os.name != "posix", reason="the interpreter lies elsewhere on Windows")
def test_the_file_beside_a_live_environment(tmp_path: Path, torchdoctor: Run) -> None:
    """Which channels have ended, the tables know: theirs would be an old torch."""
    place = tmp_path / ".pixi" / "envs" / "default"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    (place / "conda-meta").mkdir()
    (tmp_path / "pixi.toml").write_text(
        "[project]\nchannels = ['pytorch', 'nvidia', 'conda-forge']\nplatforms = ['linux-64']\n"
        "[dependencies]\npytorch = '2.8.*'\n"
    )
    host = ("--driver", "580.65.06", "--gpu", "sm_75", "--tool", "pixi")
    done = torchdoctor("install-cmd", "--python", str(place / "bin" / "python"), *host)
    assert done.stdout.splitlines()[:2] == ["[project]", 'channels = ["conda-forge", "pytorch", "nvidia"]']
    assert 'pytorch-gpu = "==2.8.0"' in done.stdout
    assert "# no line for pytorch in [dependencies]: pytorch-gpu takes its place" in done.stdout
