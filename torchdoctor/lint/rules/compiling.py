"""Rules about packages that an image build compiles for the GPU: they need nvcc, of torch's CUDA major."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.lint.model import Pin
from torchdoctor.lint.rules.images import image_cuda, torch_build
from torchdoctor.lint.rules.registry import Judged, pinned, rule, written
from torchdoctor.lint.torch_indexes import torch_index

_BRINGS_NVCC = ("cuda-toolkit", "cuda-nvcc", "nvidia-cuda-nvcc", "nvidia-cuda-toolkit", "cuda_toolkit")


def _compiled(judged: Judged) -> Pin | None:
    """The first package that is compiled from source; one with a wheel of its own is not."""
    for pin in judged.group.pins:
        row = judged.tables.listed_packages.find(pin.name)
        is_wheel = pin.text.endswith(".whl") or (pin.url or "").startswith("http")
        if row and row.compiles and not is_wheel and not _has_wheels(pin, judged):
            return pin
    return None


def _has_wheels(pin: Pin, judged: Judged) -> bool:
    """Whether some other index is named, which may hold it ready made."""
    return pin.url is not None and pin.url not in {"", "direct:"} and torch_index(pin.url, judged.tables) is None


@rule("toolkit-missing", severity="warning")
def image_without_nvcc(judged: Judged) -> Iterator[Finding]:
    """A package is compiled in a stage whose base image has no nvcc."""
    image = judged.group.image
    pin = _compiled(judged) if image and image.name else None
    if image is None or pin is None or not _is_bare(image.repository, image.tag):
        return
    text = " ".join(one.text for one in image.lines)
    if any(word in text for word in _BRINGS_NVCC):
        return
    cuda = image_cuda(image)
    better = image.name.replace("-runtime", "-devel").replace("-base", "-devel")
    yield Finding(
        summary=Text("{name} is compiled, and {image} has no nvcc", name=pin.name, image=image.name),
        why=Text("a -devel image has the toolkit; -base, -runtime and images without CUDA have not"),
        evidence=(written(f"FROM {image.name}", str(image.place)), pinned(pin)),
        remedies=(Remedy(Text("Compile in a -devel image"), (f"FROM {better}",) if cuda else ()),),
        confidence="likely",
        place=image.place,
    )


def _is_bare(repository: str, tag: str) -> bool:
    """Whether the image surely has no nvcc: a CUDA image of the smaller kinds, or a plain one of a distribution."""
    if repository.endswith(("nvidia/cuda", "pytorch/pytorch")):
        return "-runtime" in tag or "-base" in tag
    return repository in {"python", "ubuntu", "debian"}


@rule("toolkit-mismatch", severity="warning")
def image_with_another_cuda(judged: Judged) -> Iterator[Finding]:
    """A package is compiled with the nvcc of an image whose CUDA major is not that of torch."""
    image = judged.group.image
    pin = _compiled(judged) if image and image.name else None
    cuda, found = image_cuda(image) if image else None, torch_build(judged)
    if image is None or pin is None or cuda is None or found is None or "-devel" not in image.tag:
        return
    torch, build = found
    if build.cuda and build.cuda.major != cuda.major:
        yield Finding(
            summary=Text(
                "{name} is compiled with CUDA {cuda}, torch is built for {build}", name=pin.name, cuda=cuda, build=build
            ),
            why=Text("torch refuses to compile an extension with an nvcc of another major version"),
            evidence=(written(f"FROM {image.name}", str(image.place)), pinned(torch), pinned(pin)),
            remedies=(
                Remedy(
                    Text(
                        "Take a base image of CUDA {major}, or the torch build for CUDA {cuda}",
                        major=build.cuda.major,
                        cuda=cuda,
                    )
                ),
            ),
            place=image.place,
        )
