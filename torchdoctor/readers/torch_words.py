"""What a printed torch version says: its public part, its build, where it came from."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.patterns import lazily
from torchdoctor.readers.statement import Said
from torchdoctor.values import Build

_PUBLIC = r"\d{1,2}\.\d{1,3}(?:\.\d{1,3})?(?:(?:a|b|rc)\d{1,3})?(?:\.?post\d{1,2})?(?:\.dev\d{1,8})?"
VERSION = rf"{_PUBLIC}(?:\+\w(?:[\w.]{{0,59}}\w)?)?"
_VERSION = lazily(rf"v?({VERSION})")
_ROCM = lazily(r"(rocm\d+\.\d+(?:\.[1-9]\d?)?)(?!\d)")
_ORIGINS = ((lazily(r"(?:^|\.)nv\d\d"), "nvidia"), (lazily(r"^git"), "source"))


def torch_said(text: str, source: str) -> Iterator[Said]:
    """What follows from a torch version alone; nothing when the text is no version."""
    match = _VERSION.fullmatch(text.strip().strip("'\"`").rstrip(".,;:"))
    if not match:
        return
    full = match[1]
    public, _, label = full.partition("+")
    yield Said("torch.installed", True, source)
    yield Said("torch.full", full, source)
    yield Said("torch.version", public, source)
    if build := build_of(label):
        yield Said("torch.build", build, source)
    yield from _origin(label, source)


def build_of(label: str) -> Build | None:
    """The build a local version label names, or None when it names another thing (a commit, a vendor)."""
    label = label.lower()
    if match := _ROCM.match(label):
        label = match[1]
    try:
        return Build.parse(label)
    except ValueError:
        return None


def build_named_by(index: str) -> Build | None:
    """The build for which an index is made, by the end of its address: ``.../whl/cpu``."""
    return build_of(index.rstrip("/\"'`").rpartition("/")[2])


def _origin(label: str, source: str) -> Iterator[Said]:
    for pattern, origin in _ORIGINS:
        if pattern.search(label):
            yield Said("torch.origin", origin, source)
