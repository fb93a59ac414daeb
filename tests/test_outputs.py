"""Where answers go: a file that cannot be written is told before anything is run, and no terminal is given orders."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import fake_torch
import pytest
from conftest import ROOT

from torchdoctor.render.line import on_one_line
from torchdoctor.render.output import save

Done = subprocess.CompletedProcess[str]


class Place:
    """A folder with a torch that notes that it was imported, and a folder to write to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "full").mkdir()
        self.imported = folder / "imported"
        venv.EnvBuilder(symlinks=True).create(folder / "venv")  # the tests' own may hold a real torch
        self.python = str(folder / "venv" / "bin" / "python")

    def torch(self, then: str = "") -> None:
        fake_torch.install(self.folder / "site", at_import=f"open({str(self.imported)!r}, 'w').close()\n{then}")

    def run(self, *arguments: str) -> Done:
        env = {**os.environ, "PYTHONPATH": f"{ROOT}:{self.folder / 'site'}"}
        command = [sys.executable, "-m", "torchdoctor", *arguments, "--python", self.python, "--timeout", "30"]
        return subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", check=False, timeout=120, cwd=self.folder,
            env=env,
        )  # fmt: skip


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("path", ["missing/file.json", "full", "imported.d/file.json"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--record", ""),
        ("check", "--format", "json="),
        ("smoke", "--format", "json="),
        ("bench", "--save", ""),
        ("bench", "--format", "json="),
    ],
    ids=" ".join,
)
def test_a_path_that_cannot_be_written_is_told_before_torch_is_run(
    arguments: tuple[str, ...], path: str, place: Place
) -> None:
    place.torch()
    (place.folder / "imported.d").write_text("a file")
    done = place.run(*arguments[:-1], arguments[-1] + path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"cannot write {path}: ")
    assert len(done.stderr.splitlines()) == 1
    assert not place.imported.exists()


def test_trying_a_path_leaves_what_is_there(place: Place) -> None:
    place.torch()
    kept = place.folder / "full" / "kept.json"
    kept.write_text("before")
    assert place.run("bench", "--device", "cuda:0", "--save", str(kept)).returncode == 3
    assert place.imported.exists()
    assert [path.name for path in kept.parent.iterdir()] == ["kept.json"]
    assert kept.read_text() == "before"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes with a name are of POSIX")
def test_a_pipe_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        save("an answer\n", str(pipe))
        assert os.read(reader, 100) == b"an answer\n"
    finally:
        os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.parametrize("asked", [("cuda:7",), ("cuda:7", "cuda:8")])
def test_a_benchmark_of_a_device_that_is_not_there_measured_nothing(asked: tuple[str, ...], place: Place) -> None:
    place.torch()
    saved = place.folder / "figures.json"
    done = place.run("bench", "--seconds", "1", "--save", str(saved), *(f"--device={name}" for name in asked))
    assert done.returncode == 3
    assert done.stdout.startswith("unknown: --device cuda:7: there is no such device; there are: cpu\n")
    assert [f"--device {name}: there is no such device" in done.stderr for name in asked] == [True] * len(asked)
    assert f"nothing was measured, and --save {saved} was not written" in done.stderr
    assert not saved.exists()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with é and 中", "plain, with é and 中"),
        ("two\nlines\tand\rmore", "two lines and more"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("c1 \x9b31m", "c1 \\x9b31m"),
        ("turned \u202e round", "turned \\u202e round"),
        ("half a pair \ud800", "half a pair \\ud800"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert on_one_line(text) == shown


@pytest.mark.parametrize("verbosity", [(), ("-v",), ("-q",), ("--format", "json=report.json")], ids=str)
def test_an_exception_with_line_breaks_and_escapes_stays_on_its_line(verbosity: tuple[str, ...], place: Place) -> None:
    place.torch(r'raise OSError("\n".join("line %d \x1b[31mred\x1b[0m\x9b" % number for number in range(5)))')
    done = place.run("check", "--no-bench", *verbosity)
    assert done.returncode == 1
    assert place.imported.exists()
    told = done.stdout + done.stderr
    assert [line for line in told.split("\n") if not line.isprintable()] == []
    assert [line for line in told.split("\n") if line.lstrip().startswith("line ")] == []
    assert ("\\x1b[31mred" in told) is (verbosity in ((), ("-v",)))
