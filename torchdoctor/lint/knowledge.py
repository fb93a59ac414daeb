"""What the tables say of a pin: which releases it allows, and from which build it comes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from torchdoctor.lint.model import DIRECT, Group, Pin
from torchdoctor.lint.torch_indexes import Origin, origin
from torchdoctor.lint.worlds import World
from torchdoctor.tables import Tables
from torchdoctor.tables.companions import Companion
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build, Version

_CLAUSE = re.compile(r"(?:===?|!=|~=|<=|>=|<|>)\s*\d{1,5}(?:\.\d{1,5}){0,3}(?:\.\*)?")
_UNBOUND = re.compile(r"--no-(?:deps|binary)\b")  # what an install does not hold packages to their metadata with
_POST = re.compile(r"\.post\d{1,4}(?=\s*(?:,|$))")
_RECENT = 2  # minor versions that may still get a patch release after the tables were made


def is_plain(spec: str, *, posts: bool = False) -> bool:
    """Whether a specifier speaks of final releases alone, so that it can be judged; ``posts`` lets post-releases in."""
    spec = _POST.sub("", spec) if posts else spec
    return len(spec) < 300 and all(_CLAUSE.fullmatch(part.strip()) for part in spec.split(",") if part.strip())  # noqa: PLR2004 - no specifier is longer


@lru_cache(maxsize=4096)
def _accepts(spec: str, version: Version | str) -> bool:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(spec).contains(str(version))


def accepts(spec: str, version: Version | str) -> bool:
    """Whether a plain specifier takes a version."""
    return not spec.strip() or _accepts(spec.strip(), version)


def torch_versions(pin: Pin, tables: Tables) -> tuple[Version, ...] | None:
    """The releases of torch in the tables that a pin allows, newest first; None where it cannot be judged."""
    if not is_plain(pin.spec) or (pin.url == DIRECT and not pin.exact):
        return None
    return tuple(version for version in tables.torch_builds.versions() if accepts(pin.spec, version))


def may_be_unknown(pin: Pin, known: Iterable[Version]) -> bool:
    """Whether a pin allows releases that the tables cannot hold: older than all of them, or newer."""
    ordered = sorted(known)
    oldest, newest = ordered[0].parts, ordered[-1].parts
    minors = sorted({version.parts[:2] for version in ordered}, reverse=True)[:_RECENT]
    last = {minor: max(version.parts[2] for version in ordered if version.parts[:2] == minor) for minor in minors}
    later = [Version((*minor, patch)) for minor, most in last.items() for patch in range(most + 1, most + 6)]
    later += [Version((newest[0], newest[1] + step, patch)) for step in range(1, 30) for patch in range(3)]
    later += [Version((newest[0] + 1, minor, 0)) for minor in range(3)]
    older = [Version((oldest[0], minor, patch)) for minor in range(oldest[1]) for patch in range(3)]
    older += [Version((major, minor, patch)) for major in range(oldest[0]) for minor in range(20) for patch in range(3)]
    exact = Version.parse(pin.exact) if pin.exact else None
    if exact and (exact < ordered[0] or exact.parts[:2] > newest[:2]):
        return True
    return any(accepts(pin.spec, version) for version in (*later, *older))


def parsed_build(text: str) -> Build | None:
    """A build of this name; None for what is none."""
    try:
        return Build.parse(text) if text else None
    except ValueError:
        return None


def build_of(pin: Pin, group: Group, world: World, tables: Tables) -> Build | None:
    """The build a pin comes in, where the label or the one index that is asked decides; None where nothing does."""
    if pin.label:
        return parsed_build(pin.label)
    found = origin(pin, group, world, tables)
    if found is None or found.torch is None or found.torch.is_preview:
        return None
    decides = found.is_sure or (bool(pin.exact) and _one_index(group, found, tables))
    return parsed_build(found.torch.build) if decides else None


def _one_index(group: Group, found: Origin, tables: Tables) -> bool:
    """Whether no other index of torch is pooled with it: an exact public version then takes its label."""
    from torchdoctor.lint.torch_indexes import torch_index

    asked = {use.url for use in group.indexes if use.role != "explicit" and torch_index(use.url, tables)}
    return found.use is not None and asked <= {found.use.url}


def is_from_pypi(pin: Pin, group: Group, world: World, tables: Tables) -> bool:
    """Whether PyPI surely gives the pin."""
    found = origin(pin, group, world, tables)
    return (
        not pin.label
        and found is not None
        and found.torch is None
        and not any(use.role in {"extra", "first"} for use in group.indexes)
    )


def pypi_build(version: str, world: World, tables: Tables) -> Build | None:
    """The build of a torch release that PyPI holds for this host."""
    row = tables.torch_builds.pypi_default(Version.parse(version), world.os, world.machine) if version else None
    return row.build if row else None


def companion(pin: Pin, tables: Tables) -> Companion | None:
    """The release of a companion that a pin names; None where it allows several, or the tables do not hold it."""
    return tables.companions.find(pin.name, pin.exact) if pin.exact else None


def release_for(name: str, torch: Version, tables: Tables) -> str:
    """The release of a companion that was made for a torch; empty where the tables know of none.

    One that asked for a torch or any newer one, before its successors asked for one alone, was not.
    """
    best = tables.companions.best(name, torch)
    known = tables.companion_pins.releases(name)
    pins = (row.version for row in known if accepts(row.spec, torch) and (row.is_bounded or row is known[0]))
    return str(best.version) if best else next(pins, "")


def is_of_others(torch: Pin, versions: tuple[Version, ...], tables: Tables) -> bool:
    """Whether the label is none of the PyTorch index: AMD pairs its own builds in its own way."""
    build = parsed_build(torch.label)
    rows = (row for version in versions for row in rows_of(version, tables))
    return bool(torch.label) and not any(row.build == build for row in rows)


def is_refused(group: Group, torch: Pin) -> bool:
    """Whether an installer holds its packages to the torch that they ask for."""
    lines = group.image.lines if group.image else ()
    is_there = torch.text.startswith("FROM ")  # in the base image: an installer takes another torch in its place
    is_told = torch.is_forced or any(_UNBOUND.search(one.text) for one in lines)
    return group.kind != "lock" and not is_there and not is_told


def is_settled(version: Version, tables: Tables) -> bool:
    """Whether a release is of an older minor than the newest: it gets no further build."""
    return version.parts[:2] < tables.torch_builds.newest().parts[:2]


def builds(tables: Tables) -> frozenset[Build]:
    """Every build that any release has."""
    return frozenset(row.build for row in tables.torch_builds.rows)


def rows_of(version: Version, tables: Tables) -> tuple[TorchBuild, ...]:
    """Every build of a release of torch."""
    return tuple(row for row in tables.torch_builds.rows if row.torch == version)
