from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import fuzz_binaries
import pytest
from binary_files import bundle, elf, fatbin, fatbins, packed_bundle
from conftest import Run
from schemas import check_form

from torchdoctor.recording import Want
from torchdoctor.starting import program
from torchdoctor.target import paths, want_code
from torchdoctor.which_python import PythonChoice
from torchdoctor.xray import _PARTS, finish, start

CODE = Want("code", ("torch",), name="device code", seconds=20.0)
BOTH = ["sm_80", "sm_90"]
FILES = {
    "torch/lib/libtorch_cuda.so": elf(fatbins(["sm_75", *BOTH], ["sm_75", *BOTH])),
    "torch/lib/libtorch_cuda_linalg.so": elf(fatbins(BOTH)),
    "torch/lib/libc10.so": elf(needed=["libc.so.6"]),
    "nvidia/cudnn/lib/libcudnn_ops.so.9": elf(fatbins(["sm_75", "sm_80", "compute_80"], isa=(9, 0))),
    "xformers/_C.so": elf(fatbins(["sm_80", "compute_80"], isa=(8, 7))),
    "flash_attn_2_cuda.cpython-311.so": elf(fatbins(["sm_80"], ["sm_80", "sm_90"])),
    "numpy/core.so": elf(),
    "vllm/metal/ops.metallib": b"MTLB" + bytes(60),
    "torchaudio/lib/libtorchaudio.so": elf(fatbins(["sm_80"]))[:-300],
    "unknown/extension.so": elf(fatbins(["sm_89"])),
    "broken/notes.so": b"no library",
    "bitsandbytes/librocm.so": elf({".hip_fatbin": bundle("gfx90a:xnack-", "gfx942")}),
}
OWNERS = {
    "torch-2.14.1": ["torch/lib/libtorch_cuda.so", "torch/lib/libtorch_cuda_linalg.so"],
    "nvidia_cudnn_cu13-9.24.0": ["nvidia/cudnn/lib/libcudnn_ops.so.9"],
    "flash_attn-2.8.3": ["flash_attn_2_cuda.cpython-311.so"],
}


def environment(folder: Path, files: Mapping[str, bytes] = FILES) -> Path:
    """A folder of packages, and a Python whose path holds it."""
    packages = folder / "env" / "site-packages"
    for name, data in files.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_bytes(data)
    for distribution, names in OWNERS.items():
        (packages / f"{distribution}.dist-info").mkdir(parents=True, exist_ok=True)
        record = "".join(f"{name},sha256=abc,{len(files.get(name, b''))}\n" for name in names)
        (packages / f"{distribution}.dist-info" / "RECORD").write_text(record)
    return packages


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    return environment(tmp_path)


