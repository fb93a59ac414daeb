"""Asking a live host: what comes back, what is taken out, and the one line when nothing comes back."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import DATA, ROOT

from torchdoctor.facts import Unknown
from torchdoctor.live import record
from torchdoctor.readers import live_nvidia
from torchdoctor.readers.assemble import assemble
from torchdoctor.readers.live import ALL_WANTS
from torchdoctor.recording import Answer, Recording, Want
from torchdoctor.starting import LiveError
from torchdoctor.tables import Tables
from torchdoctor.which_python import PythonChoice, choose, command_of, is_local, with_input

pytestmark = pytest.mark.skipif(os.name != "posix", reason="makes shell scripts")
PYTHON = Want("python")
Script = Callable[[str], str]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Make a program out of a shell script and return its path."""

    def make(body: str) -> str:
        path = tmp_path / "a-python"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return make


def asked(*argv: str) -> PythonChoice:
    return PythonChoice(argv, "named with --python", asked=True)


def trouble(python: PythonChoice, *, timeout: float | None = None) -> str:
    with pytest.raises(LiveError) as caught:
        record(python, lambda: ALL_WANTS, timeout=timeout)
    text = str(caught.value)
    assert "\n" not in text
    return text


# ------------------------------------------------------------------------------------------------------ good answers


def test_this_host_answers_every_want_and_saves_whole() -> None:
    recording = record(asked(sys.executable), lambda: ALL_WANTS)
    wanted = {want.key for want in ALL_WANTS if sys.platform.startswith(want.only)}
    assert wanted <= recording.answers.keys()
    assert {key: answer.error for key, answer in recording.answers.items() if answer.error} == {}
    assert Recording.from_json(recording.to_json()) == recording


def test_the_choice_is_part_of_the_recording() -> None:
    choice = PythonChoice((sys.executable,), "VIRTUAL_ENV is set", other="/opt/other/bin/python")
    about = record(choice, list).answers["choice"].value
    assert about["why"] == "VIRTUAL_ENV is set"
    assert about["other"] == "/opt/other/bin/python"


def test_a_start_command_may_have_several_words_and_pass_through_a_shell(script: Script) -> None:
    """As ssh does: the words are joined and a shell takes them apart again."""
    ssh = script('shift; cd /; exec sh -c "$*"')
    recording = record(asked(ssh, "node7", sys.executable), lambda: ALL_WANTS)
    assert recording.answers["python"].value["cwd"] == "/"
    assert "nvml" not in recording.answers  # this host's driver says nothing about another


def test_a_wrapper_of_one_word_will_do(script: Script) -> None:
    recording = record(asked(script(f'exec {sys.executable} "$@"')), list)
    assert recording.answers["python"].value["prefix"]


def test_a_talkative_wrapper_is_noise(script: Script) -> None:
    recording = record(asked(script(f'echo "Welcome to node7"; {sys.executable} "$@"; echo bye')), list)
    assert recording.answers["noise"].value["out"].split("\n")[0] == "Welcome to node7"


# ------------------------------------------------------------------------------------------------------- no answers


def test_a_program_that_is_not_there() -> None:
    assert trouble(asked("/no/such/python")) == (
        "--python /no/such/python: no such program (give the path of a Python, or a command that starts one)"
    )
    assert "cannot examine /no/such/python (VIRTUAL_ENV is set)" in trouble(
        PythonChoice(("/no/such/python",), "VIRTUAL_ENV is set")
    )


def test_a_file_that_may_not_be_started(tmp_path: Path) -> None:
    (tmp_path / "python").write_text("")
    assert "it may not be started" in trouble(asked(str(tmp_path / "python")))


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("exit 0", "it ended with status 0 and said nothing"),
        ("echo oops >&2; exit 7", "it ended with status 7 and said: oops"),
        ("echo unknown option -B; exit 2", "it ended with status 2 and said: unknown option -B"),
        (
            "echo '  File \"<stdin>\", line 30'; echo 'SyntaxError: invalid syntax' >&2; exit 1",
            "it is older than Python 3.6, or no Python",
        ),
        ("cat; exit 0", "it ended with status 0 and said: run("),
        ("kill -11 $$", "it ended with status -11 and said nothing"),
    ],
    ids=["silent", "status", "usage", "too old", "an echo of the program", "signal"],
)
def test_what_is_no_python(script: Script, body: str, seen: str) -> None:
    assert seen in trouble(asked(script(body)))


def test_answers_that_are_folded_on_the_way_are_one_line(script: Script) -> None:
    wrapper = script(f'"{sys.executable}" "$@" | fold -w 80')
    assert f"--python {wrapper}: what it answers comes back damaged" in trouble(asked(wrapper))


def test_a_real_program_that_is_no_python() -> None:
    assert "ended with status" in trouble(asked(shutil.which("ls") or "/bin/ls"))


