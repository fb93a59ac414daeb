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
_NOT_PEP_508 = {"conda", "pixi", "poetry"}
_SINGLE = re.compile(r"=\s*(\d{1,4}(?:\.\d{1,5}){0,3}(?:\+[a-z0-9.]{1,40})?)")


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
def one_equals_sign(judged: Judged) -> Iterator[Finding]:
    """Torch is pinned by one =, as conda writes it: no installer of Python packages takes that."""
    group = judged.group
    if group.tool in _NOT_PEP_508 or group.kind in {"lock", "pixi"}:
        return
    for pin in group.find("torch"):
        match = _SINGLE.fullmatch(pin.spec)
        if match and not pin.url:
            yield Finding(
                summary=Text("torch{spec} is no requirement: a version is pinned by ==", spec=pin.spec),
                why=Text("one = is conda's way; {tool} refuses the line", tool=group.tool),
                evidence=(pinned(pin),),
                remedies=(Remedy(Text("Write two"), (f"torch=={match[1]}",)),),
                place=pin.place,
            )
