"""Whether the files of the installed packages are those that the installer wrote."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.linked import imports
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, need
from torchdoctor.findings import Evidence, Finding, Remedy, Severity, Text
from torchdoctor.inside import Torn
from torchdoctor.tables import Tables

_FACT = "inside.torn"
_LIBRARIES, _MODULE = (".so", ".pyd", ".dll", ".dylib"), ".py"
_OF_TORCH = "nvidia-"
_TESTS = {"test", "tests", "testing", "benchmarks", "examples"}
_TOLD = 5


@check(
    "torn-package",
    severity="error",
    parent="torch-import-fails",
    after=("duplicate-torch", "mixed-package-sources", "disk-full"),
)
def torn_package(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """Files of torch, or of a package beside it, are gone or cut short."""
    for torn in need(facts.inside.torn):
        if names := _needed(torn):
            yield _torn_finding(facts, torn, names)


def _needed(torn: Torn) -> tuple[str, ...]:
    """The libraries and modules that are gone or cut; headers and tests are often removed to save space.

    A package without any of its files is another fault: what is left of it is an entry in a list.
    """
    if torn.missing_count >= torn.files:
        return ()
    return tuple(name for name in (*torn.cut, *torn.missing) if _is_needed(name))


def _is_needed(name: str) -> bool:
    *folders, last = name.split("/")
    is_code = last.endswith((*_LIBRARIES, _MODULE)) or ".so." in last
    return is_code and not _TESTS.intersection(folders)


def _torn_finding(facts: Facts, torn: Torn, names: tuple[str, ...]) -> Finding:
    gone = torn.missing_count
    return Finding(
        summary=Text(
            "{package} {version} is incomplete: {first}", package=torn.package, version=torn.version, first=names[0]
        ),
        why=Text(
            "Of {files} files that its installer wrote, {gone} are gone and {cut} are cut short. An installation that "
            "was interrupted, a full disk, or somebody who removed files leaves a package so.",
            files=torn.files,
            gone=gone,
            cut=len(torn.cut),
        ),
        evidence=tuple(_evidence(facts, torn)),
        remedies=tuple(_remedies(torn)),
        severity=_severity(facts, torn),
    )


def _remedies(torn: Torn) -> Iterator[Remedy]:
    """An installer takes a package for complete that it finds in its list, so that it is removed or forced."""
    if _is_public(torn):
        again = f"python -m pip install --force-reinstall --no-deps {torn.package}=={torn.version}"
        yield Remedy(Text("Install this very package again"), commands=(again,))
        return
    yield Remedy(Text("Remove what is left of it"), commands=(f"python -m pip uninstall -y {torn.package}",))
    yield Remedy(Text("Then install torch and what belongs to it"), installs=True)


def _is_public(torn: Torn) -> bool:
    """Whether the index that pip asks by itself has this very version: torch's own builds lie elsewhere."""
    return "+" not in torn.version and torn.package.startswith(_OF_TORCH)


def _severity(facts: Facts, torn: Torn) -> Severity | None:
    """A package beside torch does not stop it, nor does a file that the import of torch was shown not to need."""
    is_torchs = torn.package == "torch" or torn.package.startswith(_OF_TORCH)
    return None if is_torchs and not imports(facts) else "warning"


def _evidence(facts: Facts, torn: Torn) -> Iterator[Evidence]:
    for word, names, count in (("gone", torn.missing, torn.missing_count), ("cut short", torn.cut, len(torn.cut))):
        if names:
            more = f" and {count - _TOLD} more" if count > _TOLD else ""
            yield seen(facts, _FACT, f"{torn.package}: {word}: {', '.join(names[:_TOLD])}{more}")
