"""The probe, run by real interpreters against real files, commands and libraries."""

from __future__ import annotations

import ast
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from torchdoctor import live
from torchdoctor.live import record
from torchdoctor.recording import Answer, Want
from torchdoctor.which_python import PythonChoice

TARGET = ROOT / "torchdoctor" / "target"
SOURCES = sorted(path for path in TARGET.glob("*.py"))
PARTS = [TARGET / f"{name}.py" for name in ("start", *live._PARTS)]  # noqa: SLF001 - the list that is handed over
PYTHON = Want("python")
posix = pytest.mark.skipif(os.name != "posix", reason="process groups and signals of POSIX")
Tool = Callable[..., Path]


def interpreters() -> list[str]:
    """Every Python 3.6 or newer at hand that starts."""
    names = [shutil.which(f"python3.{minor}") for minor in range(6, 16)] + [sys.executable]
    names += [str(path) for path in Path.home().glob(".pyenv/versions/3.*/bin/python")]
    found: dict[bytes, str] = {}
    for name in filter(None, names):
        started = subprocess.run(
            [name, "-c", "import sys; print(sys.version_info[:2])"], capture_output=True, check=False
        )
        if started.returncode == 0:
            found.setdefault(started.stdout, name)
    return list(found.values())


def ask(*wants: Want, python: str = sys.executable, own: bool = False, timeout: float | None = None) -> list[Answer]:
    recording = record(PythonChoice((python,), "in a test", own=own), lambda: wants, timeout=timeout)
    return [recording.answers[want.key] for want in wants]


def value(want: Want) -> Any:
    answer = ask(want)[0]
    assert answer.error == ""
    return answer.value


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """Make an executable on PATH: ``tool("nvidia-smi", "echo hello")``."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")

    def make(name: str, body: str) -> Path:
        path = folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Want]:
    """Compile ``int answer(int *)`` into a shared library the loader finds."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform == "win32":
        pytest.skip("no C compiler")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))

    def build(body: str) -> Want:
        source = tmp_path / "answer.c"
        source.write_text(f"#include <unistd.h>\n#include <stdlib.h>\nint answer(int *n) {{ {body} }}\n")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", tmp_path / "libanswer.so.1", source], check=True)
        return Want("library", ("libanswer.so.1", "answer"), seconds=1.0)

    return build


