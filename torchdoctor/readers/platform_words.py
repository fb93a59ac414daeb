"""How Python and distributions name a platform: ``Linux-5.15.0-x86_64-with-glibc2.31``, ``Ubuntu 22.04.4 LTS``."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.statement import Said
from torchdoctor.values import PythonTag, Version, canonical_machine

MACHINES = r"x86_64|x86-64|x64|amd64|AMD64|aarch64|arm64|ARM64|i[3-6]86|armv7l|ppc64le|riscv64|s390x"

_EXAMPLE = lazily(r"\[[^\]]{0,80}\]\s*")  # what the form of an issue tracker suggests
_MACHINE_AT_END = lazily(rf"\s+\(?({MACHINES})\)?\s*$")
_NUMBER = lazily(r"(?<![\w.])v?(\d{1,4}(?:\.\d{1,6}){0,3})")
_PARENTHESES = lazily(r"\([^()]*\)")
_WINDOWS_BUILD = lazily(r"\b10\.0(?:\.|, Build )(\d{5})\b")
_LINUX = lazily(rf"Linux-(\S{{1,80}}?)-({MACHINES})-(?:(?:{MACHINES})-)?with-(\S*)")
_DARWIN = lazily(rf"(?:macOS|Darwin)-(\d[\d.]*)-({MACHINES})", re.IGNORECASE)
_WINDOWS = lazily(r"Windows-(?:\w+-)?(\d+\.\d+\.\d+)|Windows\S*-(AMD64|ARM64)", re.IGNORECASE)
_PYTHON = lazily(
    r"(?:CPython\s+|Python\s+)?v?(\d\.\d{1,2}(?:\.\d{1,3})?)(?=(?:a|b|rc)\d|\+|t?\b)(?:(?:a|b|rc)\d+)?\+?(t\b)?"
)
_PLATFORM_NAME = lazily(r"(linux|win|osx)-?(64|32|aarch64|arm64)?|windows|darwin|macos", re.IGNORECASE)
_PLATFORMS = {
    "linux": "linux",
    "win": "windows",
    "windows": "windows",
    "osx": "macos",
    "macos": "macos",
    "darwin": "macos",
}
_BITS = lazily(r"\b(32|64)[- ]bit")
_COMPILED_FOR = lazily(r"\[MSC v\.\d+ (\d\d) bit \((\w+)\)\]")
_LINUX_WORDS = lazily(
    r"linux|ubuntu|debian|fedora|centos|red ?hat|rhel|rocky|alma|suse|arch\b|manjaro|mint|nixos|gentoo|alpine|kali"
    r"|amzn|pop!?_os",
    re.IGNORECASE,
)


def os_name_of(text: str) -> str:
    """``windows``, ``macos`` or ``linux`` when a text names one of their releases, else an empty string."""
    lowered = text.lower()
    if re.search(r"\bwindows\b|\bwin(?:32|10|11)\b|^nt$", lowered):
        return "windows"
    if re.search(r"\bmac ?os\b|\bmac osx\b|\bos x\b|\bdarwin\b|^posix darwin", lowered):
        return "macos"
    return "linux" if _LINUX_WORDS.search(lowered) else ""


def distribution_said(text: str, source: str) -> Iterator[Said]:
    """What the name of an operating system release says: ``Ubuntu 22.04.4 LTS (x86_64)``."""
    text = _EXAMPLE.sub("", text)
    machine = _MACHINE_AT_END.search(text)
    text = text[: machine.start()].strip() if machine else text.strip()
    if platform := _PLATFORM_NAME.fullmatch(text):
        yield from _platform_name(platform, source)
        return
    name = os_name_of(text) or ("windows" if _WINDOWS_BUILD.match(text) else "")
    if not name:
        return
    yield Said("os.name", name, source)
    yield Said("os.distribution", re.split(r"[,(+]", text)[0].strip() if name == "windows" else text, source)
    if version := _release_number(text, name):
        yield Said("os.version", version, source)
    if machine:
        yield Said("os.machine", canonical_machine(machine[1], name), source)


def _platform_name(match: re.Match[str], source: str) -> Iterator[Said]:
    """A bare name of a platform, such as conda's ``linux-64``."""
    name = _PLATFORMS[(match[1] or match[0]).lower()]
    yield Said("os.name", name, source)
    if match[2] in {"64", "aarch64", "arm64"}:
        yield Said("os.machine", canonical_machine("x86_64" if match[2] == "64" else match[2], name), source)


