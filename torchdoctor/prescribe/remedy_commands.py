"""A remedy's commands as the shell that will read them takes them, and only those that its system has.

Variables are set in the shell's own way. A line stays out where one of its programs does not exist on the system,
unless another program of that system is declared for it; where the system is unknown, every line stays.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from torchdoctor.facts import Facts, value_or
from torchdoctor.findings import MAKE_SURE, Command, Env, Finding, Remedy
from torchdoctor.records import replace

if TYPE_CHECKING:
    from torchdoctor.prescribe.writing import Writing

_LINUX = frozenset({"linux"})
_UNIX = frozenset({"linux", "macos"})
_PROGRAMS: Mapping[frozenset[str], str] = {
    _LINUX: "apt dkms dmesg dpkg free getent grub-mkconfig ibstat ip journalctl ldconfig ldd lscpu lsmod lspci modinfo "
    "modprobe mokutil nproc nvidia-container-cli nvidia-ctk nvidia-modprobe pgrep quota rocm-smi rocminfo ss systemctl "
    "update-initramfs usermod xpu-smi",
    _UNIX: "cat df env file find grep head id ls mount rm sudo tail tee ulimit uname uptime which",
    frozenset({"macos"}): "lsof sw_vers sysctl system_profiler vm_stat",
    frozenset({"windows"}): "cl hipinfo ipconfig netstat pnputil reg systeminfo tasklist where.exe whoami",
}
_SYSTEMS = {program: systems for systems, programs in _PROGRAMS.items() for program in programs.split()}
_VARIABLES = {"LD_LIBRARY_PATH": _LINUX}  # those of one system alone
# What asks the same elsewhere, by the words a line begins with; it takes the place of the whole line.
_INSTEAD: Mapping[str, Mapping[str, str]] = {
    "windows": {
        "df -h": "powershell -Command Get-PSDrive -PSProvider FileSystem",
        "free": "systeminfo",
        "id": "whoami /groups",
        "ip": "ipconfig /all",
        "lspci": "pnputil /enum-devices /class Display",
        "rocminfo": "hipinfo",
        "ss": "netstat -ano",
    },
    "macos": {
        "free": "vm_stat",
        "ip": "ifconfig",
        "lspci": "system_profiler SPDisplaysDataType",
        "nproc": "sysctl -n hw.ncpu",
        "ss": "lsof -nP -iTCP -sTCP:LISTEN",
    },
}
_FIND: Mapping[str, str] = {"windows": "where.exe", "linux": "which", "macos": "which"}  # a program or library by name
_ADMIN = "sudo "
_KERNEL_FILES = re.compile(r"\s/(?:dev|proc|sys)/(?!null)")
_OTHER_VARIABLE = re.compile(r"\$\{(\w+)\}")
_WAYS: Mapping[str, Mapping[str, str]] = {
    "cmd": {
        "set": "set {name}={value}",
        "unset": "set {name}=",
        "show": "echo %{name}%",
        "many": "set | findstr /i {stem}",
    },
    "powershell": {
        "set": "$env:{name}={value}",
        "unset": "Remove-Item Env:{name}",
        "show": "echo $env:{name}",
        "many": "Get-ChildItem Env:{name}",
    },
    "posix": {"show": 'echo "${name}"', "many": "env | grep -i {stem}"},
}


def with_written_commands(findings: Sequence[Finding], facts: Facts, writing: Writing) -> tuple[Finding, ...]:
    """The findings with the commands of their remedies as lines for a shell, else for the one of the host's system."""
    return tuple(replace(one, remedies=tuple(_remedies(one.remedies, facts, writing))) for one in findings)


def _remedies(remedies: Sequence[Remedy], facts: Facts, writing: Writing) -> Iterator[Remedy]:
    for remedy in remedies:
        commands = written(remedy.commands, value_or(facts.os.name, ""), writing.shell)
        commands = tuple(line for command in commands for line in _of_interpreter(command, facts, writing))
        if commands or remedy.text != MAKE_SURE:
            yield replace(remedy, commands=commands)


def _of_interpreter(command: str, facts: Facts, writing: Writing) -> Iterable[str]:
    """The line for the interpreter that was examined: a bare ``python`` would be whichever is active."""
    if not command.startswith("python -"):
        return (command,)
    from torchdoctor.prescribe.remedy_pip import lines_of  # of use to few findings

    return lines_of(command, facts, writing)


def written(commands: Sequence[Command], system: str = "", shell: str = "") -> tuple[str, ...]:
    """The commands as lines. An unknown system is told by its shell, and an unnamed shell is that of the system."""
    system = system or ("windows" if shell == "cmd" else "")
    shell = shell or ("powershell" if system == "windows" else "posix")
    lines: list[str] = []
    for command in commands:
        lines += _variables(command, system, shell) if isinstance(command, Env) else _line(command, system)
    return tuple(dict.fromkeys(lines))


def _variables(env: Env, system: str, shell: str) -> Iterator[str]:
    variables = [item for item in env.variables if not system or system in _VARIABLES.get(item[0], {system})]
    if shell == "posix" and env.verb != "show" and variables:
        words = [f"{name}={_value(value, shell)}" if env.verb == "set" else name for name, value in variables]
        yield f"{'export' if env.verb == 'set' else 'unset'} {' '.join(words)}"
        return
    for name, value in variables:
        way = "many" if "*" in name else env.verb
        yield _WAYS[shell][way].format(name=name, stem=name.strip("*"), value=_value(value, shell))


def _value(value: str, shell: str) -> str:
    refers = _OTHER_VARIABLE.search(value)
    if shell == "posix":
        return f'"{value}"' if refers else shlex.quote(value)
    if shell == "cmd":
        return _OTHER_VARIABLE.sub(r"%\1%", value)
    inside = _OTHER_VARIABLE.sub(r"$env:\1", value)
    return f'"{inside}"' if refers else "'" + value.replace("'", "''") + "'"


def _line(command: str, system: str) -> Iterator[str]:
    """The line where the system has its programs, else what stands for it there, else nothing."""
    if not system:
        yield command
        return
    bare = command.removeprefix(_ADMIN)
    if command != bare and system == "windows":
        command = bare
    if system in _systems(command):
        yield command
    elif bare.partition(" ")[0] in _FIND.values():
        yield from (f"{_FIND[system]} {name}" for name in bare.split()[1:] if not _is_foreign(name, system))
    elif not _KERNEL_FILES.search(command):
        instead = _INSTEAD.get(system, {})
        yield from (line for words, line in instead.items() if f"{bare} ".startswith(f"{words} "))


def _systems(command: str) -> frozenset[str]:
    """Where all programs of a line exist: it may be a pipeline, and may look at what only Linux has as files."""
    found = frozenset({"linux", "macos", "windows"})
    for stage in command.split("|"):
        program = stage.strip().removeprefix(_ADMIN).partition(" ")[0]
        found &= _SYSTEMS.get(program, found)
    return found & _LINUX if found == _UNIX and _KERNEL_FILES.search(command) else found


def _is_foreign(name: str, system: str) -> bool:
    """Whether a program or a library is one of another system."""
    return system not in _SYSTEMS.get(name, {system}) or (name.endswith(".dll") and system != "windows")