# ---------------------------------------------------------------------------------------------------- its own rules


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_part_has_the_syntax_of_python_3_8(path: Path) -> None:
    ast.parse(path.read_text("utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("path", PARTS, ids=lambda path: path.name)
def test_every_part_imports_the_standard_library_alone(path: Path) -> None:
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    strangers = {name for name in names if name.split(".")[0] not in sys.stdlib_module_names}
    assert {name for name in strangers if not name.startswith("torchdoctor.target")} == set()


def test_the_parts_are_never_imported_by_the_product() -> None:
    for path in (ROOT / "torchdoctor").rglob("*.py"):
        if "target" not in path.parts:
            names = [
                node.module for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.ImportFrom)
            ]
            code = [name for name in names if name and name.startswith("torchdoctor.target")]
            assert set(code) <= {"torchdoctor.target.smoke_list"}, path  # a list of names, which imports nothing


@pytest.mark.parametrize("python", interpreters(), ids=lambda name: Path(name).parent.parent.name)
def test_every_interpreter_at_hand_answers(python: str, tmp_path: Path) -> None:
    (tmp_path / "note").write_text("ünïcode\n", "utf-8")
    told = subprocess.run(
        [python, "-c", "import sys; print(sys.version.split()[0], sys.prefix, sep='\\n')"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    note = Want("file", (str(tmp_path / "note"),))
    missing = Want("command", ("no-such-program-here",))
    answers = ask(PYTHON, note, missing, Want("distributions"), python=python)
    assert answers[0].value["version"] == told[0].rstrip("+")
    assert answers[0].value["prefix"].replace("~", str(Path.home())) == told[1]
    assert answers[0].value["bits"] == 64
    assert answers[1].value == "ünïcode\n"
    assert answers[2].absent
    assert "pip" in {item["name"] for item in answers[3].value} or answers[0].value["pip"] is False


def test_our_own_interpreter_gets_compiled_parts_and_answers_the_same() -> None:
    assert ask(PYTHON, own=True)[0].value == ask(PYTHON)[0].value


def test_it_speaks_of_itself() -> None:
    told = value(PYTHON)
    assert told["implementation"] == sys.implementation.name
    assert told["free_threaded"] is False
    assert told["platform"] == sys.platform
    assert told["cpus"] >= 1
    assert told["uname"]["machine"]
    assert told["site_length"] == len(next(entry for entry in sys.path if "-packages" in entry))
    assert not {"home", "home_real", "user", "host", "mark"} & told.keys()


# --------------------------------------------------------------------------------------------- files and variables


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "b.txt").write_text("three\n" * 3000)
    (tmp_path / "b.log").write_bytes(b"\xff\x00")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.txt").write_text("deep\n")
    (tmp_path / "link").symlink_to("a.txt")
    root = str(tmp_path)
    assert value(Want("file", (f"{root}/a.txt",))) == "one\ntwo\n"
    assert value(Want("file", (f"{root}/a.txt",), keep=("tw", "zz"))) == "two\n"
    assert value(Want("files", (f"{root}/*.txt",))) == {
        f"{root}/a.txt": "one\ntwo\n",
        f"{root}/b.txt": ("three\n" * 3000)[:4096],
    }
    assert value(Want("files", (f"{root}/*",), keep=("two",))) == {
        f"{root}/a.txt": "one\ntwo\n",
        f"{root}/link": "one\ntwo\n",
    }
    assert value(Want("glob", (f"{root}/*/a.t*t",))) == [f"{root}/deep/a.txt"]
    assert value(Want("glob", (f"{root}/nothing/*",))) == []
    assert value(Want("links", (f"{root}/*",))) == {f"{root}/link": "a.txt"}
    assert value(Want("stat", (f"{root}/deep",)))["type"] == "folder"
    assert value(Want("stats", (f"{root}/*.txt",)))[f"{root}/a.txt"] == {
        "type": "file",
        "readable": True,
        "writable": True,
        "size": 8,
    }
    assert value(Want("space", (root,))) > 1_000_000
    for kind in ("file", "stat", "space"):
        assert ask(Want(kind, (f"{root}/none",)))[0].absent


@posix
def test_a_file_that_never_answers_costs_its_deadline_only(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "next").write_text("still answered")
    started = time.monotonic()
    stuck, after = ask(Want("file", (str(tmp_path / "fifo"),), seconds=0.5), Want("file", (str(tmp_path / "next"),)))
    assert stuck.error == "no answer in 0.5 s"
    assert after.value == "still answered"
    assert time.monotonic() - started < 5


def test_a_path_may_name_a_variable_the_prefix_or_the_whole_sys_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site" / "torch").mkdir(parents=True)
    (tmp_path / "site" / "torch" / "version.py").write_text("__version__ = '1'")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "torch.py").write_text("")
    monkeypatch.setenv("SOME_FOLDER", str(tmp_path / "site"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.chdir(tmp_path / "here")
    assert value(Want("glob", ("$SOME_FOLDER/torch/*.py",))) == [f"{tmp_path}/site/torch/version.py"]
    assert value(Want("glob", ("$NOT_SET_AT_ALL/x",))) == []
    found = value(Want("files", ("@path/torch/version.py",)))  # also that of a torch beside the tests
    assert found[f"{tmp_path}/site/torch/version.py"] == "__version__ = '1'"
    assert value(Want("glob", ("@path/torch.py",))) == [f"{tmp_path}/here/torch.py"]
    assert value(Want("glob", ("@prefix/pyvenv.cfg",))) in ([], [f"{sys.prefix}/pyvenv.cfg"])


def test_only_named_variables_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CUDA_VISIBLE_DEVICES", "CUDA_HOME_X", "MY_CUDA_HOME", "SOME_SECRET_THING"):
        monkeypatch.setenv(name, name.lower())
    told = value(Want("env", ("CUDA_*", "HOME_NOT_SET", "MY_CUDA_HOME")))
    assert {name: told[name] for name in told if name.startswith(("CUDA_VIS", "CUDA_HOME_X", "MY_"))} == {
        "CUDA_VISIBLE_DEVICES": "cuda_visible_devices", "CUDA_HOME_X": "cuda_home_x", "MY_CUDA_HOME": "my_cuda_home",
    }  # fmt: skip
    assert "SOME_SECRET_THING" not in told


def test_a_want_for_another_system_is_not_asked() -> None:
    elsewhere = Want("file", ("/etc/hostname",), only="plan9")
    assert elsewhere.key not in record(PythonChoice((sys.executable,), "in a test"), lambda: [elsewhere]).answers


def test_distributions_in_the_order_of_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, folder in enumerate(("first", "second")):
        info = tmp_path / folder / f"Some_Torch-{number}.0+cu1.dist-info"
        info.mkdir(parents=True)
        (info / "INSTALLER").write_text("uv\n")
        (info / "METADATA").write_text(
            "Name: x\nRequires-Dist: sympy>=1\nRequires-Dist: jinja2\n\nRequires-Dist: not a header\n"
        )
        (info / "WHEEL").write_text("Wheel-Version: 1.0\nTag: cp311-cp311-linux_x86_64\n")
    (tmp_path / "first" / "old-0.1-py3.11.egg-info").write_text("")
    (tmp_path / "first" / "~orch-1.0.dist-info").mkdir()
    (tmp_path / "first" / "unversioned.egg-info").write_text("")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(str(tmp_path / name) for name in ("first", "second")))
    rows = [
        row for row in value(Want("distributions", ("some-torch",))) if row.get("path", "").startswith(str(tmp_path))
    ]
    assert [(row["name"], row["version"]) for row in rows] == [
        ("Some_Torch", "0.0+cu1"),
        ("old", "0.1"),
        ("Some_Torch", "1.0+cu1"),
    ]
    assert rows[0]["requires"] == ["sympy>=1", "jinja2"]
    assert rows[0]["tags"] == ["cp311-cp311-linux_x86_64"]
    assert (rows[0]["installer"], rows[0]["direct_url"]) == ("uv", False)


# ---------------------------------------------------------------------------------------------------------- commands


@posix
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("echo out; echo err >&2; exit 3", {"rc": 3, "out": "out\n", "err": "err\n", "timed_out": False}),
        ("cat; echo done", {"rc": 0, "out": "done\n", "err": "", "timed_out": False}),
        ("sleep 0.3; echo late", {"rc": 0, "out": "late\n", "err": "", "timed_out": False}),
        ("kill -9 $$", {"rc": -9, "out": "", "err": "", "timed_out": False}),
        ("printf 'a\\377b'", {"rc": 0, "out": "a\N{REPLACEMENT CHARACTER}b", "err": "", "timed_out": False}),
        ("echo $LC_ALL", {"rc": 0, "out": "C\n", "err": "", "timed_out": False}),
        ("sleep 60 & echo leaves a child", {"rc": 0, "out": "leaves a child\n", "err": "", "timed_out": False}),
    ],
    ids=[
        "status and both streams",
        "nothing to read",
        "slow",
        "killed",
        "bytes",
        "plain language",
        "child holds the pipe",
    ],
)
def test_a_command(tool: Tool, body: str, expected: dict[str, Any]) -> None:
    path = tool("some-tool", body)
    assert value(Want("command", ("some-tool",))) == {**expected, "path": str(path)}


