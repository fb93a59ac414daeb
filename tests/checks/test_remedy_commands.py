"""The commands of remedies: written for the reader's shell and system, harmless, and those of the place."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ROOT, Run
from driver_hosts import NODES, changed, env, healthy
from one_check import only

from torchdoctor.checks import all_checks
from torchdoctor.facts import ErrorText, Exhausted, Facts, Gpu, Os, Place, Quoted, Torch
from torchdoctor.findings import MAKE_SURE, Command, Env, Finding, Remedy, Text, setting, showing, unsetting
from torchdoctor.prescribe.remedy_commands import with_written_commands, written
from torchdoctor.prescribe.writing import Writing
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables
from torchdoctor.tables.known_errors import KnownError
from torchdoctor.values import Build

ENTRIES = tuple(Tables().known_errors)
CHECK_FILES = sorted((ROOT / "torchdoctor" / "checks").rglob("*.py"))


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Lists of their own, so that a program that the product does not know as one of Unix is noticed.
POSIX_ONLY = words(
    """
    apt awk cat chmod cp df dkms dmesg dpkg env export file find free getent grep head ibstat id ip journalctl
    kill ldconfig ldd ls lscpu lsmod lspci man mkdir modinfo modprobe mokutil mount mv nproc nvidia-container-cli
    nvidia-ctk nvidia-modprobe pgrep quota rm rocm-smi rocminfo sed source ss sudo systemctl tail tee ulimit umount
    uname unset update-initramfs uptime usermod which xargs xpu-smi
    """
)
WINDOWS_ONLY = words(
    """
    cl dir dxdiag findstr hipinfo ipconfig netstat pnputil powershell reg set setx systeminfo tasklist type where
    where.exe whoami wmic Get-ChildItem Remove-Item
    """
)
# Programs that every system may have; a new one in the catalogue is put into this list or declared in the product.
EVERYWHERE = words(
    """
    accelerate clang clinfo cmake conda crictl docker ds_report ffmpeg g++ git hipcc kubectl ninja nvcc nvidia-smi
    nvidia-smi.exe pip pixi poetry python python3 ray scontrol sinfo srun sycl-ls torchdoctor uv wsl.exe
    """
)


def programs(line: str) -> set[str]:
    """The first word of every part of a pipeline, outside of quotes."""
    parts = re.sub(r"'[^']*'|\"[^\"]*\"", "''", line).split("|")
    return {word for part in parts for word in part.strip().removeprefix("sudo ").split(" ")[:1]}


def is_foreign(line: str, system: str) -> bool:
    """Whether a line holds what another system alone understands."""
    if line.startswith("docker run "):
        return False  # what stands behind it runs in Linux
    if system == "windows":
        assigns = re.match(r"[A-Z_]+=\S* \S", line)
        refers = re.search(r"\$\{?[A-Z]|\s/(?:dev|proc|sys|etc|usr)/|2>/dev/null|^sudo ", line)
        return bool(programs(line) & POSIX_ONLY or refers or assigns)
    return bool(programs(line) & WINDOWS_ONLY or re.search(r"\$env:|%\w+%|\.dll\b", line))


PIPED = ("rocminfo | grep gfx", "nvidia-smi -q | grep -i ecc", "dmesg | grep -iE 'nvrm|xid'")
WRITTEN: list[tuple[tuple[Command, ...], str, str, tuple[str, ...]]] = [
    ((setting(A="1", B="x y"),), "linux", "", ("export A=1 B='x y'",)),
    ((setting(A="1", B="x y"),), "windows", "", ("$env:A='1'", "$env:B='x y'")),
    ((setting(A="1", B="it's"),), "windows", "powershell", ("$env:A='1'", "$env:B='it''s'")),
    ((setting(A="1", B="2"),), "windows", "cmd", ("set A=1", "set B=2")),
    ((setting(A="1"),), "windows", "posix", ("export A=1",)),
    ((setting(A="1"),), "linux", "powershell", ("$env:A='1'",)),
    ((setting(A="1"),), "", "", ("export A=1",)),
    ((unsetting("A", "B"),), "macos", "", ("unset A B",)),
    ((unsetting("A", "B"),), "windows", "", ("Remove-Item Env:A", "Remove-Item Env:B")),
    ((unsetting("A"),), "windows", "cmd", ("set A=",)),
    ((showing("A"),), "linux", "", ('echo "$A"',)),
    ((showing("A"),), "windows", "", ("echo $env:A",)),
    ((showing("A"),), "", "cmd", ("echo %A%",)),
    ((showing("NCCL_*"),), "linux", "", ("env | grep -i NCCL_",)),
    ((showing("NCCL_*"),), "windows", "", ("Get-ChildItem Env:NCCL_*",)),
    ((showing("*PROXY"),), "windows", "cmd", ("set | findstr /i PROXY",)),
    ((setting(CUDA_HOME="${CONDA_PREFIX}"),), "linux", "", ('export CUDA_HOME="${CONDA_PREFIX}"',)),
    ((setting(CUDA_HOME="${P}\\L"),), "windows", "", ('$env:CUDA_HOME="$env:P\\L"',)),
    ((setting(CUDA_HOME="${P}\\L"),), "windows", "cmd", ("set CUDA_HOME=%P%\\L",)),
    ((unsetting("LD_LIBRARY_PATH"),), "windows", "", ()),  # no variable of its loader
    ((setting(LD_LIBRARY_PATH="/x"),), "linux", "", ("export LD_LIBRARY_PATH=/x",)),
    (("free -m", "nvidia-smi"), "windows", "", ("systeminfo", "nvidia-smi")),
    (("free -m", "free -h"), "macos", "", ("vm_stat",)),
    (("free -m",), "linux", "", ("free -m",)),
    (("df -h ~", "df -i"), "windows", "", ("powershell -Command Get-PSDrive -PSProvider FileSystem",)),
    (("df -h /dev/shm", "ls -l /dev/nvidia0", "cat /proc/cmdline"), "windows", "", ()),
    (("df -h /dev/shm", "ls -ld /tmp ~/.triton"), "macos", "", ("ls -ld /tmp ~/.triton",)),
    (("which gcc g++",), "windows", "", ("where.exe gcc", "where.exe g++")),
    (("where.exe cl", "where.exe nvcc", "where.exe msvcp140.dll", "reg query X"), "linux", "", ("which nvcc",)),
    (("where.exe msvcp140.dll",), "windows", "cmd", ("where.exe msvcp140.dll",)),
    (("sudo nvidia-smi --gpu-reset", "sudo dmesg"), "windows", "", ("nvidia-smi --gpu-reset",)),
    (("sudo nvidia-smi --gpu-reset", "sudo dmesg"), "linux", "", ("sudo nvidia-smi --gpu-reset", "sudo dmesg")),
    (PIPED, "windows", "", ("hipinfo",)),
    (PIPED, "linux", "", PIPED),
    (("lspci -nn",), "windows", "", ("pnputil /enum-devices /class Display",)),
    (("lspci -nn",), "macos", "", ("system_profiler SPDisplaysDataType",)),
    (("wsl.exe --update",), "linux", "", ("wsl.exe --update",)),  # WSL has it as well
    (("free -m", "where.exe x.dll", "sw_vers"), "", "", ("free -m", "where.exe x.dll", "sw_vers")),  # nobody knows
]


@pytest.mark.parametrize(("commands", "system", "shell", "lines"), WRITTEN)
def test_a_command_is_written_for_its_reader(
    commands: tuple[Command, ...], system: str, shell: str, lines: tuple[str, ...]
) -> None:
    assert written(commands, system, shell) == lines


def test_a_remedy_that_says_nothing_without_its_commands_goes_with_them() -> None:
    remedies = (Remedy(MAKE_SURE, ("ldconfig -p",)), Remedy(Text("See what fills it"), ("ls -lS /dev/shm",)))
    finding = Finding(summary=Text("x"), why=Text("y"), remedies=remedies)
    (on_windows,) = with_written_commands([finding], Facts(os=Os(name="windows")), Writing())
    assert on_windows.remedies == (Remedy(Text("See what fills it")),)
    assert with_written_commands([finding], Facts(os=Os(name="linux")), Writing()) == (finding,)


def commands_of(entry: KnownError) -> tuple[Command, ...]:
    rows = (row.get("commands", ()) for row in entry.when)
    return (*entry.commands, *(command for commands in rows for command in commands))


@pytest.mark.parametrize("system", ["windows", "linux"])
def test_no_command_of_the_catalogue_is_for_another_system(system: str) -> None:
    lines = {(entry.id, line) for entry in ENTRIES for line in written(commands_of(entry), system)}
    assert len(lines) > 100
    assert [pair for pair in lines if is_foreign(pair[1], system)] == []


def test_every_program_of_the_catalogue_is_of_a_known_system() -> None:
    lines = {command for entry in ENTRIES for command in commands_of(entry) if isinstance(command, str)}
    assert {name for line in lines for name in programs(line)} - POSIX_ONLY - WINDOWS_ONLY - EVERYWHERE == {"sw_vers"}


def test_the_catalogue_writes_variables_as_data() -> None:
    lines = [command for entry in ENTRIES for command in commands_of(entry) if isinstance(command, str)]
    assert [line for line in lines if re.match(r"(?:echo \"?[$%]|env\b|set |export |unset |[A-Z_]+=)", line)] == []


def literals(tree: ast.AST) -> Iterator[str]:
    """Every text of a module, with X for what is filled in; a docstring is none that begins as a command does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def command_literals() -> list[tuple[str, str]]:
    """The texts of the checks that begin with a program: those of a sentence begin with a capital letter."""
    known = POSIX_ONLY | WINDOWS_ONLY | EVERYWHERE
    return [
        (path.stem, text)
        for path in CHECK_FILES
        for text in literals(ast.parse(path.read_text(encoding="utf-8")))
        if " " in text and programs(text) & known and not text.endswith((".", " "))
    ]


