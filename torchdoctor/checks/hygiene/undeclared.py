"""Libraries that a wheel links and does not bring."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.linked import evidence, imports, refused
from torchdoctor.checks.pins import demands
from torchdoctor.checks.registry import check, told_by_a_text
from torchdoctor.facts import Facts, is_known, value_or
from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.tables import Tables

_OWN = ("libtorch", "libc10", "libshm", "libcaffe2")


@check(
    "undeclared-system-library",
    severity="error",
    parent="torch-import-fails",
    after=("torn-package", "nvidia-packages-inconsistent"),
)
def undeclared_system_library(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The wheel links a library that it does not declare and the system does not have."""
    if not is_known(facts.inside.linked):
        yield from told_by_a_text(facts, tables)
        return
    if imports(facts) or _is_incomplete(facts):
        return
    missing = [item for item in refused(facts) if item.path is None and not item.soname.startswith(_OWN)]
    for item in missing[:1]:
        yield Finding(
            summary=Text("torch needs {name}, which nothing here brings", name=item.soname),
            why=Text(
                "The loader finds it neither beside torch nor in the system, and no package that torch asks for is "
                "missing. Its makers expect it from the system."
            ),
            evidence=tuple(line for fault in missing[:3] for line in evidence(facts, fault)),
            remedies=(
                Remedy(Text("Install the library from the system's packages, or a build that does not need it")),
                Remedy(Text("Or install torch again with its dependencies"), installs=True),
            ),
            confidence="likely",
        )


def _is_incomplete(facts: Facts) -> bool:
    """Whether files or packages that torch declares are missing, which explains a library that is nowhere."""
    if value_or(facts.inside.torn, None) or not facts.packages.complete:
        return True
    return any(facts.packages.find(demand.name) is None for demand in demands(facts))
