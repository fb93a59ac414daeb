"""The tables of Poetry in pyproject.toml: dependencies in its own syntax, groups, and sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torchdoctor.findings import Place
from torchdoctor.lint.model import DIRECT, Binding, Group, IndexUse, Pin, PythonWish, normal
from torchdoctor.lint.readers.toml_text import Finder, items, table, tables, texts
from torchdoctor.lint.readers.words import pin_of, with_spec
from torchdoctor.lint.source import Source

_PLATFORMS = {"linux": "linux", "win32": "win32", "darwin": "darwin"}
_PYPI = "pypi"  # Poetry's own, which needs no address
_ROLES = {"explicit": "explicit", "supplemental": "extra"}


def applied(base: Group, deps: dict[str, list[Pin]], source: Source, poetry: dict[str, Any], finder: Finder) -> Group:
    """The group under Poetry's rules; its own dependencies and groups join ``deps``."""
    uses = tuple(_sources(poetry, source, finder))
    by_name = {use.name: use for use in uses}
    bindings: dict[str, tuple[Binding, ...]] = {}
    named = {"": "tool.poetry.dependencies"} | {
        name: f"tool.poetry.group.{name}.dependencies" for name in table(poetry, "group")
    }
    for group, header in named.items():
        listed = table(poetry, "dependencies") if not group else table(poetry, "group", group, "dependencies")
        for name, wanted in listed.items():
            line = finder.header(header, name)
            own = list(_pins(normal(name), wanted, Place(source.name, line)))
            have = {pin.name for pin in deps.get(group, [])}
            # Beside [project], an entry without a version only says where the package comes from.
            deps.setdefault(group, []).extend(pin for pin in own if pin.spec or pin.name not in have)
            if found := tuple(_bindings(wanted, by_name, Place(source.name, line))):
                bindings[normal(name)] = found
    _to_extras(deps, table(poetry, "extras"), table(poetry, "dependencies"))
    python = _python(poetry, source, finder) or base.python
    is_poetry = bool(table(poetry, "dependencies")) or bool(uses) or bool(table(poetry, "group"))
    tool = "poetry" if is_poetry else base.tool
    return base._replace(tool=tool, indexes=(*base.indexes, *uses), bindings=bindings, python=python)


def _sources(poetry: dict[str, Any], source: Source, finder: Finder) -> Iterator[IndexUse]:
    for entry in tables(poetry.get("source")):
        name = str(entry.get("name", ""))
        url = entry.get("url", name if name.lower() == _PYPI else None)
        if isinstance(url, str):
            role = _ROLES.get(str(entry.get("priority", "primary")), "main")
            yield IndexUse(url, role, Place(source.name, finder.text(url)), name)


def _python(poetry: dict[str, Any], source: Source, finder: Finder) -> PythonWish | None:
    wanted = table(poetry, "dependencies").get("python")
    if not isinstance(wanted, str):
        return None
    place = Place(source.name, finder.header("tool.poetry.dependencies", "python"))
    return PythonWish(as_specifier(wanted), place, key="python")


def _pins(name: str, wanted: Any, place: Place) -> Iterator[Pin]:
    if name == "python":
        return
    for entry in items(wanted):
        if isinstance(entry, str):
            yield with_spec(Pin(name, place, text=f"{name} {entry}"), as_specifier(entry))
        elif isinstance(entry, dict):
            yield from _of_table(name, entry, place)


def _of_table(name: str, entry: dict[str, Any], place: Place) -> Iterator[Pin]:
    marker = " and ".join(f"({part})" for part in _markers(entry))
    address = entry.get("url")
    if isinstance(address, str):
        yield pin_of(address, place, marker) or Pin(name, place, marker=marker, url=DIRECT)
    elif any(key in entry for key in ("git", "path")):
        yield Pin(name, place, marker=marker, url=DIRECT)
    else:
        wanted = as_specifier(str(entry.get("version", "*")))
        yield with_spec(Pin(name, place, marker=marker, text=f"{name} {entry.get('version', '*')}"), wanted)


def _markers(entry: dict[str, Any]) -> Iterator[str]:
    if isinstance(entry.get("markers"), str) and entry["markers"]:
        yield entry["markers"]
    if isinstance(entry.get("platform"), str):
        yield f"sys_platform == '{_PLATFORMS.get(entry['platform'], entry['platform'])}'"
    if isinstance(entry.get("python"), str):
        parts = (part for part in as_specifier(entry["python"]).split(",") if part)
        yield " and ".join(
            f"python_version {part[: -len(part.lstrip('<>=!~'))]} '{part.lstrip('<>=!~')}'" for part in parts
        )


def _bindings(wanted: Any, by_name: dict[str, IndexUse], place: Place) -> Iterator[Binding]:
    for entry in items(wanted):
        if isinstance(entry, dict) and isinstance(entry.get("source"), str):
            name, marker = entry["source"], " and ".join(f"({part})" for part in _markers(entry))
            is_own = name.lower() == _PYPI
            yield Binding(by_name.get(name), marker, undeclared="" if name in by_name or is_own else name, place=place)


def _to_extras(deps: dict[str, list[Pin]], extras: dict[str, Any], listed: dict[str, Any]) -> None:
    """What is optional is installed only with an extra that names it."""
    optional = {
        normal(name) for name, entry in listed.items() if isinstance(entry, dict) and entry.get("optional") is True
    }
    held = [pin for pin in deps.get("", []) if pin.name in optional]
    deps[""] = [pin for pin in deps.get("", []) if pin.name not in optional]
    for extra, names in extras.items():
        wanted = {normal(name) for name in texts(names)}
        deps.setdefault(extra, []).extend(pin for pin in held if pin.name in wanted)


def as_specifier(text: str) -> str:
    """Poetry's constraint as PEP 440 writes it; alternatives (``||``) allow anything here."""
    if "|" in text or text.strip() in {"", "*"}:
        return ""
    return ",".join(found for part in text.replace(" ", "").split(",") if (found := _one(part)))


def _one(part: str) -> str:
    number = part.lstrip("^~=<>!")
    sign = part[: len(part) - len(number)]
    pieces = number.partition("+")[0].split(".")
    if not all(piece.isdecimal() for piece in pieces):
        return part if sign in {"==", ">=", "<=", "<", ">", "!=", "~="} else f"=={part}" if not sign else ""
    numbers = [int(piece) for piece in pieces]
    if sign == "^":
        first = next((index for index, value in enumerate(numbers) if value), len(numbers) - 1)
        return f">={number},<{_above(numbers, first)}"
    if sign == "~":
        return f">={number},<{_above(numbers, min(1, len(numbers) - 1))}"
    return part if sign in {"==", ">=", "<=", "<", ">", "!=", "~="} else f"=={number}"


def _above(numbers: list[int], index: int) -> str:
    return ".".join(map(str, [*numbers[:index], numbers[index] + 1]))
