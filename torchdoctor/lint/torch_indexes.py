"""Which address is an index of torch wheels, and of which build."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote

from torchdoctor.lint.model import DIRECT, Group, IndexUse, Pin
from torchdoctor.lint.worlds import World, holds
from torchdoctor.tables import Tables
from torchdoctor.values import Build

_PREVIEWS = {"nightly", "test"}


class TorchIndex(NamedTuple):
    """What the address says: ``build`` is empty for the index of all builds, and for one that cannot be read."""

    build: str
    path: str  # the part of the address that names the build
    is_official: bool
    is_preview: bool = False

    @property
    def is_odd(self) -> bool:
        """Whether it names something that is no build: ``cuda12.6``."""
        return self.is_official and not self.build and bool(self.path)


def torch_index(url: str, tables: Tables) -> TorchIndex | None:
    """Take an address apart; None for an index of anything else."""
    if len(url) > 2000:  # noqa: PLR2004 - no address is longer
        return None
    rest = _bare(url)
    prefix = _bare(tables.indexes.url("pytorch", variant=""))
    is_official = rest == prefix or rest.startswith(f"{prefix}/")
    parts = [part for part in (rest[len(prefix) :] if is_official else rest).split("/") if part]
    builds = [part for part in parts if _build(part)]
    if not is_official and not (builds and _is_mirror(rest)):
        return None
    named = [part for part in parts if part not in _PREVIEWS and not part.endswith(".html")]
    label = _build(builds[0]) if builds else ""
    odd = named[0] if named and not label and any(letter.isdigit() for letter in named[0]) else ""
    is_preview = any(part in _PREVIEWS for part in parts)
    return TorchIndex(label, builds[0] if builds else odd, is_official, is_preview)


def _bare(url: str) -> str:
    """Without scheme, login, query and last slash."""
    rest = unquote(url).partition("://")[2] or url
    host, slash, path = rest.partition("/")
    return (host.rpartition("@")[2].lower() + slash + path).partition("?")[0].partition("#")[0].rstrip("/")


def _is_mirror(rest: str) -> bool:
    lowered = rest.lower()
    return "pytorch" in lowered or "/whl/" in lowered or "torch-wheels" in lowered


def _build(part: str) -> str:
    try:
        return Build.parse(part).name
    except ValueError:
        return ""


class Origin(NamedTuple):
    """Where a pin comes from: an index of torch, or None for PyPI; ``is_sure`` where nothing else is asked."""

    use: IndexUse | None
    torch: TorchIndex | None
    is_sure: bool = True


_PYPI = Origin(None, None)


def origin(pin: Pin, group: Group, world: World, tables: Tables) -> Origin | None:
    """The origin of a pin; None where another source than an index gives it, or it is not known which."""
    if pin.url == DIRECT:
        return None
    if pin.url is not None:
        return _of_url(IndexUse(pin.url, "explicit", pin.place), group, tables) if pin.url else _PYPI
    for binding in group.bindings.get(pin.name, ()):
        if holds(binding.marker, world) and (not binding.extra or binding.extra in group.chosen):
            return _of_url(binding.use, group, tables) if binding.use else None
    for role in ("main", "first", "extra"):
        uses = [use for use in group.indexes if use.role == role and torch_index(use.url, tables)]
        if uses:
            return Origin(uses[0], torch_index(uses[0].url, tables), is_sure=role != "extra" and len(uses) == 1)
    mains = [use for use in group.indexes if use.role in {"main", "first"}]
    return None if mains else _PYPI


def _of_url(use: IndexUse, group: Group, tables: Tables) -> Origin | None:
    """The origin of an address; a lock file writes out PyPI's or its mirror's, another file that of somebody else."""
    found = torch_index(use.url, tables)
    return Origin(use, found) if found else _PYPI if group.kind == "lock" else None