def test_a_command_that_hangs_is_ended_with_what_it_started(script: Script, tmp_path: Path) -> None:
    body = f"sleep 300 & echo $! > {tmp_path}/pid; wait"
    started = time.monotonic()
    want = Want("env", ("X",), seconds=0.1)
    with pytest.raises(LiveError, match=r"it did not answer in 0.5 s \(give it longer with --timeout 2\)"):
        record(asked(script(body)), lambda: [want], timeout=0.5)
    assert time.monotonic() - started < 15
    status = Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}/stat")
    for _ in range(100):
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z":
            break
        time.sleep(0.02)
    else:
        pytest.fail("the sleeping child lives on")


def test_answers_given_before_the_end_are_kept(script: Script, tmp_path: Path) -> None:
    """The interpreter dies in the middle: what it had said is used, the rest is an error, not an absence."""
    os.mkfifo(tmp_path / "fifo")
    stuck, after = Want("file", (str(tmp_path / "fifo"),), seconds=60.0), Want("env", ("NOT_ASKED_YET",))
    body = f'cat > {tmp_path}/program; {sys.executable} "$@" < {tmp_path}/program & sleep 2; kill -9 $!; wait'
    recording = record(asked(script(body)), lambda: [stuck, after])
    assert recording.answers["python"].value["version"]
    assert recording.answers[stuck.key].error.startswith("no answer")
    assert recording.answers[after.key].error.startswith("no answer")
    assert not recording.answers[after.key].absent


# ----------------------------------------------------------------------------------------------------------- Ctrl-C


