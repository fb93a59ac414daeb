"""Whether the packages built against torch were built against this torch."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from torchdoctor.checks.installed import label, package_evidence, release, torch_cuda, torch_release
from torchdoctor.checks.linked import linked
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, NotKnownError, Package, need, value_or
from torchdoctor.findings import Confidence, Finding, Remedy, Row, Text
from torchdoctor.records import record
from torchdoctor.tables import Tables
from torchdoctor.tables.companions import Companion
from torchdoctor.values import Build, Version

# Only torch's own kernels are compiled through it, and patch releases do not change how.
_BY_MINOR = "triton"
_CAUSES = (
    "jetson-wheel",
    "torch-from-wrong-index",
    "torch-wrong-vendor",
    "duplicate-torch",
    "mixed-package-sources",
    "torch-cpu-build",
)

# What a companion's library asks of torch's wheel and of the CUDA libraries beside it.
_OF_TORCH = ("libtorch", "libc10", "libcudart.so", "libcublas", "libcudnn", "libcusparse", "libcusolver", "libcufft")
_MODULES = {"flash_attn_2_cuda": "flash_attn"}
_CLAUSE = re.compile(r"(==|!=|>=|<) ?(\d+(?:\.\d+)*)")


@record(frozen=True, slots=True)
class _Misfit:
    """One companion that does not belong to the installed torch; ``mild`` when only the patch release differs."""

    package: Package
    wants: str
    confidence: Confidence = "certain"
    mild: bool = False
    row: Row | None = None


@check("torch-companion-mismatch", spares_torch=True, severity="warning", after=_CAUSES)
def torch_companion_mismatch(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """A companion such as torchvision was built for another torch."""
    torch = torch_release(facts)
    judged = [item for item in facts.packages.items if item.name != "torch" and _is_judged(item, tables)]
    if not judged and not facts.packages.complete:
        raise NotKnownError("complete list of packages")
    misfits = [misfit for item in judged if (misfit := _misfit(facts, tables, item, torch))]
    misfits += _by_files(facts, [misfit.package.name for misfit in misfits])
    if not misfits:
        return
    yield Finding(
        summary=Text("Not built for torch {torch}: {packages}", torch=_torch_text(facts), packages=_names(misfits)),
        why=Text(
            "Compiled companions work only with the torch they were built for: {wants}. torch itself is not at fault.",
            wants=", ".join(f"{misfit.package.name} belongs to {misfit.wants}" for misfit in misfits),
        ),
        evidence=(
            seen(facts, "torch.version", _torch_text(facts)),
            *(package_evidence(facts, misfit.package) for misfit in misfits),
        ),
        remedies=_remedies(facts, tables, torch, misfits),
        severity="info" if all(misfit.mild for misfit in misfits) else None,
        confidence="certain" if any(misfit.confidence == "certain" for misfit in misfits) else "likely",
        row=misfits[0].row,
    )


def _by_files(facts: Facts, told: Sequence[str]) -> list[_Misfit]:
    """The companions whose libraries need one of torch or of its CUDA that this torch does not bring."""
    found: dict[str, _Misfit] = {}
    for item in linked(facts):
        folders = [user.partition("/")[0].partition(".")[0] for user in item.needed_by]
        package = next((it for it in facts.packages.items if it.name in map(_distribution, folders)), None)
        if item.path is None and not item.for_torch and item.soname.startswith(_OF_TORCH) and package is not None:
            found.setdefault(package.name, _Misfit(package, f"a torch with {item.soname}"))
    return [misfit for name, misfit in found.items() if name not in told]


def _distribution(folder: str) -> str:
    """The distribution of a folder, or of a module on its own: flash-attn of flash_attn_2_cuda."""
    return _MODULES.get(folder, folder).replace("_", "-")


def _torch_text(facts: Facts) -> str:
    return value_or(facts.torch.full, "") or need(facts.torch.version)


def _names(misfits: Sequence[_Misfit]) -> str:
    return ", ".join(f"{misfit.package.name} {misfit.package.version}" for misfit in misfits)


def _is_judged(package: Package, tables: Tables) -> bool:
    return (
        package.name in tables.companions.names()
        or package.name in tables.neighbours.names()
        or bool(_torch_demands(package))
    )


def _misfit(facts: Facts, tables: Tables, package: Package, torch: Version) -> _Misfit | None:
    row = tables.companions.find(package.name, package.version)
    if row is not None and not row.fits(torch) and not _is_near_enough(tables, row, torch):
        wants = f"torch {row.torch_min}" if row.torch_max else f"torch {row.torch_min} or newer"
        mild = row.torch_min.parts[:2] == torch.parts[:2]
        return _Misfit(
            package,
            wants,
            "certain" if row.confidence == "read" else "likely",
            mild,
            Row("torch_companions", row.key, row.source),
        )
    return (
        _other_build(facts, tables, package, row) or _other_minor(tables, package, torch) or _own_demand(package, torch)
    )


def _is_near_enough(tables: Tables, row: Companion, torch: Version) -> bool:
    best = tables.companions.best(row.name, torch) if row.name == _BY_MINOR else None
    return best is not None and best.version.parts[:2] == row.version.parts[:2]


def _other_build(facts: Facts, tables: Tables, package: Package, row: Companion | None) -> _Misfit | None:
    """Compare the build: the package's label, else the only wheel there is, else what PyPI gives without a label."""
    build = value_or(facts.torch.build, None)
    if build is None or package.owner == "conda":
        return None
    rule = row.cuda_rule if row else "major"
    named = label(package.version)
    if named is not None and _differ(named, build, rule):
        return _Misfit(package, f"a {named} build of torch")
    cuda = torch_cuda(facts)
    if row is None or named is not None:
        return None
    if not row.accepts_cuda(cuda, os=value_or(facts.os.name, ""), backend=build.backend):
        wants = " or ".join(str(built) for built in row.built_cuda)
        sure: Confidence = "certain" if cuda else "likely"  # an index may hold a wheel of that name for the CPU
        return _Misfit(package, f"a torch for CUDA {wants}", sure, row=Row("torch_companions", row.key, row.source))
    from_pypi = _pypi_build(facts, tables, row)
    if from_pypi is not None and _differ(from_pypi, build, rule):
        return _Misfit(
            package, f"PyPI's {from_pypi} build of torch", "likely", row=Row("torch_companions", row.key, row.source)
        )
    return None


