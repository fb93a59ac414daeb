"""Package lists: whole and cut, with headers and without, and what they say of torch."""

from __future__ import annotations

import pytest
from reading import facts_from, seen

from torchdoctor.readers.package_rows import conda_row, freeze_row, normalised, table_row
from torchdoctor.tables import Tables

WHOLE = """Package                  Version
------------------------ ---------
filelock                 3.20.0
Jinja2                   3.1.6
numpy                    2.2.6
nvidia-cuda-runtime-cu12 12.8.90
pip                      25.3
torch                    2.9.1
typing_extensions        4.15.0
"""


@pytest.mark.parametrize(
    ("text", "name", "version"),
    [
        ("torch==2.9.1+cu130", "torch", "2.9.1+cu130"),
        ("Jinja2==3.1.6 ; python_version > '3.8'", "jinja2", "3.1.6"),
        ("torch[opt]==2.9.1", "torch", "2.9.1"),
        ("torch @ file:///tmp/w/torch-2.9.1%2Bcu130-cp312-cp312-linux_x86_64.whl", "torch", "2.9.1+cu130"),
        ("nvidia.cublas_cu12==12.4.5.8", "nvidia-cublas-cu12", "12.4.5.8"),
    ],
)
def test_freeze_rows(text: str, name: str, version: str) -> None:
    row = freeze_row(text)
    assert row is not None
    assert (row.name, row.version) == (name, version)


@pytest.mark.parametrize(
    "text",
    ["-e git+ssh://x#egg=y", "# comment", "torch", "a == b", "==2.0", "torch===", "--index-url x", "x" * 500 + "==1.0"],
)
def test_what_is_no_freeze_row(text: str) -> None:
    assert freeze_row(text) is None


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("torch                    2.9.1+cu130", ("torch", "2.9.1+cu130")),
        ("my-lib  0.1.0  /home/u/my lib", ("my-lib", "0.1.0")),
        ("my-lib  0.1.0  C:\\src\\lib", ("my-lib", "0.1.0")),
        ("torch   2.1.1   // default version from poetry", ("torch", "2.1.1")),
        ("numpy 2.1.2 as it may crash. To support both", None),
        ("nvidia-dkms 530.41.03-2", None),
        ("torch.version.cuda 12.8", None),
        ("epoch one of 3", None),
    ],
)
def test_table_rows(text: str, row: tuple[str, str] | None) -> None:
    found = table_row(text)
    assert (found and (found.name, found.version)) == row


@pytest.mark.parametrize(
    ("text", "owner"),
    [
        ("pytorch 2.2.2 py3.10_cpu_0 pytorch", "conda"),
        ("torch 2.2.0 pypi_0 pypi", "pip"),
        ("torch 2.2.0 <pip>", "pip"),
        ("blas 1.0 mkl", "conda"),
    ],
)
def test_conda_rows(text: str, owner: str) -> None:
    row = conda_row(text)
    assert row is not None
    assert row.owner == owner