@pytest.mark.parametrize("system", ["windows", "linux"])
def test_no_command_of_a_check_is_for_another_system(system: str) -> None:
    found = command_literals()
    assert len(found) > 60
    lines = [(stem, line) for stem, text in found for line in written((text,), system)]
    assert [pair for pair in lines if is_foreign(pair[1], system)] == []


def test_checks_write_variables_as_data() -> None:
    texts = [text for _, text in command_literals()]
    assert [text for text in texts if re.match(r"(?:export|unset|set) [A-Z_X]|[A-Z_]{3,}=\S* [a-z]", text)] == []


def remedies_in(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Remedy":
            yield node


def test_what_removes_files_is_not_called_safe() -> None:
    calls = [call for path in CHECK_FILES for call in remedies_in(ast.parse(path.read_text(encoding="utf-8")))]
    removing = [call for call in calls if any(re.match(r"(?:sudo )?rm ", text) for text in literals(call))]
    assert len(removing) >= 2
    risks = [{word.arg: ast.unparse(word.value) for word in call.keywords}.get("risk") for call in removing]
    assert set(risks) == {"'changes-system'"}
    lines = [line for entry in ENTRIES for line in commands_of(entry) if isinstance(line, str)]
    assert [line for line in lines if programs(line) & {"rm", "mv", "del", "rmdir"}] == []  # they only look


@pytest.mark.parametrize("id", ["rocm-permission", "p2p-broken"])
def test_some_findings_need_an_administrator(id: str, tables: Tables) -> None:  # noqa: A002 - an id is an id
    assert [item.by_admin for item in all_checks() if item.id == id] == [True]
    entry = next(entry for entry in ENTRIES if entry.finding == id)
    facts = Facts(quoted=Quoted((ErrorText(entry.id, entry.examples[0], "x:1"),)))
    findings, _ = run_checks(facts, tables)
    assert [finding.fixable_by for finding in findings if finding.id == id] == ["admin"]


NVIDIA, AMD = (Gpu(vendor="nvidia"),), (Gpu(vendor="amd"),)
CUDA, ROCM = Torch(build=Build.parse("cu128")), Torch(build=Build.parse("rocm6.4"))
PIECES = Exhausted(total=16 << 30, tried=1 << 30, allocated=8 << 30, reserved=14 << 30, free=1 << 30, others=0)
GROW = "expandable_segments:True"


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        (Facts(torch=CUDA), setting(PYTORCH_CUDA_ALLOC_CONF=GROW)),
        (Facts(torch=ROCM), setting(PYTORCH_HIP_ALLOC_CONF=GROW)),
        (Facts(gpus=AMD), setting(PYTORCH_HIP_ALLOC_CONF=GROW)),
        (Facts(gpus=NVIDIA + AMD), setting(PYTORCH_CUDA_ALLOC_CONF=GROW)),
        (Facts(), setting(PYTORCH_CUDA_ALLOC_CONF=GROW)),
        (Facts(torch=CUDA, os=Os(name="windows")), None),
        (Facts(torch=CUDA, os=Os(name="linux"), place=Place(wsl=2)), None),
    ],
)
def test_the_variable_of_the_allocator_is_that_of_the_build(facts: Facts, expected: Env | None, tables: Tables) -> None:
    error = ErrorText("hip-oom" if facts.torch is ROCM else "cuda-oom", "out of memory", "x:1")
    facts = changed(facts, quoted=Quoted((error,)), exhausted=PIECES)
    findings, _ = run_checks(facts, tables)
    remedy = next(finding for finding in findings if finding.id == "out-of-memory").remedies[0]
    assert remedy.commands == ((expected,) if expected else ())


