"""What the name of a container image says: ``nvidia/cuda:12.4.1-devel-ubuntu22.04``, ``python:3.12-alpine``."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from torchdoctor.facts import Package, Packages
from torchdoctor.patterns import lazily
from torchdoctor.readers.platform_words import distribution_said, python_said
from torchdoctor.readers.statement import Said
from torchdoctor.readers.torch_words import build_of, torch_said
from torchdoctor.values import CudaVersion, Libc, canonical_machine

if TYPE_CHECKING:
    from torchdoctor.tables import Tables

IMAGE = r"(?:[\w.-]{1,80}(?::\d{2,5})?/){0,5}[\w.-]{1,80}(?::[\w.-]{1,128})?(?:@sha256:[0-9a-f]{3,64})?"

_REGISTRY = lazily(r"[.:]|^library$|^localhost$")  # a host, or what Docker puts before its own images
_SYSTEMS = (
    (lazily(r"ubuntu[-_]?(\d\d)\.?(\d\d)"), "Ubuntu {}.{}"),
    (lazily(r"rockylinux[-_]?(\d{1,2})"), "Rocky Linux {}"),
    (lazily(r"ubi[-_]?(\d{1,2})"), "Red Hat Enterprise Linux {}"),
    (lazily(r"centos[-_]?(\d)"), "CentOS Linux {}"),
    (lazily(r"(?:^|[-_])(buster|bullseye|bookworm|trixie)\b"), "Debian {}"),
    (lazily(r"(?:^|[-_])(focal|jammy|noble)\b"), "Ubuntu {}"),
)
_DISTRIBUTIONS = {
    "ubuntu": "Ubuntu", "debian": "Debian", "rockylinux": "Rocky Linux", "almalinux": "AlmaLinux", "fedora": "Fedora",
    "centos": "CentOS Linux", "amazonlinux": "Amazon Linux", "rocky": "Rocky Linux",
}  # fmt: skip
_RELEASE = lazily(r"(\d{1,4}(?:\.\d{1,2})?)(?:\.\d|-|$)")
_CUDA = lazily(r"(?:^|[-_])(?:cuda|cu)?(\d{2}\.\d{1,2})(?:\.\d{1,3})?(?:[-_]|$)")
_TORCH_TAG = lazily(r"v?(\d\.\d{1,2}\.\d)-cuda(\d{1,2}\.\d)-cudnn\d")
_ROCM_TAG = lazily(r"(rocm\d\.\d(?:\.\d)?)_.*?_py(\d\.\d{1,2})_pytorch_(?:release_)?(\d\.\d{1,2}(?:\.\d)?)")
_PYTHON_TAG = lazily(r"(3\.\d{1,2}(?:\.\d{1,2})?)(?=-|$)")
_L4T = lazily(r"(?:^|-)r(\d{2}\.\d{1,2}(?:\.\d{1,2})?)(?:-|$)")
_VLLM = lazily(r"v(\d{1,2}\.\d{1,2}\.\d[\w.]*)")

TagReader = Callable[[str, str], Iterator[Said]]


def image_said(image: str, source: str, tables: Tables) -> Iterator[Said]:
    """What an image's name and tag decide about what is inside; nothing for an image we do not know."""
    *folders, last = image.partition("@")[0].lower().split("/")
    name, _, tag = last.partition(":")
    owner = folders[-1] if folders and not _REGISTRY.search(folders[-1]) else ""
    reader = _READERS.get(f"{owner}/{name}" if owner else name)
    said = list(reader(tag, source)) if reader else []
    base = not owner and name in _DISTRIBUTIONS
    if base:
        said += _distribution(name, tag, source)
    if (owner, name) == ("nvidia", "pytorch"):
        said += _ngc(tag, source, tables)
    if "l4t" in name or owner == "dustynv":
        said += _jetson(tag, source)
    if reader or said or base:
        yield from said
        yield from _system(tag, source)
        yield Said("os.name", "linux", source)


def machine_said(platform: str, source: str) -> Iterator[Said]:
    """``linux/arm64``: what Docker calls a platform."""
    system, _, machine = platform.partition("/")
    if system == "linux" and machine in {"amd64", "arm64", "arm64/v8"}:
        yield Said("os.machine", canonical_machine(machine.partition("/")[0], "linux"), source)


def _system(tag: str, source: str) -> Iterator[Said]:
    if "alpine" in tag:
        yield Said("os.libc", Libc("musl"), source)
    for pattern, name in _SYSTEMS:
        if found := pattern.search(tag):
            yield from distribution_said(name.format(*(part.title() for part in found.groups())), source)
            return


def _distribution(name: str, tag: str, source: str) -> Iterator[Said]:
    if release := _RELEASE.match(tag):
        yield from distribution_said(f"{_DISTRIBUTIONS[name]} {release[1]}", source)


def _jetson(tag: str, source: str) -> Iterator[Said]:
    if found := _L4T.search(tag):
        yield Said("place.l4t", found[1], source)


def _cuda(tag: str, source: str) -> Iterator[Said]:
    """NVIDIA's base images: only the devel ones hold a compiler."""
    found = _CUDA.search(tag)
    if found and "devel" in tag:
        yield Said("tools.nvcc", CudaVersion.parse(found[1]), source)


def _pytorch(tag: str, source: str) -> Iterator[Said]:
    if not (found := _TORCH_TAG.match(tag)):
        return
    cuda = CudaVersion.parse(found[2])
    yield from torch_said(f"{found[1]}+cu{cuda.major}{cuda.minor}", source)
    if tag.endswith("devel"):
        yield Said("tools.nvcc", cuda, source)


def _ngc(tag: str, source: str, tables: Tables) -> Iterator[Said]:
    """NVIDIA's monthly images: the tag is the month, the rest is known."""
    release, is_torch, _ = tag.partition("-py3")
    if not is_torch or not re.fullmatch(r"\d\d\.\d\d", release):
        return
    yield Said("torch.installed", True, source)
    yield Said("torch.origin", "nvidia", source)
    if row := tables.ngc_images.find(release):
        if row.torch:
            yield from torch_said(f"{row.torch}{'.' if '+' in row.torch else '+'}nv{release}", source)
        yield Said("torch.cuda", row.cuda, source)
        yield Said("tools.nvcc", row.cuda, source)
        yield Said("python.tag", row.python, source)
        yield from distribution_said(row.distribution, source)


def _rocm(tag: str, source: str) -> Iterator[Said]:
    if found := _ROCM_TAG.match(tag):
        yield from torch_said(f"{found[3]}+{found[1]}" if found[3].count(".") > 1 else found[3], source)
        yield from python_said(found[2], source)
        if build := build_of(found[1]):
            yield Said("torch.build", build, source)


def _python(tag: str, source: str) -> Iterator[Said]:
    if found := _PYTHON_TAG.match(tag):
        yield from python_said(found[1], source)


def _alpine(_tag: str, source: str) -> Iterator[Said]:
    yield Said("os.libc", Libc("musl"), source)


def _vllm(tag: str, source: str) -> Iterator[Said]:
    if found := _VLLM.match(tag):
        yield Said("packages", Packages((Package(name="vllm", version=found[1]),)), source)


_READERS: Mapping[str, TagReader] = {
    "nvidia/cuda": _cuda,
    "pytorch/pytorch": _pytorch,
    "rocm/pytorch": _rocm,
    "python": _python,
    "alpine": _alpine,
    "vllm/vllm-openai": _vllm,
}
