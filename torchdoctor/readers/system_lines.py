"""Lines of system tools that people paste one by one: uname, os-release, lscpu, df, compilers, containers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.platform_words import (
    MACHINES,
    compiler_version,
    distribution_said,
    kernel_said,
    platform_said,
    python_said,
)
from torchdoctor.readers.recogniser import Recogniser, Spot
from torchdoctor.readers.statement import Said
from torchdoctor.values import CudaVersion, Libc, Version, canonical_machine

_UNAME = lazily(rf"Linux\s+\S+\s+(\d+\.\d+\S*)\s.*?\b({MACHINES})\b")
_DARWIN = lazily(rf"Darwin\s+\S+\s+(\d+\.\d+\S*)\s.*\b({MACHINES})$")
_RELEASE_NUMBER = lazily(r"(\d{1,2}\.\d{1,3}(?:\.\d{1,3})?[-+.\w]*)$")
_VALUE = lazily(r"[\w() ./-]{1,60}?\s*[:=]\s*[\"']?(.*?)[\"']?$")
_LDD = lazily(r"ldd \(.*\)\s+(\d+\.\d+)$")
_RELEASE = lazily(r"release (\d{1,2}\.\d{1,2})(?:, V(\d+\.\d+\.\d+))?")
_SHM = lazily(r"\S+\s+(\d{1,9}(?:\.\d{1,4})?)([KMGT]?)i?B?\s+.*/dev/shm$")
_UNITS = {"": 1024, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4}
_BARE_PYTHON = lazily(r"Python (\d\.\d{1,2}\.\d{1,3}\S*.*)$")
_L4T = lazily(r"#?\s*R(\d{2}) \(release\), REVISION: ([\d.]+)")
_WSL_KERNEL = lazily(r"\b\d{1,2}\.\d{1,3}\.\d{1,4}(?:\.\d{1,3})?-microsoft-standard(?:-WSL2)?\b(?!\S{0,40}glibc)")
_FLAGS_ENOUGH = 10  # a cut line of flags must not prove that an instruction set is missing


def _value(text: str) -> str:
    match = _VALUE.match(text)
    return match[1].strip() if match else ""


def _uname(spot: Spot) -> Iterator[Said]:
    if match := _UNAME.match(spot.text):
        yield Said("os.name", "linux", spot.source)
        yield Said("os.machine", canonical_machine(match[2], "linux"), spot.source)
        yield from kernel_said(match[1], spot.source)
    elif match := _DARWIN.match(spot.text):
        yield Said("os.name", "macos", spot.source)
        yield Said("os.machine", canonical_machine(match[2], "macos"), spot.source)
        if "RELEASE_ARM64" in spot.text:  # the kernel is Apple's own, whatever a translated program is told
            yield Said("place.rosetta", canonical_machine(match[2], "macos") == "x86_64", spot.source)


def _translated(spot: Spot) -> Iterator[Said]:
    """``sysctl sysctl.proc_translated``: 1 under Rosetta."""
    answer = spot.text.partition("proc_translated:")[2].strip() or spot.next_line()
    if answer in {"0", "1"}:
        yield Said("os.name", "macos", spot.source)
        yield Said("place.rosetta", answer == "1", spot.source)


def _apple_chip(spot: Spot) -> Iterator[Said]:
    """``sysctl machdep.cpu.brand_string`` and its answer, beside it or below."""
    answer = spot.text.partition("brand_string:")[2].strip() or spot.next_line()
    if re.match(r"(?:Apple M\d|Intel\(R\) )", answer):
        yield Said("os.name", "macos", spot.source)
        yield Said("cpu.model", answer[:80], spot.source)


def _uname_machine(spot: Spot) -> Iterator[Said]:
    """``uname -m`` and its answer on the next line."""
    if re.fullmatch(MACHINES, spot.next_line()):
        yield Said("os.machine", canonical_machine(spot.next_line(), None), spot.source)


def _uname_release(spot: Spot) -> Iterator[Said]:
    """``uname -r`` and its answer on the next line."""
    if match := _RELEASE_NUMBER.match(spot.next_line()):
        yield Said("os.name", "linux", spot.source)
        yield from kernel_said(match[1], spot.source)


def _kernel(spot: Spot) -> Iterator[Said]:
    value = _value(spot.text) if ":" in spot.text else spot.text.removeprefix("kernel ")
    value = value.removeprefix("Linux ").removeprefix("Linux-").strip()
    if match := _RELEASE_NUMBER.match(value):
        yield Said("os.name", "linux", spot.source)
        yield from kernel_said(match[1], spot.source)


def _wsl_kernel(spot: Spot) -> Iterator[Said]:
    """The kernel that only WSL has, wherever somebody writes it."""
    if match := _WSL_KERNEL.search(spot.text):
        yield Said("os.name", "linux", spot.source)
        yield from kernel_said(match[0], spot.source)


def _pretty_name(spot: Spot) -> Iterator[Said]:
    yield from distribution_said(_value(spot.text), spot.source)


def _machine(spot: Spot) -> Iterator[Said]:
    value = _value(spot.text)
    if re.fullmatch(MACHINES, value):
        yield Said("os.machine", canonical_machine(value, "linux"), spot.source)


def _cpu_model(spot: Spot) -> Iterator[Said]:
    if value := _value(spot.text):
        yield Said("cpu.model", " ".join(value.split()), spot.source)


def _cpu_count(spot: Spot) -> Iterator[Said]:
    if (value := _value(spot.text)).isdigit() and len(value) < 6:  # noqa: PLR2004 - no host has a million processors
        yield Said("cpu.count", int(value), spot.source)


def _cpu_flags(spot: Spot) -> Iterator[Said]:
    """The instruction sets, unless the paste ends in the middle of the line: then some may be missing."""
    flags = _value(spot.text).split()
    if len(flags) > _FLAGS_ENOUGH and any(line.strip() for line in spot.following(400)):
        yield Said("cpu.flags", frozenset(flags), spot.source)


def _arm_flags(spot: Spot) -> Iterator[Said]:
    yield from _cpu_flags(spot)


def _hypervisor(spot: Spot) -> Iterator[Said]:
    value = _value(spot.text)
    if value and value.lower() != "microsoft":  # WSL says so too
        yield Said("place.virtual_machine", value, spot.source)


def _qemu(spot: Spot) -> Iterator[Said]:
    yield from _cpu_model(spot)
    yield Said("place.virtual_machine", "QEMU", spot.source)


def _ldd(spot: Spot) -> Iterator[Said]:
    if match := _LDD.match(spot.text):
        yield Said("os.libc", Libc("glibc", Version.parse(match[1])), spot.source)


def _musl(spot: Spot) -> Iterator[Said]:
    yield Said("os.libc", Libc("musl"), spot.source)


def _nvcc(spot: Spot) -> Iterator[Said]:
    if match := _RELEASE.search(spot.text):
        yield Said("tools.nvcc", CudaVersion.parse(match[1]), spot.source)


def _nvcc_missing(spot: Spot) -> Iterator[Said]:
    yield Said("tools.nvcc", None, spot.source)


def _gcc(spot: Spot) -> Iterator[Said]:
    if version := compiler_version(spot.text.partition(" ")[2]):
        yield Said("tools.gcc", version, spot.source)


def _clang(spot: Spot) -> Iterator[Said]:
    if version := compiler_version(spot.text.partition("version ")[2]):
        yield Said("tools.clang", version, spot.source)


def _msvc(spot: Spot) -> Iterator[Said]:
    if match := re.search(r"Compiler Version (\d\d)\.(\d\d)\.", spot.text):
        yield Said("tools.msvc", int(match[1] + match[2]), spot.source)


def _shm(spot: Spot) -> Iterator[Said]:
    if match := _SHM.match(spot.text):
        yield Said("memory.shm", int(float(match[1]) * _UNITS[match[2]]), spot.source)


def _python(spot: Spot) -> Iterator[Said]:
    """``python --version``, or the first line of an interactive session."""
    if match := _BARE_PYTHON.match(spot.text):
        yield from python_said(match[1], spot.source)
        if "on linux" in match[1] + spot.next_line():
            yield Said("os.name", "linux", spot.source)


def _platform(spot: Spot) -> Iterator[Said]:
    yield from platform_said(spot.text, spot.source)


def _tegra_release(spot: Spot) -> Iterator[Said]:
    if match := _L4T.match(spot.text):
        yield Said("place.l4t", f"{match[1]}.{match[2]}", spot.source)


def _macos_version(spot: Spot) -> Iterator[Said]:
    yield Said("os.name", "macos", spot.source)
    if re.fullmatch(r"\d+(?:\.\d+){0,2}", value := _value(spot.text)):
        yield Said("os.version", value, spot.source)


def _container_command(spot: Spot) -> Iterator[Said]:
    if any(map(_REFUSED.match, spot.following(_LINES_TO_ANSWER))):
        return  # no container came of it, so what stands here is of the host
    match = re.search(r"\b(docker|podman|kubectl|apptainer|singularity)\b", spot.text)
    if match:
        kind = {"kubectl": "kubernetes", "singularity": "apptainer"}.get(match[1], match[1])
        if kind == "docker" and re.match(_WINDOWS_PROMPT, spot.text):
            kind = "docker-desktop"
        yield Said("place.container", kind, spot.source)


def _slurm_command(spot: Spot) -> Iterator[Said]:
    yield Said("place.scheduler", "slurm", spot.source)


def _windows_prompt(spot: Spot) -> Iterator[Said]:
    yield Said("os.name", "windows", spot.source)


def _lscpu_rest(spot: Spot) -> Iterator[Said]:
    """The lines of lscpu that say nothing here are no part of a log."""
    index, document = spot.index, spot.document
    rest = [place for place in range(index, min(index + 80, len(document))) if _LSCPU.match(document.texts[place])]
    document.take("lscpu", rest)
    yield from ()


_LSCPU = lazily(
    r"\s*(?:CPU op-mode\(s\)|Address sizes|Byte Order|On-line CPU\(s\) list|Vendor ID|CPU family|Thread\(s\) per core"
    r"|Core\(s\) per|Socket\(s\)|Stepping|CPU (?:max|min) MHz|CPU\(s\) scaling MHz|BogoMIPS|NUMA node|Vulnerability "
    r"|L[1-4][di]? cache|Frequency boost|Virtualization|Caches|Off-line CPU|BIOS |Cluster\(s\)|Model:\s+\d+$)"
)
_REFUSED = lazily(r"\s*(?:docker: )?Error response from daemon|\s*Error: (?:OCI runtime|stat |setting up CDI)")
_LINES_TO_ANSWER = 12
_PROMPT = r"(?:.{0,120}?[$#>%]\s+)?"
_STARTS = (
    r"docker (?:run|exec|compose)|podman (?:run|exec)|kubectl (?:exec|logs|describe pods?)\b"
    r"|(?:apptainer|singularity) (?:exec|run|shell)"
)
_TYPED = ("docker run", "docker exec", "podman run", "podman exec", "kubectl ", "apptainer ", "singularity ")
_KERNEL = r"\s*(?i:kernel(?: version| release)?:\s|kernel \d|kernel linux-|/proc/sys/kernel/osrelease:)"
_NO_NVCC = r"(?i:.{0,60}\bnvcc['\"]?: (?:command )?not found|command 'nvcc' not found)"
RECOGNISERS = (
    Recogniser(r"\s*(?:Linux|Darwin)\s+\S+\s+\d+\.\d+\S*\s", _uname, "linux darwin"),
    Recogniser(rf"\s*{_PROMPT}uname -r\s*$", _uname_release, words=("uname -r",)),
    Recogniser(rf"\s*{_PROMPT}uname -m\s*$", _uname_machine, words=("uname -m",)),
    Recogniser(r".{0,160}?sysctl\.proc_translated", _translated, words=("sysctl.proc_translated",)),
    Recogniser(r".{0,160}?machdep\.cpu\.brand_string", _apple_chip, words=("machdep.cpu.brand_string",)),
    Recogniser(_KERNEL, _kernel, "kernel proc"),
    Recogniser(r".{0,400}?-microsoft-standard", _wsl_kernel, words=("-microsoft-standard",), keeps=True),
    Recogniser(
        r"\s*(?:PRETTY_NAME=|Operating System:\s|Description:\s+\w+ )", _pretty_name, "pretty operating description"
    ),
    Recogniser(r"\s*Architecture:\s+[a-z]", _machine, "architecture"),
    Recogniser(r"\s*Model name:\s+QEMU", _qemu, "model"),
    Recogniser(r"\s*(?:Model name:|model name\s*:)\s", _cpu_model, "model"),
    Recogniser(r"\s*CPU\(s\):\s+\d", _cpu_count, "cpu"),
    Recogniser(r"\s*(?:Flags:|flags\s*:)\s", _cpu_flags, "flags"),
    Recogniser(r"\s*Features\s*:\s", _arm_flags, "features"),
    Recogniser(
        r"\s*(?:CPU op-mode\(s\)|Byte Order|Vendor ID|NUMA node):?", _lscpu_rest, "cpu byte vendor numa", drops=True
    ),
    Recogniser(r"\s*Hypervisor vendor:\s", _hypervisor, "hypervisor"),
    Recogniser(r"\s*ldd \(", _ldd, "ldd"),
    Recogniser(r"\s*musl libc \(", _musl, "musl"),
    Recogniser(r"\s*(?:Cuda compilation tools, release|nvcc: release)", _nvcc, "cuda nvcc"),
    Recogniser(_NO_NVCC, _nvcc_missing, "bash sh zsh nvcc command", keeps=True),
    Recogniser(r"\s*gcc(?:-\d+)?(?:\.exe)? \(", _gcc, "gcc"),
    Recogniser(r"\s*(?:\w+ ){0,2}clang version \d", _clang, words=("clang version",)),
    Recogniser(r"\s*Microsoft \(R\) C/C\+\+ Optimizing Compiler Version", _msvc, "microsoft"),
    Recogniser(r"\s*(?:shm|tmpfs|none)\s+[\d.]+[KMGT]?i?B?\s", _shm, "shm tmpfs none"),
    Recogniser(r"\s*Python \d\.\d{1,2}\.\d", _python, "python"),
    Recogniser(r"\s*(?:Linux|Windows|macOS|Darwin)-\d+\S*$", _platform, "linux windows macos darwin"),
    Recogniser(r"\s*#?\s*R\d{2} \(release\), REVISION", _tegra_release, "r"),
    Recogniser(r"\s*ProductVersion:", _macos_version, "productversion"),
    Recogniser(rf"\s*{_PROMPT}(?:sudo )?(?:{_STARTS})\b", _container_command, words=_TYPED, keeps=True),
    Recogniser(rf"\s*{_PROMPT}(?:srun|sbatch|salloc)\s", _slurm_command, "srun sbatch salloc", keeps=True),
)
_WINDOWS_PROMPT = r"\s*(?:\([\w.-]{1,60}\)\s+)?(?:PS\s+)?[A-Z]:\\[^<>|]{0,120}>"
# Asked last: a line behind such a prompt may say more to another recogniser.
LAST = (Recogniser(_WINDOWS_PROMPT, _windows_prompt, words=(":\\",), keeps=True),)
