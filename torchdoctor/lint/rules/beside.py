"""Rules about what stands beside torch: NumPy, NVIDIA's libraries, and packages that want one torch alone."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.lint.knowledge import accepts, build_of, is_from_pypi, is_plain, pypi_build, torch_versions
from torchdoctor.lint.model import Pin
from torchdoctor.lint.rules.registry import Judged, pinned, rule
from torchdoctor.lint.worlds import World
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Version


@rule("numpy-abi-mismatch", severity="warning")
def numpy_too_new(judged: Judged) -> Iterator[Finding]:
    """The NumPy that is asked for is newer than the one torch was compiled for."""
    for world in judged.with_torch:
        torch = world.find("torch")
        versions = torch_versions(torch, judged.tables) if torch and torch.spec else None
        for row in judged.tables.torch_requirements.rows if versions else ():
            pin = world.find(row.other)
            if torch and pin and versions and versions[0] <= row.subject_max and _asks_for(pin, row.other_min):
                yield Finding(
                    summary=Text("numpy{numpy} beside torch{torch}", numpy=pin.spec, torch=torch.spec),
                    why=Text("{effect}", effect=row.effect),
                    evidence=(pinned(torch), pinned(pin)),
                    remedies=(
                        Remedy(
                            Text("Keep NumPy below {most}, or take a newer torch", most=row.other_min),
                            (f"numpy<{row.other_min}",),
                        ),
                    ),
                    place=pin.place,
                )


def _asks_for(pin: Pin, least: Version) -> bool:
    """Whether every release that the pin allows is of this major or a newer one."""
    if not pin.spec or not is_plain(pin.spec):
        return False
    major = least.parts[0]
    older = (Version((number, minor, patch)) for number in range(major) for minor in range(40) for patch in range(8))
    return not any(accepts(pin.spec, version) for version in older)


@rule("nvidia-packages-inconsistent", severity="error")
def nvidia_libraries(judged: Judged) -> Iterator[Finding]:
    """A pin of NVIDIA's library is not the one that this torch asks for."""
    if judged.group.tool != "pip" or judged.group.kind == "lock":
        return
    for world in (world for world in judged.with_torch if world.os == "linux"):
        torch = world.find("torch")
        row = _row(torch, judged, world) if torch and torch.exact else None
        for pin in world.pins if torch and row else ():
            wanted = _wanted(pin, row)
            if torch and wanted and pin.exact and Version.parse(pin.exact) != Version.parse(wanted):
                yield Finding(
                    summary=Text(
                        "{name} {version}: torch {torch} asks for {wanted}",
                        name=pin.name,
                        version=pin.exact,
                        torch=torch.exact,
                        wanted=wanted,
                    ),
                    why=Text("torch pins NVIDIA's libraries exactly: an installer refuses the two lines together"),
                    evidence=(pinned(torch), pinned(pin)),
                    remedies=(Remedy(Text("Leave the line out: torch brings its own"), (f"{pin.name}=={wanted}",)),),
                    place=pin.place,
                )


def _row(torch: Pin, judged: Judged, world: World) -> TorchBuild | None:
    build = build_of(torch, judged.group, world, judged.tables)
    if build is None and is_from_pypi(torch, judged.group, world, judged.tables):
        build = pypi_build(torch.exact, world, judged.tables)
    version = Version.parse(torch.exact)
    return judged.tables.torch_builds.find(version, build, world.os, world.machine) if build else None


def _wanted(pin: Pin, row: TorchBuild | None) -> str:
    """The version of a library that a build pins; empty where the table does not tell."""
    match = re.fullmatch(r"nvidia-(cudnn|nccl)-cu(\d{2})", pin.name)
    if not match or row is None or row.cuda is None or int(match[2]) != row.cuda.major:
        return ""
    version = row.cudnn if match[1] == "cudnn" else row.nccl
    return version if re.fullmatch(r"\d+(\.\d+){1,3}", version) else ""


@rule("torch-companion-mismatch", severity="warning")
def neighbour_wants_another_torch(judged: Judged) -> Iterator[Finding]:
    """A package that belongs to one torch stands beside another one."""
    for world in judged.with_torch:
        torch = world.find("torch")
        versions = torch_versions(torch, judged.tables) if torch and torch.spec else None
        for pin in world.pins if torch and versions else ():
            is_known = pin.exact in {one.version for one in judged.tables.companion_pins.releases(pin.name)}
            is_told = not pin.exact or is_known  # by the rule that knows the release itself
            row = None if is_told else judged.tables.neighbours.find(pin.name, Version.parse(pin.exact))
            wanted = row.torch_pin if row and row.torch_pin not in {"", "any"} else ""
            if row and row.torch_minor:
                wanted = ".".join(pin.exact.split(".")[:2])
            if torch and versions and wanted and not any(_is_of(wanted, version) for version in versions):
                yield Finding(
                    summary=Text(
                        "{name} {version} wants torch {wanted}, not torch{torch}",
                        name=pin.name,
                        version=pin.exact,
                        wanted=wanted,
                        torch=torch.spec,
                    ),
                    why=Text("each of its releases goes with one torch"),
                    evidence=(pinned(torch), pinned(pin)),
                    remedies=(Remedy(Text("Leave torch to it, or pin the torch it wants: {wanted}", wanted=wanted)),),
                    confidence="likely",
                    place=pin.place,
                )


def _is_of(wanted: str, version: Version) -> bool:
    parts = Version.parse(wanted).parts
    return version.parts[: len(parts)] == parts
