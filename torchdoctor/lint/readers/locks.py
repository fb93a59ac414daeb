"""Lock files: uv.lock, poetry.lock, pdm.lock and pylock.toml: every version that was chosen, and for which hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from torchdoctor.findings import Place
from torchdoctor.lint.model import DIRECT, Group, Pin, PythonWish, normal
from torchdoctor.lint.readers.toml_text import Finder, parsed, table, tables, texts
from torchdoctor.lint.readers.words import with_spec
from torchdoctor.lint.source import Source

_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]{1,200})['\"]")
_MOST_EXTRAS = 12
_WHEELS = {  # a platform, and what the name of a wheel for it holds
    ("linux", "x86_64"): ("linux_x86_64", "manylinux1_x86_64", "_x86_64.manylinux", "_28_x86_64", "_17_x86_64"),
    ("linux", "aarch64"): ("linux_aarch64", "_aarch64"),
    ("windows", "x86_64"): ("win_amd64",),
    ("macos", "arm64"): ("macosx",),
}
_TOOLS = {"uv.lock": "uv", "poetry.lock": "poetry", "pdm.lock": "pdm"}


def read(source: Source) -> list[Group]:
    """One group for what is always installed, and one for each extra that decides between versions."""
    data, finder = parsed(source), Finder(source)
    key = "packages" if "packages" in data else "package"
    entries = tables(data.get(key))
    lines = finder.blocks(key)
    lines += [1] * (len(entries) - len(lines))
    pins = tuple(pin for entry, line in zip(entries, lines, strict=False) for pin in _pins(entry, line, source, finder))
    spec = data.get("requires-python") or table(data, "metadata").get("python-versions")
    python = PythonWish(spec, Place(source.name, finder.text("python"))) if isinstance(spec, str) else None
    tool = _TOOLS.get(source.path.name, "pip")
    base = Group("lock", tool, Place(source.name), pins, python=python, platforms=_platforms(entries))
    extras = dict.fromkeys(name for pin in pins for name in _EXTRA.findall(pin.marker))
    return [base, *(base._replace(chosen=frozenset((name,))) for name in list(extras)[:_MOST_EXTRAS])]


def _platforms(entries: list[dict[str, Any]]) -> tuple[tuple[str, str], ...]:
    """The platforms for which the lock holds a wheel of torch; empty, for all, where it names no wheels."""
    files = [
        str(wheel.get("url") or wheel.get("name") or wheel.get("file") or wheel.get("path") or "").lower()
        for entry in entries
        if entry.get("name") == "torch"
        for key in ("wheels", "files")
        for wheel in tables(entry.get(key))
    ]
    wheels = [file for file in files if ".whl" in file]
    return tuple(platform for platform, words in _WHEELS.items() if any(_is_for(file, words) for file in wheels))


def _is_for(file: str, words: tuple[str, ...]) -> bool:
    return "none-any.whl" in file or any(word in file for word in words)


def _pins(entry: dict[str, Any], line: int, source: Source, finder: Finder) -> Iterator[Pin]:
    name, version = entry.get("name"), entry.get("version")
    if not isinstance(name, str) or not isinstance(version, str):
        return
    place = Place(source.name, finder.text(version, line) if line > 1 else line)
    pin = Pin(normal(name), place, marker=_marker(entry), url=_origin(entry), text=f"{name} {version}")
    yield with_spec(pin, f"=={version}")


def _marker(entry: dict[str, Any]) -> str:
    forks = texts(entry.get("resolution-markers"))
    if forks:
        return " or ".join(f"({fork})" for fork in forks)
    return " or ".join(texts(entry.get("marker")) or texts(entry.get("markers")))


def _origin(entry: dict[str, Any]) -> str:
    """The index; empty for the default one, which lock files write out."""
    source = table(entry, "source")
    if any(key in source for key in ("git", "path", "editable", "virtual", "directory")):
        return DIRECT
    if source.get("type") in {"git", "directory", "file"}:
        return DIRECT
    for url in (entry.get("index"), source.get("registry"), source.get("url")):
        if isinstance(url, str):
            return url
    return DIRECT if any(key in entry for key in ("vcs", "directory", "archive")) else ""