@posix
def test_a_command_that_never_returns_is_ended_with_all_it_started(tool: Tool, tmp_path: Path) -> None:
    tool("stuck", f"sleep 300 & echo $! > {tmp_path}/pid; trap '' TERM; echo started; wait")
    started = time.monotonic()
    answer = value(Want("command", ("stuck",), seconds=1.0))
    assert answer["timed_out"]
    assert answer["rc"] is None
    assert answer["out"] == "started\n"
    assert time.monotonic() - started < 8
    child = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        _wait_until_gone(child)


def _wait_until_gone(pid: int) -> None:
    """Raise ``ProcessLookupError`` when a process is gone; a zombie that nobody collects counts as gone."""
    for _ in range(100):
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        if status.exists() and status.read_text().rpartition(")")[2].split()[0] == "Z":
            raise ProcessLookupError
        time.sleep(0.02)


@posix
def test_commands_run_beside_each_other(tool: Tool) -> None:
    wants = [Want("command", (f"tool{number}",)) for number in range(5)]
    for number in range(5):
        tool(f"tool{number}", f"sleep 1; echo {number}")
    started = time.monotonic()
    assert [answer.value["out"] for answer in ask(*wants)] == [f"{number}\n" for number in range(5)]
    assert time.monotonic() - started < 4


@posix
def test_a_flood_is_cut_and_does_not_hold_the_others(tool: Tool) -> None:
    tool("flood", "yes 'many words' | head -c 5000000")
    tool("small", "echo small")
    flood, small = ask(Want("command", ("flood",), seconds=10.0), Want("command", ("small",)))
    assert len(flood.value["out"]) == 1024 * 1024
    assert small.value["out"] == "small\n"


@posix
def test_a_second_command_is_tried_when_the_first_fails(tool: Tool) -> None:
    tool("query", 'case "$1" in new) echo no such field; exit 2;; *) echo "$1";; esac')
    assert value(Want("command", ("query", "new", "||", "query", "old")))["out"] == "old\n"
    assert value(Want("command", ("query", "good", "||", "query", "old")))["out"] == "good\n"


