"""System, C library, processor and memory of a live host."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from torchdoctor.readers.answers import MEMINFO, PYTHON, Answers
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want
from torchdoctor.values import Libc, canonical_machine

RELEASE, RELEASE_ELSEWHERE = Want("file", ("/etc/os-release",)), Want("file", ("/usr/lib/os-release",))
CPUINFO = Want("files", ("/proc/cpuinfo",))  # the head is enough: it holds the first processor
LIMITS = (Want("files", ("@cgroup/memory.max",)), Want("files", ("@cgroup/memory.limit_in_bytes",)))
CPU_LIMIT = Want("files", ("@cgroup/cpu.max",))
SHM = Want("space", ("/dev/shm",))  # noqa: S108 - the size of the place is what is asked
WINDOWS_CPU = Want("env", ("PROCESSOR_IDENTIFIER",), only="win32")
MAC_CPU = Want("command", ("/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"), only="darwin")
WANTS = (PYTHON, RELEASE, RELEASE_ELSEWHERE, CPUINFO, MEMINFO, *LIMITS, CPU_LIMIT, SHM, WINDOWS_CPU, MAC_CPU)

PSUTIL = "psutil"  # an answer of our own process where there is no /proc
_NO_LIMIT = 1 << 60  # control groups write about this much for "no limit"
_WINDOWS_11 = 22000  # Windows 11 still calls itself 10.0; its builds begin here


def read(recording: Recording) -> Iterator[Said]:
    """Everything about the host that is not a GPU."""
    answers = Answers(recording)
    yield from _system(answers)
    yield from _libc(answers)
    yield from _processor(answers)
    yield from _memory(answers)


def _system(answers: Answers) -> Iterator[Said]:
    name = answers.os_name
    yield Said("os.name", name, "interpreter")
    machine = answers.uname("machine")
    if name == "macos" and "ARM64" in answers.uname("version"):
        machine = "arm64"  # the kernel tells the machine even to a translated interpreter
    if machine:
        yield Said("os.machine", canonical_machine(machine, name), "uname")
    if name != "windows" and answers.uname("release"):
        yield Said("os.kernel", answers.uname("release"), "uname")
    release = {"linux": _linux_release, "macos": _mac_release, "windows": _windows_release}.get(name)
    if release:
        yield from release(answers)


def _linux_release(answers: Answers) -> Iterator[Said]:
    want = RELEASE if answers.text(RELEASE) else RELEASE_ELSEWHERE
    pairs = pairs_of(answers.text(want), "=")
    for path, key in (("os.version", "VERSION_ID"), ("os.distribution", "PRETTY_NAME")):
        if pairs.get(key):
            yield Said(path, pairs[key], want.args[0])


def _mac_release(answers: Answers) -> Iterator[Said]:
    if answers.said("macos"):
        yield Said("os.version", answers.said("macos"), "SystemVersion.plist")
        yield Said("os.distribution", f"macOS {answers.said('macos')}", "SystemVersion.plist")


def _windows_release(answers: Answers) -> Iterator[Said]:
    numbers = answers.python.get("windows")
    if isinstance(numbers, list) and len(numbers) == 3 and all(isinstance(number, int) for number in numbers):  # noqa: PLR2004 - major, minor, build
        yield Said("os.version", ".".join(map(str, numbers)), "sys.getwindowsversion")
        yield Said(
            "os.distribution",
            "Windows 11" if numbers[2] >= _WINDOWS_11 else f"Windows {numbers[0]}",
            "sys.getwindowsversion",
        )


def _libc(answers: Answers) -> Iterator[Said]:
    if answers.os_name != "linux":
        yield Said("os.libc", None, "interpreter")
        return
    try:
        yield Said("os.libc", Libc.parse(answers.said("libc")), "interpreter")
    except ValueError:
        return


def _processor(answers: Answers) -> Iterator[Said]:
    text = answers.texts(CPUINFO).get("/proc/cpuinfo", "")
    pairs = pairs_of(text.partition("\n\n")[0], ":")
    model, flags = pairs.get("model name"), pairs.get("flags") or pairs.get("Features")
    if model:
        yield Said("cpu.model", model, "/proc/cpuinfo")
    if flags and f"{flags}\n" in text:  # the line was read to its end
        yield Said("cpu.flags", frozenset(flags.split()), "/proc/cpuinfo")
    other = answers.texts(WINDOWS_CPU).get("PROCESSOR_IDENTIFIER") or str(answers.table(MAC_CPU).get("out", "")).strip()
    if other:
        yield Said("cpu.model", other, "PROCESSOR_IDENTIFIER" if answers.os_name == "windows" else "sysctl")
    count = answers.python.get("cpus")
    if isinstance(count, int):
        quota = _cpu_quota(answers)
        yield Said("cpu.visible", count, "interpreter")
        if answers.looked(CPU_LIMIT) and answers.os_name == "linux":
            yield Said("cpu.quota", quota or None, "control group")
        yield Said(
            "cpu.count",
            min(count, quota) if quota else count,
            "control group" if quota and quota < count else "interpreter",
        )


def _cpu_quota(answers: Answers) -> int:
    """Whole processors that the control groups allow, rounded up; 0 without a limit."""
    matches = [re.fullmatch(r"(\d+) (\d*[1-9]\d*)\s*", text) for text in answers.texts(CPU_LIMIT).values()]
    limits = [-(-int(match[1]) // int(match[2])) for match in matches if match]
    return max(1, min(limits)) if limits else 0


def _memory(answers: Answers) -> Iterator[Said]:
    pairs = pairs_of(answers.text(MEMINFO), ":")
    for path, key in (("memory.total", "MemTotal"), ("memory.available", "MemAvailable")):
        if (words := pairs.get(key, "").split()) and words[0].isdecimal():
            yield Said(path, int(words[0]) * 1024, "/proc/meminfo")
    own = _psutil(answers)
    for path, key in (("memory.total", "total"), ("memory.available", "available")):
        if isinstance(own.get(key), int):
            yield Said(path, own[key], "psutil")
    yield from _limits(answers)
    if answers.number(SHM) is not None:
        yield Said("memory.shm", answers.number(SHM), SHM.args[0])


def _psutil(answers: Answers) -> Mapping[str, object]:
    answer = answers.recording.answers.get(PSUTIL)
    return answer.value if answer and isinstance(answer.value, dict) else {}


def _limits(answers: Answers) -> Iterator[Said]:
    texts = {path: text.strip() for want in LIMITS for path, text in answers.texts(want).items()}
    limits = {path: int(text) for path, text in texts.items() if text.isdecimal() and int(text) < _NO_LIMIT}
    if limits:
        path = min(limits, key=lambda name: limits[name])
        yield Said("memory.limit", limits[path], path)
    elif texts:
        yield Said("memory.limit", None, next(iter(texts)))


def pairs_of(text: str, sign: str) -> dict[str, str]:
    """The ``name = value`` lines of a text, quotes taken off."""
    pairs = [line.partition(sign) for line in text.splitlines() if sign in line]
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}
