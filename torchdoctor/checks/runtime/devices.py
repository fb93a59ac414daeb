"""What a device or its runtime cannot do."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check, told_by_a_text
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding
from torchdoctor.tables import Tables


@check("dtype-unsupported", severity="warning")
def dtype_unsupported(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The device does not support the dtype."""
    yield from told_by_a_text(facts)


@check("kernel-too-large", severity="error")
def kernel_too_large(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A kernel asks for more resources than the GPU has."""
    yield from told_by_a_text(facts)


@check("mps-unavailable", severity="error", after=("python-wrong-arch", "os-unsupported"))
def mps_unavailable(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The Apple GPU cannot be used."""
    yield from told_by_a_text(facts)


@check("rocm-permission", severity="error")
def rocm_permission(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The AMD GPU's device files deny access."""
    yield from told_by_a_text(facts)


@check("xpu-runtime-missing", severity="error")
def xpu_runtime_missing(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The runtime of the Intel GPU (Level Zero, driver) is missing."""
    yield from told_by_a_text(facts)