OPTION = re.compile(r"--(?:gpus|shm-size|ipc|cap-add|ulimit|device|group-add|runtime)\b|(?:docker|podman) run")
ENGINE = re.compile(rf"{OPTION.pattern}|docker|podman|Compose", re.IGNORECASE)
# Texts that an engine itself prints, or that no pod can show.
OF_AN_ENGINE = {"cdi-devices-unresolvable", "container-hook-in-cdi-mode", "wsl-no-adapters"}
NOT_A_POD = ("place.container_asks_gpu", "place.job_asks_gpu", "value.cli")  # those are of Docker or of a job


def test_whoever_speaks_of_an_engine_has_words_for_a_pod() -> None:
    fixes = [(entry.id, "", entry.fix, entry.pod) for entry in ENTRIES]
    fixes += [(entry.id, row["if"], row.get("fix", ""), row.get("pod", "")) for entry in ENTRIES for row in entry.when]
    speaking = [fix for fix in fixes if OPTION.search(fix[2]) and not fix[1].startswith(NOT_A_POD)]
    assert len(speaking) > 20
    assert {name for name, _, _, pod in speaking if not pod} == OF_AN_ENGINE
    assert [pod for _, _, _, pod in fixes if ENGINE.search(pod)] == []


POD = {"place__container": "kubernetes"}
NO_UVM = tuple(node for node in NODES if "uvm" not in node)
IN_POD: list[tuple[str, dict[str, Any], str]] = [
    ("gpu-hidden", {"env": env(NVIDIA_VISIBLE_DEVICES="none"), "driver__device_nodes": ()}, "resources.limits"),
    ("libcuda-not-found", {"driver__libcuda": None, "env": env(NVIDIA_DRIVER_CAPABILITIES="utility")}, "specification"),
    ("uvm-not-loaded", {"driver__uvm_loaded": False, "driver__device_nodes": NO_UVM}, "resources.limits"),
    ("shm-too-small", {"memory__shm": 64 << 20}, "emptyDir"),
    ("build-step-no-gpu", {"place__image_build": True, "driver__device_nodes": (), "gpus": ()}, "started container"),
]


