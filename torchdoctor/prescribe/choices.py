"""What options may name, apart from what it means: a parser needs the names long before anybody needs the rest."""

from __future__ import annotations

BACKENDS = ("auto", "cuda", "cpu", "rocm", "xpu", "mps")
# The keys of a described host: what a line of a batch may say of it.
HOST_KEYS = ("os", "machine", "python", "libc", "os_version", "wsl", "jetpack", "driver", "gpus", "torch")
BATCH_KEYS = ("id", *HOST_KEYS)
# The tool as --tool names it, and its module among the writers.
TOOLS = {
    "pip": "pip",
    "uv": "uv_pip",
    "uv-project": "uv_project",
    "poetry": "poetry",
    "pdm": "pdm",
    "pixi": "pixi",
    "conda": "conda",
    "mamba": "conda",
    "hatch": "hatch",
    "requirements": "requirements",
    "dockerfile": "dockerfile",
}
