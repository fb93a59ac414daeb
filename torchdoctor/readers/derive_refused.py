"""Why an installer found no torch: the index, the Python or the system. The tables know what lies where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.facts import Facts
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import build_of
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build, PythonTag, Version


def refused_follows(facts: Facts, tables: Tables) -> Iterator[Said]:
    """``index``, ``python`` or ``system``, for a version that was asked for and not offered."""
    if not isinstance(facts.torch.offered, tuple):
        return  # nothing was refused
    asked = facts.torch.requested if isinstance(facts.torch.requested, str) else ""
    public, _, label = asked.partition("+")
    if _is_older_than(public, facts, tables):
        yield Said("torch.refused", "python", f"torch_builds: newer than any Python of torch {public}")
    rows = _of_version(public, tables)
    wanted = build_of(label) if label else None
    if not rows or asked in facts.torch.offered or (label and wanted is None):
        return
    reason = _reason(facts, tables, rows, wanted)
    if reason:
        yield Said("torch.refused", reason, f"torch_builds: torch {asked or 'of any version'}")


def _of_version(public: str, tables: Tables) -> Sequence[TorchBuild]:
    """The wheels of a version, of any where none was named; none for a version that the table does not hold."""
    if not public:
        return tables.torch_builds.rows
    try:
        version = Version.parse(public)
    except ValueError:
        return ()
    return [row for row in tables.torch_builds.rows if row.torch == version]


def _is_older_than(public: str, facts: Facts, tables: Tables) -> bool:
    """Whether a version is older than the table, and the Python newer than any of the table's first version."""
    tag, first = facts.python.tag, tables.torch_builds.versions()[-1]
    try:
        is_older = Version.parse(public) < first
    except ValueError:
        return False
    pythons = {python for row in tables.torch_builds.rows if row.torch == first for python in row.pythons}
    return is_older and isinstance(tag, PythonTag) and tag > max(pythons)


def _reason(facts: Facts, tables: Tables, rows: Sequence[TorchBuild], wanted: Build | None) -> str:
    here = [row for row in rows if _is_here(row, facts)]
    if not here:
        return "system" if rows else ""
    searched = _searched(facts, tables)
    if not searched:
        return ""
    lying = [row for row in here if (wanted is None or row.build == wanted) and _lies_in(row, searched)]
    if not lying:
        return "index"
    tag = facts.python.tag
    if isinstance(tag, PythonTag) and all(row.pythons and tag not in row.pythons for row in lying):
        return "python"
    return ""


def _is_here(row: TorchBuild, facts: Facts) -> bool:
    machine = facts.python.machine if isinstance(facts.python.machine, str) else facts.os.machine
    return (not isinstance(facts.os.name, str) or row.os == facts.os.name) and (
        not isinstance(machine, str) or row.machine == machine
    )


def _searched(facts: Facts, tables: Tables) -> frozenset[str]:
    """The builds whose index was asked, and ``pypi``; none where an index is not understood or unknown."""
    found = {"pypi" if "+" not in version else version.partition("+")[2] for version in _offered(facts)}
    urls = facts.torch.indexes if isinstance(facts.torch.indexes, tuple) else ()
    for url in urls:
        host = _host(url)
        kinds = {row.kind for row in tables.indexes.rows if row.url and _host(row.url) == host}
        variant = next((part for part in url.split("/") if _is_variant(part)), "")
        if "nightly" in url or (kinds and not variant):
            return frozenset()
        found.add(variant if kinds else "pypi")  # a host that is in no row is a mirror of PyPI
    return frozenset(found)


def _offered(facts: Facts) -> tuple[str, ...]:
    return facts.torch.offered if isinstance(facts.torch.offered, tuple) else ()


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


def _is_variant(part: str) -> bool:
    try:
        return bool(part) and Build.parse(part) is not None
    except ValueError:
        return False


def _lies_in(row: TorchBuild, searched: frozenset[str]) -> bool:
    name = "cpu" if row.build.backend == "mps" else row.build.name
    return name in searched or (bool(row.on_pypi) and "pypi" in searched)
