"""A shell line of an image build, and what its pip, uv and conda commands install."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from torchdoctor.findings import Place
from torchdoctor.lint.model import Pin
from torchdoctor.lint.readers import conda_words
from torchdoctor.lint.readers.hatch_tables import VARIABLES
from torchdoctor.lint.readers.words import INDEX_OPTIONS, pin_of

_COMMANDS = re.compile(r"&&|\|\||[;\n|&]|\bthen\b|\bdo\b|\belse\b")
_PIP = re.compile(r"(?:.*/)?pip[0-9.]{0,6}")
_PYTHON = re.compile(r"(?:.*/)?python[0-9.]{0,6}")
_CONDA = re.compile(r"(?:.*/)?(?:conda|mamba|micromamba)")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,100})=(.{0,2000})", re.DOTALL)
_NOWHERE = Place("")
_FILES = {"-r", "--requirement", "--requirements", "-c", "--constraint", "--constraints", "--file"}
# Options that take a word of their own, which is then no package.
_VALUED = {
    *("-t", "--target", "--prefix", "--root", "--python", "-p", "--platform", "--python-version", "--upgrade-package"),
    *(
        "--progress-bar",
        "--timeout",
        "--retries",
        "--trusted-host",
        "--cache-dir",
        "--proxy",
        "--cert",
        "--only-binary",
    ),
    *("--no-binary", "--torch-backend", "--index-strategy", "--reinstall-package", "--src", "--upgrade-strategy", "-P"),
    *("--implementation", "--abi", "--config-settings", "-C", "--build-constraint", "--link-mode", "--extra", "-e"),
    *("--editable", "--root-user-action", "-n", "--name", "--prerelease", "--exclude-newer"),
}
_LONGEST = 20_000
_UPGRADE = re.compile(r"-[qvI]{0,6}U[qvI]{0,6}")  # alone, or among other short options: -qU


class Install(NamedTuple):
    """One install command."""

    tool: str  # pip, uv, conda
    text: str
    pins: tuple[Pin, ...] = ()
    indexes: tuple[tuple[str, str], ...] = ()  # address, role
    files: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    pre: bool = False


def installs(text: str) -> Iterator[Install]:
    """The install commands of a shell text."""
    for part in _parts(text[:_LONGEST]):
        words = _words(part)
        if words[:1] and words[0].rpartition("/")[2] in _SHELLS and len(words) > 2 and "c" in words[1]:  # noqa: PLR2004 - a shell, its option, the text
            yield from () if words[2] == text else installs(words[2])
            continue
        own: dict[str, str] = {}
        while words and ((match := _ASSIGNMENT.fullmatch(words[0])) or words[0] in _SKIPPED):
            if match:
                own[match[1]] = match[2]
            words.pop(0)
        tool, rest = _tool(words)
        if tool == "conda":
            yield _of_conda(part, rest)
        elif tool:
            yield _of_pip(tool, part, rest, own)


_SHELLS = {"sh", "bash", "dash", "ash", "zsh"}
_SKIPPED = {"sudo", "env", "time", "exec", "(", "{", "set", "-ex", "-e"}


def _parts(text: str) -> list[str]:
    """The commands of a text: split outside of quotes."""
    masked, quote, is_escaped = [], "", False
    for letter in text:
        if not is_escaped and letter in "'\"" and quote in {"", letter}:
            quote = "" if quote else letter
        is_escaped = letter == "\\" and not is_escaped and quote != "'"
        masked.append("x" if quote else letter)
    found, start = [], 0
    for match in _COMMANDS.finditer("".join(masked)):
        found.append(text[start : match.start()].strip())
        start = match.end()
    return [*found, text[start:].strip()]


def _words(part: str) -> list[str]:
    try:
        return shlex.split(part, comments=True)
    except ValueError:
        return part.split()


def _tool(words: list[str]) -> tuple[str, list[str]]:
    """Which installer a command is, and the words behind its verb; empty for any other command."""
    if words[1:2] == ["-m"] and _PYTHON.fullmatch(words[0]):
        words = words[2:]
    if not words:
        return "", []
    name = words[0].rpartition("/")[2]
    if name == "uv":
        rest = _behind(_behind(words[1:], {"pip"}), {"install", "sync"})
        return ("uv", rest) if rest else ("", [])
    if _PIP.fullmatch(name):
        rest = _behind(words[1:], {"install"})
        return ("pip", rest) if rest else ("", [])
    if not _CONDA.fullmatch(name):
        return "", []
    rest = _behind(words[1:], {"install", "create"})
    if words[1:2] == ["run"]:
        at = next((index for index, word in enumerate(words) if _PIP.fullmatch(word)), 0)
        return _tool(words[at:]) if at else ("", [])
    return ("conda", rest) if rest else ("", [])


def _behind(words: list[str], verbs: set[str]) -> list[str]:
    """What stands behind the verb, before which are options alone (``pip --timeout 300 install``); else nothing."""
    for index, word in enumerate(words):
        if word in verbs:
            return words[index + 1 :]
        if not word.startswith("-") and not word.isdecimal():
            return []
    return []


def _of_pip(tool: str, part: str, words: list[str], own: Mapping[str, str]) -> Install:
    indexes = [(url, VARIABLES[name]) for name, value in own.items() if name in VARIABLES for url in value.split()]
    files, pins, pre = [], [], False
    is_upgrade = any(word == "--upgrade" or _UPGRADE.fullmatch(word) for word in words)
    pending = iter(words)
    for word in pending:
        option, equals, value = word.partition("=") if word.startswith("-") else ("", "", "")
        if option in INDEX_OPTIONS or option in _FILES:
            value = value if equals else next(pending, "")
            if option in INDEX_OPTIONS:
                role = INDEX_OPTIONS[option]
                indexes.append((value, "first" if tool == "uv" and role == "extra" else role))
            elif value:
                files.append(value)
        elif option in _VALUED and not equals:
            next(pending, "")
        elif word.startswith("-r") and len(word) > 2 and not option.startswith("--"):  # noqa: PLR2004 - -rfile
            files.append(word[2:])
        elif option == "--pre" or word == "--prerelease=allow":
            pre = True
        elif not option and (pin := pin_of(word, _NOWHERE)):
            pins.append(pin._replace(is_upgrade=is_upgrade))
    return Install(tool, part, tuple(pins), tuple(indexes), tuple(files), pre=pre)


def _of_conda(part: str, words: list[str]) -> Install:
    channels, pins = [], []
    pending = iter(words)
    for word in pending:
        option, equals, value = word.partition("=") if word.startswith("-") else ("", "", "")
        if option in {"-c", "--channel"}:
            channels.append(value if equals else next(pending, ""))
        elif option in {"-n", "--name", "-p", "--prefix", "--file", "-f"} and not equals:
            next(pending, "")
        elif not option and (pin := conda_words.pin_of(word, _NOWHERE)):
            pins.append(pin)
    return Install("conda", part, tuple(pins), channels=tuple(channels))
