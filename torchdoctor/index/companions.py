"""Bring torch_companions up to what an index shows: releases, the torch each asks for, and whether it has labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress

from torchdoctor.index.metadata import Metadata, Requires
from torchdoctor.index.observed import SeenRelease
from torchdoctor.index.outcome import Outcome
from torchdoctor.index.sheet import Cells, Sheet
from torchdoctor.tables.companions import Companions
from torchdoctor.values import Build, Version

SOURCE = "wheel metadata on the torch index"
Ask = Callable[[SeenRelease], Metadata | None]


class Releases:
    """The rows of torch_companions, held against what was seen. ``torch`` are the versions of torch_builds, sorted."""

    def __init__(self, sheet: Sheet, torch: list[Version], outcome: Outcome, day: str) -> None:
        self.sheet, self.torch, self.outcome, self.day = sheet, torch, outcome, day

    def take(self, name: str, seen: Mapping[Version, SeenRelease], known: Companions, ask: Ask) -> None:
        """Take in the releases of one companion: none is older than the oldest one known."""
        rows = known.releases(name)
        for version, release in sorted(seen.items(), key=lambda item: item[0]):
            row = self.sheet.find(name, str(version))
            if row is not None:
                self._confirm(row, release, ask, is_newest=version == rows[0].version)
            elif rows and version > rows[-1].version and known.find(name, str(version)) is None:
                self._add(name, version, release, ask)

    def _confirm(self, row: Cells, release: SeenRelease, ask: Ask, *, is_newest: bool) -> None:
        """Settle what was open; the newest release is also asked whether what was read is still so."""
        was, name = dict(row), f"{row['name']} {row['version']}"
        if row["labelled"] == "unknown":
            row["labelled"] = release.labelled
        elif release.has_code and release.labelled != row["labelled"]:
            self.outcome.contradict(name, "labelled", row["labelled"], release.labelled)
        inferred = row["confidence"] == "inferred"
        asked = self._asked(ask(release)) if inferred or is_newest else None
        if asked and inferred:
            row.update(torch_min=asked[0], torch_max=asked[1], confidence="read")
        elif asked and (row["torch_min"], row["torch_max"]) != asked:
            self.outcome.contradict(name, "torch", _span(row["torch_min"], row["torch_max"]), _span(*asked))
        if row != was:
            row["checked"] = self.day

    def _asked(self, metadata: Metadata | None) -> tuple[str, str] | None:
        torch = metadata.find("torch") if metadata else None
        return self._range(torch) if torch else None

    def _add(self, name: str, version: Version, release: SeenRelease, ask: Ask) -> None:
        metadata = ask(release)
        asked = self._asked(metadata)
        if metadata is None or asked is None:
            why = "the index offers no metadata of it" if metadata is None else "it names no torch that the tables know"
            self.outcome.remarks.append(f"{name} {version}: not added, {why}")
            return
        newest = self._newest(name)
        self.sheet.add(
            name=name, version=str(version), any_patch="no", torch_min=asked[0], torch_max=asked[1],
            listed_for=asked[0] if asked[0] == asked[1] else "",
            pythons_excluded=" ".join(dict.fromkeys(metadata.pythons_excluded)), cuda_rule=newest["cuda_rule"],
            built_cuda="" if asked[0] == asked[1] else _cuda_of(release.labels), labelled=release.labelled,
            confidence="read", source=SOURCE, checked=self.day,
        )  # fmt: skip

    def _newest(self, name: str) -> Cells:
        rows = [row for row in self.sheet.before.values() if row["name"] == name]
        return max(rows, key=lambda row: Version.parse(row["version"]))

    def _range(self, torch: Requires) -> tuple[str, str] | None:
        """The first and the last torch that is asked for, the last one empty when open; None when none is known."""
        exact, least, below = (torch.clause(operator) for operator in ("==", ">=", "<"))
        if exact:
            found = [version for version in self.torch if version == _padded(exact)]
            return (str(found[0]), str(found[0])) if found else None
        fitting = [version for version in self.torch if least and version >= _padded(least)]
        fitting = [version for version in fitting if not below or version < _padded(below)]
        if not fitting:
            return None
        return str(fitting[0]), str(fitting[-1]) if below else ""

    def take_triton(self, asked: Mapping[str, Metadata], known: Companions) -> None:
        """Extend or add the triton that new torch versions ask for."""
        for torch, metadata in asked.items():
            triton = metadata.find("triton")
            version = (triton.clause("==") or triton.clause("~=")) if triton else ""
            if not triton or not version:
                continue
            release = known.find("triton", version)
            row = self.sheet.find("triton", str(release.version if release else version))
            if row is None:
                self.sheet.add(
                    name="triton", version=version, any_patch="no" if triton.clause("==") else "yes", torch_min=torch,
                    torch_max=torch, listed_for=torch, labelled="no", confidence="read",
                    source=SOURCE, checked=self.day,
                )  # fmt: skip
            elif torch not in row["listed_for"].split():
                last = max(Version.parse(row["torch_max"] or torch), Version.parse(torch))
                row.update(listed_for=f"{row['listed_for']} {torch}".strip(), checked=self.day)
                row["torch_max"] = str(last) if row["torch_max"] else ""

    def remark_unasked(self, seen: Mapping[Version, SeenRelease]) -> None:
        """Tell of a triton newer than every one that some torch asks for: which torch it fits, no page says."""
        newest = Version.parse(self._newest("triton")["version"])
        listed = {key[1] for key in self.sheet.rows if key[0] == "triton"}
        for version in sorted(seen):
            if version > newest and version.parts[:2] > newest.parts[:2] and str(version) not in listed:
                self.outcome.remarks.append(f"triton {version}: not added, no torch that was read asks for it")


def _span(first: str, last: str) -> str:
    return f"{first} to {last or 'any'}"


def _padded(text: str) -> Version:
    """2.14 as 2.14.0: versions of torch have three parts."""
    parts = Version.parse(text).parts
    return Version((*parts, *(0,) * (3 - len(parts))))


def _cuda_of(labels: set[str]) -> str:
    found = set()
    for label in labels:
        with suppress(ValueError):
            found.add(Build.parse(label).cuda)
    return " ".join(map(str, sorted(cuda for cuda in found if cuda)))
