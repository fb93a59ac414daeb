"""``torchdoctor lint`` on both sides of a fault: the same few lines with it and without, and what it says to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from torchdoctor.lint.run import lint
from torchdoctor.report import Report
from torchdoctor.tables import Tables

_WHL = "https://download.pytorch.org/whl"
_CUDNN = "FROM nvidia/cuda:12.2.2-cudnn8-runtime-ubuntu22.04\n"
_NGC = "FROM nvcr.io/nvidia/pytorch:25.08-py3\n"
_HATCH = """[project]
name = "x"
dependencies = ["torch{spec}"]
[tool.hatch.envs.default]
dependencies = ["pytest"]
{installer}
[tool.hatch.envs.default.env-vars]
PIP_EXTRA_INDEX_URL = "{index}"
"""
_HATCH_ALONE = f"""[project]
name = "x"
dependencies = ["torch==2.8.0+{{label}}"]
[tool.hatch.envs.default.env-vars]
PIP_EXTRA_INDEX_URL = "{_WHL}/cu128"
{{more}}
"""


@pytest.fixture(scope="module")
def tables() -> Tables:
    return Tables()


def linted(folder: Path, name: str, content: str, tables: Tables) -> Report:
    (folder / name).write_text(content, encoding="utf-8")
    return lint([str(folder / name)], tables).report


def ids(report: Report) -> list[str]:
    assert [item.reason for item in report.outcomes if item.outcome == "crashed"] == []
    return [f"{item.severity} {item.id}" for item in report.findings]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("torch==2.5.1+cu999", ["error index-lacks-version"]),
        ("torch==2.8.0+cu218", ["error index-lacks-version"]),
        ("torch==2.5.1+cu11.8", ["error index-lacks-version"]),
        ("torch==2.5.1+cuda118", ["error index-lacks-version"]),
        (f"--index-url {_WHL}/cu999\ntorch==2.5.1+cu999", ["error index-lacks-version"]),
        (f"--index-url {_WHL}/cu999\ntorch==2.5.1", ["error index-lacks-version"]),
        (f"--index-url {_WHL}/cu999\ntorch>=2.4,<2.6", ["error index-lacks-version"]),
        (f"--extra-index-url {_WHL}/cu118\ntorch==2.5.1+cu11.8", ["error index-lacks-version"]),
        (f"--extra-index-url {_WHL}/cu999\ntorch==2.5.1", ["warning index-lacks-version"]),
        ("torchvision==0.23.0+cu999", ["error index-lacks-version"]),
        ("torchaudio==2.5.1+cu128", ["error index-lacks-version"]),
        ("torchvision==0.23.0+cu128", []),
        (f"--index-url {_WHL}/cu128\ntorchvision==0.23.0+cu128", []),
        ("--index-url https://mirror.example/simple\ntorchvision==0.23.0+cu999", []),
        ("torchvision==0.99.0+cu140", []),
        # A build that came after the tables, and one that another index or folder holds.
        ("torch==2.15.0+cu140", ["info label-without-index"]),
        (f"--index-url {_WHL}/cu140\ntorch==2.15.0+cu140", []),
        (f"--extra-index-url {_WHL}/cu140\ntorch==2.15.0", []),
        ("--find-links ./wheels\ntorch==2.5.1+cu999", []),
        ("--index-url https://mirror.example/simple\ntorch==2.5.1+cu11.8", []),
        (f"--extra-index-url {_WHL}/cu124\ntorch==2.5.1+cu124", []),
    ],
)
def test_a_build_that_a_finished_release_never_had(
    content: str, found: list[str], tmp_path: Path, tables: Tables
) -> None:
    report = linted(tmp_path, "requirements.txt", content + "\n", tables)
    assert ids(report) == found
    commands = [str(line) for item in report.findings for remedy in item.remedies for line in remedy.commands]
    assert not any(part in line for line in commands for part in ("cu999", "cu218", "cu11.8", "cu140"))


@pytest.mark.parametrize("spec", ["==3.13.*", ">=3.13", "~=3.13.0"])
def test_the_releases_for_a_range_of_pythons(spec: str, tmp_path: Path, tables: Tables) -> None:
    content = f'[project]\nname = "x"\nrequires-python = "{spec}"\ndependencies = ["torch==2.3.1"]\n'
    report = linted(tmp_path, "pyproject.toml", content, tables)
    assert ids(report) == ["error python-unsupported"]
    row = tables.pythons.range(next(iter(item for item in tables.pythons.current() if str(item) == "3.13")))
    assert row is not None
    words = f"a torch that has wheels for {spec}: {row.first_torch} to {tables.torch_builds.newest()}"
    assert words in str(report.findings[0].remedies[0].text)


@pytest.mark.parametrize(
    ("run", "found"),
    [
        ("pip install torch==2.7.1 transformers", ["info base-image-cuda"]),
        ("pip install --upgrade pip && pip install torch==2.7.1", ["info base-image-cuda"]),
        ("pip install torch==2.7.1 onnxruntime-gpu==1.18.0", []),
        ("pip install torch==2.7.1 cupy-cuda12x", []),
        ("pip install torch==2.7.1 tensorflow", []),
        ("pip install torch==2.7.1 'jax[cuda12_local]'", []),
        ("pip install torch==2.7.1 faster-whisper", []),
        ("apt-get install -y libcudnn8-dev && pip install torch==2.7.1", []),
        ("pip install torch==2.7.1 vllm", []),
        ("apt-get install -y ninja-build && pip install torch==2.7.1", []),
        ("pip install torch==2.7.1 -r gone.txt", []),
        ("pip install torch==2.7.1 && pip install .", []),
        ("pip install torch==2.7.1 && poetry install", []),
    ],
)
def test_a_base_image_whose_cuda_something_may_use(run: str, found: list[str], tmp_path: Path, tables: Tables) -> None:
    assert ids(linted(tmp_path, "Dockerfile", f"{_CUDNN}RUN {run}\n", tables)) == found


@pytest.mark.parametrize("pin", ["torch==2.7.1", "torch==2.2.0", "torch>=2.4,<2.5", "torch"])
def test_the_plain_image_that_is_shown_has_wheels_for_the_pin(pin: str, tmp_path: Path, tables: Tables) -> None:
    (finding,) = linted(tmp_path, "Dockerfile", f"{_CUDNN}RUN pip install '{pin}'\n", tables).findings
    (line,) = finding.remedies[0].commands
    assert ids(linted(tmp_path, "Dockerfile", f"{line}\nRUN pip install '{pin}'\n", tables)) == []


@pytest.mark.parametrize(
    ("name", "content", "shown"),
    [
        (
            "pixi.toml",
            '[workspace]\nchannels = ["pytorch"]\nplatforms = ["linux-64"]\n[dependencies]\npytorch = "2.5.*"\n',
            ["[workspace]", 'channels = ["conda-forge"]', "[dependencies]", 'pytorch-gpu = "==2.5.1"'],
        ),
        (
            "environment.yml",
            "channels:\n- pytorch\ndependencies:\n- python=3.8\n- pytorch=1.13.1\n- torchvision=0.14.1\n",
            ["  - pip:", "    - torch==1.13.1", "    - torchvision==0.14.1"],
        ),
        (
            "environment.yml",
            "channels:\n- pytorch\ndependencies:\n- python=3.11\n- pytorch=2.5\n",
            ["  - conda-forge", "  - pytorch-gpu=2.5.1"],
        ),
        ("environment.yml", "channels:\n- pytorch\ndependencies:\n- python=3.7\n- pytorch=1.10\n", []),
        (
            "Dockerfile",
            "FROM example/conda\nRUN conda install -y -c pytorch pytorch=2.5\n",
            ["RUN conda install -y -c conda-forge pytorch-gpu=2.5.1 cuda-version=12.6"],
        ),
        (
            "requirements.txt",
            f"-i {_WHL}/cu128\ntorch==2.8.0\ntransformers==4.55.0\n",
            [f"--extra-index-url {_WHL}/cu128", "torch==2.8.0+cu128"],
        ),
        ("requirements.txt", f"-i {_WHL}/cu128\ntransformers==4.55.0\n", []),
    ],
)
def test_a_remedy_is_in_the_form_of_the_file(
    name: str, content: str, shown: list[str], tmp_path: Path, tables: Tables
) -> None:
    (finding,) = linted(tmp_path, name, content, tables).findings
    lines = [str(line) for line in finding.remedies[0].commands]
    assert set(shown) <= set(lines)
    assert bool(lines) is bool(shown)


@pytest.mark.parametrize(
    ("name", "content", "found"),
    [
        ("requirements.txt", "pytorch==2.6.0\n", ["error torch-missing"]),
        ("Dockerfile", "FROM python:3.12\nRUN pip install pytorch\n", ["error torch-missing"]),
        ("requirements.txt", "-i https://mirror.example/simple\npytorch==2.6.0\n", []),
        ("requirements.txt", "pytorch @ https://mirror.example/pytorch-2.6.0-py3-none-any.whl\n", []),
        ("environment.yml", "channels:\n- conda-forge\ndependencies:\n- pytorch=2.6.0\n", []),
        ("requirements.txt", "torch=2.8.0\n", ["error manifest-unreadable"]),
        ("requirements.txt", "torch=2.8.0=py312_0\n", []),  # what conda list --export writes
        ("requirements.txt", "torch=>2.8.0\n", ["error manifest-unreadable"]),
        ("requirements.txt", "torch>=2.4,=<2.8\n", ["error manifest-unreadable"]),
        ("requirements.txt", "torch==2.8.0\nnumpy=1.26\n", ["error manifest-unreadable"]),
        ("requirements.txt", "torch==2.8.0\nnumpy=1.26.*\n", ["error manifest-unreadable"]),
        ("requirements.txt", "numpy=1.26\npytorch-lightning=2.4\n", []),  # which conda may read
        ("requirements.txt", "torch>=2.4,<=2.8\nnumpy==1.26.*\ntqdm~=4.66\nfire===0.6.0\nrich<14,>13\n", []),
        ("Dockerfile", "FROM python:3.12\nRUN pip install torch 'numpy=1.26'\n", ["error manifest-unreadable"]),
        ("Dockerfile", "FROM python:3.12\nRUN apt-get install -y git=2.39 && pip install torch\n", []),
        ("requirements.txt", "torch==2.8.0\n", []),
        ("environment.yml", "dependencies:\n- pip\n- pip:\n  - torch=2.8.0\n", ["error manifest-unreadable"]),
        ("Dockerfile", f"{_NGC}RUN pip install torch==2.8.0\n", ["warning mixed-package-sources"]),
        ("Dockerfile", f"{_NGC}RUN pip install torch 'torch>=2.4'\n", []),
        ("Dockerfile", f"{_NGC}RUN pip install --upgrade torch torchvision\n", ["warning mixed-package-sources"]),
        ("Dockerfile", f"{_NGC}RUN pip install -qU 'torch>=2.4'\n", ["warning mixed-package-sources"]),
        ("Dockerfile", f"{_NGC}RUN pip install -U pip && pip install torch\n", []),
        ("Dockerfile", f"{_NGC}RUN pip install -U transformers\n", []),
        ("Dockerfile", f"{_NGC}RUN pip install torchvision==0.23.0\n", ["warning mixed-package-sources"]),
        ("Dockerfile", f"{_NGC}RUN pip install 'torchvision>=0.20'\n", []),
        ("Dockerfile", f"{_NGC}RUN pip install --no-deps torchaudio==2.8.0\n", []),
        ("Dockerfile", "FROM python:3.12\nRUN pip install --upgrade torch torchvision==0.23.0\n", []),
        ("Dockerfile", f"{_NGC}RUN python -m venv /v && /v/bin/pip install torch==2.8.0\n", []),
        ("Dockerfile", "FROM nvcr.io/nvidia/pytorch:99.01-py3\nRUN pip install torch==2.8.0\n", []),
        (
            "pyproject.toml",
            _HATCH.format(spec=">=2.2,<3", installer="", index=f"{_WHL}/cu118"),
            ["warning extra-index-unpinned"],
        ),
        ("pyproject.toml", _HATCH.format(spec=">=2.2,<3", installer='installer = "uv"', index=f"{_WHL}/cu118"), []),
        ("pyproject.toml", _HATCH.format(spec=">=2.2,<3", installer="", index=f"{_WHL}/cpu"), []),
        # Whose variables hold for the project's own dependencies as well, and for environments made from that one.
        ("pyproject.toml", _HATCH_ALONE.format(label="cu128", more=""), []),
        ("pyproject.toml", _HATCH_ALONE.format(label="cu128", more=f'UV_INDEX = "{_WHL}/cu128"'), []),
        (
            "pyproject.toml",
            _HATCH_ALONE.format(label="cu128", more='[tool.hatch.envs.test]\ndependencies = ["pytest"]'),
            [],
        ),
        ("pyproject.toml", _HATCH_ALONE.format(label="cu126", more=""), ["error label-without-index"]),
        (
            "pyproject.toml",
            _HATCH_ALONE.format(label="cu126", more='[tool.hatch.envs.test]\ndependencies = ["pytest"]'),
            ["error label-without-index"],
        ),
        (
            "pyproject.toml",
            _HATCH_ALONE.format(label="cu128", more='[tool.hatch.envs.default]\ninstaller = "uv"'),
            ["error label-without-index"],
        ),
    ],
)
def test_what_an_installer_refuses_or_does_not_read(
    name: str, content: str, found: list[str], tmp_path: Path, tables: Tables
) -> None:
    assert ids(linted(tmp_path, name, content, tables)) == found
