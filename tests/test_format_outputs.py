"""Formats from outside: nothing but the format on stdout, whole files, the files of a GitHub job, and any stream."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import DATA, Run
from format_reports import saved
from junitparser import JUnitXml
from tap.parser import Parser as TapParser
from test_hostile import ORDERS

from torchdoctor.render.formats import FORMATS
from torchdoctor.render.github import SUMMARY_BYTES
from torchdoctor.render.output import save

ERROR = "RuntimeError: CUDA error: no kernel image is available for execution on the device"
SICK = f"torch.__version__ = 2.6.0+cu124\nGPU 0: NVIDIA GeForce RTX 5090\n{ERROR} größe 中 😀\n"
HEALTHY = str(DATA / "formats" / "healthy-cpu.recording.json")
ANNOTATION = re.compile(r"::(?:error|warning|notice) [^:\n]*::.*")
STARTS = {
    "text": "fail: ",
    "json": "{\n",
    "junit": '<?xml version="1.0"',
    "github": "::error title=",
    "gitlab": "[\n",
    "tap": "TAP version 14\n",
    "nagios": "TORCHDOCTOR CRITICAL - ",
    "prometheus": "# HELP torchdoctor_info",
    "markdown": "### torchdoctor: fail\n",
    "quiet": "",
}
NAGIOS_STATUS = {"nagios": 2}


@pytest.mark.parametrize("kind", list(FORMATS))
def test_nothing_but_the_format_is_on_stdout(kind: str, torchdoctor: Run, tmp_path: Path) -> None:
    done = torchdoctor("diagnose", saved(tmp_path, SICK), "--format", kind)
    assert done.returncode == NAGIOS_STATUS.get(kind, 1)
    assert done.stdout.startswith(STARTS[kind])
    assert bool(done.stdout) is (kind != "quiet")
    assert done.stderr == ""


def test_all_formats_at_once_go_to_their_files(torchdoctor: Run, tmp_path: Path) -> None:
    kinds = [kind for kind in FORMATS if kind != "quiet"]
    wanted = [f"--format={kind}={tmp_path / kind}" for kind in kinds]
    done = torchdoctor("diagnose", saved(tmp_path, SICK), *wanted)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("fail: ")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*kinds, "log.txt"])
    for kind in kinds:
        assert (tmp_path / kind).read_text(encoding="utf-8").startswith(STARTS[kind])


def test_one_on_stdout_and_others_in_files(torchdoctor: Run, tmp_path: Path) -> None:
    done = torchdoctor("diagnose", saved(tmp_path, SICK), "--format", "tap", "--format", "json=report.json")
    assert done.stdout.startswith("TAP version 14\n")
    assert done.stderr == ""
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))["status"] == "fail"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--format", "tap", "--format", "junit"), "two formats for stdout"),
        (("--nagios", "--format", "junit"), "two formats for stdout"),
        (("--format", "tap=a", "--format", "junit=a"), "two formats for a"),
        (("--format", "json="), "--format json=: no file stands behind the sign"),
        (("--format", "text", "--format", "junit="), "for stdout: --format junit"),
        (("--format", "sarif"), "choose from: text, json, junit, github, gitlab, tap"),
        (("--format", "junit=no/such/folder/a.xml"), "cannot write no/such/folder/a.xml"),
    ],
)
def test_a_wrong_wish_is_one_line(arguments: tuple[str, ...], words: str, torchdoctor: Run, tmp_path: Path) -> None:
    done = torchdoctor("diagnose", saved(tmp_path, SICK), *arguments)
    assert done.returncode == (3 if "--nagios" in arguments else 2)
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["install-cmd", "tables"])
def test_an_answer_that_is_no_report_has_no_such_format(command: str, torchdoctor: Run) -> None:
    done = torchdoctor(command, "--format", "junit")
    assert (done.returncode, done.stdout) == (2, "")
    assert "choose from: text, json" in done.stderr


# Nagios


@pytest.mark.parametrize(
    ("arguments", "status", "state"),
    [
        (("diagnose", HEALTHY), 0, "OK"),
        (("diagnose", str(DATA / "pasted" / "collect_env_rosetta.txt")), 1, "WARNING"),
        (("diagnose", str(DATA / "pasted" / "comfyui.txt")), 2, "CRITICAL"),
        (("diagnose", "-"), 3, "UNKNOWN"),
        (("diagnose", "no-such-file"), 3, "UNKNOWN"),
        (("check", "--nonsense"), 3, "UNKNOWN"),
    ],
)
def test_nagios_statuses(arguments: tuple[str, ...], status: int, state: str, torchdoctor: Run) -> None:
    for asked in (("--nagios",), ("--format", "nagios"), ("--format=nagios",)):
        done = torchdoctor(*arguments, *asked, stdin="the quick brown fox\n")
        assert (done.returncode, len(done.stdout.splitlines())) == (status, 1)
        assert done.stdout.startswith(f"TORCHDOCTOR {state} - ")


def test_a_file_for_nagios_leaves_the_exit_status_alone(torchdoctor: Run) -> None:
    done = torchdoctor("diagnose", str(DATA / "pasted" / "comfyui.txt"), "--format=nagios=state.txt", "--format=quiet")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")


# A job of GitHub Actions


@pytest.fixture
def job(tmp_path: Path) -> dict[str, str]:
    names = ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")
    return {"GITHUB_ACTIONS": "true", **{name: str(tmp_path / name.lower()) for name in names}}


def outputs_of(job: dict[str, str]) -> list[dict[str, str]]:
    """What each run has added, and the delimiter that it took."""
    lines = Path(job["GITHUB_OUTPUT"]).read_text(encoding="utf-8").splitlines()
    found: list[dict[str, str]] = []
    while lines:
        name, _, delimiter = lines.pop(0).partition("<<")
        end = lines.index(delimiter)
        if name == "verdict":
            found.append({"delimiter": delimiter})
        found[-1][name], lines = "\n".join(lines[:end]), lines[end + 1 :]
    return found


def test_a_job_gets_annotations_behind_the_text(job: dict[str, str], torchdoctor: Run, tmp_path: Path) -> None:
    done = torchdoctor("diagnose", saved(tmp_path, SICK), env=job)
    lines = done.stdout.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("::"))
    assert lines[0].startswith("fail: ")
    assert all(ANNOTATION.fullmatch(line) for line in lines[first:])
    assert not ORDERS.search("\n".join(lines[:first]))
    assert Path(job["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8").startswith("### torchdoctor: fail\n")
    (told,) = outputs_of(job)
    assert (told["verdict"], told["exit-status"], told["report"]) == ("fail", "1", "")


@pytest.mark.parametrize("asked", ["text", "json", "quiet"])
def test_a_job_gets_only_what_it_asks_for(asked: str, job: dict[str, str], torchdoctor: Run, tmp_path: Path) -> None:
    done = torchdoctor("diagnose", saved(tmp_path, SICK), "--format", asked, env=job)
    assert "::error" not in done.stdout
    assert not Path(job["GITHUB_OUTPUT"]).exists()


def test_what_others_wrote_stays_and_no_delimiter_is_used_twice(
    job: dict[str, str], torchdoctor: Run, tmp_path: Path
) -> None:
    Path(job["GITHUB_STEP_SUMMARY"]).write_text("# Mine\n", encoding="utf-8")
    for _ in range(2):
        torchdoctor("diagnose", saved(tmp_path, SICK), "--format=github", "--format=json=report.json", env=job)
    page = Path(job["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    assert page.startswith("# Mine\n### torchdoctor: fail\n")
    assert page.count("### torchdoctor") == 2
    first, second = outputs_of(job)
    assert first["report"] == second["report"] == str(tmp_path / "report.json")
    assert first["delimiter"] != second["delimiter"]
    assert len(first["delimiter"]) > 30


def test_a_summary_that_is_nearly_full_is_not_overfilled(job: dict[str, str], torchdoctor: Run, tmp_path: Path) -> None:
    page = Path(job["GITHUB_STEP_SUMMARY"])
    page.write_bytes(b"x" * (SUMMARY_BYTES - 1000))
    torchdoctor("diagnose", saved(tmp_path, SICK), env=job)
    assert SUMMARY_BYTES - 1000 <= page.stat().st_size <= SUMMARY_BYTES


def test_a_summary_that_cannot_be_written_fails_nothing(job: dict[str, str], torchdoctor: Run, tmp_path: Path) -> None:
    done = torchdoctor("diagnose", saved(tmp_path, SICK), env={**job, "GITHUB_STEP_SUMMARY": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr.startswith("note: cannot write to the file of GITHUB_STEP_SUMMARY: ")
    assert outputs_of(job)


# Files


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    path, stop, seen = tmp_path / "host.prom", threading.Event(), set[str]()
    contents = {"a" * 300_000, "b" * 200_000}
    save("a" * 300_000, str(path))

    def read() -> Iterator[str]:
        while not stop.is_set():
            yield path.read_text(encoding="utf-8")

    reader = threading.Thread(target=lambda: seen.update(read()))
    reader.start()
    for _ in range(40):
        for content in sorted(contents):
            save(content, str(path))
    stop.set()
    reader.join()
    assert seen
    assert seen <= contents
    assert [item.name for item in tmp_path.iterdir()] == ["host.prom"]


@pytest.mark.skipif(not shutil.which("unshare"), reason="no unshare, which mounts without rights")
def test_a_file_that_is_mounted_is_written_in_place(clean_environment: dict[str, str], tmp_path: Path) -> None:
    """As /dev/termination-log is in a pod: nothing can be moved to where it is."""
    for name in ("log", "mounted"):
        (tmp_path / name).write_text("before")
    command = f"{sys.executable} -m torchdoctor diagnose {saved(tmp_path, SICK)} --format text=mounted"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", f"mount --bind log mounted && {command}"],
        capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path, env=clean_environment,
    )  # fmt: skip
    if done.stderr.startswith(("unshare", "mount")):
        pytest.skip(done.stderr)
    assert done.returncode == 1
    assert (tmp_path / "log").read_text(encoding="utf-8").startswith("fail: ")
    assert (tmp_path / "mounted").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log", "log.txt", "mounted"]


def test_what_cannot_be_encoded_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("before")
    with pytest.raises(UnicodeEncodeError):
        save("\ud800", str(path))
    assert path.read_text() == "before"
    assert [item.name for item in tmp_path.iterdir()] == ["report.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="links and modes of POSIX")
def test_a_link_stays_one_and_a_file_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    file, link = tmp_path / "there" / "host.prom", tmp_path / "link"
    file.write_text("before")
    file.chmod(0o604)
    link.symlink_to(file)
    save("after", str(link))
    assert link.is_symlink()
    assert file.read_text() == "after"
    assert file.stat().st_mode & 0o777 == 0o604
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["host.prom", "link", "there"]


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="names of streams are of Linux")
def test_the_name_of_a_stream_is_written_to(clean_environment: dict[str, str], tmp_path: Path) -> None:
    before = Path("/dev/stdout").readlink()
    with (tmp_path / "out.json").open("w") as stream:
        command = [sys.executable, "-m", "torchdoctor", "diagnose", saved(tmp_path, SICK), "--format=json=/dev/stdout"]
        done = subprocess.run(command, stdout=stream, check=False, timeout=60, cwd=tmp_path, env=clean_environment)
    assert done.returncode == 1
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["status"] == "fail"
    assert Path("/dev/stdout").readlink() == before


# Streams


@pytest.mark.parametrize(
    ("kind", "encoding"), [(kind, "cp1252") for kind in (*FORMATS, "colour")] + [("json", "ascii"), ("text", "cp437")]
)
def test_a_stream_of_another_encoding_gets_all_of_it(
    kind: str, encoding: str, clean_environment: dict[str, str], tmp_path: Path
) -> None:
    asked = ["--color=always"] if kind == "colour" else ["--format", kind]
    done = subprocess.run(
        [sys.executable, "-m", "torchdoctor", "diagnose", saved(tmp_path, SICK), "-v", *asked],
        capture_output=True, check=False, timeout=60, cwd=tmp_path,
        env={**clean_environment, "PYTHONIOENCODING": encoding},
    )  # fmt: skip
    assert done.returncode == NAGIOS_STATUS.get(kind, 1), done.stderr
    assert done.stderr == b""
    text = done.stdout.decode(encoding)
    if kind in {"json", "gitlab"}:
        assert json.loads(done.stdout.decode("utf-8")) == json.loads(text)
    if kind == "json":
        assert "größe 中 😀" in json.dumps(json.loads(text), ensure_ascii=False)
    if kind == "junit":
        assert JUnitXml.fromstring(done.stdout)
    if kind == "tap":
        assert all(line.category != "unknown" for line in TapParser().parse_text(done.stdout.decode("ascii")))


@pytest.mark.skipif(sys.platform == "win32", reason="sh")
@pytest.mark.parametrize("asked", [*(f"--format={kind}" for kind in FORMATS), "--color=always"])
def test_a_closed_pipe_is_quiet(asked: str, clean_environment: dict[str, str], tmp_path: Path) -> None:
    """No reader from the start: ``sh`` tells the exit status of the first of the two."""
    command = f"{sys.executable} -m torchdoctor diagnose {saved(tmp_path, SICK)} -v {asked}; echo $? >status"
    done = subprocess.run(
        ["sh", "-c", f"({command}) | true"], capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path,
        env=clean_environment,
    )  # fmt: skip
    assert done.stderr == ""
    assert (tmp_path / "status").read_text().strip() == ("1" if asked == "--format=quiet" else "141")


COLOURS = [
    ({}, (), False),
    ({"FORCE_COLOR": "1"}, (), True),
    ({"FORCE_COLOR": ""}, (), False),
    ({"CLICOLOR_FORCE": "1"}, (), True),
    ({"CLICOLOR_FORCE": "0"}, (), False),
    ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), False),
    ({"FORCE_COLOR": "1", "NO_COLOR": ""}, (), True),
    ({"FORCE_COLOR": "1", "TERM": "dumb"}, (), False),
    ({"NO_COLOR": "1", "TERM": "dumb"}, ("--color=always",), True),
    ({"FORCE_COLOR": "1"}, ("--color=never",), False),
    ({"FORCE_COLOR": "1"}, ("--plain",), False),
    ({"FORCE_COLOR": "1"}, ("--format=markdown",), False),
]


@pytest.mark.parametrize(("env", "arguments", "coloured"), COLOURS, ids=str)
def test_colour(
    env: dict[str, str], arguments: tuple[str, ...], coloured: bool, torchdoctor: Run, tmp_path: Path
) -> None:
    done = torchdoctor("diagnose", saved(tmp_path, SICK), *arguments, env=env)
    assert ("\x1b[1;31m" in done.stdout) is coloured
    assert ("\x1b" in done.stdout) is coloured


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_a_terminal_gets_whole_words_and_commands_in_one_piece(columns: int, clean_environment: dict[str, str]) -> None:
    status, written = on_terminal(columns, clean_environment, str(DATA / "recordings" / "windows11-rtx4060.json"))
    assert status == 1
    assert "\x1b[1;31m" in written
    lines = re.sub(r"\x1b\[[\d;]*m", "", written).splitlines()
    broken = [line for line in lines if len(line) >= columns and " " in line.strip() and "pip install" not in line]
    assert broken == []
    assert any(line.strip().endswith("--index-url https://download.pytorch.org/whl/cu130") for line in lines)
    assert " ".join(" ".join(lines).split()).count("PyPI holds one build per platform. On this one it has no") == 1


@pytest.mark.parametrize("columns", [30, 80])
@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_no_break_of_a_line_makes_an_order(columns: int, clean_environment: dict[str, str], tmp_path: Path) -> None:
    """Words of a paste that stand in the middle of a line begin one when it is folded, wherever the fold falls."""
    error = f"RuntimeError: The NVIDIA driver on your system is too old (found version 10020). {'::error::pwn ' * 30}"
    for arguments in (("--plain",), ("--color=always",), ("-v", "--plain")):
        status, written = on_terminal(columns, clean_environment, saved(tmp_path, error), *arguments)
        assert status == 1
        lines = re.sub(r"\x1b\[[\d;]*m", "", written).splitlines()
        assert [line for line in lines if re.match(r"\s*::", line)] == []
        assert any(line.lstrip().startswith("\\::error") for line in lines)
        assert any(" ::error" in line for line in lines)  # where nobody obeys it, it stays as it was


def on_terminal(columns: int, env: dict[str, str], *arguments: str) -> tuple[int, str]:
    """Run ``diagnose`` on a terminal of so many columns; returns the status and what it wrote."""
    import pty

    master, slave = pty.openpty()
    command = [sys.executable, "-m", "torchdoctor", "diagnose", *arguments]
    child = subprocess.Popen(command, stdout=slave, env={**env, "COLUMNS": str(columns), "TERM": "xterm"})
    os.close(slave)
    written = b""
    while chunk := _read(master):
        written += chunk
    os.close(master)
    return child.wait(60), written.decode()


def _read(master: int) -> bytes:
    try:
        return os.read(master, 4096)
    except OSError:  # how a terminal says that its other side is closed
        return b""


ABSENT = "no line"


@pytest.mark.parametrize(
    ("term", "columns", "expected"),
    [("xterm", 30, "matmul on cuda:0 (0 s)"), ("xterm", 12, "matmul on c"), ("dumb", 80, ABSENT)],
)
@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_the_line_of_progress_keeps_to_the_terminal(
    term: str, columns: int, expected: str, clean_environment: dict[str, str]
) -> None:
    """A line that is longer than the terminal is wide could not be written over."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    code = "from torchdoctor.commands.progress import Progress\nwith Progress() as p: p.show('matmul', 'cuda:0')"
    child = subprocess.Popen([sys.executable, "-c", code], stderr=slave, env={**clean_environment, "TERM": term})
    os.close(slave)
    written = b""
    while chunk := _read(master):
        written += chunk
    assert child.wait(60) == 0
    lines = written.decode().split("\r")
    assert max(map(len, lines)) < columns
    assert [line.rstrip() for line in lines if line.strip()] == ([] if expected == ABSENT else [expected])


@pytest.mark.parametrize(
    "arguments",
    [("explain",), ("explain", "driver-too-old"), ("tables",), ("install-cmd", "--os", "linux", "--machine", "x86_64")],
)
def test_other_answers_pass_through_any_encoding(arguments: tuple[str, ...], torchdoctor: Run) -> None:
    done = torchdoctor(*arguments, env={"PYTHONIOENCODING": "ascii"})
    assert "Traceback" not in done.stderr
    assert done.returncode in {0, 1, 3}
    assert (done.stdout + done.stderr).isascii()


def test_help_fits_a_narrow_terminal(torchdoctor: Run) -> None:
    done = torchdoctor("diagnose", "--help", env={"COLUMNS": "40"})
    assert done.returncode == 0
    assert max(len(line) for line in done.stdout.splitlines()) < 80
