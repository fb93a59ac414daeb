"""pyproject.toml: the project's dependencies, extras and groups, with what its tool says of indexes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchdoctor.findings import Place
from torchdoctor.lint.model import Group, Pin, PythonWish, normal
from torchdoctor.lint.readers import hatch_tables, pdm_tables, pixi, poetry_tables, uv_tables
from torchdoctor.lint.readers.toml_text import Finder, items, parsed, table, texts
from torchdoctor.lint.readers.words import LONGEST, pin_of
from torchdoctor.lint.source import Source

_MOST = 100  # extras, and groups
_NAME = "pyproject"
Deps = dict[str, list[Pin]]  # a name of an extra or group, "" for what is always installed -> its pins


def read(source: Source) -> list[Group]:
    """One group for the project itself, and one with each extra, dependency group and environment of a tool."""
    data, finder = parsed(source), Finder(source)
    project, tools = table(data, "project"), table(data, "tool")
    deps = _dependencies(source, data, finder)
    base = Group(_NAME, "pip", Place(source.name), python=_python(source, project, finder))
    base = base._replace(is_complete="dependencies" not in texts(project.get("dynamic")))
    if "poetry" in tools:
        base = poetry_tables.applied(base, deps, source, table(tools, "poetry"), finder)
    if "pdm" in tools:
        base = pdm_tables.applied(base, deps, source, table(tools, "pdm"), finder)
    if "uv" in tools:
        base = uv_tables.applied(base, deps, source, table(tools, "uv"), finder)
    base = base._replace(named=frozenset(pin.name for pins in deps.values() for pin in pins))
    base = base._replace(elsewhere=hatch_tables.indexes_of_all(source, table(tools, "hatch"), finder))
    groups = [
        base._replace(pins=(*deps.get("", ()), *pins), chosen=frozenset((name,) if name else ()))
        for name, pins in {**deps, "": []}.items()
    ]
    groups += hatch_tables.groups(base, deps.get("", []), source, table(tools, "hatch"), finder)
    if "pixi" in tools:
        groups += pixi.groups(source, table(tools, "pixi"), finder, under="tool.pixi.")
    return groups


def _python(source: Source, project: dict[str, Any], finder: Finder) -> PythonWish | None:
    spec = project.get("requires-python")
    if not isinstance(spec, str):
        return None
    return PythonWish(spec, Place(source.name, finder.header("project", "requires-python")))


def _dependencies(source: Source, data: dict[str, Any], finder: Finder) -> Deps:
    project = table(data, "project")
    deps: Deps = {"": list(pins_of(source, finder, texts(project.get("dependencies")), finder.header("project")))}
    extras = table(project, "optional-dependencies")
    for name, wanted in list(extras.items())[:_MOST]:
        line = finder.header("project.optional-dependencies", name)
        deps[name] = list(pins_of(source, finder, texts(wanted), line))
    own, plain = normal(str(project.get("name", ""))), {name: tuple(pins) for name, pins in deps.items()}
    for name in list(extras)[:_MOST]:
        deps[name] += [pin for other in _included(extras, name, own, {name}) for pin in plain.get(other, ())]
    listed = table(data, "dependency-groups")
    for name in list(listed)[:_MOST]:
        line = finder.header("dependency-groups", name)
        wanted = list(_flat(listed, name, {name}))
        deps[name] = deps.get(name, []) + list(pins_of(source, finder, wanted, line))
    return deps


def pins_of(source: Source, finder: Finder, wanted: list[str], line: int) -> Iterator[Pin]:
    """The pins of a list of requirements, each on the line that holds it."""
    for text in wanted:
        if pin := pin_of(text, Place(source.name, finder.text(text, line))):
            yield pin


def _included(extras: dict[str, Any], name: str, own: str, seen: set[str]) -> Iterator[str]:
    """The extras that an extra takes in by naming the project itself: ``name[cu126]``."""
    for text in texts(extras.get(name)) if own else ():
        head, bracket, rest = text[:LONGEST].partition("[")
        if bracket and normal(head.strip()) == own:
            for other in map(str.strip, rest.partition("]")[0].split(",")):
                if other not in seen and len(seen) < _MOST:
                    seen.add(other)
                    yield other
                    yield from _included(extras, other, own, seen)


def _flat(listed: dict[str, Any], name: str, seen: set[str]) -> Iterator[str]:
    """The requirements of a group, those of the groups that it includes among them."""
    for item in items(listed.get(name)):
        if isinstance(item, str):
            yield item
            continue
        other = item.get("include-group") if isinstance(item, dict) else None
        if isinstance(other, str) and other not in seen and len(seen) < _MOST:
            seen.add(other)
            yield from _flat(listed, other, seen)