@pytest.mark.parametrize(("id", "changes", "says"), IN_POD)
def test_a_pod_gets_no_options_of_an_engine(
    id: str,  # noqa: A002 - an id is an id
    changes: dict[str, Any],
    says: str,
    tables: Tables,
) -> None:
    facts = changed(healthy(), torch__cuda_available=False, **changes)
    in_pod = only(id, changed(facts, **POD), tables)
    told = [f"{remedy.text} {' '.join(written(remedy.commands))}" for remedy in in_pod.remedies]
    assert any(says in words for words in told), told
    assert [words for words in told if ENGINE.search(words)] == []
    in_docker = only(id, changed(facts, place__container="docker"), tables)
    assert any("docker run" in str(command) for remedy in in_docker.remedies for command in remedy.commands)


BUS = "RuntimeError: DataLoader worker (pid 12) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit.\n"  # noqa: E501 - torch's own line


@pytest.mark.parametrize(
    ("place", "is_pod"), [("KUBERNETES_SERVICE_HOST=10.96.0.1\n", True), ("$ docker run x\n", False)]
)
def test_a_quoted_error_of_a_pod_is_mended_in_its_specification(torchdoctor: Run, place: str, is_pod: bool) -> None:
    answer = json.loads(torchdoctor("diagnose", "-", "--format", "json", stdin=place + BUS).stdout)
    finding = next(finding for finding in answer["findings"] if finding["id"] == "shm-too-small")
    texts = " ".join(remedy["text"] for remedy in finding["remedies"])
    assert ("emptyDir volume with medium: Memory" in texts, "--shm-size" in texts) == (is_pod, not is_pod)


HIDDEN = "Microsoft Windows [Version 10.0.22631.3007]\nRuntimeError: No CUDA GPUs are available\n"


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ((), "echo $env:CUDA_VISIBLE_DEVICES"),
        (("--shell", "cmd"), "echo %CUDA_VISIBLE_DEVICES%"),
        (("--shell", "posix"), 'echo "$CUDA_VISIBLE_DEVICES"'),
    ],
)
def test_a_report_is_written_for_the_shell_asked_for(torchdoctor: Run, options: tuple[str, ...], line: str) -> None:
    said = torchdoctor("diagnose", "-", *options, stdin=HIDDEN).stdout
    assert f"    {line}\n" in said
    assert "    nvidia-smi -L\n" in said
