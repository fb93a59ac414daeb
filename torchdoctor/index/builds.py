"""Bring torch_builds up to what an index shows: confirm and extend rows, add new ones, contradict nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from torchdoctor.index.metadata import Metadata
from torchdoctor.index.observed import BuildKey, SeenBuild
from torchdoctor.index.outcome import Outcome
from torchdoctor.index.sheet import Cells, Sheet
from torchdoctor.values import Build, PythonTag, Version

SOURCE = "wheel names on the torch index"
UNREAD = "list of code unknown: nobody has read it yet"
_INFERRED = "existence inferred"
_PREVIEW = "preview wheels"  # a note that names their Pythons: a person left them out of the row
_TORCH_INDEX, _CPU_INDEX = "pytorch", "pytorch-cpu"
Ask = Callable[[SeenBuild, str, str], Metadata | None]


def name_of(cells: Mapping[str, str]) -> str:
    """How a row is named in messages."""
    return f"{cells['torch']}+{cells['build']} {cells['os']} {cells['machine']}"


class Builds:
    """The rows of torch_builds, held against what was seen."""

    def __init__(self, sheet: Sheet, outcome: Outcome, day: str, ask: Ask) -> None:
        self.sheet, self.outcome, self.day, self.ask = sheet, outcome, day, ask
        self.oldest = min(Version.parse(cells["torch"]) for cells in sheet.rows.values())

    def take(self, seen: Mapping[BuildKey, SeenBuild]) -> dict[str, Metadata]:
        """Take every build in; return what the new torch versions ask for, by version."""
        asked: dict[str, Metadata] = {}
        for key, build in sorted(seen.items(), key=lambda item: (Version.parse(item[0][0]), item[0][1:])):
            row = self._row(key)
            if Version.parse(key[0]) < self.oldest:
                continue
            if row is not None:
                self._confirm(row, build)
            elif not key[1]:
                self.outcome.remarks.append(f"{key[0]} {key[2]} {key[3]}: no label, so which build it is stays open")
            elif (metadata := self._add(key, build)) and metadata.find("triton"):
                asked[key[0]] = metadata
        self._miss(seen)
        return asked

    def _row(self, key: BuildKey) -> Cells | None:
        """The row of a build; without a label it is the one that PyPI serves."""
        torch, build, os, machine = key
        if build:
            return self.sheet.find(torch, build, os, machine)
        group = self._group(torch, os, machine)
        return next((cells for cells in group if cells["on_pypi"] == "yes"), None)

    def _group(self, torch: str, os: str, machine: str) -> list[Cells]:
        rows = self.sheet.rows.values()
        return [row for row in rows if (row["torch"], row["os"], row["machine"]) == (torch, os, machine)]

    def _confirm(self, row: Cells, seen: SeenBuild) -> None:
        """Extend the Pythons, settle what was only inferred, and note what contradicts."""
        was, sure = dict(row), row["existence"] == "read" and row["python_confidence"] == "read"
        if row["existence"] == "inferred":
            row["existence"] = "read"
            row["notes"] = "; ".join(note for note in row["notes"].split("; ") if _INFERRED not in note)
            if row["emit"] != "yes":
                self.outcome.remarks.append(
                    f"{name_of(row)}: on the index; emit stays {row['emit']}, for a person to decide"
                )
                row["notes"] = row["notes"] or was["notes"]
        self._pythons(row, seen)
        glibc = str(*seen.glibc) if len(seen.glibc) == 1 else row["glibc_min"]
        if glibc != row["glibc_min"] and sure:
            self.outcome.contradict(name_of(row), "glibc_min", row["glibc_min"], glibc)
        elif glibc != row["glibc_min"]:
            row["glibc_min"] = glibc
        self._macos(row, seen, was["pythons"].split() if sure else [])
        if row != was:
            sources = row["source"].split(" ; ")
            row.update(source=" ; ".join(dict.fromkeys([*sources, SOURCE])), checked=self.day)

    def _pythons(self, row: Cells, seen: SeenBuild) -> None:
        listed = {PythonTag.parse(tag) for tag in row["pythons"].split()}
        previews = [note for note in row["notes"].split("; ") if _PREVIEW in note]
        decided = {word.strip(",;") for note in previews for word in note.split()}
        new = [tag for tag in seen.tags if tag not in listed and str(tag) not in decided]
        missing = sorted(listed - set(seen.tags))
        if missing:
            confidence = row["python_confidence"]
            self.outcome.lacking.append(f"{name_of(row)}: Python {' '.join(map(str, missing))} ({confidence})")
        elif seen.tags:
            row["python_confidence"] = "read"
        row["pythons"] = " ".join(map(str, sorted([*listed, *new])))

    def _macos(self, row: Cells, seen: SeenBuild, sure: list[str]) -> None:
        """The lowest macOS, Python by Python; what was read for the Pythons in ``sure`` is not changed."""
        floors = dict(pair.split("=") for pair in row["os_min_exceptions"].split())
        for tag, floor in sorted(seen.pythons.items()):
            ours, python = floors.get(str(tag), row["os_min"]), str(tag)
            if floor is None or ours == str(floor) or python not in row["pythons"].split():
                continue
            if python in sure:
                self.outcome.contradict(name_of(row), f"os_min of {python}", ours, str(floor))
            else:
                floors[python] = str(floor)
        ordered = sorted(floors, key=PythonTag.parse)
        row["os_min_exceptions"] = " ".join(f"{python}={floors[python]}" for python in ordered)

    def _miss(self, seen: Mapping[BuildKey, SeenBuild]) -> None:
        """What the tables say was read, of the builds that the index holds at all, and it does not show."""
        for row in known_rows(self.sheet.before.values(), seen):
            key = (row["torch"], row["build"], row["os"], row["machine"])
            unlabelled = (row["torch"], "", row["os"], row["machine"])
            if key not in seen and not (row["on_pypi"] == "yes" and unlabelled in seen):
                self.outcome.lacking.append(f"{name_of(row)}: no wheel")

    def _add(self, key: BuildKey, seen: SeenBuild) -> Metadata | None:
        torch, name, os, machine = key
        build, before = Build(name), self._before(key)
        minimums = {"glibc_min": before.get("glibc_min", ""), "windows_min": before.get("windows_min", "")}
        minimums.update(_minimums(seen))
        if os == "linux" and not minimums["glibc_min"]:
            self.outcome.remarks.append(f"{torch}+{name} {os} {machine}: not added, its lowest glibc is unknown")
            return None
        metadata = self.ask(seen, os, machine)
        has_code = build.backend in {"cuda", "rocm"}
        is_taken = any(cells["on_pypi"] == "yes" for cells in self._group(torch, os, machine))
        self.sheet.add(
            torch=torch, build=name, os=os, machine=machine,
            pythons=" ".join(map(str, seen.tags)), python_confidence="read" if seen.tags else "unknown", **minimums,
            on_pypi="no" if is_taken else "unknown", indexes=_CPU_INDEX if os == "macos" else _TORCH_INDEX,
            advertised=before.get("advertised", "yes"), emit="yes",
            code_confidence="unknown" if has_code else "none", cuda=str(build.cuda or ""),
            **_libraries(metadata, build), existence="read", released=seen.uploaded,
            notes=UNREAD if has_code else "", source=SOURCE, checked=self.day,
        )  # fmt: skip
        return metadata

    def _before(self, key: BuildKey) -> Cells:
        """The newest older row of the same build on the same platform, else of any build there: what it is like."""
        torch, name, os, machine = key
        older = [
            row for row in self.sheet.rows.values()
            if (row["os"], row["machine"]) == (os, machine) and Version.parse(row["torch"]) <= Version.parse(torch)
        ]  # fmt: skip
        older.sort(key=lambda row: Version.parse(row["torch"]))
        same = [row for row in older if row["build"] == name]
        if same:
            return same[-1]
        return {**older[-1], "advertised": "yes"} if older else {}


def known_rows(rows: Iterable[Cells], seen: Mapping[BuildKey, SeenBuild]) -> list[Cells]:
    """The rows that the index is expected to show: read before, of a build that it holds for some torch."""
    builds = {build for _, build, _, _ in seen}
    return [
        row for row in rows
        if row["existence"] == "read" and row["build"] in builds
        and {_TORCH_INDEX, _CPU_INDEX} & set(row["indexes"].split())
    ]  # fmt: skip


def _minimums(seen: SeenBuild) -> Cells:
    """The lowest glibc or macOS of a new row as cells: the highest where the wheels differ."""
    found = {"glibc_min": str(max(seen.glibc))} if seen.glibc else {}
    floors = [floor for floor in seen.pythons.values() if floor]
    if floors:
        usual = max(set(floors), key=lambda floor: (floors.count(floor), floor.parts))
        others = {tag: floor for tag, floor in sorted(seen.pythons.items()) if floor and floor != usual}
        found["os_min"] = str(usual)
        found["os_min_exceptions"] = " ".join(f"{tag}={floor}" for tag, floor in others.items())
    return found


def _libraries(metadata: Metadata | None, build: Build) -> Cells:
    """What the wheel asks for, as cells; empty where the index offers no metadata."""
    if metadata is None:
        return {}
    cudnn, nccl = metadata.beginning("nvidia-cudnn-cu"), metadata.beginning("nvidia-nccl-cu")
    toolkit = metadata.find("cuda-toolkit")
    triton = next((item for item in metadata.requires if "triton" in item.project.split("-")), None)
    words = [triton.clause("==") or f"~={triton.clause('~=')}"] if triton else ["none"]
    if triton and triton.project != "triton":
        words = [triton.project, triton.clause("==")]
    is_cuda = build.backend == "cuda"
    return {
        "cuda_toolkit": toolkit.clause("==") if toolkit else "",
        "cudnn": cudnn.clause("==") if cudnn else "",
        "nccl": (nccl.clause("==") if nccl else "none") if is_cuda else "",
        "triton": " ".join(words).removesuffix("~=").strip(),
    }
