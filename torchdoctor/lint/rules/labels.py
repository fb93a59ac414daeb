"""Rules about build labels: how they may be pinned, and that all packages of one environment share one."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.findings import Evidence, Finding, Remedy, Text
from torchdoctor.lint.knowledge import build_of, companion, is_from_pypi, pypi_build
from torchdoctor.lint.model import Pin
from torchdoctor.lint.readers.words import wrong_label
from torchdoctor.lint.right_lines import lines_remedy, row_for
from torchdoctor.lint.rules.registry import Judged, pinned, rule
from torchdoctor.lint.worlds import World
from torchdoctor.values import Build, Version


@rule("label-needs-exact-pin", severity="error")
def label_needs_exact_pin(judged: Judged) -> Iterator[Finding]:
    """A build label stands behind a range: PEP 440 allows one behind == alone."""
    for pin in judged.group.pins:
        clause = wrong_label(pin)
        if clause and judged.group.tool != "conda":
            yield Finding(
                summary=Text("{name}{clause}: a label goes with == alone", name=pin.name, clause=clause),
                why=Text("PEP 440 allows a local label in == and != of one version; installers refuse the line"),
                evidence=(pinned(pin),),
                remedies=(
                    Remedy(
                        Text("Pin one version with the label, or leave the label out and name the index of the build")
                    ),
                ),
                place=pin.place,
            )


@rule("mixed-build-labels", severity="warning")
def mixed_build_labels(judged: Judged) -> Iterator[Finding]:
    """Torch and a package built for it come from two different builds."""
    for world in judged.with_torch:
        if world.os == "macos" or (world.machine == "aarch64" and len(judged.worlds) > 1):
            continue
        yield from _twice(judged, world)
        torch = world.find("torch")
        build = build_of(torch, judged.group, world, judged.tables) if torch else None
        if torch is None or build is None:
            build = _default(torch, judged, world) if torch else None
        if torch is None or build is None:
            continue
        for name in judged.tables.listed_packages.built_per_build():
            pin = world.find(name)
            if pin and pin is not torch and (other := _other_build(pin, build, judged, world)):
                yield _mixed(torch, build, pin, other, judged, world)


def _twice(judged: Judged, world: World) -> Iterator[Finding]:
    """Two pins of torch that both hold on one host."""
    pins = [pin for pin in world.pins if pin.name == "torch" and pin.label]
    if len({pin.label for pin in pins}) > 1 and judged.group.kind != "lock":
        yield Finding(
            summary=Text("torch is pinned to +{one} and to +{other}", one=pins[0].label, other=pins[-1].label),
            why=Text("both lines hold on {os} with Python {python}", os=world.os, python=world.python),
            evidence=tuple(map(pinned, pins[:4])),
            remedies=(Remedy(Text("Keep one, or give each a marker that leaves the other's hosts out")),),
            severity="error",
            place=pins[-1].place,
        )


def _default(torch: Pin, judged: Judged, world: World) -> Build | None:
    if not torch.exact or not is_from_pypi(torch, judged.group, world, judged.tables):
        return None
    return pypi_build(torch.exact, world, judged.tables)


def _other_build(pin: Pin, build: Build, judged: Judged, world: World) -> Build | None:
    """The build of a companion where it is another one than torch's; None where they agree, or nothing is known."""
    found = build_of(pin, judged.group, world, judged.tables)
    release = companion(pin, judged.tables)
    if found is not None:
        return found if found != build else None
    if release is None or not is_from_pypi(pin, judged.group, world, judged.tables):
        return None
    if release.labelled != "yes":
        fits = release.accepts_cuda(build.cuda, os=world.os, backend=build.backend)
        return None if fits else pypi_build(str(judged.tables.torch_builds.newest()), world, judged.tables)
    default = pypi_build(str(release.torch_min), world, judged.tables)
    return default if default and _is_far(default, build) else None


def _is_far(one: Build, other: Build) -> bool:
    """Whether packages of the two builds do not load beside each other."""
    if one.backend != other.backend:
        return True
    return bool(one.cuda and other.cuda and one.cuda.major != other.cuda.major)


def _mixed(torch: Pin, build: Build, pin: Pin, other: Build, judged: Judged, world: World) -> Finding:
    version = Version.parse(torch.exact) if torch.exact else None
    row = row_for(version, build, world, judged.tables) if version else None
    is_labelled = bool(pin.label)
    why = "{name} holds code compiled for one build of torch: beside another, its import or its GPU functions fail"
    if not is_labelled and is_from_pypi(pin, judged.group, world, judged.tables):
        why = "PyPI's {name} goes with PyPI's torch, which is {other}: beside another build its import fails"
    evidence: tuple[Evidence, ...] = (pinned(torch), pinned(pin))
    return Finding(
        summary=Text("{name} comes in the build {other}, torch in {build}", name=pin.name, other=other, build=build),
        why=Text(why, name=pin.name, other=other),
        evidence=evidence,
        remedies=lines_remedy(judged.group, row, judged.tables)
        or (Remedy(Text("Take {name} from the index of torch, with the same label", name=pin.name)),),
        place=pin.place,
    )


@rule("extension-wrong-vendor", severity="warning")
def extension_wrong_vendor(judged: Judged) -> Iterator[Finding]:
    """A package with code for one vendor's GPUs stands beside a torch for another, or for the CPU."""
    for world in judged.with_torch:
        torch = world.find("torch")
        build = build_of(torch, judged.group, world, judged.tables) if torch and world.os != "macos" else None
        if torch is None or build is None:
            continue
        for pin in world.pins:
            row = judged.tables.listed_packages.find(pin.name)
            if row and row.needs and not row.built_per_build and build.backend not in row.needs:
                yield Finding(
                    summary=Text("{name} has no code for the {build} build of torch", name=pin.name, build=build),
                    why=Text(
                        "{name} needs torch for {needs}; the line of torch takes {build}",
                        name=pin.name,
                        needs=" or ".join(row.needs),
                        build=build,
                    ),
                    evidence=(pinned(torch), pinned(pin)),
                    remedies=(
                        Remedy(
                            Text(
                                "Take torch from the index of a {needs} build, or keep {name} to an extra of its own",
                                needs=row.needs[0],
                                name=pin.name,
                            )
                        ),
                    ),
                    place=pin.place,
                )
