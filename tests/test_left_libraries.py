"""CUDA libraries that only torch needs: who tells of them, which are named, and that real pip leaves a whole behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT
from loopback_index import LoopbackIndex
from table_wheels import wheels_of_tables

from torchdoctor.facts import Facts
from torchdoctor.live import record
from torchdoctor.prescribe.host import host_of
from torchdoctor.readers.assemble import assemble
from torchdoctor.readers.live import ALL_WANTS, read_live
from torchdoctor.readers.live_packages import DISTRIBUTIONS, REQUIRERS
from torchdoctor.readers.live_requirers import only_torchs
from torchdoctor.recording import Answer, Recording
from torchdoctor.tables import Tables
from torchdoctor.which_python import PythonChoice

posix = pytest.mark.skipif(os.name != "posix", reason="the folders of an environment have other names")
CUBLAS, CUDNN, LINK = "nvidia_cublas_cu12", "nvidia_cudnn_cu12", "nvidia_nvjitlink_cu12"
TORCH = (
    "torch",
    "nvidia-cublas-cu12==12.6.4.1; platform_system == 'Linux'",
    "nvidia-cudnn-cu12 (==9.1)",
    "triton==3.5.1",
)


def row(name: str, *requires: str, requested: bool = False, installer: str = "pip") -> dict[str, Any]:
    return {"name": name, "requires": list(requires), "requested": requested, "installer": installer}


OF_UV = (  # which marks all that it installs as asked for
    row(CUBLAS, requested=True, installer="uv"),
    row(CUDNN, "nvidia-cublas-cu12", requested=True, installer="uv"),
)
NCCL = row("nvidia_nccl_cu12", requested=True, installer="uv")
NUMBA = row("numba_cuda", "cuda-bindings>=12.9.1; extra == 'cu12'")
BINDINGS = (row("cuda_bindings", "cuda-pathfinder~=1.1"), row("cuda_pathfinder"))
TOOLKIT = row("cuda_toolkit", "nvidia-cublas==13.0.*; extra == 'cublas'", "nvidia-npp==13.0.*; extra == 'npp'")
DALI = row("nvidia_dali_cuda120", requested=True, installer="uv")
LIBRARIES = (row(CUBLAS), row(CUDNN, "nvidia-cublas-cu12"), row("triton"))


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row(*TORCH), *LIBRARIES], {"nvidia-cublas-cu12", "nvidia-cudnn-cu12", "triton"}),
        (LIBRARIES, {"nvidia-cublas-cu12", "nvidia-cudnn-cu12", "triton"}),
        ([row(*TORCH), *LIBRARIES, row("xformers", "triton>=3")], {"nvidia-cublas-cu12", "nvidia-cudnn-cu12"}),
        ([row(*TORCH), *LIBRARIES, row("tensorflow", "nvidia-cudnn-cu12 ; extra == 'and-cuda'")], {"triton"}),
        (
            [row(*TORCH), *LIBRARIES, row("jax_cuda12_plugin", "NVIDIA.CUBLAS_cu12>=12")],
            {"nvidia-cudnn-cu12", "triton"},
        ),
        ([row(*TORCH), *LIBRARIES[:2], row("triton", requested=True)], {"nvidia-cublas-cu12", "nvidia-cudnn-cu12"}),
        ([*LIBRARIES[1:], row(CUBLAS, requested=True)], {"nvidia-cudnn-cu12", "triton"}),
        ([row(CUBLAS), row(CUDNN, "nvidia-cublas-cu12", requested=True)], set()),
        ([row(CUBLAS, installer=""), row(CUDNN, installer="poetry 2.5.1")], set()),
        ([row("nvidia_ml_py"), row("tritonclient"), row("cuda_python")], set()),
        (
            [row("cuda_toolkit", "nvidia-cublas==13.0; extra == 'cublas'"), row("nvidia_cublas"), row(LINK)],
            {"cuda-toolkit", "nvidia-cublas", "nvidia-nvjitlink-cu12"},
        ),
        ([row("pytorch_triton_rocm"), row("triton_xpu")], {"pytorch-triton-rocm", "triton-xpu"}),
        ([row(*TORCH), row("torch", "nvidia-cudnn-cu12"), *LIBRARIES[:1]], {"nvidia-cublas-cu12"}),
        ([{"name": CUBLAS, "requires": "no list", "requested": 0, "installer": "pip"}], {"nvidia-cublas-cu12"}),
        (OF_UV, {"nvidia-cublas-cu12", "nvidia-cudnn-cu12"}),
        ([row(*TORCH), *OF_UV, NCCL, DALI], {"nvidia-cublas-cu12", "nvidia-cudnn-cu12"}),
        ([row(*TORCH), *LIBRARIES, row("nvidia_nvjpeg_cu12")], {"nvidia-cublas-cu12", "nvidia-cudnn-cu12", "triton"}),
        ([row("nvidia_nvjpeg_cu12"), row("nvidia_nvcomp"), row("triton_windows")], set()),
        ([row("nvidia_dali_cuda120", "nvidia-cublas-cu12"), row(CUBLAS)], set()),
        ([row(*TORCH), *LIBRARIES, row("nvidia_dali_cuda120", "nvidia-cublas-cu12")], {"nvidia-cudnn-cu12", "triton"}),
        (
            [row("torch", "cuda-bindings", "nvidia-cublas-cu12"), *BINDINGS, row(CUBLAS)],
            {"nvidia-cublas-cu12", "cuda-bindings", "cuda-pathfinder"},
        ),
        ([row("torch", "cuda-bindings", "nvidia-cublas-cu12"), *BINDINGS, row(CUBLAS), NUMBA], set()),
        ([row(*TORCH), *LIBRARIES, *BINDINGS], {"triton"}),
        (
            [row("torch", "cuda-toolkit[cublas]==13.0.2"), TOOLKIT, row("nvidia_cublas"), row("nvidia_npp")],
            {"cuda-toolkit", "nvidia-cublas"},
        ),
        ([*OF_UV, NCCL, DALI], {"nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-nccl-cu12"}),
        ([row(*TORCH), *OF_UV], {"nvidia-cublas-cu12", "nvidia-cudnn-cu12"}),
        ([row("torch", "nvidia-cudnn-cu12"), *OF_UV], {"nvidia-cublas-cu12", "nvidia-cudnn-cu12"}),
    ],
)
def test_only_torchs(rows: Sequence[dict[str, Any]], expected: set[str]) -> None:
    assert only_torchs(rows) == expected


def facts_of(answers: dict[str, Answer], tables: Tables) -> Facts:
    return assemble(read_live(Recording({"python": Answer({"platform": "linux"}), **answers}), tables))


def test_they_reach_the_host_only_where_somebody_asked(tables: Tables) -> None:
    there = Answer(
        [{"name": CUBLAS, "version": "12.6.4.1", "path": "/p"}, {"name": "torch", "version": "2.9.1", "path": "/p"}]
    )
    asked = facts_of({DISTRIBUTIONS.key: there, REQUIRERS.key: Answer([row(CUBLAS)])}, tables)
    silent = facts_of({DISTRIBUTIONS.key: there}, tables)
    failed = facts_of({DISTRIBUTIONS.key: there, REQUIRERS.key: Answer(error="no answer in 20 s")}, tables)
    told = [host_of(facts, tables).libraries for facts in (asked, silent, failed)]
    assert told == [("nvidia-cublas-cu12",), (), ()]
    assert REQUIRERS not in ALL_WANTS


def distribution(folder: Path, name: str, metadata: str, **files: str) -> None:
    place = folder / name
    place.mkdir()
    (place / "METADATA").write_text(metadata)
    for file, text in files.items():
        (place / file.replace("_", ".")).write_text(text)


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """The site-packages of a new environment without pip."""
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    return next((environment / "lib").glob("python*/site-packages"))


def answer(packages: Path) -> list[dict[str, Any]]:
    python = str(packages.parents[2] / "bin" / "python")
    answered = record(PythonChoice((python,), "in a test"), lambda: [REQUIRERS]).answer(REQUIRERS)
    assert answered is not None
    assert answered.error == ""
    rows: list[dict[str, Any]] = answered.value
    return sorted(rows, key=lambda row: str(row["name"]))


@posix
def test_the_probe_reads_who_requires_them(packages: Path) -> None:
    long = "License: " + "word " * 20_000  # a licence may stand before what is required
    distribution(
        packages, "torch-2.9.1+cu126.dist-info", f"{long}\nRequires-Dist: triton==3.5.1\nRequires-Dist: sympy\n\n"
    )
    distribution(packages, "triton-3.5.1.dist-info", "Name: triton\n\nRequires-Dist: nvidia-x\n", INSTALLER="uv\n")
    distribution(packages, "nvidia_cublas_cu12-12.6.dist-info", "Name: x\n\n", REQUESTED="", INSTALLER="pip\n")
    distribution(packages, "sympy-1.14.dist-info", "Requires-Dist: mpmath\n\n")
    distribution(packages, "old_tool-1.0-py3.12.egg-info", "", requires_txt="six\n\n[gpu]\nNvidia_Cublas.cu12>=12\n")
    distribution(packages, "~orch-2.8.0.dist-info", "Requires-Dist: triton\n\n")
    assert answer(packages) == [
        {"name": "nvidia_cublas_cu12", "requires": [], "requested": True, "installer": "pip"},
        {"name": "old_tool", "requires": ["Nvidia_Cublas.cu12>=12"], "requested": False, "installer": ""},
        {"name": "torch", "requires": ["triton==3.5.1"], "requested": False, "installer": ""},
        {"name": "triton", "requires": [], "requested": False, "installer": "uv"},
    ]


# What the real packages say of their own requirements, as their METADATA on PyPI has it.
_WITH_CUDA = '; sys_platform == "linux" and extra == "with-cuda"'
OTHERS = {
    "xgboost-3.2.0": ("nvidia-nccl-cu12; platform_system == 'Linux'",),
    "cupy_cuda12x-14.2.0": ("cuda-pathfinder==1.*,>=1.3.4", 'cuda-toolkit[cublas,cudart]==12.*; extra == "ctk"'),
    "cupy-13.6.0": ("numpy<2.6,>=1.22",),
    "jax_cuda12_plugin-0.10.2": (
        f"nvidia-cublas-cu12>=12.1.3.1{_WITH_CUDA}",
        f"nvidia-cudnn-cu12<10.0,>=9.8{_WITH_CUDA}",
        f"nvidia-nccl-cu12>=2.18.1{_WITH_CUDA}",
    ),
    "tensorflow-2.21.0": (
        'nvidia-cublas-cu12<13.0,>=12.5.3.2; extra == "and-cuda"',
        'nvidia-cudnn-cu12<10.0,>=9.3.0.75; extra == "and-cuda"',
        'nvidia-nccl-cu12<3.0,>=2.27.7; extra == "and-cuda"',
    ),
    "onnxruntime_gpu-1.31.1": (
        'nvidia-cuda-runtime~=13.0; extra == "cuda"',
        'nvidia-cudnn-cu13~=9.0; extra == "cudnn"',
    ),
    "nvidia_dali_cuda120-2.4.0": ("nvidia-nvimgcodec-cu12[all]<0.10.0,>=0.9.0", "nvidia-libnvcomp-cu12==5.3.0.16"),
    "cuml_cu12-26.4.0": ("cuda-toolkit[cublas,cufft,curand,cusolver,cusparse]==12.*", "cupy-cuda12x>=13.6.0"),
    "vllm-0.33.0": ("torch==2.14.0", "nvidia-cudnn-frontend>=1.31.0", "nvidia-cutlass-dsl[cu13]==4.8.0"),
}
THE_FOUR = {
    "nvidia_cublas_cu12-12.8.4.1": (),
    "nvidia_cudnn_cu12-9.10.2.21": ("nvidia-cublas-cu12",),
    "nvidia_nccl_cu12-2.27.5": (),
    "triton-3.5.1": (),
}
NAMES = ("nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-nccl-cu12", "triton")
ASKS = ("nvidia-cublas-cu12==12.8.4.1", "nvidia-cudnn-cu12==9.10.2.21", "nvidia-nccl-cu12==2.27.5", "triton==3.5.1")


def libraries_in(packages: Path, tables: Tables, installed: dict[str, tuple[str, ...]], installer: str) -> set[str]:
    """What the solver takes for libraries of torch alone, by the metadata in a real site-packages."""
    for folder, requires in installed.items():
        name, _, version = folder.partition("-")
        lines = "".join(f"Requires-Dist: {line}\n" for line in requires)
        is_named = installer == "uv" or name in {word.partition("-")[0] for word in OTHERS}
        files = {"INSTALLER": f"{installer}\n", **({"REQUESTED": ""} if is_named else {})}
        text = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{lines}\n"
        distribution(packages, f"{folder}.dist-info", text, **files)
    python = str(packages.parents[2] / "bin" / "python")
    recording = record(PythonChoice((python,), "in a test"), lambda: [DISTRIBUTIONS, REQUIRERS])
    return set(host_of(assemble(read_live(recording, tables)), tables).libraries)


@posix
@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.parametrize(
    ("beside", "kept", "of_cuda"),
    [
        ("", (), True),
        ("xgboost-3.2.0", NAMES[2:3], True),
        ("cupy_cuda12x-14.2.0", NAMES[:3], False),
        ("cupy-13.6.0", NAMES[:3], False),
        ("jax_cuda12_plugin-0.10.2", NAMES[:3], False),
        ("tensorflow-2.21.0", NAMES[:3], False),
        ("onnxruntime_gpu-1.31.1", NAMES[:3], False),
        ("nvidia_dali_cuda120-2.4.0", (), True),
        ("cuml_cu12-26.4.0", NAMES[:3], False),
        ("vllm-0.33.0", (), True),
    ],
)
def test_no_other_package_loses_a_library(
    packages: Path, tables: Tables, beside: str, kept: tuple[str, ...], installer: str, *, of_cuda: bool
) -> None:
    other = {beside: OTHERS[beside]} if beside else {}
    found = libraries_in(packages, tables, {"torch-2.9.1+cu128": ASKS, **THE_FOUR, **other}, installer)
    assert found == set(NAMES) - set(kept)
    assert ("nvidia-cublas-cu12" in found) is of_cuda


@posix
@pytest.mark.parametrize("installer", ["pip", "uv"])
@pytest.mark.parametrize(
    ("installed", "found"),
    [
        (THE_FOUR, set(NAMES)),
        ({"torch-2.9.1+cpu": ("sympy",), **THE_FOUR}, set(NAMES)),
        ({"xgboost-3.2.0": OTHERS["xgboost-3.2.0"], **THE_FOUR}, set(NAMES) - {"nvidia-nccl-cu12"}),
        ({"nvidia_cublas_cu12-12.8.4.1": (), "nvidia_nccl_cu12-2.27.5": ()}, set()),
        ({"xgboost-3.2.0": OTHERS["xgboost-3.2.0"], CUBLAS + "-12.8.4.1": (), "nvidia_nccl_cu12-2.27.5": ()}, set()),
        ({folder: () for folder in THE_FOUR if "triton" not in folder}, set()),
        ({**{folder: () for folder in THE_FOUR if "triton" not in folder}, "triton-3.3.9": ()}, set()),
        ({**{folder: () for folder in THE_FOUR if "cudnn" not in folder}, "nvidia_cudnn_cu12-9.11.0.98": ()}, set()),
        ({**{folder: () for folder in THE_FOUR if "nccl" not in folder}, "nvidia_nccl_cu12-2.28.1": ()}, set(NAMES)),
        ({**THE_FOUR, "nvidia_cublas-13.0.2.14": (), "nvidia_cudnn_cu13-9.13.0.50": ()}, set(NAMES)),
        ({"triton_rocm-3.6.0": (), "triton_windows-3.5.1": ()}, {"triton-rocm"}),
        (
            {
                "nvidia_cublas-13.4.0.1": (), "nvidia_cudnn_cu13-9.24.0.43": (), "nvidia_nccl_cu13-2.30.7": (),
                "triton-3.8.2": (), "cuda_toolkit-13.0.2": (),
            },
            {"nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-nccl-cu13", "triton", "cuda-toolkit"},
        ),
    ],
)  # fmt: skip
def test_what_a_torch_that_went_has_left_its_versions_prove(
    packages: Path, tables: Tables, installed: dict[str, tuple[str, ...]], found: set[str], installer: str
) -> None:
    assert libraries_in(packages, tables, installed, installer) == found


@posix
def test_without_such_a_library_no_metadata_is_read(packages: Path) -> None:
    distribution(packages, "sympy-1.14.dist-info", "Requires-Dist: triton ; extra == 'gpu'\n\n")
    assert answer(packages) == []


@pytest.fixture(scope="module")
def index() -> Iterator[LoopbackIndex]:
    with LoopbackIndex(wheels_of_tables(Tables(), ("2.9.1",))) as served:
        yield served


@pytest.fixture(scope="module")
def with_pip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the interpreter's own pip, to be copied."""
    environment = tmp_path_factory.mktemp("template") / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    return environment


