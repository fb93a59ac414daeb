"""Whether one torch, from one source, stands in the environment it is meant for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.image_torch import replaced_in_image
from torchdoctor.checks.installed import (
    conda_torch,
    label,
    official_rows,
    package_evidence,
    quoted_archs,
    release,
)
from torchdoctor.checks.linked import CONDAS, shared_with_conda
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, NotKnownError, Package, is_known, known, need, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Text, setting, unsetting
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import GpuArch

_CONDA_MARK_OF_PIP = "pypi_0"
_ALONE = (setting(PYTHONNOUSERSITE="1"), unsetting("PYTHONPATH"))
_OWN_ENVIRONMENTS = {"venv", "conda"}
_SHARED_ENVIRONMENTS = {"system": "the system Python", "conda-base": "conda's base environment"}


@check("mixed-package-sources", severity="warning")
def mixed_package_sources(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """Two sources own torch in one environment: conda and pip, or NVIDIA's image and pip."""
    yield from replaced_in_image(facts, tables)
    of_conda = conda_torch(facts)
    of_pip = next((item for item in facts.packages.items if item.name == "torch" and _is_pips(item, of_conda)), None)
    if of_conda is None or of_pip is None:
        yield from _same_files(facts)
        if not facts.packages.complete:
            raise NotKnownError("complete list of packages")
        return
    yield Finding(
        summary=Text("conda owns torch {conda} and pip owns torch {pip}", conda=of_conda.version, pip=of_pip.version),
        why=Text(
            "Both unpack into the same folder, so files, metadata and libraries can be of different versions. "
            "Which one import gives depends on who wrote last."
        ),
        evidence=(package_evidence(facts, of_conda), package_evidence(facts, of_pip)),
        remedies=(
            Remedy(Text("Make a new environment and install torch there from one source"), installs=True),
            Remedy(
                Text("Or remove both copies and install one again"),
                commands=("python -m pip uninstall -y torch", "conda remove pytorch"),
            ),
        ),
        confidence="likely",
    )


def _same_files(facts: Facts) -> Iterator[Finding]:
    """Files that pip wrote where a package of conda has its own of the same names."""
    for torn in shared_with_conda(facts):
        owner = next(other for other in torn.others if other.startswith(CONDAS))
        yield Finding(
            summary=Text(
                "{count} files of {package} {version} are {owner} as well",
                count=torn.shared_count,
                package=torn.package,
                version=torn.version,
                owner=owner,
            ),
            why=Text("Both list the same files, so an update or a removal of one of them breaks the other."),
            evidence=(seen(facts, "inside.torn", f"{torn.package}: {', '.join(torn.shared_with[:3])}"),),
            remedies=(Remedy(Text("Make a new environment and install torch there from one source"), installs=True),),
            confidence="likely",
        )


def _is_pips(torch: Package, of_conda: Package | None) -> bool:
    """In pip's list conda's own torch appears as well, so only a mark or another version proves a second one."""
    if torch.owner == "conda" or of_conda is None:
        return False
    return torch.build == _CONDA_MARK_OF_PIP or release(torch.version) != release(of_conda.version)