def _differ(theirs: Build, ours: Build, rule: str) -> bool:
    """Whether code of one build cannot serve the other; CUDA builds of one major can, unless the rule is exact."""
    if theirs.backend != ours.backend or theirs.cuda is None or ours.cuda is None:
        return theirs.backend != ours.backend
    return theirs.cuda != ours.cuda if rule == "exact" else theirs.cuda.major != ours.cuda.major


def _pypi_build(facts: Facts, tables: Tables, row: Companion) -> Build | None:
    """An unlabelled companion beside a labelled torch came from PyPI, where the index would have labelled it."""
    labelled = any(item.name == "torch" and label(item.version) for item in facts.packages.items)
    os_name, machine = value_or(facts.os.name, ""), value_or(facts.os.machine, "")
    if row.labelled != "yes" or not labelled:
        return None
    default = tables.torch_builds.pypi_default(row.torch_min, os_name, machine)
    return default.build if default else None


def _other_minor(tables: Tables, package: Package, torch: Version) -> _Misfit | None:
    """Some extensions carry torch's own major and minor version as theirs."""
    version = release(package.version)
    neighbour = tables.neighbours.find(package.name, version) if version else None
    if version is None or neighbour is None or not neighbour.torch_minor or version.parts[:2] == torch.parts[:2]:
        return None
    major, minor = version.parts[:2]
    return _Misfit(package, f"torch {major}.{minor}", row=Row("torch_neighbours", neighbour.key, neighbour.source))


def _torch_demands(package: Package) -> tuple[str, ...]:
    """Return the unconditional demands on torch among a package's requirements."""
    lines = value_or(package.requires, ())
    return tuple(line for line in lines if line.startswith("torch") and line[5:6] in set(" (=<>!~") and ";" not in line)


def _own_demand(package: Package, torch: Version) -> _Misfit | None:
    for line in _torch_demands(package):
        specifier = line[len("torch") :].strip(" ()")
        if not _meets(torch, specifier):
            return _Misfit(package, f"torch{specifier.replace(' ', '')}")
    return None


def _meets(torch: Version, specifier: str) -> bool:
    """Whether a release meets a specifier; the usual forms without packaging, whose import is slow."""
    clauses = [_CLAUSE.fullmatch(clause.strip()) for clause in specifier.split(",")]
    if all(clauses):
        return all(_holds(torch, clause[1], Version.parse(clause[2])) for clause in clauses if clause)
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(specifier).contains(str(torch), prereleases=True)
    except InvalidSpecifier:
        return True


def _holds(torch: Version, operator: str, bound: Version) -> bool:
    size = max(len(torch.parts), len(bound.parts))
    ours, theirs = (version.parts + (0,) * (size - len(version.parts)) for version in (torch, bound))
    return {"==": ours == theirs, "!=": ours != theirs, ">=": ours >= theirs, "<": ours < theirs}[operator]


def _remedies(facts: Facts, tables: Tables, torch: Version, misfits: Sequence[_Misfit]) -> tuple[Remedy, ...]:
    together = Remedy(Text("Install torch and its companions together, in one command from one index"), installs=True)
    build, os_name = value_or(facts.torch.build, None), value_or(facts.os.name, "")
    fitting = {
        misfit.package.name: tables.companions.best(
            misfit.package.name, torch, torch_cuda(facts), os=os_name, backend=build.backend if build else ""
        )
        for misfit in misfits
    }
    pins = [f"{name}=={row.version}" for name, row in fitting.items() if row]
    url = _index_url(facts, tables, torch)
    if len(pins) < len(misfits) or url is None:
        return (together,)
    command = " ".join(
        ["python -m pip install --force-reinstall --no-deps", *pins, *(["--index-url", url] if url else [])]
    )
    return (
        Remedy(Text("Keep torch {torch} and install what belongs to it", torch=torch), commands=(command,)),
        together,
    )


def _index_url(facts: Facts, tables: Tables, torch: Version) -> str | None:
    """The address to take companions from: empty for PyPI, None when the table does not hold the installed wheel."""
    build, os_name, machine = (
        value_or(facts.torch.build, None),
        value_or(facts.os.name, ""),
        value_or(facts.os.machine, ""),
    )
    row = tables.torch_builds.find(torch, build, os_name, machine) if build else None
    if row is None or not row.emit:
        return None
    return "" if row.on_pypi else tables.indexes.url("pytorch", variant=row.build)