def xray(torchdoctor: Run, packages: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    python = f"env PYTHONPATH={packages} {sys.executable}"
    return torchdoctor("xray", "--python", python, *arguments)


def files(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    report = json.loads(done.stdout)
    check_form(report)
    assert report["schema"] == "torchdoctor.xray/1"
    return {row["library"]: row for row in report["files"]}


def test_what_is_installed_is_read_with_its_owner(torchdoctor: Run, packages: Path) -> None:
    done = xray(torchdoctor, packages, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    found = {name: row for name, row in files(done).items() if not name.startswith("/")}
    assert set(found) & set(FILES) == set(FILES) - {"torch/lib/libc10.so", "numpy/core.so", "broken/notes.so"}
    owners = {name: (row["package"], row["version"]) for name, row in found.items() if row["package"]}
    assert owners == {
        "torch/lib/libtorch_cuda.so": ("torch", "2.14.1"),
        "torch/lib/libtorch_cuda_linalg.so": ("torch", "2.14.1"),
        "nvidia/cudnn/lib/libcudnn_ops.so.9": ("nvidia-cudnn-cu13", "9.24.0"),
        "flash_attn_2_cuda.cpython-311.so": ("flash-attn", "2.8.3"),
    }
    assert found["torch/lib/libtorch_cuda.so"]["sass"] == {"sm_75": 2, "sm_80": 2, "sm_90": 2}
    assert "section table" in found["torchaudio/lib/libtorchaudio.so"]["error"]
    assert found["bitsandbytes/librocm.so"]["gfx"] == {"gfx90a:xnack-": 1, "gfx942": 1}


GPUS = ["--gpu", "T4,sm_90", "--gpu", "gfx942"]


@pytest.mark.parametrize(
    ("what", "options", "status", "serves"),
    [
        ("torch", ["--gpu", "A100"], 0, {"A100 (sm_80)": ["native", "native"]}),
        ("torch", GPUS, 1, {"T4 (sm_75)": ["native", ""], "sm_90": ["native", "native"], "gfx942": ["", ""]}),
        ("xformers", ["--gpu", "sm_120"], 0, {"sm_120": ["ptx-unknown-driver"]}),
        ("xformers", ["--gpu", "sm_120", "--driver", "550.54.14"], 0, {"sm_120": ["ptx-driver-too-old"]}),
        ("xformers", ["--gpu", "sm_120", "--driver", "580.65.06"], 0, {"sm_120": ["ptx"]}),
        ("bitsandbytes", ["--gpu", "gfx942,gfx1100"], 0, {"gfx942": ["native"], "gfx1100": [""]}),
    ],
)
def test_what_serves_a_gpu(
    torchdoctor: Run, packages: Path, what: str, options: list[str], status: int, serves: dict[str, list[str]]
) -> None:
    done = xray(torchdoctor, packages, what, *options, "--format", "json")
    assert (done.returncode, done.stderr) == (status, "")
    rows = [row["serves"] for row in files(done).values()]
    assert {gpu: [row[gpu] for row in rows] for gpu in rows[0]} == serves


def test_the_table_for_people(torchdoctor: Run, packages: Path) -> None:
    done = xray(torchdoctor, packages, "torch", "xformers", *GPUS)
    lines = [line.split() for line in done.stdout.splitlines()[1:]]
    assert lines == [
        ["T4", "(sm_75)", "sm_90", "gfx942"],
        ["torch/lib/libtorch_cuda.so", "native", "native", "none"],
        ["torch/lib/libtorch_cuda_linalg.so", "none", "native", "none"],
        ["xformers/_C.so", "none", "PTX,", "if", "the", "driver", "can", "none"],
        [
            "none:",
            "in",
            "no",
            "fat",
            "binary",
            "of",
            "the",
            "library",
            "(some",
            "of",
            "NVIDIA's",
            "hold",
            "code",
            "in",
            "a",
            "form",
            "of",
            "their",
            "own)",
        ],
    ]


def test_the_list_for_people(torchdoctor: Run, packages: Path) -> None:
    done = xray(torchdoctor, packages, "torch", "flash-attn", "xformers", "vllm")
    assert done.stdout.splitlines()[1:] == [
        "torch 2.14.1",
        "  torch/lib/libtorch_cuda.so: sm_75 sm_80 sm_90 (2 fat binaries)",
        "  torch/lib/libtorch_cuda_linalg.so: sm_80 sm_90 (1 fat binary)",
        "flash-attn 2.8.3",
        "  flash_attn_2_cuda.cpython-311.so: sm_80 sm_90:1 (2 fat binaries)",
        "of no package",
        "  xformers/_C.so: sm_80; PTX version 8.7 compute_80 (1 fat binary)",
        "  vllm/metal/ops.metallib: Metal, compiled where it runs",
    ]


def test_a_file_and_a_folder_by_path(torchdoctor: Run, tmp_path: Path) -> None:
    cache = tmp_path / ".cache" / "torch_extensions" / "py311_cu130"
    cache.mkdir(parents=True)
    (cache / "fused.so").write_bytes(elf(fatbins(["sm_90a"])))
    (cache / "kernels.fatbin").write_bytes(fatbin("sm_80"))
    (cache / "plain.so").write_bytes(elf())
    done = torchdoctor("xray", "~/.cache/torch_extensions", str(cache / "kernels.fatbin"), str(cache / "plain.so"))
    assert done.returncode == 0
    assert [line.strip() for line in done.stdout.splitlines()[1:]] == [
        "of no package",
        "~/.cache/torch_extensions/py311_cu130/kernels.fatbin: sm_80 (1 fat binary)",
        "~/.cache/torch_extensions/py311_cu130/plain.so: no device code",
        "~/.cache/torch_extensions/py311_cu130/fused.so: sm_90a (1 fat binary)",
    ]


def test_a_named_file_that_cannot_be_read_is_status_2(torchdoctor: Run, tmp_path: Path) -> None:
    (tmp_path / "lib.so").write_text("version https://git-lfs.github.com/spec/v1\n")
    done = torchdoctor("xray", "lib.so")
    assert done.returncode == 2
    assert "lib.so: neither an ELF nor a PE file: it starts with 'version http'" in done.stdout


def test_an_unreadable_library_beside_others_is_told_and_no_failure(torchdoctor: Run, tmp_path: Path) -> None:
    packed = elf({".hip_fatbin": packed_bundle(bundle("gfx942"), method=9)})
    packages = environment(tmp_path, {"bitsandbytes/rocm.so": packed, "bitsandbytes/cuda.so": elf(fatbins(BOTH))})
    done = xray(torchdoctor, packages, "bitsandbytes")
    assert done.returncode == 0
    assert "bitsandbytes/rocm.so: a bundle is compressed in an unknown way (9)" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["gone"], "gone: no such file, folder or installed package"),
        (["./gone.so"], "./gone.so: no such file"),
        (["--gpu", "GTX 99999"], "is not known"),
        (["--driver", "560"], "give --gpu too"),
        (["--gpu", "sm_86", "--driver", "new"], "cannot be read"),
        (["--format", "yaml"], "not a format"),
        (["--python", "/nowhere/python"], "no such program"),
        (["--python", "true"], "cannot examine true"),
    ],
)
def test_what_cannot_be_asked_is_one_line(torchdoctor: Run, arguments: list[str], word: str) -> None:
    done = torchdoctor("xray", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert word in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_json_to_a_file_and_text_beside_it(torchdoctor: Run, packages: Path, tmp_path: Path) -> None:
    done = xray(torchdoctor, packages, "torch", "--format", "text", "--format", f"json={tmp_path / 'x.json'}")
    assert "libtorch_cuda_linalg.so: sm_80 sm_90" in done.stdout
    assert len(json.loads((tmp_path / "x.json").read_text())["files"]) == 2


@pytest.mark.parametrize(
    ("limits", "word"),
    [({"FILES": 2}, "too many files"), ({"FOLDERS": 1}, "too many files"), ({}, "the time was over")],
)
def test_the_walk_is_bounded(
    packages: Path, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int], word: str
) -> None:
    monkeypatch.setattr(want_code, "PATH", [str(packages)])
    monkeypatch.setattr(paths, "LISTED", {})
    for name, value in limits.items():
        monkeypatch.setattr(want_code, name, value)
    found = want_code.want_code((), 60.0 if limits else -1.0)
    assert word in found["cut"]
    assert len(found["files"]) < len(FILES) - 3
    assert [row["library"] for row in found["files"]][:1] in ([], ["torch/lib/libtorch_cuda.so"])


