"""Another build of torch in what is examined: the one that the target needs and a policy allows, and what it gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from torchdoctor.facts import Facts, Inside, Package, Packages, Torch, Trial, value_or
from torchdoctor.policy.kinds import BACKENDS
from torchdoctor.predict.targets import Target
from torchdoctor.predict.verdict import Judged, judge
from torchdoctor.prescribe.choose import choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import with_backend
from torchdoctor.prescribe.host import COMPANIONS, Host, host_of
from torchdoctor.prescribe.install import Install, install_of
from torchdoctor.prescribe.prescribe import prescribe, without_passwords
from torchdoctor.prescribe.writers import choose_for
from torchdoctor.prescribe.writing import Writing, writing_for
from torchdoctor.readers.derive import derive
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_UNMET = "requirement-unmet"
_TORCH, _BUILD, _BACKEND = "require.torch", "require.build", "require.backend"
_OF_TORCH = frozenset({_TORCH, _BUILD, _BACKEND})
_WITH_TORCH = ("triton", "nvidia-", "pytorch-triton")  # beginnings of what comes and goes with it


def another_build(image: Facts, judged: Judged, target: Target, writing: Writing, tables: Tables) -> Install | None:
    """The build that runs there, where nothing but the build is in the way; None where none does.

    What a policy requires may hold for another build alone, so each that it allows is tried, the best first.
    """
    unmet = [item for item in judged.roots if item.id == _UNMET]
    others = [item for item in judged.roots if item.id != _UNMET]
    if not judged.roots or not all(any(remedy.installs for remedy in item.remedies) for item in others):
        return None
    if not unmet and not _OF_TORCH & {item.key for item in judged.facts.request.requires}:
        install = prescribe(judged.facts, judged.findings, writing, tables).install
        return install if install and install.needed else None
    host = host_of(judged.facts, tables)
    for wish in _wishes(judged.facts, host, tables):
        if install := _tried(image, host, wish, target, writing, tables):
            return install
    return None


def _tried(image: Facts, host: Host, wish: Wish, target: Target, writing: Writing, tables: Tables) -> Install | None:
    """The best build for a wish as an install, where the image with it runs on the target."""
    writing = writing_for(image, writing)
    choice, writing, known = choose_for(writing, tables, lambda known: choose(host, wish, known))
    if choice.row is None or not judge(with_build(image, choice.row, tables), target, tables).runs:
        return None
    return without_passwords(install_of(choice, wish, writing, known))


def _wishes(facts: Facts, host: Host, tables: Tables) -> Iterator[Wish]:
    """What the policy allows of torch: its versions, and its builds by name, else those of its backends, else any."""
    said = {item.key: item.wanted for item in facts.request.requires}
    backends = _listed(said.get(_BACKEND, ""))
    builds = [name for name in _listed(said.get(_BUILD, "")) if not backends or Build.parse(name).backend in backends]
    torch = _specifier(said.get(_TORCH, ""))
    if _BUILD in said or backends:
        yield from (Wish(backend=name, torch=torch) for name in builds or ([] if _BUILD in said else backends))
    else:
        yield with_backend(host, Wish(torch=torch), tables)


def _listed(text: str) -> list[str]:
    names = [word.strip() for word in text.split(",") if word.strip()]
    return sorted(names, key=lambda name: BACKENDS.index(name) if name in BACKENDS else 0)


def _specifier(text: str) -> SpecifierSet | None:
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(text) if text else None


def with_build(image: Facts, row: TorchBuild, tables: Tables) -> Facts:
    """The image with this build in the place of its torch, and the companions that move with it left out."""
    label = "" if row.os == "macos" else f"+{row.build}"
    full = f"{row.torch}{label}"
    kept = tuple(item for item in image.packages.items if not _goes(item))
    torch = Torch(
        installed=True,
        version=str(row.torch),
        full=full,
        build=row.build,
        cuda=row.cuda,
        owner=value_or(image.torch.owner, None) or "pip",
        origin="pytorch",
    )
    items = (*kept, Package(name="torch", version=full, owner="pip"))
    return derive(replace(image, torch=torch, packages=Packages(items), trial=Trial(), inside=Inside()), tables)


def _goes(package: Package) -> bool:
    return package.name in COMPANIONS or package.name == "torch" or package.name.startswith(_WITH_TORCH)
