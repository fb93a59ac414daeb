"""Rules about requirements that an installer refuses: a package that is a stub, and conda's way to write a version."""

from __future__ import annotations

import re
from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.lint.model import Pin
from torchdoctor.lint.right_lines import pin_line
from torchdoctor.lint.rules.registry import Judged, pinned, rule
from torchdoctor.lint.torch_indexes import torch_index

_STUB = "pytorch"  # the name of torch's package on conda's channels; on PyPI that of a stub
_LONGEST = 300  # characters of a specifier
_NOT_PEP_508 = {"conda", "pixi", "poetry"}
_NUMBER = r"\s*\d{1,4}(?:\.\d{1,5}){0,3}"
_SINGLE = re.compile(rf"=({_NUMBER}(?:\.\*|\+[a-z0-9.]{{1,40}})?)")
_REVERSED = re.compile(rf"=([<>])({_NUMBER})")
_PLAIN = re.compile(rf"(?:===?|!=|~=|[<>]=?){_NUMBER}(?:\.\*)?")


@rule("torch-missing", severity="error")
def stub_on_pypi(judged: Judged) -> Iterator[Finding]:
    """The package named pytorch is asked of PyPI, where it is a stub: torch's own is named torch."""
    group = judged.group
    if group.tool in {"conda", "pixi"} or group.kind == "lock":
        return
    if any(torch_index(use.url, judged.tables) is None for use in group.indexes):  # which may hold a package of theirs
        return
    for pin in group.find(_STUB):
        if not pin.url and not group.bindings.get(_STUB):
            yield Finding(
                summary=Text("{name} on PyPI is not torch, and cannot be installed", name=_STUB),
                why=Text(
                    "it is a stub whose install says that the package is named torch; conda alone calls it pytorch"
                ),
                evidence=(pinned(pin),),
                remedies=(Remedy(Text("Name the package torch"), _renamed(pin, judged)),),
                place=pin.place,
            )


def _renamed(pin: Pin, judged: Judged) -> tuple[str, ...]:
    known = {str(version) for version in judged.tables.torch_builds.versions()}
    return (pin_line(judged.group, "torch", pin.exact),) if pin.exact in known else ()


@rule("manifest-unreadable", severity="error")
def no_specifier(judged: Judged) -> Iterator[Finding]:
    """A version is pinned by one =, as conda writes it, or bounded by =>: no installer but conda takes it."""
    group = judged.group
    if group.tool in _NOT_PEP_508 or group.kind in {"lock", "pixi"}:
        return
    if not group.find("torch"):  # a name that no channel of conda has: such a list is for pip
        return
    for pin in group.pins:
        meant = "" if pin.url or pin.label else _meant(pin.spec)
        if meant:
            yield Finding(
                summary=Text("{name}{spec} is no requirement", name=pin.name, spec=pin.spec),
                why=Text(
                    "a version is pinned by == and bounded by >= or <=; one = is conda's way, and {tool} refuses the "
                    "line",
                    tool=group.tool,
                ),
                evidence=(pinned(pin),),
                remedies=(Remedy(Text("Write it so"), (f"{pin.name}{meant}",)),),
                place=pin.place,
            )


def _meant(spec: str) -> str:
    """The specifier that a refused one means; empty for one that is accepted, or that nobody can read."""
    if len(spec) > _LONGEST:
        return ""
    parts = [part.strip() for part in spec.split(",") if part.strip()]
    right = [_righted(part) for part in parts]
    return ",".join(right) if all(right) and right != parts else ""


def _righted(clause: str) -> str:
    if _PLAIN.fullmatch(clause.partition("+")[0]):
        return clause
    if match := _SINGLE.fullmatch(clause):
        return f"=={match[1].strip()}"
    match = _REVERSED.fullmatch(clause)
    return f"{match[1]}={match[2].strip()}" if match else ""