@posix
@pytest.mark.slow
@pytest.mark.parametrize(
    ("page", "target", "host", "left"),
    [
        ("cu126", "cpu", ("--driver", "none", "--gpu", "none"), []),
        (
            "cu126",
            "cu130",
            ("--driver", "580.95.05", "--gpu", "sm_86"),
            ["nvidia-cublas", "nvidia-cudnn-cu13", "nvidia-nccl-cu13", "triton"],
        ),
        (
            "cu130",
            "cu126",
            ("--driver", "580.95.05", "--gpu", "sm_86"),
            ["nvidia-cublas-cu12", "nvidia-cudnn-cu12", "nvidia-nccl-cu12", "triton"],
        ),
        ("cu126", "rocm6.4", ("--driver", "none", "--gpu", "gfx1100"), ["pytorch-triton-rocm"]),
    ],
)
def test_pip_leaves_a_whole_behind(
    tmp_path: Path,
    index: LoopbackIndex,
    with_pip: Path,
    page: str,
    target: str,
    host: tuple[str, ...],
    left: list[str],
) -> None:
    environment = {
        "PATH": os.defpath,
        "HOME": str(tmp_path),
        "PIP_INDEX_URL": f"{index.url}/simple",
        "NO_PROXY": "127.0.0.1",
    }

    def run(*command: str | Path, **more: str) -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=tmp_path, env={**environment, **more}
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    python = tmp_path / "environment" / "bin" / "python"
    shutil.copytree(with_pip, tmp_path / "environment", symlinks=True)
    run(python, "-m", "pip", "install", f"torch==2.9.1+{page}", "torchvision", "--index-url", f"{index.url}/whl/{page}")
    asked: tuple[str | Path, ...] = (
        "--python",
        python,
        "--torch",
        "2.9.1",
        "--backend",
        target,
        "--index-base",
        f"{index.url}/whl",
        *host,
    )
    lines = run(sys.executable, "-m", "torchdoctor", "install-cmd", *asked, PYTHONPATH=str(ROOT)).splitlines()
    for line in lines:
        run("sh", "-c", line)
    assert "No broken requirements found" in run(python, "-m", "pip", "check")
    listed = [line.partition("==")[0] for line in run(python, "-m", "pip", "list", "--format", "freeze").splitlines()]
    assert [name for name in listed if name.startswith(("nvidia", "cuda", "triton", "pytorch"))] == left
