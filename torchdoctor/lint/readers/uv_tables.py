"""The tables of uv in pyproject.toml: indexes, sources, and the older keys that mean the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchdoctor.findings import Place
from torchdoctor.lint.model import Binding, Group, IndexUse, Pin, normal
from torchdoctor.lint.readers.toml_text import Finder, items, table, tables, texts
from torchdoctor.lint.readers.words import pin_of
from torchdoctor.lint.source import Source

_MOST = 60  # sources of one package
_ELSEWHERE = ("git", "url", "path", "workspace")


def applied(base: Group, deps: dict[str, list[Pin]], source: Source, uv: dict[str, Any], finder: Finder) -> Group:
    """The group under uv's rules; the development dependencies join ``deps``."""
    line = finder.header("tool.uv", "dev-dependencies")
    for text in texts(uv.get("dev-dependencies")):
        if pin := pin_of(text, Place(source.name, finder.text(text, line))):
            deps.setdefault("dev", []).append(pin)
    for key in ("constraint-dependencies", "override-dependencies"):
        pins = (pin_of(text, Place(source.name, finder.text(text))) for text in texts(uv.get(key)))
        is_forced = key.startswith("override")
        deps.setdefault("", []).extend(pin._replace(is_forced=is_forced) for pin in pins if pin)
    indexes = (*_indexes(uv, source, finder), *_older(uv, source, finder))
    by_name = {use.name: use for use in indexes}
    bindings = {
        normal(name): tuple(_bindings(wanted, by_name, finder, source, name))
        for name, wanted in table(uv, "sources").items()
    }
    # A workspace's root binds for its members, whose dependencies are in files of their own.
    is_whole = base.is_complete and "workspace" not in uv
    return base._replace(tool="uv", indexes=indexes, bindings=bindings, is_complete=is_whole)


def _indexes(uv: dict[str, Any], source: Source, finder: Finder) -> Iterator[IndexUse]:
    for entry in tables(uv.get("index")):
        url = entry.get("url")
        if isinstance(url, str):
            role = "explicit" if entry.get("explicit") is True else "main" if entry.get("default") is True else "first"
            place = Place(source.name, finder.text(url, finder.header("tool.uv.index")))
            yield IndexUse(url, role, place, str(entry.get("name", "")))


def _older(uv: dict[str, Any], source: Source, finder: Finder) -> Iterator[IndexUse]:
    for key, role in (("index-url", "main"), ("extra-index-url", "first"), ("find-links", "first")):
        for url in texts(uv.get(key)):
            yield IndexUse(url, role, Place(source.name, finder.text(url)))


def _bindings(
    wanted: Any, by_name: dict[str, IndexUse], finder: Finder, source: Source, name: str
) -> Iterator[Binding]:
    for entry in items(wanted)[:_MOST]:
        if not isinstance(entry, dict):
            continue
        index, marker = entry.get("index"), str(entry.get("marker") or "")
        extra = str(entry.get("extra") or entry.get("group") or "")
        if isinstance(index, str):
            line = finder.text(index, finder.header("tool.uv.sources", name))
            use = by_name.get(index)
            place = Place(source.name, line)
            yield Binding(use._replace(place=place) if use else None, marker, extra, "" if use else index, place)
        elif any(key in entry for key in _ELSEWHERE):
            yield Binding(None, marker, extra)
