"""``tables refresh``: hold the tables against an index, and change no more than its pages prove."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from torchdoctor.index.builds import Builds, known_rows
from torchdoctor.index.client import Client, IndexReadError, shown
from torchdoctor.index.companions import Releases
from torchdoctor.index.metadata import Metadata, read_metadata
from torchdoctor.index.observed import BuildKey, SeenBuild, SeenRelease, seen_builds, seen_releases
from torchdoctor.index.outcome import Outcome
from torchdoctor.index.pages import IndexFile
from torchdoctor.index.pythons import follow_builds
from torchdoctor.index.reading import COMPANIONS, TORCH, TRITON, Index, read_index
from torchdoctor.index.sheet import Sheet
from torchdoctor.tables import Tables
from torchdoctor.tables.companions import FILE as COMPANION_FILE
from torchdoctor.tables.invariants import Fault, faults
from torchdoctor.tables.python_support import FILE as PYTHON_FILE
from torchdoctor.tables.torch_builds import FILE as BUILD_FILE
from torchdoctor.values import Version

_RECENT = 6  # torch versions whose builds are looked for one by one
_MOST_METADATA = 200  # files: an index that shows more news than this is not asked about every one
_SHARE = 2  # one of so many known builds must be on a page, or the page is not what it should be


class Refresh(NamedTuple):
    """The changed tables, what else is to be said, and which invariants the result would break."""

    sheets: tuple[Sheet, ...]
    outcome: Outcome
    faults: tuple[Fault, ...]

    @property
    def changed(self) -> tuple[Sheet, ...]:
        """The tables with a difference."""
        return tuple(sheet for sheet in self.sheets if any(sheet.touched()))


def refresh(client: Client, base: str, tables: Tables, day: str) -> Refresh:
    """Read the index and work out the difference; raise ``IndexReadError`` when it cannot be believed."""
    index = read_index(client, base, _recent_builds(tables))
    builds, releases, pythons = (Sheet(file, tables) for file in (BUILD_FILE, COMPANION_FILE, PYTHON_FILE))
    outcome, asking = Outcome(), _Asking(client)
    seen = seen_builds(index.wheels[TORCH], index.passed)
    _require_plausible(base, TORCH, *_known_builds(builds, seen))
    asked = Builds(builds, outcome, day, asking.of_build).take(seen)
    follow_builds(pythons, builds, day)
    torch = sorted({Version.parse(cells["torch"]) for cells in builds.rows.values()})
    _take_companions(index, Releases(releases, torch, outcome, day), tables, seen, asking)
    Releases(releases, torch, outcome, day).take_triton(asked, tables.companions)
    outcome.remarks.extend(f"no page of {name}" for name in index.without)
    outcome.remarks.extend(f"{count} files passed over: {why}" for why, count in sorted(index.passed.items()) if count)
    sheets = (pythons, releases, builds)
    return Refresh(sheets, outcome, _faults(sheets, tables))


def _recent_builds(tables: Tables) -> tuple[str, ...]:
    recent = tables.torch_builds.versions()[:_RECENT]
    names = {row.build.name for row in tables.torch_builds.rows if row.torch in recent and "pytorch" in row.indexes}
    return tuple(sorted(names))


def _known_builds(builds: Sheet, seen: dict[BuildKey, SeenBuild]) -> tuple[set[str], set[str]]:
    """The builds that are expected on the page, and those that are there."""
    expected = known_rows(builds.before.values(), seen)
    names = {(row["torch"], row["build"]) for row in expected}
    found = {(torch, build) for torch, build, _, _ in seen}
    return {"+".join(name) for name in names}, {"+".join(name) for name in names & found}


def _require_plausible(base: str, project: str, known: Collection[str], found: Collection[str]) -> None:
    if known and len(found) * _SHARE < len(known):
        few = f"it shows {len(found)} of the {len(known)} releases that are known"
        raise IndexReadError(f"{shown(base)}: the page of {project} is not believed: {few}")
    if not known and project == TORCH:
        raise IndexReadError(f"{shown(base)}: the page of {project} is not believed: no build on it is known")


def _take_companions(
    index: Index, releases: Releases, tables: Tables, seen: dict[BuildKey, SeenBuild], asking: _Asking
) -> None:
    torch = [Version.parse(version) for version, _, _, _ in seen]
    labels = any(build for _, build, _, _ in seen if build not in {"", "mps"})
    for name in COMPANIONS:
        if name not in index.wheels or not labels:
            continue
        found = seen_releases(index.wheels[name])
        rows = [row for row in tables.companions.releases(name) if row.labelled == "yes" and any(map(row.fits, torch))]
        known = {str(row.version) for row in rows}
        _require_plausible(index.base, name, known, known & set(map(str, found)))
        releases.take(name, found, tables.companions, asking.of_release)
    releases.remark_unasked(seen_releases(index.wheels.get(TRITON, [])))


class _Asking:
    """Fetches METADATA, as often as is allowed."""

    def __init__(self, client: Client) -> None:
        self.client, self.left = client, _MOST_METADATA

    def of_build(self, seen: SeenBuild, os: str, machine: str) -> Metadata | None:
        return self._of(seen.files[-1], os, machine)

    def of_release(self, seen: SeenRelease) -> Metadata | None:
        """The metadata of the wheel for Linux, else of any: what a companion asks of torch is the same everywhere."""
        platform, file = min(seen.files.items(), key=lambda item: (item[0].os != "linux", item[0].machine))
        is_any = platform.os == "any"
        return self._of(file, "linux" if is_any else platform.os, "x86_64" if is_any else platform.machine)

    def _of(self, file: IndexFile, os: str, machine: str) -> Metadata | None:
        if self.left == 0:
            return None
        self.left -= 1
        return read_metadata(self.client, file, os, machine)


def _faults(sheets: tuple[Sheet, ...], tables: Tables) -> tuple[Fault, ...]:
    """What the tables would break with the difference laid over them."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        for sheet in sheets:
            (folder / sheet.file.name).write_text(sheet.text(whole=False), encoding="utf-8")
        for path in tables.over.glob("*.csv") if tables.over else ():
            if not (folder / path.name).exists():
                (folder / path.name).write_bytes(path.read_bytes())
        return tuple(faults(Tables(tables.root, over=folder)))