@pytest.fixture
def endless_smi(script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An nvidia-smi on the path that writes its process number and never returns."""
    tool = Path(script(f"echo $$ > {tmp_path}/smi.pid; exec sleep 300"))
    tool.rename(tool.with_name("nvidia-smi"))
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    return tmp_path / "smi.pid"


def is_gone(pid: str) -> bool:
    status = Path(f"/proc/{pid}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def interrupt_when(is_there: Callable[[], bool], pid: int) -> threading.Thread:
    """Send SIGINT a moment after something is there."""

    def wait() -> None:
        for _ in range(1000):
            if is_there():
                break
            time.sleep(0.02)
        time.sleep(0.7)  # and what else is asked has been answered
        os.kill(pid, signal.SIGINT)

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_ctrl_c_during_the_questions_keeps_the_answers(endless_smi: Path) -> None:
    def proof(*_: object) -> Answer:
        raise AssertionError("torch was run after Ctrl-C")

    thread = interrupt_when(endless_smi.exists, os.getpid())
    recording = record(asked(sys.executable), lambda: ALL_WANTS, timeout=60, proof=proof)
    thread.join()
    assert recording.answers["python"].value["version"]
    assert isinstance(recording.answers["distributions"].value, list)
    assert recording.answers["command nvidia-smi"].error == "interrupted"
    assert recording.answers["trial"].value["runs"][0]["ended"]["reason"] == "interrupted"
    time.sleep(0.2)
    assert is_gone(endless_smi.read_text().strip())


def test_ctrl_c_while_torch_is_run_keeps_the_answers() -> None:
    def proof(*_: object) -> Answer:
        raise KeyboardInterrupt

    recording = record(asked(sys.executable), lambda: ALL_WANTS, proof=proof)
    assert recording.answers["trial"].value["runs"][0]["ended"]["reason"] == "interrupted"
    assert [key for key, answer in recording.answers.items() if answer.error == "interrupted"] == []


def test_ctrl_c_before_the_first_answer_leaves_nothing_to_report(script: Script, tmp_path: Path) -> None:
    thread = interrupt_when((tmp_path / "begun").exists, os.getpid())
    with pytest.raises(KeyboardInterrupt):
        record(asked(script(f"touch {tmp_path}/begun; exec sleep 300")), lambda: ALL_WANTS, timeout=60)
    thread.join()


@pytest.mark.parametrize("static", [True, False], ids=["static", "whole"])
def test_ctrl_c_prints_the_report_so_far(endless_smi: Path, static: bool) -> None:
    arguments = ["check", "--timeout", "60", "--python", sys.executable, *(["--static"] if static else [])]
    child = subprocess.Popen(
        [sys.executable, "-m", "torchdoctor", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=endless_smi.parent,
    )  # fmt: skip
    interrupt_when(endless_smi.exists, child.pid).join()
    out, err = child.communicate(timeout=30)
    assert child.returncode == 130
    assert f"examined: {sys.executable}" in out
    assert err.strip() == "interrupted: the report holds what was known until then"


# ------------------------------------------------------------------------------------------- an nvidia-smi on the path

_QUERY = """case "$1" in
--query-gpu=*compute_cap*) {new};;
--query-gpu=*) {old};;
*) {plain};;
esac"""
_HEADER = "index, name, driver_version, memory.total [MiB], pci.bus_id, pci.device_id"
_ROW = "0, NVIDIA GeForce RTX 3060, 535.183.01, 12288 MiB, 00000000:01:00.0, 0x250310DE"
_NEW = f"echo '{_HEADER}, mig.mode.current, compute_cap'; echo '{_ROW}, [N/A], 8.6'"
_OLD = f"echo '{_HEADER}'; echo '{_ROW}'"
_REFUSED = "echo 'Field \"compute_cap\" is not a valid field to query.'; exit 2"
_NO_DRIVER = "cat '{data}/nvidia_smi/fail_rc09_no_driver.txt'; exit 9"


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (_NEW, _OLD, ("ok", "535.183.01", ["8.6"])),
        (_REFUSED, _OLD, ("ok", "535.183.01", ["?"])),
        (f"sleep 1; {_NEW}", _OLD, ("ok", "535.183.01", ["8.6"])),
        (_NO_DRIVER, _NO_DRIVER, ("no-driver", "None", [])),
        ("sleep 300", "sleep 300", ("timed-out", "?", [])),
    ],
    ids=["today's", "before compute_cap", "slow", "no driver", "never returns"],
)
def test_an_nvidia_smi_on_the_path(
    script: Script,
    monkeypatch: pytest.MonkeyPatch,
    tables: Tables,
    new: str,
    old: str,
    expected: tuple[str, str, list[str]],
) -> None:
    body = _QUERY.format(new=new, old=old, plain=new).replace("{data}", str(DATA))
    tool = Path(script(body))
    tool.rename(tool.with_name("nvidia-smi"))
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    started = time.monotonic()
    answers = dict(record(asked(sys.executable), lambda: live_nvidia.WANTS, timeout=3).answers)
    assert time.monotonic() - started < 15
    for key in ("nvml", live_nvidia.PROC.key, live_nvidia.SYS.key):  # of the machine the test runs on
        answers.pop(key, None)
    facts = assemble(live_nvidia.read(Recording(answers), tables))
    gpus = facts.gpus if isinstance(facts.gpus, tuple) else ()
    seen = [facts.driver.smi, facts.driver.version, *(gpu.compute_capability for gpu in gpus)]
    smi, version, *archs = ["?" if isinstance(item, Unknown) else str(item) for item in seen]
    assert (smi, version, archs) == expected


# --------------------------------------------------------------------------------------------------------- redaction


def test_nobody_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "zaphodbeeblebrox"
    (home / "site").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USER", "zaphodbeeblebrox")
    monkeypatch.setenv("PYTHONPATH", f"{home}/site:/scratch/zaphodbeeblebrox/lib")
    monkeypatch.setenv("PIP_INDEX_URL", "https://zaphod:heart0fgold@packages.example/simple")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6")
    text = record(asked(sys.executable), lambda: ALL_WANTS).to_json()
    assert "zaphod" not in text
    assert "heart0fgold" not in text
    assert "8932f937" not in text
    assert "~/site:/scratch/<user>/lib" in text
    assert "https://<secret>@packages.example/simple" in text
    assert "GPU-<1>" in text


def test_only_what_is_on_the_list_is_asked_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very-secret")
    monkeypatch.setenv("SLURM_JOB_ACCOUNT", "some-project")
    text = record(asked(sys.executable), lambda: ALL_WANTS).to_json()
    assert "AWS_SECRET" not in text
    assert "some-project" not in text


def test_the_host_is_not_named_by_its_kernel() -> None:
    text = record(asked(sys.executable), lambda: ALL_WANTS).to_json()
    node = os.uname().nodename
    if len(node) > 5 and re.search(r"\d", node):
        assert node not in text
    assert "nodename" not in text


# ------------------------------------------------------------------------------------------------------ start commands


@pytest.mark.parametrize(
    ("given", "started", "local"),
    [
        ("python3", "python3", True),
        ("docker exec web python", "docker exec -i web python", False),
        ("docker exec -it web python", "docker exec -i web python", False),
        ("podman run --rm image python3", "podman run -i --rm image python3", False),
        ("docker compose exec web python", "docker compose exec -T web python", False),
        ("kubectl exec pod -- python", "kubectl exec -i pod -- python", False),
        ("docker exec --interactive web python", "docker exec --interactive web python", False),
        ("conda run -n ml python", "conda run --no-capture-output -n ml python", True),
        ("conda run --live-stream -n ml python", "conda run --live-stream -n ml python", True),
        ("uv run python", "uv run python", True),
        ("ssh node7 python3", "ssh node7 python3", False),
        ("chroot DIR python3", "chroot DIR python3", False),
    ],
)
def test_start_commands_let_standard_input_through(given: str, started: str, *, local: bool) -> None:
    assert with_input(command_of(given)) == started.split()
    assert is_local(command_of(given)) is local


def test_choose_and_record_speak_of_the_same(tmp_path: Path) -> None:
    from torchdoctor.which_python import Own

    choice = choose(f"env SOME_NAME=1 {sys.executable}", {}, Own(sys.executable, sys.prefix, folder=str(tmp_path)))
    told = record(choice, lambda: [Want("env", ("SOME_NAME",))])
    assert told.answers["env SOME_NAME"].value == {"SOME_NAME": "1"}