def test_names_are_compared_as_the_packaging_rules_say() -> None:
    assert normalised("Torch_Audio.X--y") == "torch-audio-x-y"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # The CUDA packages tell PyPI's build even where nobody names the system.
        ("torch==2.1.0\nnvidia-cublas-cu12==12.1.3.1", {"torch.build": "cu121", "torch.origin": "pypi"}),
        ("torch==2.11.0\nnvidia-cublas==13.1.0.3\nnvidia-cuda-runtime==13.0.96", {"torch.build": "cu130"}),
        # Another major than PyPI's: the runtime's own version names the build.
        ("torch==2.9.1\nnvidia-cuda-runtime==13.0.48", {"torch.build": "cu130", "torch.origin": "?"}),
        # Two majors decide nothing.
        ("torch==2.9.1\nnvidia-nccl-cu12==2.27.5\nnvidia-nccl-cu13==2.27.7", {"torch.build": "?"}),
        ("torch==2.9.1", {"torch.build": "?", "torch.installed": "True", "torch.version": "2.9.1"}),
        ("torch==2.9.1+cu126", {"torch.build": "cu126", "torch.origin": "pytorch", "torch.cuda": "12.6"}),
        ("torch==2.7.1+rocm6.3", {"torch.build": "rocm6.3"}),
        ("torch==2.9.0a0+rocm7.0.0rc20250820", {"torch.build": "rocm7.0", "torch.version": "2.9.0a0"}),
        ("torch==2.5.0a0+872d972e41.nv24.08", {"torch.build": "?", "torch.origin": "nvidia"}),
        ("torch 2.0.1\nvllm 0.1.5", {"torch.full": "2.0.1"}),
        ("pytorch 1.13.0 py3.8_cuda11.7_cudnn8.5.0_0 pytorch", {"torch.build": "cu117", "torch.owner": "conda"}),
        ("pytorch 1.9.0 py3.8_cpu_0 [cpuonly] pytorch", {"torch.build": "cpu", "torch.owner": "conda"}),
        ("pytorch 2.4.0 cpu_mkl_py311h1 conda-forge", {"torch.build": "cpu", "torch.owner": "conda"}),
        ("pytorch 2.6.0 cuda126_mkl_py312_h4e4d2d0_300 conda-forge", {"torch.build": "cu126"}),
        ("torch==2.9.1\nOS: Windows 11", {"torch.build": "cpu", "torch.origin": "pypi"}),
        ("torch==2.9.1\nOS: Ubuntu 24.04 (aarch64)", {"torch.build": "cpu"}),
        ("torch==2.9.1\nOS: Ubuntu 24.04 (x86_64)", {"torch.build": "cu128"}),
        ("torch==2.4.1\nJetPack: 5.1.2", {"torch.build": "?", "place.jetpack": "5.1.2"}),
        ("torch==2.9.1\nOS: macOS 15.1 (arm64)", {"torch.build": "mps"}),
        ("numpy==2.0.1", {"torch.installed": "?"}),
    ],
)
def test_what_a_list_says_of_torch(text: str, expected: dict[str, str], tables: Tables) -> None:
    assert seen(facts_from(text, tables=tables), expected) == expected


def test_a_whole_list_is_complete_and_a_shortened_one_is_not(tables: Tables) -> None:
    whole = facts_from(WHOLE, tables=tables).packages
    assert whole.complete
    assert whole.find("triton") is None
    for kept in ("torch", "numpy"):
        lines = [line for line in WHOLE.split("\n") if kept in line]
        assert not facts_from("\n".join(lines), tables=tables).packages.complete
    assert not facts_from(WHOLE.replace("pip  ", "pop  "), tables=tables).packages.complete


def test_a_whole_list_without_torch_shows_that_torch_is_missing(tables: Tables) -> None:
    without = "".join(line for line in WHOLE.splitlines(keepends=True) if "torch" not in line)
    assert facts_from(without, tables=tables).torch.installed is False
    grepped = "numpy 2.2.6\nnvidia-cublas-cu12 12.8.4.1\n"
    assert seen(facts_from(grepped, tables=tables), {"torch.installed": "?"}) == {"torch.installed": "?"}


def test_conda_list_keeps_build_strings(tables: Tables) -> None:
    text = """# packages in environment at /opt/conda:
#
# Name                    Version                   Build  Channel
pytorch                   2.4.0            cpu_mkl_py311h1            conda-forge
torchvision               0.19.0                   pypi_0    pypi
"""
    items = facts_from(text, tables=tables).packages.items
    assert [(item.name, item.owner) for item in items] == [("pytorch", "conda"), ("torchvision", "pip")]
    assert items[0].build == "cpu_mkl_py311h1"


@pytest.mark.parametrize(
    "text",
    [
        "loss 0.53\nlr 1.5\nepoch 2.0",
        "nvidia_modeset       1196032  1\nnvidia              27090944  1 nvidia_modeset",
        "python-pytorch-opt-rocm 2.0.1-3\nrocm-hip-libraries 5.4.3-2",
        "INFO torch 2.0.1 loaded",
    ],
)
def test_other_tables_are_no_package_lists(text: str, tables: Tables) -> None:
    assert facts_from(text, tables=tables).packages.items == ()


def test_two_versions_of_one_package_both_stay(tables: Tables) -> None:
    facts = facts_from("torch==2.6.0\ntorchvision==0.21.0", "torch==2.8.0\ntorchvision==0.21.0", tables=tables)
    assert [item.version for item in facts.packages.items if item.name == "torch"] == ["2.6.0", "2.8.0"]
    assert [item.version for item in facts.packages.items if item.name == "torchvision"] == ["0.21.0"]