def test_a_loop_of_links_is_read_once(packages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (packages / "torch" / "again").symlink_to(packages / "torch")
    (packages / "torch" / "lib" / "libtorch_cuda.so.1").symlink_to("libtorch_cuda.so")
    monkeypatch.setattr(want_code, "PATH", [str(packages), str(packages)])
    monkeypatch.setattr(paths, "LISTED", {})
    assert len(want_code.want_code(("torch",), 60.0)["files"]) == 2


BAD = {
    "true": "it ended with status 0",
    "false": "it ended with status 1",
    "sleep 9": "no answer in 0.3 s",
    "/nowhere/python": "no such program",
    "echo noise": "it ended with status 0",
}


@pytest.mark.parametrize("command", BAD)
def test_nothing_is_raised_for_a_bad_python(command: str) -> None:
    python = PythonChoice((*command.split(), "x") if command.startswith("sleep") else tuple(command.split()), "a test")
    python = python._replace(argv=("sh", "-c", "exec sleep 9") if command.startswith("sleep") else python.argv)
    answers = finish(start(python, (CODE,)), 0.3 if command.startswith("sleep") else 20.0)
    assert answers[CODE.key].value is None
    assert BAD[command] in answers[CODE.key].error


def test_a_want_that_nobody_knows_leaves_the_others_alone() -> None:
    other = Want("space", ("/",), name="other")
    answers = finish(start(PythonChoice((sys.executable,), "a test"), (other, CODE)), 20.0)
    assert "no such kind of want: space" in answers["other"].error
    assert answers[CODE.key].value is not None


def test_the_program_fits_into_a_pipe_at_once() -> None:
    assert len(program(_PARTS, "xray", "0" * 32, [], own=False)) < 60_000


@pytest.mark.parametrize("seed", [1, 2])
def test_mutated_libraries_are_read_or_refused(seed: int) -> None:
    outcomes = fuzz_binaries.run(150, seed)
    assert sum(outcomes.values()) == 450
    assert min(outcomes["refused"], outcomes["read"], outcomes["damaged within"]) > 10
    assert [name for name in outcomes if name.startswith("FAILED")] == []