@check("duplicate-torch", severity="error", after=("mixed-package-sources",))
def duplicate_torch(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """Another torch, or a file named torch, is imported in place of the environment's own."""
    shadow = value_or(facts.torch.shadowed_by, None)
    if shadow is not None:
        yield _shadow_finding(facts, shadow)
        return
    locations = value_or(facts.torch.locations, None) or ()
    versions = _versions(facts)
    if (foreign := _foreign_first(facts, locations)) is not None:
        yield _foreign_finding(facts, foreign, locations)
    elif len(versions) > 1 and not _is_mixed(facts) and not _is_list_of_another_python(facts):
        yield _two_versions_finding(versions, facts, locations)
    else:
        known(facts.torch.locations)


def _shadow_finding(facts: Facts, shadow: str) -> Finding:
    return Finding(
        summary=Text("{path} is imported in place of torch", path=shadow),
        why=Text(
            "Python takes the first torch on its path, and the working folder comes before the installed packages."
        ),
        evidence=(seen(facts, "torch.shadowed_by", shadow),),
        remedies=(Remedy(Text("Rename {path}, or start Python in another folder", path=shadow)),),
    )


def _foreign_first(facts: Facts, locations: Sequence[str]) -> str | None:
    """Return the first copy when it lies outside an environment that has one of its own."""
    if len(locations) < 2 or known(facts.python.environment) not in _OWN_ENVIRONMENTS:  # noqa: PLR2004 - two is a pair
        return None
    prefix = _prefix(need(facts.python.executable))
    inside = [location.replace("\\", "/").startswith(prefix) for location in locations]
    return locations[0] if any(inside) and not inside[0] else None


def _prefix(executable: str) -> str:
    """Return the environment's folder: two levels above bin/python, one above a conda python.exe on Windows."""
    folder = executable.replace("\\", "/").rpartition("/")[0]
    head, _, last = folder.rpartition("/")
    return (head if last.lower() in {"bin", "scripts"} else folder) + "/"


def _foreign_finding(facts: Facts, first: str, locations: Sequence[str]) -> Finding:
    return Finding(
        summary=Text("torch is imported from {path}, not from this environment", path=first),
        why=Text(
            "{count} copies of torch are on the path and one outside the environment comes first. "
            "pip reports the environment's copy, so the versions seem to contradict each other.",
            count=len(locations),
        ),
        evidence=tuple(seen(facts, "torch.locations", location) for location in locations),
        remedies=(
            Remedy(Text("Keep the user's packages out of this environment, and PYTHONPATH unset"), commands=_ALONE),
            Remedy(Text("Or remove the copy at {path}", path=first)),
        ),
    )


def _versions(facts: Facts) -> dict[str, Evidence]:
    """Collect the versions of torch that the recording names, each with where it was seen."""
    versions: dict[str, Evidence] = {}
    imported = value_or(facts.torch.full, "") or value_or(facts.torch.version, "")
    if imported:
        versions[imported] = seen(facts, "torch.version", imported)
    for item in facts.packages.items:
        if item.name == "torch" and not any(_same(item.version, other) for other in versions):
            versions[item.version] = package_evidence(facts, item)
    return versions


def _same(left: str, right: str) -> bool:
    """Metadata leaves out the label that torch prints, so only different labels or numbers tell two torches apart."""
    labels = {str(named) for text in (left, right) if (named := label(text))}
    return left.partition("+")[0] == right.partition("+")[0] and len(labels) < 2  # noqa: PLR2004 - two is a pair


def _is_mixed(facts: Facts) -> bool:
    of_conda = conda_torch(facts)
    return any(item.name == "torch" and _is_pips(item, of_conda) for item in facts.packages.items)


def _is_list_of_another_python(facts: Facts) -> bool:
    """A complete list that names no torch of the imported version was made with another interpreter."""
    imported = value_or(facts.torch.full, "") or value_or(facts.torch.version, "")
    listed = [item.version for item in facts.packages.items if item.name == "torch"]
    return facts.packages.complete and not any(_same(version, imported) for version in listed)


def _two_versions_finding(versions: dict[str, Evidence], facts: Facts, locations: Sequence[str]) -> Finding:
    return Finding(
        summary=Text("Two versions of torch are on the path: {versions}", versions=" and ".join(versions)),
        why=Text("Import gives one version and the package list names another, so one copy hides the other."),
        evidence=(*versions.values(), *(seen(facts, "torch.locations", location) for location in locations)),
        remedies=(
            Remedy(Text("Show which copy is imported"), commands=('python -c "import torch; print(torch.__file__)"',)),
            Remedy(
                Text("Remove that copy, or start without the user's packages: PYTHONNOUSERSITE=1 and no PYTHONPATH")
            ),
        ),
        confidence="likely",
    )


@check(
    "interpreter-mismatch",
    severity="warning",
    parent="duplicate-torch",
    after=("duplicate-torch", "mixed-package-sources"),
)
def interpreter_mismatch(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The package list and the imported torch belong to different interpreters."""
    quoted, source = quoted_archs(facts)
    asked = value_or(facts.torch.arch_list, ())
    if quoted and asked and set(quoted) != set(asked):
        yield _another_torch_finding(facts, " ".join(quoted), source, " ".join(asked))
        return
    if quoted and (row := _build_of_another_torch(facts, tables, quoted)):
        yield _another_torch_finding(
            facts, " ".join(quoted), source, " ".join(f"sm_{arch.major}{arch.minor}" for arch in row.code)
        )
        return
    imported = need(facts.torch.version)
    if not facts.packages.complete:
        raise NotKnownError("complete list of packages")
    if value_or(facts.torch.locations, None) is not None or conda_torch(facts) or not _is_list_of_another_python(facts):
        return
    listed = [item for item in facts.packages.items if item.name == "torch"]
    yield Finding(
        summary=Text("The package list is not of the Python that imports torch {version}", version=imported),
        why=Text(
            "The list names {listed}; every interpreter has its own packages, and pip answers for one of them.",
            listed=_listed(listed),
        ),
        evidence=(seen(facts, "torch.version", imported), *(package_evidence(facts, item) for item in listed)),
        remedies=(
            Remedy(
                Text("Ask both of the same interpreter"),
                commands=("python -m pip list", 'python -c "import sys, torch; print(sys.executable, torch.__file__)"'),
            ),
        ),
        confidence="likely",
    )


def _build_of_another_torch(facts: Facts, tables: Tables, quoted: Sequence[str]) -> TorchBuild | None:
    """The row of the build that was asked, where it has code for a GPU of which the failing one lists none."""
    rows = official_rows(facts, tables) if is_known(facts.torch.build) and is_known(facts.torch.version) else ()
    listed = list(GpuArch.parse_each(name for name in quoted if name.startswith("sm_")))
    devices = [device for gpu in value_or(facts.gpus, ()) if (device := value_or(gpu.compute_capability, None))]
    for device in devices if rows else ():
        of_build = all(_serves(tables, row.code, device, row) for row in rows)
        if of_build and not _serves(tables, listed, device, rows[0]):
            return rows[0]
    return None


def _serves(tables: Tables, codes: Sequence[GpuArch], device: GpuArch, row: TorchBuild) -> bool:
    return any(tables.coverage.covers(code, device, row.cuda) for code in codes)


def _another_torch_finding(facts: Facts, fails: str, source: str, asked: str) -> Finding:
    return Finding(
        summary=Text("The program that fails imports another torch than the one that was asked"),
        why=Text(
            "Its warning lists {fails}; the torch that was asked has {asked}. A program with a Python of its own "
            "(a portable or bundled one, a service, a notebook kernel) does not see what was installed elsewhere.",
            fails=fails,
            asked=asked,
        ),
        evidence=(seen(facts, "torch.arch_list", fails, source), seen(facts, "torch.arch_list", asked)),
        remedies=(
            Remedy(
                Text("Print this inside the program, then install with that very Python (its -m pip)"),
                commands=('python -c "import sys, torch; print(sys.executable, torch.__file__, torch.__version__)"',),
            ),
        ),
        confidence="likely",
    )


def _listed(listed: Sequence[Package]) -> str:
    return ", ".join(f"torch {item.version}" for item in listed) or "no torch"


@check("base-environment", severity="info")
def base_environment(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The installed torch is in the system Python or conda's base environment."""
    place = _SHARED_ENVIRONMENTS.get(need(facts.python.environment))
    if place is None or not need(facts.torch.installed):
        return
    if known(facts.place.container) is not None or value_or(facts.place.jetpack, None) is not None:
        return
    yield Finding(
        summary=Text("torch is installed into {place}", place=place),
        why=Text("Other programs share that environment, so an update for one of them can break the others."),
        evidence=(seen(facts, "python.environment", need(facts.python.environment)),),
        remedies=(Remedy(Text("Give each project an environment of its own"), commands=("python -m venv .venv",)),),
    )
