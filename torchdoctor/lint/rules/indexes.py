"""Rules about the indexes that pip is told to ask."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.lint.knowledge import (
    accepts,
    builds,
    companion,
    is_plain,
    is_settled,
    may_be_unknown,
    parsed_build,
    torch_versions,
)
from torchdoctor.lint.model import IndexUse, Pin
from torchdoctor.lint.readers.words import wrong_label
from torchdoctor.lint.right_lines import lines_remedy, right_lines, row_for
from torchdoctor.lint.rules.registry import Judged, pinned, rule, written
from torchdoctor.lint.rules.versions import is_of_the_tables
from torchdoctor.lint.torch_indexes import TorchIndex, torch_index
from torchdoctor.tables.companions import Companion
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build, Version

_HOSTS = (("linux", "x86_64"), ("windows", "x86_64"))
_FEW = 6
_PROJECTS = ("uv", "poetry")  # whose own files say which index stands in PyPI's place


@rule("extra-index-unpinned", severity="warning")
def extra_index_unpinned(judged: Judged) -> Iterator[Finding]:
    """A further index is asked for torch, and nothing in the pin says that its build is the one wanted."""
    if judged.group.tool not in {"pip", "hatch"}:
        return
    asked = [(use, found) for use in judged.group.indexes if (found := torch_index(use.url, judged.tables))]
    extras = [(use, found) for use, found in asked if use.role == "extra"]
    if not extras or any(use.role in {"main", "first"} for use, _ in asked):
        return
    use, found = extras[0]
    for pin in judged.group.find("torch"):
        is_wheel = pin.url is not None or pin.python
        if pin.label or is_wheel or wrong_label(pin) or not any(pin in world.pins for world in judged.hosts):
            continue
        if found.is_preview:
            if not judged.group.pre and "dev" not in pin.spec and "rc" not in pin.spec:
                yield _without_pre(use, pin)
        elif not (pin.exact or _is_decided(judged)) and (
            judged.group.tool != "hatch" or _taken(pin, parsed_build(found.build), judged)
        ):
            yield _unpinned(use, found, pin, judged)


def _is_decided(judged: Judged) -> bool:
    """Whether a companion's pin leaves releases of torch that an exact pin would name, and not the newest."""
    pins = (pin for name in ("torchvision", "torchaudio") for pin in judged.group.find(name) if pin.spec)
    rows = (_newest_of(pin, judged) for pin in pins)
    return any(row is not None and row.is_pinned for row in rows)


def _newest_of(pin: Pin, judged: Judged) -> Companion | None:
    """The newest release of a companion that its pin allows."""
    if pin.exact:
        return companion(pin, judged.tables)
    known = judged.tables.companions.releases(pin.name) if is_plain(pin.spec) else ()
    return next((row for row in known if accepts(pin.spec, row.version)), None)


@rule("torch-source-incomplete", severity="warning")
def option_behind_a_requirement(judged: Judged) -> Iterator[Finding]:
    """An option about the index stands behind a requirement, where pip does not read it."""
    for pin in judged.group.pins:
        if pin.stray:
            yield Finding(
                summary=Text(
                    "{option} behind {name} does nothing", option=pin.stray.split()[0].split("=")[0], name=pin.name
                ),
                why=Text("in a file of requirements pip reads an option about the index on a line of its own alone"),
                evidence=(pinned(pin),),
                remedies=(Remedy(Text("Give it a line of its own"), (pin.stray,)),),
                severity="error" if pin.label else "warning",
                place=pin.place,
            )


def _without_pre(use: IndexUse, pin: Pin) -> Finding:
    return Finding(
        summary=Text("a nightly index without --pre: pip takes the final release"),
        why=Text("a development version counts only with --pre, or where the pin names one"),
        evidence=(written(use.url, str(use.place)), pinned(pin)),
        remedies=(Remedy(Text("Add --pre, and name the nightly index by --index-url"), (f"--index-url {use.url}",)),),
        place=use.place,
    )


def _unpinned(use: IndexUse, found: TorchIndex, pin: Pin, judged: Judged) -> Finding:
    build = parsed_build(found.build)
    taken = _taken(pin, build, judged)
    row = _newest(pin, build, judged)
    evidence: tuple[Evidence, ...] = (written(use.url, str(use.place)), pinned(pin))
    remedies = lines_remedy(judged.group, row, judged.tables)
    if taken:
        summary = Text("pip takes PyPI's torch {version}, not the {build} build", version=taken, build=found.build)
        severity = None
    else:
        summary = Text("torch{spec} is asked of PyPI and of a further index", spec=pin.spec)
        severity = "info"
    return Finding(
        summary=summary,
        why=Text(
            "pip pools all indexes and takes the highest version of any: only a label in the pin says which build, and "
            "whoever owns a name on one of them can give it"
        ),
        evidence=evidence,
        remedies=remedies,
        severity=severity,  # type: ignore[arg-type]
        place=use.place,
    )


