"""The complete list of what is installed beside the examined interpreter."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.facts import Package, Packages, Unknown
from torchdoctor.patterns import lazily
from torchdoctor.readers.answers import Answers
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want

# Those whose requirements bear on torch; the others are known by the names of their folders alone.
DISTRIBUTIONS = Want(
    "distributions",
    ("torch", "torchvision", "torchaudio", "torchtext", "torchdata", "torchcodec", "torchao", "triton",
     "pytorch-triton", "xformers", "flash-attn", "bitsandbytes", "vllm", "cuda-toolkit"),
    seconds=20.0,
    name="distributions",
)  # fmt: skip
# Asked only where torch may be replaced: the metadata of every distribution is read for it.
REQUIRERS = Want("requirers", ("nvidia-", "cuda-", "triton", "pytorch-triton", "torch"), seconds=20.0, name="requirers")
FOLDERS = Want("glob", ("@path/torch*/__init__.py",), name="folders of companions")
WANTS = (DISTRIBUTIONS, FOLDERS)

_BOUND = lazily(r"torch\s*\(?\s*[=<>!~]")
Row = Mapping[str, Any]


def read(recording: Recording) -> Iterator[Said]:
    """Python's distributions in the order of the path, then what only conda knows."""
    answers = Answers(recording)
    if not answers.looked(DISTRIBUTIONS):
        return
    rows = answers.rows(DISTRIBUTIONS)
    builds = {
        (normalised(row), row["version"]): str(row["build"]) for row in rows if "build" in row and "version" in row
    }
    spare = _only_torchs(answers)
    python = [_package(row, builds, spare) for row in rows if "build" not in row and row.get("name")]
    names = {package.name for package in python}
    conda = [_package(row, builds) for row in rows if "build" in row and normalised(row) not in names]
    yield Said("packages", Packages(tuple(python + conda), complete=True), "distributions")


def requirers_of_torch(recording: Recording) -> tuple[tuple[str, str], ...]:
    """The distributions that ask for a torch of certain versions, each with the line that does."""
    rows = Answers(recording).rows(REQUIRERS)
    lines = ((normalised(row), str(line)) for row in rows for line in _lines(row) if _BOUND.match(str(line)))
    return tuple(dict.fromkeys(lines))


def gone_companions(recording: Recording) -> frozenset[str]:
    """Those of torch's companions that are listed, and whose files are gone; all are imported by their own name.

    One that was installed from a folder (``direct_url``) may lie anywhere.
    """
    answers = Answers(recording)
    if not answers.looked(FOLDERS):
        return frozenset()
    rows = [row for row in answers.rows(DISTRIBUTIONS) if "build" not in row and normalised(row).startswith("torch")]
    there = {re.split(r"[/\\]", path)[-2] for path in answers.names(FOLDERS)}
    elsewhere = {normalised(row) for row in rows if row.get("direct_url") is not False}
    return frozenset(map(normalised, rows)) - there - elsewhere - {"torch"}


def _lines(row: Row) -> list[Any]:
    lines = row.get("requires")
    return lines if isinstance(lines, list) else []


def normalised(row: Row) -> str:
    """The name as the packaging rules compare it."""
    return re.sub(r"[-_.]+", "-", str(row.get("name", ""))).lower()


def owner_of(row: Row) -> str:
    """The installer a distribution names; Debian's own say nothing and are told by their folder."""
    installer = str(row.get("installer", "")).strip().lower()
    return installer or (
        "apt" if "dist-packages" in str(row.get("path", "")) and "/local/" not in str(row.get("path", "")) else ""
    )


def _only_torchs(answers: Answers) -> frozenset[str]:
    if not answers.rows(REQUIRERS):
        return frozenset()
    from torchdoctor.readers.live_requirers import only_torchs  # of no use to commands that never ask

    return only_torchs(answers.rows(REQUIRERS))


def _package(row: Row, builds: Mapping[tuple[str, Any], str], only_torchs: frozenset[str] = frozenset()) -> Package:
    name = normalised(row)
    requires = row.get("requires")
    return Package(
        name=name,
        version=str(row.get("version", "")),
        owner=owner_of(row) or None,
        build=builds.get((name, row.get("version"))) or Unknown("build string of the package"),
        location=str(row["path"]) if row.get("path") else Unknown("place of the package"),
        requires=tuple(map(str, requires))
        if isinstance(requires, list)
        else Unknown("requirement list of the package"),
        only_torchs=name in only_torchs,
    )
