"""The command line from outside: exit statuses, one clear line per mistake, nothing on stdout but the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Run

from torchdoctor import __version__

LINUX = ["--os", "linux", "--machine", "x86_64", "--python-version", "3.12", "--libc", "glibc-2.35"]

USAGE_ERRORS = [
    (["--nonsense"], "--nonsense"),
    (["frobnicate"], "frobnicate"),
    (["check", "--nonsense"], "--nonsense"),
    (["check", "--format", "yaml"], "--format yaml"),
    (["check", "--format", "json", "--format", "text"], "two formats for stdout"),
    (["check", "--tables", "no/such/folder"], "no such folder"),
    (["check", "--timeout", "-3"], "-3"),
    (["check", "--python", "no/such/python"], "no/such/python"),
    (["diagnose"], "FILE"),
    (["diagnose", "no-such-file.txt"], "no-such-file.txt"),
    (["install-cmd", *LINUX, "--gpu", "Voodoo 2", "--driver", "580"], "Voodoo 2"),
    (["install-cmd", *LINUX, "--gpu", "sm_999", "--driver", "580"], "sm_999"),
    (["install-cmd", *LINUX, "--driver", "banana"], "banana"),
    (["install-cmd", "--os", "linux", "--python-version", "9.9"], "9.9"),
    (["install-cmd", "--os", "linux", "--libc", "newlib"], "newlib"),
    (["install-cmd", "--backend", "cuda99"], "cuda99"),
    (["install-cmd", *LINUX, "--gpu", "RX 7900 XTY"], "did you mean: AMD Radeon RX 7900 XT"),
    (["install-cmd", *LINUX, "--gpu", "AMD Radeon Graphics"], "give sm_XX or gfxNNNN"),
    (["check", "--static", "--repro"], "--repro needs torch to run"),
    (["install-cmd", *LINUX, "--torch", "not a version"], "not a version"),
    (["install-cmd", *LINUX, "--with", "tensorflow"], "tensorflow"),
    (["install-cmd", *LINUX, "--index-base", "ftp://x; rm -rf"], "ftp://x"),
    (["install-cmd", "--batch", "no-such.jsonl"], "no-such.jsonl"),
    (["install-cmd", "--batch", "-", "--driver", "580"], "--batch"),
    (["install-cmd", "--batch", "-", "--format", "json"], "--format"),
    (["explain", "no-such-finding"], "no-such-finding"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), USAGE_ERRORS, ids=[" ".join(arguments)[-40:] for arguments, _ in USAGE_ERRORS]
)
def test_usage_error_is_one_line_and_2(torchdoctor: Run, arguments: list[str], words: str) -> None:
    done = torchdoctor(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_version(torchdoctor: Run) -> None:
    assert torchdoctor("--version").stdout == f"torchdoctor {__version__}\n"


def test_bare_call_prints_help_and_0(torchdoctor: Run) -> None:
    done = torchdoctor()
    assert done.returncode == 0
    assert "install-cmd" in done.stdout
    assert "exit status" in done.stdout


BAD_FILES = [
    ("empty.txt", b"", "empty"),
    ("binary.bin", bytes(range(256)) * 40, "binary"),
    ("nul.txt", b"\0" * 4096, "binary"),
    ("report.json", b'{"schema": "torchdoctor.report/1", "status": "ok"}', "check --record"),
    ("recording.json", b'{"schema": "torchdoctor.recording/9", "answers": {}}', "upgrade torchdoctor"),
]


@pytest.mark.parametrize(("name", "content", "words"), BAD_FILES, ids=[name for name, _, _ in BAD_FILES])
def test_unusable_file_is_one_line_and_2(
    torchdoctor: Run, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    done = torchdoctor("diagnose", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert name in done.stderr
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_text_in_which_nothing_is_recognised_is_unknown_and_3(torchdoctor: Run) -> None:
    done = torchdoctor("diagnose", "--format", "json", "-", stdin="the quick brown fox\n")
    assert done.returncode == 3
    assert json.loads(done.stdout)["status"] == "unknown"


def test_what_was_not_read_of_a_long_file_is_told(torchdoctor: Run, tmp_path: Path) -> None:
    (tmp_path / "long.log").write_text("PyTorch version: 2.8.0+cu128\n" + "step\n" * 4_000_000 + "the end\n")
    done = torchdoctor("diagnose", "long.log")
    assert "long.log is long" in done.stderr
    assert "bytes in its middle were not read" in done.stderr


def test_a_folder_is_not_a_file(torchdoctor: Run, tmp_path: Path) -> None:
    done = torchdoctor("diagnose", str(tmp_path))
    assert done.returncode == 2
    assert "cannot read" in done.stderr


def test_described_host_prints_only_the_command(torchdoctor: Run) -> None:
    done = torchdoctor("install-cmd", *LINUX, "--driver", "550.54.15", "--gpu", "NVIDIA GeForce RTX 4090")
    assert done.returncode == 0, done.stderr
    assert (
        done.stdout == "python -m pip install torch==2.14.1+cu126 --index-url https://download.pytorch.org/whl/cu126\n"
    )
    assert done.stderr == ""


def test_refusal_is_1_with_the_condition_the_change_and_cpu_by_name(torchdoctor: Run) -> None:
    done = torchdoctor("install-cmd", *LINUX, "--driver", "418.226.00", "--gpu", "sm_70")
    assert (done.returncode, done.stdout) == (1, "")
    assert "418.226" in done.stderr
    assert "smallest change" in done.stderr
    assert "--backend cpu" in done.stderr


def test_ambiguous_name_asks_for_the_architecture(torchdoctor: Run) -> None:
    done = torchdoctor("install-cmd", *LINUX, "--driver", "470.256.02", "--gpu", "GeForce GT 730")
    assert (done.returncode, done.stdout) == (3, "")
    assert "--driver 470.256.02 --gpu sm_XX" in done.stderr


def test_explain_stands_on_stderr(torchdoctor: Run) -> None:
    done = torchdoctor("install-cmd", *LINUX, "--driver", "550.54.15", "--gpu", "sm_89", "--explain")
    assert len(done.stdout.splitlines()) == 1
    assert "why: " in done.stderr
    assert "not torch 2.15.0 cu132: needs driver 580" in done.stderr
    assert "with driver 580 or newer" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--torch", "2.11.0", "--backend", "cpu", "--with", "torchaudio"], "torchaudio==2.11.0"),
        (["--torch", "2.5.1", "--backend", "cpu", "--with", "torchvision"], "torchvision==0.20.1"),
    ],
)
def test_a_companion_fits_the_build(torchdoctor: Run, arguments: list[str], expected: str) -> None:
    done = torchdoctor("install-cmd", *LINUX, "--driver", "none", "--gpu", "none", *arguments)
    assert (done.returncode, expected in done.stdout) == (0, True)


def test_a_companion_without_a_wheel_for_the_python_is_no_answer(torchdoctor: Run) -> None:
    host = [*LINUX, "--python-version", "3.13", "--driver", "none", "--gpu", "none"]
    done = torchdoctor("install-cmd", *host, "--torch", "2.5.1", "--with", "torchvision")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no torchvision exists for torch 2.5.1" in done.stderr


def test_companions_move_together(torchdoctor: Run) -> None:
    done = torchdoctor(
        "install-cmd",
        *LINUX,
        "--driver",
        "550.54.15",
        "--gpu",
        "sm_89",
        "--torch",
        "2.9.1",
        "--with",
        "torchvision,torchaudio",
    )
    assert done.stdout == (
        "python -m pip install torch==2.9.1+cu128 torchvision==0.24.1+cu128 torchaudio==2.9.1+cu128"
        " --index-url https://download.pytorch.org/whl/cu128\n"
    )


def test_mirror_replaces_the_base(torchdoctor: Run) -> None:
    done = torchdoctor(
        "install-cmd",
        *LINUX,
        "--driver",
        "550.54.15",
        "--gpu",
        "sm_89",
        "--index-base",
        "https://mirror.example/torch/",
    )
    assert done.stdout.endswith("--index-url https://mirror.example/torch/cu126\n")


def test_jetson_before_cuda_13_gets_its_own_index(torchdoctor: Run) -> None:
    done = torchdoctor(
        "install-cmd",
        "--os",
        "linux",
        "--machine",
        "aarch64",
        "--python-version",
        "3.10",
        "--jetpack",
        "6.2",
        "--driver",
        "540.4.0",
        "--gpu",
        "sm_87",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "python -m pip uninstall -y torch",
        "python -m pip install torch --index-url https://pypi.jetson-ai-lab.io/jp6/cu126",
    ]


@pytest.mark.parametrize("shell", ["posix", "cmd", "powershell"])
def test_windows_command_needs_no_quotes(torchdoctor: Run, shell: str) -> None:
    done = torchdoctor(
        "install-cmd",
        "--os",
        "windows",
        "--machine",
        "AMD64",
        "--python-version",
        "3.12",
        "--driver",
        "572.83",
        "--gpu",
        "RTX 5080",
        "--shell",
        shell,
    )
    assert (
        done.stdout == "python -m pip install torch==2.11.0+cu128 --index-url https://download.pytorch.org/whl/cu128\n"
    )


def test_require_gpu_prints_no_cpu_build(torchdoctor: Run) -> None:
    done = torchdoctor("install-cmd", *LINUX, "--gpu", "none", "--driver", "none", "--require-gpu")
    assert (done.returncode, done.stdout) == (1, "")


def test_explain_lists_and_prints_pages(torchdoctor: Run) -> None:
    assert "driver-too-old" in torchdoctor("explain").stdout
    assert torchdoctor("explain", "driver-too-old").stdout.startswith("# driver-too-old\n")
    assert "did you mean: driver-too-old" in torchdoctor("explain", "driver-to-old").stderr


def test_closed_pipe_is_quiet(tmp_path: Path) -> None:
    import subprocess
    import sys

    from conftest import ROOT

    command = f"{sys.executable} -m torchdoctor explain | head -c 1"
    done = subprocess.run(
        ["sh", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
    )
    assert done.stderr == ""
