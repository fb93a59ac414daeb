"""What is proved of the tools that keep a project: which tool, from which state, to which builds."""

from __future__ import annotations

from proof_cells import NEWEST, TORCH
from proof_projects import OLD, Project

FROM_PYPI = (f"torch=={TORCH}", "torchvision==0.24.1")
# A torchaudio that one torch alone loads, where the next is none of the torch index.
ALL_FROM_PYPI = (*FROM_PYPI, f"torchaudio=={TORCH}")
LOCKING = ("uv-project", "poetry", "pdm")
ALL_CELLS = [
    Project("uv-project", ("cpu", "cu126")),
    Project("uv-project", ("cu126", "cpu")),
    Project("uv-project", ("rocm6.4",)),
    Project("uv-project", ("xpu",)),
    Project("uv-project", ("cpu",), nightly=True),
    Project("uv-project", ("cu126",), FROM_PYPI),
    Project("uv-project", ("cpu",), FROM_PYPI),
    Project("uv-project", ("cu126",), ("torch==2.13.0",)),
    Project("uv-project", ("cu126",), drifted=True),
    Project("poetry", ("cpu", "cu126")),
    Project("poetry", ("rocm6.4",)),
    Project("poetry", ("cpu",), nightly=True),
    Project("poetry", ("cu126",), FROM_PYPI),
    Project("poetry", ("cu126",), drifted=True),
    *(Project(tool, ("cu130",), ALL_FROM_PYPI, torch=NEWEST) for tool in ("uv-project", "poetry", "pdm")),
    Project("pdm", ("cpu", "cu126")),
    Project("pdm", ("cu126",), FROM_PYPI),
    Project("pdm", ("cpu",), nightly=True),
    *(Project(tool, ("cpu", "cu130"), torch=NEWEST) for tool in ("uv-project", "poetry", "pdm")),
    # Every Python that the project allows is locked for, and torchvision excludes one release of a newer one.
    *(Project(tool, ("cu126",), torch=OLD, asked=">=2.8", pythons=">=3.9") for tool in LOCKING),
    *(Project(tool, ("cpu", "cu130"), torch=NEWEST, pythons=">=3.10") for tool in LOCKING),
    *(Project(tool, ("cu126",), ("torch==2.13.0",), at=at) for tool in LOCKING for at in ("dev", "gpu")),
    # Each line asks for the torch of the other: all of them change before anything is locked.
    Project("uv-project", ("cpu", "cu126"), ALL_FROM_PYPI, at="last-apart", torch=OLD, asked="==2.8.0"),
    Project("uv-project", ("cpu", "cu126"), ("torch==2.13.0",), at="two-alike"),
    *(Project(tool, ("cu126",), ("torch>=2.8,<2.10",), of_file=True) for tool in LOCKING),
    Project("hatch", ("cpu", "cu126")),
    Project("hatch", ("cpu", "cu130"), torch=NEWEST),
]
