"""What is to be installed from where, before any tool's syntax."""

from __future__ import annotations

from typing import NamedTuple

from torchdoctor.facts import Unknown
from torchdoctor.prescribe.choose import Choice
from torchdoctor.prescribe.companions import release_beside
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.tables import Tables
from torchdoctor.tables.companions import Companion
from torchdoctor.tables.torch_builds import TorchBuild


class Plan(NamedTuple):
    """Requirements from one index (empty address: the installer's default), and those from the default index."""

    requirements: tuple[str, ...]
    index_url: str = ""
    elsewhere: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()  # what must go first, because its version would pass for the one wanted


def plan_of(choice: Choice, wish: Wish, tables: Tables, index_base: str = "") -> Plan:
    """Return the plan for a choice that runs; local version labels wherever some torch may be installed already."""
    companions = companions_of(choice, wish)
    if choice.jetson:
        url = tables.indexes.url("jetson", path=choice.jetson.index_path)
        wanted = ("torch" + (str(wish.torch) if wish.torch else ""), *companions)
        return Plan(wanted, url, remove=() if choice.host.torch is None else ("torch", *companions))
    row = choice.row
    if row is None:
        raise ValueError("nothing runs on this host: there is nothing to plan")
    has_label = choice.host.torch is not None and _is_labelled(row)
    label = f"+{row.build}" if has_label else ""
    index_url = "" if row.on_pypi and not has_label and not index_base else _index_url(tables, row, index_base)
    found = [release for name in companions if (release := release_beside(row, name, tables, choice.host))]
    here = tuple(_pin(release, label) for release in found if not (index_url and _is_on_pypi_only(release)))
    elsewhere = tuple(_pin(release, "") for release in found if index_url and _is_on_pypi_only(release))
    remove = tuple(release.name for release in found if _passes_for_it(release, label, choice.host.companions))
    return Plan((f"torch=={row.torch}{label}", *here), index_url, elsewhere, remove)


def companions_of(choice: Choice, wish: Wish) -> tuple[str, ...]:
    """The companions that move with torch: those asked for and those installed."""
    return tuple(dict.fromkeys((*wish.companions, *choice.host.companions)))


def _is_labelled(row: TorchBuild) -> bool:
    """Whether the index holds this row under a local version label; macOS wheels carry none."""
    return row.os != "macos" and "pytorch" in row.indexes


def _index_url(tables: Tables, row: TorchBuild, index_base: str) -> str:
    url = tables.indexes.url("pytorch", variant=row.build.name)
    return f"{index_base.rstrip('/')}/{row.build.name}" if index_base else url


def _passes_for_it(release: Companion, label: str, installed: tuple[str, ...]) -> bool:
    """Whether an installed one of another build would pass for the one wanted, whose version alone is asked for."""
    return bool(label) and release.labelled != "yes" and release.name in installed


def _pin(release: Companion, label: str) -> str:
    return f"{release.name}=={release.version}{label if release.labelled == 'yes' else ''}"


def _is_on_pypi_only(release: Companion) -> bool:
    """Whether the release is one wheel for all: PyPI surely holds it, the torch index only perhaps."""
    return release.labelled != "yes" and len(release.built_cuda) == 1


def installed_is(choice: Choice) -> bool:
    """Whether the chosen build is the one installed already."""
    installed, row = choice.host.torch, choice.row
    if row is None or installed is None or isinstance(installed, Unknown):
        return False
    public, _, label = installed.partition("+")
    wanted = row.build.name if _is_labelled(row) else ""
    return public == str(row.torch) and label == wanted
