"""Rules about the tables of uv, Poetry and PDM that bind packages to an index."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.lint.knowledge import build_of, parsed_build, pypi_build
from torchdoctor.lint.model import Binding, IndexUse, Pin
from torchdoctor.lint.rules.indexes import stands_for_pypi
from torchdoctor.lint.rules.registry import Judged, pinned, rule, written
from torchdoctor.lint.torch_indexes import torch_index
from torchdoctor.lint.worlds import World, holds
from torchdoctor.prescribe.writers import toml
from torchdoctor.values import Build

_PROJECTS = {"uv", "poetry", "pdm"}
_TRITON = re.compile(r"(?:pytorch-)?triton(?:-\w+)?")
_OWN_TRITON = {"rocm", "xpu"}
_BOUND = ("torch", "torchvision", "torchaudio")
_SAYING = {
    "uv": "explicit = true",
    "poetry": 'priority = "explicit"',
    "pdm": 'include_packages = ["torch", "torchvision", "torchaudio"]',
}


@rule("torch-index-not-explicit", severity="warning")
def torch_index_not_explicit(judged: Judged) -> Iterator[Finding]:
    """The PyTorch index is asked for every package of the project, not for torch alone."""
    group = judged.group
    if group.tool not in _PROJECTS or group.kind != "pyproject":
        return
    replaced = stands_for_pypi(judged)
    for use in group.indexes:
        if use.role != "explicit" and torch_index(use.url, judged.tables) and not (replaced and replaced[0] == use):
            yield Finding(
                summary=Text("{tool} asks the PyTorch index for every package", tool=group.tool),
                why=Text(
                    "it holds older copies of packages that torch needs, and what it holds is taken there; {saying} "
                    "keeps it to what is bound to it",
                    saying=_SAYING[group.tool],
                ),
                evidence=(written(use.url, str(use.place)),),
                remedies=(
                    Remedy(Text("Bind torch and its companions to it, and nothing else"), tuple(_right(use, judged))),
                ),
                place=use.place,
            )


def _right(use: IndexUse, judged: Judged) -> Iterator[str]:
    """The lines of the index, and where it has a name, those that bind the packages to it."""
    found = torch_index(use.url, judged.tables)
    name = use.name or f"pytorch-{found.build if found else ''}".rstrip("-")
    yield _header(judged.group.tool)
    yield f"name = {toml.text(name)}"
    yield f"url = {toml.text(use.url)}"
    yield _SAYING[judged.group.tool]
    packages = [package for package in _BOUND if package == "torch" or package in judged.group.named]
    if judged.group.tool == "uv":
        yield "[tool.uv.sources]"
        yield from (f"{package} = {toml.inline({'index': name})}" for package in packages)
    elif judged.group.tool == "poetry":
        yield "[tool.poetry.dependencies]"
        for package in packages:
            pin = next(iter(judged.group.find(package)), None)
            yield _entry(package, pin.spec if pin else "", name)


def _header(tool: str) -> str:
    return {"uv": "[[tool.uv.index]]", "poetry": "[[tool.poetry.source]]", "pdm": "[[tool.pdm.source]]"}[tool]


def _binding(name: str, judged: Judged, world: World) -> Binding | None:
    """How a package is bound in a world; None where it is not."""
    chosen = judged.group.chosen
    for binding in judged.group.bindings.get(name, ()):
        if holds(binding.marker, world) and (not binding.extra or binding.extra in chosen):
            return binding
    return None


@rule("torch-source-incomplete", severity="warning")
def companion_without_a_source(judged: Judged) -> Iterator[Finding]:
    """Torch is bound to an index of its own, and a package built with it is not."""
    if judged.group.tool not in _PROJECTS or judged.group.kind != "pyproject":
        return
    for world in (world for world in judged.with_torch if world.os != "macos"):
        bound = _binding("torch", judged, world)
        found = torch_index(bound.use.url, judged.tables) if bound and bound.use else None
        torch, build = world.find("torch"), parsed_build(found.build) if found else None
        if torch is None or build is None or bound is None or bound.use is None or torch.label:
            continue
        for name in judged.tables.listed_packages.built_per_build():
            pin = world.find(name)
            if name == "torch" or pin is None or pin.label or pin.url is not None:
                continue
            if _binding(name, judged, world) is None and _differs(torch, build, judged, world):
                yield _unbound(pin, bound.use, build, world, judged)


def _differs(torch: Pin, build: Build, judged: Judged, world: World) -> bool:
    """Whether what PyPI has for this host is another kind of build than the one torch is bound to."""
    default = pypi_build(torch.exact or str(judged.tables.torch_builds.newest()), world, judged.tables)
    if default is None:
        return False
    majors = {item.cuda.major if item.cuda else None for item in (default, build)}
    return default.backend != build.backend or len(majors) > 1


def _unbound(pin: Pin, index: IndexUse, build: Build, world: World, judged: Judged) -> Finding:
    name, tool = index.name or "pytorch", judged.group.tool
    return Finding(
        summary=Text("{name} has no source: it comes from PyPI, torch from {index}", name=pin.name, index=name),
        why=Text(
            "on {os} PyPI's {name} is built for PyPI's torch there; beside the {build} build its import or its GPU "
            "functions fail",
            os={"linux": "Linux", "windows": "Windows"}.get(world.os, world.os),
            name=pin.name,
            build=build,
        ),
        evidence=(pinned(pin), written(index.url, str(index.place))),
        remedies=(Remedy(Text("Bind it as torch is"), (_line(pin, name, tool),)),),
        place=pin.place,
    )


def _line(pin: Pin, index: str, tool: str) -> str:
    """How a tool binds a package to a source."""
    if tool == "pdm":
        return f"include_packages = [{toml.text('torch')}, {toml.text(pin.name)}]"
    return _entry(pin.name, pin.spec, index) if tool == "poetry" else f"{pin.name} = {toml.inline({'index': index})}"


def _entry(name: str, spec: str, source: str) -> str:
    """A dependency of Poetry, which is written once, with its version."""
    return f"{name} = {toml.inline({'version': spec or '*', 'source': source})}"


@rule("torch-source-incomplete", severity="error")
def source_of_no_index(judged: Judged) -> Iterator[Finding]:
    """A package is bound to an index that the file does not declare."""
    group = judged.group
    for name, bindings in group.bindings.items() if group.kind == "pyproject" else ():
        for binding in bindings if name in group.named else ():
            if binding.undeclared:
                yield Finding(
                    summary=Text(
                        "{name} is bound to {index}, an index that is not declared", name=name, index=binding.undeclared
                    ),
                    why=Text(
                        "{tool} refuses the project; a member of a workspace may find it in the root's file",
                        tool=group.tool,
                    ),
                    evidence=(pinned(group.find(name)[0]),) if group.find(name) else (),
                    remedies=(
                        Remedy(
                            Text("Declare it"),
                            (_header(group.tool), f"name = {toml.text(binding.undeclared)}", "url = ..."),
                        ),
                    ),
                    severity="error" if group.indexes else "warning",
                    confidence="likely",
                    place=binding.place or group.place,
                )


@rule("torch-source-incomplete", severity="warning")
def source_without_a_dependency(judged: Judged) -> Iterator[Finding]:
    """Torch has a source, and the project does not name torch: sources bind direct dependencies alone."""
    group = judged.group
    bound = [item for item in group.bindings.get("torch", ()) if item.use and torch_index(item.use.url, judged.tables)]
    if group.tool != "uv" or not bound or "torch" in group.named or not group.is_complete or group.kind != "pyproject":
        return
    index = bound[0].use
    if index:
        yield Finding(
            summary=Text("torch has a source and is no dependency: the source does nothing"),
            why=Text("uv applies sources to what the project itself names; a torch that others need comes from PyPI"),
            evidence=(written(index.url, str(index.place)),),
            remedies=(Remedy(Text("Name torch among the dependencies"), ('dependencies = ["torch"]',)),),
            place=index.place,
        )


@rule("torch-source-incomplete", severity="warning")
def helper_without_a_source(judged: Judged) -> Iterator[Finding]:
    """A build for ROCm or XPU needs a triton that only its own index holds, and the project does not name it."""
    if judged.group.tool != "uv" or judged.group.kind != "pyproject":
        return
    for world in (world for world in judged.with_torch if world.os == "linux" and world.machine == "x86_64"):
        bound, torch = _binding("torch", judged, world), world.find("torch")
        if torch is None or bound is None or bound.use is None or bound.use.role != "explicit":
            continue
        build = build_of(torch, judged.group, world, judged.tables)
        if build is None or build.backend not in _OWN_TRITON or any(map(_is_triton, judged.group.named)):
            continue
        helper = next(
            (
                row.triton.split()[0]
                for row in judged.tables.torch_builds.rows[::-1]
                if row.build.backend == build.backend and row.triton
            ),
            "",
        )
        yield Finding(
            summary=Text(
                "torch for {build} needs {helper}, which the project does not name", build=build, helper=helper
            ),
            why=Text("the index is explicit: what torch needs from it must be named and bound as well"),
            evidence=(pinned(torch), written(bound.use.url, str(bound.use.place))),
            remedies=(
                Remedy(
                    Text("Add it to the dependencies, and bind it to the same index"),
                    (f"{helper} = {toml.inline({'index': bound.use.name})}",),
                ),
            ),
            confidence="likely",
            place=torch.place,
        )


def _is_triton(name: str) -> bool:
    return bool(_TRITON.fullmatch(name))