@posix
def test_a_command_may_lie_outside_path(tool: Tool, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    tool("seen", "echo seen").rename(hidden)
    assert value(Want("command", (f"no-such-thing|{hidden}",)))["path"] == str(hidden)
    assert ask(Want("command", ("no-such-thing|/no/such/place",)))[0].absent


@posix
def test_a_file_that_cannot_be_run_is_an_answer(tool: Tool) -> None:
    tool("broken", "").write_bytes(b"\x00\x01")
    answer = value(Want("command", ("broken",)))
    assert answer["rc"] is None or answer["rc"] != 0
    assert not answer["timed_out"]


# --------------------------------------------------------------------------------------------------------- libraries


def test_a_library_tells_its_number_and_its_file(library: Callable[[str], Want], tmp_path: Path) -> None:
    want = library("*n = 12080; return 0;")
    (tmp_path / "libanswer.so.1").rename(tmp_path / "libanswer.so.575.57.08")
    (tmp_path / "libanswer.so.1").symlink_to("libanswer.so.575.57.08")
    answer = value(want)
    assert answer["number"] == 12080
    assert answer["path"] == f"{tmp_path}/libanswer.so.575.57.08"
    assert answer["found"] == [f"{tmp_path}/libanswer.so.1"]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return 3;", "answer returned 3"),
        ("abort(); return 0;", "the loader crashed"),
        ("sleep(60); return 0;", "no answer in 1 s"),
    ],
)
def test_a_library_that_fails_stays_in_its_child(library: Callable[[str], Want], body: str, error: str) -> None:
    started = time.monotonic()
    answer = value(library(body))
    assert answer["error"] == error
    assert answer["number"] is None
    assert time.monotonic() - started < 8


def test_a_library_the_loader_cannot_take(library: Callable[[str], Want], tmp_path: Path) -> None:
    want = library("return 0;")
    (tmp_path / "libanswer.so.1").write_bytes(b"not a library")
    answer = value(want)
    assert answer["path"] == ""
    assert "libanswer" in answer["error"]


def test_a_library_that_is_nowhere() -> None:
    assert ask(Want("library", ("libno-such-thing.so.9", "f", "/usr/lib/*-linux-gnu")))[0].absent


# ----------------------------------------------------------------------------------------------- hostile surroundings


def test_noise_is_never_taken_for_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys, threading, time\n"
        "print('{\"fake\": 1}'); print('hello from sitecustomize', end='')\n"
        "sys.stderr.write('grumble\\n')\n"
        "atexit.register(print, 'last words')\n"
        "def talk():\n    while True:\n        print('noise'); time.sleep(0.001)\n"
        "threading.Thread(target=talk, daemon=True).start()\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("PYTHONIOENCODING", "utf-16")
    recording = record(PythonChoice((sys.executable,), "in a test"), lambda: [Want("glob", (f"{tmp_path}/*.py",))])
    assert recording.answers[f"glob {tmp_path}/*.py"].value == [f"{tmp_path}/sitecustomize.py"]
    assert "grumble" in recording.answers["noise"].value["err"]
    assert set(recording.answers) == {"python", f"glob {tmp_path}/*.py", "choice", "noise", "nvml"}


@pytest.mark.parametrize(
    "name", ["torch", "json", "os", "ctypes", "select", "zlib", "marshal", "binascii", "subprocess"]
)
def test_a_namesake_in_the_current_folder_is_left_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong file was imported')")
    monkeypatch.chdir(tmp_path)
    answers = ask(
        PYTHON,
        Want("glob", (f"{tmp_path}/*.py",)),
        Want("library", ("libc.so.6", "no_such_function")),
        Want("command", ("true",)),
    )
    assert answers[0].value["path"][0] == ""
    assert answers[1].value == [f"{tmp_path}/{name}.py"]


@pytest.mark.parametrize("missing", ["HOME", "PATH", "LANG"])
def test_a_bare_environment_will_do(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(missing, raising=False)
    assert value(PYTHON)["version"].startswith("3.")


@posix
def test_nothing_is_written_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    (tmp_path / "sitecustomize.py").write_text("import helper_of_sitecustomize\n")
    (tmp_path / "helper_of_sitecustomize.py").write_text("")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    before = sorted(path.name for path in tmp_path.iterdir())
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    try:
        assert value(PYTHON)["cwd"] == "~"
    finally:
        tmp_path.chmod(0o755)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
