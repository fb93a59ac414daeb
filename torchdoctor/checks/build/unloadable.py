"""Builds that cannot be loaded, or that lack what the program asks of them."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check, told_by_a_text
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding
from torchdoctor.tables import Tables


@check("msvc-runtime-too-old", severity="error", parent="torch-import-fails")
def msvc_runtime_too_old(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The Visual C++ runtime of this Windows is older than the wheel needs."""
    yield from told_by_a_text(facts)


@check("executable-stack", severity="error", parent="torch-import-fails")
def executable_stack(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The kernel refuses a library that asks for an executable stack."""
    yield from told_by_a_text(facts)


@check("torch-version-mismatch", severity="error", after=("duplicate-torch", "mixed-package-sources"))
def torch_version_mismatch(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The program wants a newer or an older torch than the one installed."""
    yield from told_by_a_text(facts)


@check("backend-not-in-build", severity="warning")
def backend_not_in_build(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The build lacks a backend that the program asks for."""
    yield from told_by_a_text(facts)


@check("optional-package-missing", spares_torch=True, severity="warning")
def optional_package_missing(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """An optional package that the program asks for is absent."""
    yield from told_by_a_text(facts)


@check("index-lacks-version", severity="error", parent="torch-from-wrong-index", after=("python-unsupported",))
def index_lacks_version(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The index that was asked does not hold that version."""
    yield from told_by_a_text(facts)
