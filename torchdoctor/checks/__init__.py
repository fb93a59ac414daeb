"""The checks, family by family, in the order they are run and listed."""

from __future__ import annotations

from importlib import import_module

from torchdoctor.checks.registry import CHECKS, Check

# One line per topic file; inside a file the order of the functions counts. A cause stands before its consequences.
TOPICS: tuple[str, ...] = (
    "host.python",
    "host.system",
    "host.resources",
    "host.memory",
    "host.limits",
    "install.downloads",
    "install.windows_paths",
    "build.presence",
    "driver.visibility",
    "driver.module",
    "driver.access",
    "driver.wsl",
    "hygiene.copies",
    "build.kernels",
    "build.library_code",
    "driver.floor",
    "build.companions",
    "build.companion_code",
    "hygiene.torn",
    "hygiene.libraries",
    "hygiene.undeclared",
    "build.windows_runtime",
    "build.unloadable",
    "runtime.rocm_packages",
    "build.importing",
    "build.newer",
    "toolkit.compile",
    "runtime.amd",
    "runtime.rocm",
    "runtime.intel",
    "runtime.apple",
    "runtime.gpu_memory",
    "runtime.devices",
    "runtime.libraries",
    "runtime.peers",
    "runtime.threads",
    "runtime.training",
    "runtime.speed",
    "runtime.repro",
    "code.program",
    "policy.requirements",
    "predict.targets",
)
_PLACES = {topic: place for place, topic in enumerate(TOPICS)}


def all_checks() -> list[Check]:
    """Every check, in the order of the list above, whichever of its files was imported first."""
    for topic in TOPICS:
        import_module(f"torchdoctor.checks.{topic}")
    return sorted(CHECKS.values(), key=lambda item: _PLACES.get(item.topic, len(TOPICS)))