def _release_number(text: str, name: str) -> str:
    if name == "windows":
        build = _WINDOWS_BUILD.search(text)
        return f"10.0.{build[1]}" if build else ""
    number = _NUMBER.search(_PARENTHESES.sub("", text)) or _NUMBER.search(text)
    if not number:
        return ""
    return ".".join(number[1].split(".")[:2]) if name == "linux" else number[1]


def platform_said(text: str, source: str) -> Iterator[Said]:
    """What ``platform.platform()`` says."""
    if match := _LINUX.search(text):
        yield Said("os.name", "linux", source)
        yield Said("os.machine", canonical_machine(match[2], "linux"), source)
        yield Said("python.machine", canonical_machine(match[2], "linux"), source)
        yield from kernel_said(match[1], source)
    elif match := _DARWIN.search(text):
        yield from _darwin(match[1], canonical_machine(match[2], "macos"), text, source)
    elif match := _WINDOWS.search(text):
        yield Said("os.name", "windows", source)
        if match[1]:
            yield Said("os.version", match[1], source)
        if match[2]:
            yield Said("python.machine", canonical_machine(match[2], "windows"), source)


def _darwin(number: str, machine: str, text: str, source: str) -> Iterator[Said]:
    """A macOS platform string; a translated Python is told a made-up version, so its number counts least."""
    yield Said("os.name", "macos", source)
    yield Said("python.machine", machine, source)
    yield Said("os.machine", machine, source)
    if text.lower().lstrip().startswith("macos"):
        yield Said("os.version", number, source)
    else:
        yield Said("os.kernel", number, source)


def kernel_said(release: str, source: str) -> Iterator[Said]:
    """What a Linux kernel release says of the place: WSL, Docker Desktop."""
    yield Said("os.kernel", release, source)
    lowered = release.lower()
    if "microsoft" in lowered:
        yield Said("place.wsl", 1 if lowered.endswith("-microsoft") and "wsl2" not in lowered else 2, source)
    else:
        yield Said("place.wsl", None, source)
    if "linuxkit" in lowered:
        yield Said("place.container", "docker", source)


def python_said(text: str, source: str) -> Iterator[Said]:
    """What ``sys.version`` or a bare version says: number, ABI, word size, machine."""
    match = _PYTHON.match(text.strip())
    if not match:
        return
    yield Said("python.version", Version.parse(match[1]), source)
    free_threaded = bool(match[2]) or "free-threading" in text
    tag = PythonTag.parse(match[1])
    yield Said("python.tag", PythonTag(tag.major, tag.minor, free_threaded), source)
    yield from _implementation(text, source)
    compiled = _COMPILED_FOR.search(text)
    bits = _BITS.search(text)
    if found := compiled or bits:
        yield Said("python.bits", int(found[1]), source)
    if compiled:
        yield from _windows_python(compiled[1], compiled[2], source)


def _implementation(text: str, source: str) -> Iterator[Said]:
    if "PyPy" in text:
        yield Said("python.implementation", "pypy", source)
    elif "(" in text and "[" in text:
        yield Said("python.implementation", "cpython", source)


def _windows_python(bits: str, machine: str, source: str) -> Iterator[Said]:
    yield Said("os.name", "windows", source)
    machine = "x86" if bits == "32" else canonical_machine(machine, "windows")
    yield Said("python.machine", machine, source)
    if machine != "x86":
        yield Said("os.machine", machine, source)


def compiler_version(text: str) -> Version | None:
    """The version in a compiler's first line, past the packager's remarks in parentheses."""
    bare = _PARENTHESES.sub(" ", text)
    match = re.search(r"(?<![\w.])(\d{1,2}(?:\.\d{1,2}){0,2})(?![\w.]*\d{4})", bare)
    return Version.parse(match[1]) if match else None
