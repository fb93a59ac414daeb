"""Rules about images that bring a torch, and an install that puts another one in its place."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.lint.knowledge import accepts, is_plain
from torchdoctor.lint.model import Image, Pin
from torchdoctor.lint.rules.registry import Judged, pinned, rule, written
from torchdoctor.values import Version

# What installs elsewhere than into the image's own Python.
_IN_ANOTHER = re.compile(
    r"\bvenv\b|\bvirtualenv\b|\bconda\b|\bmamba\b|--target\b|--prefix\b|\bpyenv\b|"
    r"\buv\s(?![^&;|\n]*--system\b)|\bpip[\d.]* install .*\s-t\s"
)


@rule("mixed-package-sources", severity="warning")
def torch_of_nvidias_image(judged: Judged) -> Iterator[Finding]:
    """Pip installs another torch over the one that NVIDIA's own image holds."""
    image = judged.group.image
    row = judged.tables.ngc_images.find(_release(image)) if image else None
    if image is None or row is None or _installs_elsewhere(image):
        return
    pins = [pin for pin in judged.group.find("torch") if pin.text and (pin.exact or pin.is_upgrade)]
    for pin in pins or _bringing_torch(judged, image):
        theirs = f"torch {row.torch}" if row.torch else "a torch of its own"
        yield Finding(
            summary=Text(
                "{name}{spec} puts another torch over that of {image}",
                name=pin.name,
                spec=pin.spec,
                image=image.name,
            ),
            why=Text(
                "the image holds {theirs}, made for its CUDA and for the compiled packages beside it; pip replaces "
                "it by PyPI's, or refuses",
                theirs=theirs,
            ),
            evidence=(written(f"FROM {image.name}", str(image.place)), pinned(pin)),
            remedies=(
                Remedy(Text("Do not install {name} there, or start from an image without torch", name=pin.name)),
            ),
            place=pin.place,
        )


def _installs_elsewhere(image: Image) -> bool:
    return any(_IN_ANOTHER.search(one.text) for one in image.lines)


def _bringing_torch(judged: Judged, image: Image) -> Iterator[Pin]:
    """The first companion that is pinned to a release of PyPI's, which asks for its own torch and no other."""
    if any("--no-deps" in one.text for one in image.lines):
        return
    for name in ("torchvision", "torchaudio"):
        for pin in judged.group.find(name):
            row = judged.tables.companions.find(name, pin.exact) if pin.exact and pin.text else None
            if row and row.is_pinned and row.confidence == "read":
                yield pin
                return


@rule("mixed-package-sources", severity="warning")
def torch_of_amds_image(judged: Judged) -> Iterator[Finding]:
    """Pip installs PyPI's torch, which is for CUDA, over the one for ROCm that AMD's own image holds."""
    image = judged.group.image
    if image is None or not image.repository.endswith("rocm/pytorch") or _installs_elsewhere(image):
        return
    for pin in judged.group.find("torch"):
        if pin.exact and pin.text and not pin.label and pin.url == "":
            yield Finding(
                summary=Text(
                    "torch{spec} from PyPI puts CUDA over the ROCm of {image}", spec=pin.spec, image=image.name
                ),
                why=Text("the image holds a torch for AMD's GPUs, and PyPI's builds for Linux are for NVIDIA's"),
                evidence=(written(f"FROM {image.name}", str(image.place)), pinned(pin)),
                remedies=(Remedy(Text("Do not install torch there, or take it from the index of a ROCm build")),),
                place=pin.place,
            )


def _release(image: Image) -> str:
    """The monthly release of NVIDIA's torch image; empty for any other."""
    match = re.match(r"(\d{2}\.\d{2})-py3", image.tag)
    return match[1] if match and image.repository.endswith("nvidia/pytorch") else ""


@rule("mixed-package-sources", severity="warning")
def torch_of_pytorchs_image(judged: Judged) -> Iterator[Finding]:
    """Pip installs another torch over the one that PyTorch's own image holds."""
    image = judged.group.image
    held = image.torch if image else None
    if image is None or held is None or _installs_elsewhere(image):
        return
    for pin in judged.group.find("torch"):
        if pin.text != held.text and _replaces(pin, held, judged):
            yield _replaced(pin, held, image, is_alone=not judged.group.find("torchvision"))


def _replaces(pin: Pin, held: Pin, judged: Judged) -> bool:
    """Whether what is there does not satisfy the pin, and goes: a constraint alone installs nothing."""
    if not is_plain(pin.spec) or "constraint" in posixpath.basename(pin.place.file).lower():
        return False
    if pin.label and pin.label != held.label:
        return True
    there = Version.parse(held.exact)
    newer = (version for version in judged.tables.torch_builds.versions() if version > there)
    is_upgraded = pin.is_upgrade and any(accepts(pin.spec, version) for version in newer)
    return is_upgraded or not accepts(pin.spec, there)


def _replaced(pin: Pin, held: Pin, image: Image, *, is_alone: bool) -> Finding:
    label = f"+{pin.label}" if pin.label else ""
    return Finding(
        summary=Text(
            "{wanted} replaces torch {held} of {image}",
            wanted=f"torch{pin.spec}{label}" if pin.spec else "the newest torch",
            held=f"{held.exact}+{held.label}" if label else held.exact,
            image=image.name,
        ),
        why=Text("the image's torchvision stays, and is made for the torch that goes")
        if is_alone
        else Text("the torch that goes still takes its space in the image, and serves for nothing"),
        evidence=(written(held.text, str(image.place)), pinned(pin)),
        remedies=(
            Remedy(Text("Leave torch out there, or start from the image of that torch or one without torch")),
            *([Remedy(Text("Or name the torchvision of that torch in the same command"))] if is_alone else []),
        ),
        severity="warning" if is_alone else "info",
        place=pin.place,
    )
