"""Where a project's pyproject.toml names torch and what comes with it, and which Pythons its lock must serve."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchdoctor.patterns import lazily

MAIN, GROUP, DEV, EXTRA, BOUND = "main", "group", "dev", "extra", "bound"
_NAME = re.compile(r"\s*([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)([^;]*)(?:;\s*(.*))?", re.ASCII | re.DOTALL)
_EXTRA = lazily(r"^\s*\[[^\]]*\]")
_CONDAS = {"pytorch", "pytorch-gpu", "pytorch-cpu"}
_POETRYS = "[tool.poetry"
_TORCH = "torch"  # the beginning of all their names
_MINORS, _LATEST = range(40), 60  # of Python 3, and a patch release above all that there are


class Stand(NamedTuple):
    """One line of the file: where it stands, and what it says.

    ``kind`` is one of main, group, dev (uv's table before there were groups), extra, and bound: what holds for the
    package wherever it is asked for.
    """

    name: str
    kind: str
    group: str
    table: str
    spec: str
    marker: str = ""
    source: str = ""  # the index that Poetry takes it from

    def __str__(self) -> str:
        line = f"{self.name}{self.spec}" + (f"; {self.marker}" if self.marker else "")
        return f"{self.table}: {line}"


class Pixi(NamedTuple):
    """What pixi's file says: the header of its first table, the entries there as they are, and lines of conda's torch.

    The ``group`` of a line is the feature that it belongs to, its marker tells for which systems it is.
    """

    header: str = "workspace"
    channels: tuple[Any, ...] = ()
    platforms: tuple[Any, ...] = ()
    conda: tuple[Stand, ...] = ()
    ended: frozenset[str] = frozenset()  # those of the channels that hold a torch and get no new one


class Kept(NamedTuple):
    """What the file says. ``pythons`` are alternatives, each a specifier; none: the tool takes those from its own."""

    stands: tuple[Stand, ...] = ()
    pythons: tuple[str, ...] = ()
    has_members: bool = False  # it is the root of a workspace, which others belong to
    is_dynamic: bool = False  # what it depends on, a program tells when it is built
    in_pyproject: bool = False  # pixi's tables, which lie in a file of their own else
    is_apart: bool = False  # uv: tables that exclude each other, or that take torch from places of their own
    is_member: bool = False  # it is that of the current folder, and another one keeps the lock
    pixi: Pixi | None = None  # None for any other tool

    @property
    def torchs(self) -> tuple[str, ...]:
        """The lines that ask for certain versions of torch, each as a requirement with its marker."""
        lines = [stand for stand in self.stands if stand.name == _TORCH and "@" not in stand.spec]
        lines += [stand for stand in self.pixi.conda if stand.name in _CONDAS and not stand.group] if self.pixi else []
        said = ((_EXTRA.sub("", stand.spec).strip(), stand.marker) for stand in lines)
        each = ((spec, marker) for spec, marker in said if spec.strip("* ") and "|" not in spec)
        return tuple(f"{_TORCH}{_standards(spec)}" + (f"; {marker}" if marker else "") for spec, marker in each)

    def allows(self, version: str) -> bool:
        """Whether the project allows this Python."""
        from packaging.specifiers import InvalidSpecifier, SpecifierSet

        try:
            return any(SpecifierSet(one).contains(version, prereleases=True) for one in self.pythons)
        except InvalidSpecifier:
            return False

    @property
    def oldest(self) -> tuple[int, int] | None:
        """The oldest minor version of Python 3 that the project allows."""
        named = {int(patch) for one in self.pythons for patch in re.findall(r"\d+\.\d+\.(\d{1,3})", one)}
        patches = sorted({0, *(patch + 1 for patch in named), *named, _LATEST})
        return next(
            ((3, minor) for minor in _MINORS for patch in patches if self.allows(f"3.{minor}.{patch}")),
            None,
        )


def kept_in(table: Mapping[str, Any], tool: str) -> Kept:
    """Read the file of a project that this tool keeps."""
    own = at(table, "tool", {"uv-project": "uv"}.get(tool, tool))
    stands = [*_standard(table), *(_OWN[tool](own) if tool in _OWN else ())]
    return Kept(
        tuple(_once(stands)),
        tuple(_pythons(table, own, tool)),
        is_dynamic="dependencies" in (at(table, "project").get("dynamic") or ()),
        has_members=tool == "uv-project" and isinstance(own.get("workspace"), dict),
        is_apart=tool == "uv-project" and _is_apart(own),
    )


def at(table: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The table at a path of keys; an empty one where there is none."""
    for key in keys:
        inner = table.get(key)
        table = inner if isinstance(inner, dict) else {}
    return table


def _standard(table: Mapping[str, Any]) -> Iterator[Stand]:
    yield from listed(at(table, "project").get("dependencies"), MAIN, "", "[project] dependencies")
    for name, lines in at(table, "project", "optional-dependencies").items():
        yield from listed(lines, EXTRA, name, f"[project.optional-dependencies] {name}")
    for name, lines in at(table, "dependency-groups").items():
        yield from listed(lines, GROUP, name, f"[dependency-groups] {name}")


def listed(lines: Any, kind: str, group: str, table: str) -> Iterator[Stand]:
    """What a list of requirements says of torch and its companions."""
    for line in lines if isinstance(lines, list) else ():
        match = _NAME.match(line) if isinstance(line, str) else None
        if match and (name := _plain(match[1])).startswith(_TORCH):
            yield Stand(name, kind, group, table, re.sub(r"^\((.*)\)$", r"\1", match[2].strip()), match[3] or "")


def _of_uv(own: Mapping[str, Any]) -> Iterator[Stand]:
    yield from listed(own.get("dev-dependencies"), DEV, "", "[tool.uv] dev-dependencies")
    for key in ("override-dependencies", "constraint-dependencies"):
        yield from listed(own.get(key), BOUND, "", f"[tool.uv] {key}")


def _is_apart(own: Mapping[str, Any]) -> bool:
    """Whether which build is taken depends on the table that asks for it: one for the CPU, another for CUDA."""
    sources = [value for name, value in at(own, "sources").items() if _plain(name).startswith(_TORCH)]
    each = [one for value in sources for one in (value if isinstance(value, list) else [value])]
    return bool(own.get("conflicts")) or any(isinstance(one, dict) and {"extra", "group"} & one.keys() for one in each)


def _of_pdm(own: Mapping[str, Any]) -> Iterator[Stand]:
    for name, lines in at(own, "dev-dependencies").items():
        yield from listed(lines, GROUP, name, f"[tool.pdm.dev-dependencies] {name}")
    for name, value in at(own, "resolution", "overrides").items():
        if _plain(name).startswith(_TORCH):
            exact = f"=={value}" if str(value)[:1].isdigit() else str(value)
            yield Stand(_plain(name), BOUND, "", "[tool.pdm.resolution.overrides]", exact)


def _of_poetry(own: Mapping[str, Any]) -> Iterator[Stand]:
    yield from by_name(at(own, "dependencies"), MAIN, "", "[tool.poetry.dependencies]")
    yield from by_name(at(own, "dev-dependencies"), GROUP, "dev", "[tool.poetry.dev-dependencies]")
    for group in at(own, "group"):
        table = at(own, "group", group, "dependencies")
        yield from by_name(table, GROUP, group, f"[tool.poetry.group.{group}.dependencies]")


def by_name(table: Mapping[str, Any], kind: str, group: str, title: str) -> Iterator[Stand]:
    """What a table by name says of them: a value is a specifier, a table, or a list of tables."""
    for name, value in table.items():
        if not _plain(name).startswith(_TORCH):
            continue
        for one in value if isinstance(value, list) else [value]:
            said = one if isinstance(one, dict) else {"version": one}
            marker = _marker(said) if kind != MAIN or not said.get("optional") else "optional = true"
            spec, source = str(said.get("version", "")), str(said.get("source", ""))
            yield Stand(_plain(name), kind, group, title, spec and f" {spec}", marker, source)


def _marker(said: Mapping[str, Any]) -> str:
    """The conditions of a table of Poetry as one marker, near enough to be compared and shown."""
    python = str(said.get("python", ""))
    parts = (
        re.sub(r"^!=\s*([\d.]+)$", r'python_full_version != "\1"', python) if python else "",
        f"sys_platform == {said['platform']!r}" if said.get("platform") else "",
        str(said.get("markers", "")),
    )
    return " and ".join(filter(None, parts))


_OWN = {"uv-project": _of_uv, "poetry": _of_poetry, "pdm": _of_pdm}


def _once(stands: list[Stand]) -> Iterator[Stand]:
    """Poetry's table beside a standard one only adds to its line, which it names the source of."""
    adding: dict[tuple[str, str, str], list[Stand]] = {}
    own = {stand[:3] for stand in stands if not stand.table.startswith(_POETRYS)}
    for stand in stands:
        if stand.table.startswith(_POETRYS) and stand[:3] in own:
            adding.setdefault(stand[:3], []).append(stand)
    for stand in stands:
        more = adding.get(stand[:3], [])
        if len(more) == 1 and stand not in more:
            yield stand._replace(source=more[0].source, marker=stand.marker or more[0].marker)
        elif stand not in more or len(more) > 1:
            yield stand


def _pythons(table: Mapping[str, Any], own: Mapping[str, Any], tool: str) -> Iterator[str]:
    """The Pythons that the lock is for; uv without a word takes its own and newer ones, and may be told by markers."""
    said = at(table, "project").get("requires-python")
    if tool == "poetry":
        said = at(own, "dependencies").get("python") or said
    if tool == "uv-project" and (not isinstance(said, str) or own.get("environments")):
        return
    for one in re.split(r"\|\|?", said if isinstance(said, str) else ""):
        yield _standards(one)


def _standards(said: str) -> str:
    """What Poetry takes, as the standard has it."""
    return ",".join(map(_specifier, re.split(r"\s*,\s*|(?<=[\w*])\s+(?=[<>=!~^])", said.strip())))


def _specifier(clause: str) -> str:
    """A clause as the standard has it, of what Poetry takes: ^3.10, ~3.10, 3.11, 3.11.*, *."""
    match = re.fullmatch(r"(\^|~|=)?\s*(\d+(?:\.\d+)*)(\.\*)?", clause)
    if clause in {"", "*"} or not match:
        return "" if clause == "*" else clause
    parts = match[2].split(".")
    if match[1] in {"^", "~"}:
        wide = parts[:1] if match[1] == "^" else parts[:2]
        return f">={match[2]},=={'.'.join(wide)}.*"
    return f"=={match[2]}{match[3] or ''}"


def _plain(name: str) -> str:
    """The name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()