def _taken(pin: Pin, build: Build | None, judged: Judged) -> str:
    """The release that PyPI gives because the index has an older one alone; empty where both have the newest."""
    versions = torch_versions(pin, judged.tables)
    if not versions or build is None:
        return ""
    ours = _newest(pin, build, judged)
    return str(versions[0]) if ours is None or ours.torch < versions[0] else ""


def _newest(pin: Pin, build: Build | None, judged: Judged) -> TorchBuild | None:
    versions = torch_versions(pin, judged.tables) or judged.tables.torch_builds.versions()
    for os, machine in _HOSTS:
        for row in judged.tables.torch_builds.for_host(os, machine):
            if row.build == build and row.torch in versions and row.emit:
                return row
    return None


@rule("index-lacks-version", severity="warning")
def extra_index_lacks(judged: Judged) -> Iterator[Finding]:
    """A further index does not hold the version that is pinned, so that PyPI's build is taken in silence."""
    uses = [use for use in judged.group.indexes if use.role == "extra"]
    found = [index for use in uses if (index := torch_index(use.url, judged.tables))]
    if len(found) != 1 or judged.group.tool not in {"pip", "hatch"} or found[0].is_preview or not found[0].is_official:
        return
    build = parsed_build(found[0].build)
    for pin in judged.group.find("torch"):
        if not pin.exact or pin.label or pin.url is not None or build is None:
            continue
        version = Version.parse(pin.exact)
        rows = [row for row in judged.tables.torch_builds.rows if row.torch == version]
        is_known = (
            rows
            and (build in builds(judged.tables) or _is_final(build, version, judged))
            and not may_be_unknown(pin, judged.tables.torch_builds.versions())
        )
        if is_known and build.backend == "cuda" and not any(row.build == build for row in rows):
            world = next((world for world in judged.hosts if pin in world.pins), None)
            yield Finding(
                summary=Text("torch {version} has no build {build}: pip takes PyPI's", version=version, build=build),
                why=Text(
                    "builds of {version}: {there}",
                    version=version,
                    there=", ".join(sorted({row.build.name for row in rows if row.emit})),
                ),
                evidence=(pinned(pin), written(uses[0].url, str(uses[0].place))),
                remedies=lines_remedy(judged.group, row_for(version, build, world, judged.tables), judged.tables)
                if world
                else (),
                place=pin.place,
            )


def _is_final(build: Build, version: Version, judged: Judged) -> bool:
    """Whether a release gets no build of a name that the tables do not hold; what is no build at all is told of it."""
    return is_settled(version, judged.tables) and not is_of_the_tables(build, judged.tables)


@rule("index-replaces-pypi", severity="error")
def index_replaces_pypi(judged: Judged) -> Iterator[Finding]:
    """The PyTorch index stands in PyPI's place for packages that it does not hold."""
    replaced = stands_for_pypi(judged)
    found = torch_index(replaced[0].url, judged.tables) if replaced else None
    if replaced and found:
        use, missing = replaced
        names = ", ".join(dict.fromkeys(pin.name for pin in missing[:_FEW]))
        is_project = judged.group.tool in _PROJECTS
        yield Finding(
            summary=Text("{name} is asked of the PyTorch index alone", name=missing[0].name),
            why=Text(
                "it takes the place of PyPI for every package; the index holds torch, what is built with it and their "
                "dependencies, not {names}",
                names=names,
            ),
            evidence=(written(use.url, str(use.place)), pinned(missing[0])),
            remedies=(
                Remedy(Text("Make the index explicit, and bind torch and its companions to it"))
                if is_project
                else Remedy(
                    Text(
                        "Install torch by a command or file of its own; or name the index as a further one, with "
                        "labels in the pins"
                    ),
                    _with_labels(found, judged),
                ),
            ),
            confidence="likely",
            place=use.place,
        )


def stands_for_pypi(judged: Judged) -> tuple[IndexUse, list[Pin]] | None:
    """The PyTorch index that is asked in place of PyPI, and the packages that it does not hold; None where none is."""
    group = judged.group
    mains = [use for use in group.indexes if use.role == "main"]
    others = [use for use in group.indexes if use.role in {"extra", "first"}]
    if not mains or group.tool not in {"pip", "hatch", *_PROJECTS} or group.kind == "lock":
        return None
    found = [torch_index(use.url, judged.tables) for use in (*mains, *others)]
    last = found[len(mains) - 1]
    if last is None or not last.is_official or any(index is None for index in found):
        return None
    missing = [pin for pin in group.pins if _is_not_held(pin, judged) and not group.bindings.get(pin.name)]
    return (mains[-1], missing) if missing else None


def _with_labels(found: TorchIndex, judged: Judged) -> tuple[str, ...]:
    """The index as a further one, and the pins that then take its build; none where it is not known which."""
    torch = next(iter(judged.group.find("torch")), None)
    build = parsed_build(torch.label if torch and torch.label else found.build)
    row = _newest(torch, build, judged) if torch and build else None
    return right_lines(judged.group, row, judged.tables) if row else ()


def _is_not_held(pin: Pin, judged: Judged) -> bool:
    row = judged.tables.listed_packages.find(pin.name)
    return pin.url is None and not (row and row.index_held) and not pin.name.startswith(("nvidia-", "torch"))
