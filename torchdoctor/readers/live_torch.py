"""The installed torch of a live host, from its files: importing it costs seconds and may crash."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.patterns import lazily
from torchdoctor.readers.answers import PYTHON, Answers
from torchdoctor.readers.live_packages import DISTRIBUTIONS, normalised, owner_of
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import build_of, torch_said
from torchdoctor.recording import Recording, Want
from torchdoctor.values import Build, CudaVersion

VERSIONS = Want("files", ("@path/torch/version.py",))
MODULES, FOLDERS = Want("glob", ("@path/torch.py",)), Want("glob", ("@path/torch/__init__.py",))
WANTS = (PYTHON, DISTRIBUTIONS, VERSIONS, MODULES, FOLDERS)

_ASSIGNMENT = lazily(r"^(\w+)\s*(?::[^=\n]{1,60})?=\s*(?:'([^'\n]*)'|\"([^\"\n]*)\"|(None))\s*$", re.MULTILINE)
_FILE = "/version.py"


def read(recording: Recording) -> Iterator[Said]:
    """The copy that import would take, then its owner, the other copies, and what stands before it."""
    answers = Answers(recording)
    if not answers.looked(VERSIONS):
        return
    copies = answers.texts(VERSIONS)
    distributions = [row for row in answers.rows(DISTRIBUTIONS) if normalised(row) == "torch" and "build" not in row]
    if not copies and (not distributions or _is_only_an_entry(answers, distributions)):
        yield Said("torch.installed", False, "sys.path")
        if distributions:
            yield Said("torch.locations", (), "sys.path")  # listed, and nowhere to be found
        yield from _shadow(answers, "")
        return
    path = next(iter(copies), "")
    yield Said("torch.locations", tuple(name.removesuffix(_FILE) for name in copies), "sys.path")
    yield from _shadow(answers, path)
    if path:
        yield from _version(answers, copies[path], path)
    yield from _distribution(answers, _of(distributions, path), copies.get(path, ""))


def _is_only_an_entry(answers: Answers, distributions: list[Mapping[str, Any]]) -> bool:
    """Whether the files of the distribution are gone: one from an index keeps its package beside its entry.

    One that was installed from a folder (``direct_url``) may lie anywhere, as may an egg, of which that is not told.
    """
    is_there = answers.names(FOLDERS) or not answers.looked(FOLDERS)
    return not is_there and all(row.get("direct_url") is False for row in distributions)


def _version(answers: Answers, text: str, path: str) -> Iterator[Said]:
    """What torch/version.py says: the printed version, and the toolkit it was built with."""
    found = {name: single or double for name, single, double, none in _ASSIGNMENT.findall(text)}
    full = found.get("__version__", "")
    yield Said("torch.installed", True, path)
    yield from torch_said(full, path)
    for name, parse in (("cuda", CudaVersion.parse), ("hip", str)):
        if name in found:
            try:
                yield Said(f"torch.{name}", parse(found[name]) if found[name] else None, path)
            except ValueError:
                continue
    if not build_of(full.partition("+")[2]) and "cuda" in found:
        build = _build(answers, found)
        if build:
            yield Said("torch.build", build, path)


def _build(answers: Answers, found: Mapping[str, str]) -> Build | None:
    """The build of a version without a label of its own."""
    try:
        if found["cuda"]:
            return Build.of_cuda(CudaVersion.parse(found["cuda"]))
        if found.get("hip"):
            return Build.parse("rocm" + ".".join(found["hip"].split(".")[:2]))
    except ValueError:
        return None
    if found.get("xpu"):
        return Build("xpu")
    return Build("mps" if answers.os_name == "macos" and answers.said("machine") == "arm64" else "cpu")


def _of(rows: list[Mapping[str, Any]], path: str) -> Mapping[str, Any]:
    """The distribution that lies beside the copy that import takes."""
    entry = _entry(path.removesuffix(_FILE))
    return next((row for row in rows if path and _slashes(str(row.get("path"))) == entry), rows[0] if rows else {})


def _distribution(answers: Answers, row: Mapping[str, Any], text: str) -> Iterator[Said]:
    if not row:
        yield Said("torch.owner", None, "no torch-*.dist-info")
        yield Said("torch.origin", "source", "no torch-*.dist-info")
        return
    source = f"torch-{row.get('version')}.dist-info"
    if not text:
        yield from torch_said(str(row.get("version", "")), source)
    owner = owner_of(row)
    yield Said("torch.owner", owner or None, source)
    if isinstance(row.get("requires"), list):
        yield Said("torch.requires", tuple(map(str, row["requires"])), source)
    if isinstance(row.get("tags"), list) and row["tags"]:
        yield Said("torch.wheel_tag", str(row["tags"][0]), source)
    origin = _origin(row, owner, printed=text, is_tegra=answers.is_tegra)
    if origin:
        yield Said("torch.origin", origin, source)


def _origin(row: Mapping[str, Any], owner: str, *, printed: str, is_tegra: bool) -> str:
    """Where the wheel came from; empty when its version does not tell."""
    label = str(row.get("version", "")).partition("+")[2]
    if re.search(r"(?:^|\.)nv\d\d", label):
        return "nvidia"
    if owner in ("conda", "apt"):
        return owner
    if label.startswith("git"):
        return "source"
    if label:
        return "pytorch" if build_of(label) else ""
    if row.get("direct_url"):
        return ""
    return "jetson" if is_tegra and "+" not in printed else "pypi"  # wheels on PyPI print their build behind a plus


def _shadow(answers: Answers, path: str) -> Iterator[Said]:
    """A file or package named torch that import meets before the real one; a folder without __init__.py is none."""
    folders = [name.removesuffix("/__init__.py") for name in answers.names(FOLDERS)]
    real = {name.removesuffix(_FILE) for name in answers.texts(VERSIONS)}
    false = [*answers.names(MODULES), *(folder for folder in folders if folder not in real)]
    order = {entry: place for place, entry in enumerate(_entries(answers))}
    first = order.get(_entry(path.removesuffix(_FILE)), len(order)) if path else len(order)
    before = [name for name in false if order.get(_entry(name), len(order)) < first]
    yield Said("torch.shadowed_by", min(before, key=lambda name: order[_entry(name)]) if before else None, "sys.path")


def _entries(answers: Answers) -> list[str]:
    path = answers.python.get("path")
    return [_slashes(str(entry) or answers.said("cwd")) for entry in path] if isinstance(path, list) else []


def _entry(path: str) -> str:
    """The folder of a file or package, which stands on sys.path."""
    return _slashes(path).rpartition("/")[0]


def _slashes(path: str) -> str:
    return path.replace("\\", "/")
