"""pixi.toml, and the table of pixi in pyproject.toml: conda's and PyPI's packages of each environment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchdoctor.findings import Place
from torchdoctor.lint.model import DIRECT, Channel, Group, IndexUse, Pin, normal
from torchdoctor.lint.readers import conda_words
from torchdoctor.lint.readers.toml_text import Finder, items, parsed, table, tables, texts
from torchdoctor.lint.readers.words import with_spec
from torchdoctor.lint.source import Source

PLATFORMS = {
    "linux-64": ("linux", "x86_64"),
    "linux-aarch64": ("linux", "aarch64"),
    "win-64": ("windows", "x86_64"),
    "osx-arm64": ("macos", "arm64"),
}


def read(source: Source) -> list[Group]:
    """The groups of a pixi.toml."""
    return groups(source, parsed(source), Finder(source), under="")


def groups(source: Source, pixi: dict[str, Any], finder: Finder, under: str) -> list[Group]:
    """Two groups for each environment: what conda installs, and what comes from PyPI beside it."""
    found: list[Group] = []
    for features, with_default in _environments(pixi):
        parts = [(under, pixi)] if with_default else []
        parts += [(f"{under}feature.{name}.", table(pixi, "feature", name)) for name in features]
        found += _of_environment(source, pixi, parts, finder, under)
    return found


def _environments(pixi: dict[str, Any]) -> Iterator[tuple[list[str], bool]]:
    named = table(pixi, "environments")
    if "default" not in named:
        yield [], True
    for wanted in named.values():
        if isinstance(wanted, dict):
            yield texts(wanted.get("features")), wanted.get("no-default-feature") is not True
        else:
            yield texts(wanted), True


def _of_environment(
    source: Source, pixi: dict[str, Any], parts: list[tuple[str, dict[str, Any]]], finder: Finder, under: str
) -> Iterator[Group]:
    workspace = table(pixi, "workspace") or table(pixi, "project")
    head = finder.header(f"{under}workspace") or finder.header(f"{under}project")
    conda, pypi = [], []
    channels, gpu = list(_channels(workspace, source, finder, head)), _declares_cuda(workspace, pixi)
    for prefix, part in parts:
        conda += list(_conda(part, source, finder, prefix))
        pypi += list(_pypi(part, source, finder, prefix))
        channels += list(_channels(part, source, finder, finder.header(prefix.rstrip(".")) if prefix else head))
        gpu = gpu or _declares_cuda(part, part)
    platforms = tuple(PLATFORMS[name] for name in _platform_names(workspace) if name in PLATFORMS)
    python = next((wish for pin in conda if (wish := conda_words.python_of(pin))), None)
    pins = tuple(pin._replace(asks_gpu=pin.asks_gpu and not gpu) for pin in conda)
    place = Place(source.name, head)
    yield Group("pixi", "pixi", place, pins, python=python, channels=tuple(channels), platforms=platforms)
    if pypi:
        indexes = tuple(use for _, part in parts for use in _indexes(table(part, "pypi-options"), source, finder))
        yield Group("pixi", "uv", place, tuple(pypi), indexes, python=python, platforms=platforms, beside=pins)


def _channels(part: dict[str, Any], source: Source, finder: Finder, line: int) -> Iterator[Channel]:
    for entry in items(part.get("channels")):
        name = entry.get("channel") if isinstance(entry, dict) else entry
        if isinstance(name, str):
            yield Channel(name, Place(source.name, finder.text(name, finder.key("channels", line) or line)))


def _platform_names(workspace: dict[str, Any]) -> Iterator[str]:
    for entry in items(workspace.get("platforms")):
        name = entry.get("platform") if isinstance(entry, dict) else entry
        if isinstance(name, str):
            yield name


def _declares_cuda(workspace: dict[str, Any], part: dict[str, Any]) -> bool:
    inline = any("cuda" in entry for entry in tables(workspace.get("platforms")))
    return inline or "cuda" in table(part, "system-requirements")


def _conda(part: dict[str, Any], source: Source, finder: Finder, prefix: str) -> Iterator[Pin]:
    for header, listed in _tables(part, "dependencies", prefix):
        for name, wanted in listed.items():
            version = wanted.get("version", "*") if isinstance(wanted, dict) else wanted
            build = wanted.get("build", "") if isinstance(wanted, dict) else ""
            channel = wanted.get("channel", "") if isinstance(wanted, dict) else ""
            text = f"{name} {version}" if str(version)[:1].isdecimal() else f"{name}{str(version).strip('*')}"
            pin = conda_words.pin_of(text, Place(source.name, finder.header(header, name)))
            if pin:
                is_gpu = pin.asks_gpu or any(word in str(build) for word in ("cuda", "gpu"))
                yield pin._replace(asks_gpu=is_gpu, channel=str(channel) or pin.channel)


def _pypi(part: dict[str, Any], source: Source, finder: Finder, prefix: str) -> Iterator[Pin]:
    for header, listed in _tables(part, "pypi-dependencies", prefix):
        for name, wanted in listed.items():
            place = Place(source.name, finder.header(header, name))
            entry = wanted if isinstance(wanted, dict) else {"version": wanted}
            is_elsewhere = any(key in entry for key in ("git", "path", "url"))
            index = entry.get("index")
            pin = Pin(normal(name), place, url=DIRECT if is_elsewhere else index if isinstance(index, str) else None)
            version = str(entry.get("version", "*"))
            version = "" if version == "*" else f"=={version}" if version[:1].isdecimal() else version
            yield with_spec(pin._replace(text=f"{name} {version}"), version)


def _tables(part: dict[str, Any], key: str, prefix: str) -> Iterator[tuple[str, dict[str, Any]]]:
    yield f"{prefix}{key}", table(part, key)
    for target in table(part, "target"):
        if target in {"linux", "linux-64"}:
            yield f"{prefix}target.{target}.{key}", table(part, "target", target, key)


def _indexes(options: dict[str, Any], source: Source, finder: Finder) -> Iterator[IndexUse]:
    for key, role in (("index-url", "main"), ("extra-index-urls", "first")):
        for url in texts(options.get(key)):
            yield IndexUse(url, role, Place(source.name, finder.text(url)))
