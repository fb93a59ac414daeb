"""The ready script or manifest for what a site has: a report of each node, the merge, and the network between."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from torchdoctor.errors import UsageError

_SITES = Path(__file__).parent / "sites"
_IMAGE = re.compile(r"[A-Za-z0-9][\w.:/@-]{0,300}", re.ASCII)
_ACCELERATOR = re.compile(r"[A-Za-z0-9][\w.-]{0,60}", re.ASCII)
_MARK = re.compile(r"@([A-Z]+)@")


class Site(NamedTuple):
    """What a site is told by, and the file that it takes."""

    meaning: str
    file: str


SITES = {
    "slurm": Site("a batch script for sbatch", "slurm.sh"),
    "mpi": Site("a script around mpirun, for Open MPI", "mpi.sh"),
    "k8s": Site("manifests for kubectl: a DaemonSet and an indexed Job", "k8s.yaml"),
    "sky": Site("a task for SkyPilot", "sky.yaml"),
}


class Shape(NamedTuple):
    """What is filled in; ``gpus`` is for each node, 0 for a cluster without GPUs."""

    nodes: int = 2
    gpus: int = 8
    python: str = "python3"
    folder: str = "torchdoctor-reports"
    image: str = "pytorch/pytorch:latest"
    accelerator: str = "H100"


def written(name: str, shape: Shape) -> str:
    """The file; raise ``UsageError`` for a value that cannot stand in it."""
    site = SITES[name]
    is_yaml = site.file.endswith(".yaml")
    values = _values(shape, is_yaml=is_yaml)
    text = (_SITES / site.file).read_text("utf-8")
    lines = text.splitlines(keepends=True)
    if not shape.gpus:
        lines = [line for line in lines if "@GPUS@" not in line and "@ACCELERATOR@" not in line]
    return _MARK.sub(lambda match: values[match[1]], "".join(lines))


def _values(shape: Shape, *, is_yaml: bool) -> Mapping[str, str]:
    if not _IMAGE.fullmatch(shape.image):
        raise UsageError(f"--image {shape.image[:80]!r} is no name of an image, as registry/name:tag")
    if not _ACCELERATOR.fullmatch(shape.accelerator):
        raise UsageError(f"--accelerator {shape.accelerator[:80]!r} is no name of SkyPilot's, as H100")
    if is_yaml and shlex.quote(shape.python) != shape.python:
        raise UsageError(f"--python {shape.python[:80]!r}: give a path without blanks, which a manifest can hold")
    return {
        "NODES": str(shape.nodes),
        "GPUS": str(shape.gpus),
        "PROCESSES": str(shape.gpus or 1),
        "PYTHON": shlex.quote(shape.python),
        "FOLDER": shlex.quote(shape.folder),
        "IMAGE": shape.image,
        "ACCELERATOR": f"{shape.accelerator}:{shape.gpus}",
    }
