"""ROCm itself as packages of Python: from one line of wheels on, torch no longer brings it inside."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.checks.installed import package_evidence, torch_was_imported
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, Package, need
from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.patterns import lazily
from torchdoctor.tables import Tables

_REQUIRES = lazily(r"rocm(?:\[[\w, -]*\])?\s*==\s*(?P<line>\d+(?:\.\d+)*)(?:\.\*)?\s*(?:;.*)?")
_META, _LIBRARIES = "rocm", "rocm-sdk-core"


@check("rocm-packages-inconsistent", severity="error", after=("duplicate-torch", "mixed-package-sources"))
def rocm_packages_inconsistent(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The ROCm packages that this torch is loaded with are missing, or of another release."""
    if need(facts.torch.build).backend != "rocm" or torch_was_imported(facts):
        return
    wanted = next((match for line in need(facts.torch.requires) if (match := _REQUIRES.fullmatch(line))), None)
    if wanted is None:
        return
    for name in (_META, _LIBRARIES):
        there = facts.packages.find(name)
        if there is None:
            yield _missing(facts, name, wanted)
            return
        if isinstance(there, Package) and not f"{there.version}.".startswith(f"{wanted['line']}."):
            yield _of_another(facts, there, wanted)
            return


def _missing(facts: Facts, name: str, wanted: re.Match[str]) -> Finding:
    return Finding(
        summary=Text("torch needs {wanted} and {name} is not installed", wanted=wanted[0], name=name),
        why=Text(
            "This wheel no longer holds ROCm: its libraries come as packages of Python, some gigabytes of them. A "
            "ROCm of the system is not used in their place."
        ),
        evidence=(seen(facts, "torch.requires", wanted[0]), seen(facts, f"packages.{name}", None)),
        remedies=(Remedy(Text("Install torch again with what it requires"), installs=True),),
    )


def _of_another(facts: Facts, there: Package, wanted: re.Match[str]) -> Finding:
    return Finding(
        summary=Text(
            "{name} {version} is installed and torch needs {line}",
            name=there.name,
            version=there.version,
            line=wanted["line"],
        ),
        why=Text(
            "The libraries of ROCm that torch loads are packages of Python and must be of the release that it was "
            "built with. rocminfo, amd-smi and hipcc of the environment are theirs and tell nothing of the host."
        ),
        evidence=(seen(facts, "torch.requires", wanted[0]), package_evidence(facts, there)),
        remedies=(Remedy(Text("Install torch again with what it requires"), installs=True),),
    )
