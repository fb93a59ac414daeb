"""Facts out of statements: the first value said of a fact holds, lists are merged, and every fact keeps its source."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from torchdoctor.facts import ErrorText, Facts, Gpu, Package, Packages, Quoted, Request, Unknown, Variables, is_known
from torchdoctor.readers.gpu_views import merge_views
from torchdoctor.readers.statement import Said
from torchdoctor.records import fields, replace

_GROUPS = (
    "os",
    "place",
    "cpu",
    "memory",
    "python",
    "torch",
    "driver",
    "compute",
    "tools",
    "trial",
    "inside",
    "exhausted",
)
_LISTS = ("gpus", "packages", "env", "quoted")
_EMPTY = Facts()
PATHS = frozenset(f"{group}.{field.name}" for group in _GROUPS for field in fields(getattr(_EMPTY, group)))

# nvidia-smi answered, so an empty list of GPUs means that there is none for it to list.
_ANSWERED = {"ok", "no-devices", "no-supported-gpus", "not-found"}
_BUS = "/sys/"
_JOINED = "driver.kernel_log"
_TRIED = "exhausted.tried"
_KIND = ("place.container", "container")  # any other kind says more
_SEEN_ANYWHERE = "torch.installed"  # one place without torch does not undo another that shows it


def assemble(statements: Iterable[Said], request: Request | None = None) -> Facts:
    """Build the facts. Raise ``ValueError`` when a reader speaks of a fact that does not exist: that is our mistake."""
    said: dict[str, list[Said]] = {}
    for item in statements:
        if item.path not in PATHS and item.path not in _LISTS:
            raise ValueError(f"a reader speaks of {item.path!r}, which is no fact")
        said.setdefault(item.path, []).append(item)
    chosen = {path: _choose(path, items) for path, items in _of_one_message(said).items() if path not in _LISTS}
    sources = {path: item.source for path, item in chosen.items()}
    sources.update({path: _source(said[path]) for path in _LISTS if path in said})
    groups = {group: _filled(group, chosen) for group in _GROUPS}
    facts = Facts(**groups, **_lists(said), request=request or Request(), sources=sources)
    return replace(facts, gpus=_gpus(facts, said.get("gpus", [])))


def _of_one_message(said: dict[str, list[Said]]) -> dict[str, list[Said]]:
    """What is said, of the messages about exhausted memory only the first: its numbers belong together."""
    if _TRIED not in said:
        return said
    first = said[_TRIED][0].source
    kept = {
        path: [item for item in items if not path.startswith("exhausted.") or item.source == first]
        for path, items in said.items()
    }
    return {path: items for path, items in kept.items() if items}


def _source(items: list[Said]) -> str:
    """Where a list was read first; of lists that are all empty, the bus's own counts most."""
    bus = (item.source for item in items if item.source.startswith(_BUS))
    return next(bus, items[0].source) if all(item.value == () for item in items) else items[0].source


def _choose(path: str, items: list[Said]) -> Said:
    """The first value; None only when nobody says a value."""
    values = [item for item in items if item.value is not None]
    if path == _JOINED and values:
        lines = [line for item in values for line in _as_lines(item.value)]
        return Said(path, tuple(dict.fromkeys(lines)), values[0].source)
    if path == _KIND[0]:
        values.sort(key=lambda item: item.value == _KIND[1])
    if path == _SEEN_ANYWHERE:
        values.sort(key=lambda item: item.value is not True)
    return values[0] if values else items[0]


def _as_lines(value: object) -> tuple[str, ...]:
    return tuple(str(line) for line in value) if isinstance(value, tuple) else (str(value),)


def _filled(group: str, chosen: Mapping[str, Said]) -> Any:
    values = {path.partition(".")[2]: item.value for path, item in chosen.items() if path.startswith(f"{group}.")}
    return replace(getattr(_EMPTY, group), **values)


def _lists(said: Mapping[str, list[Said]]) -> dict[str, Any]:
    return {
        "packages": _merge_packages(
            [item.value for item in said.get("packages", []) if isinstance(item.value, Packages)]
        ),
        "env": _merge_variables([item.value for item in said.get("env", []) if isinstance(item.value, Variables)]),
        "quoted": _merge_quoted([item.value for item in said.get("quoted", []) if isinstance(item.value, Quoted)]),
    }


def _gpus(facts: Facts, said: list[Said]) -> tuple[Gpu, ...] | Unknown:
    """All views merged. An empty PCI bus of a live host is certain, whatever nvidia-smi answers."""
    smi = facts.driver.smi
    silent = isinstance(smi, str) and smi not in _ANSWERED
    bus_is_empty = any(item.value == () and item.source.startswith(_BUS) for item in said)
    return merge_views(
        [item.value for item in said if isinstance(item.value, tuple)],
        driver_absent=facts.driver.version is None,
        driver_mute=silent and not bus_is_empty,
    )


def _merge_packages(lists: list[Packages]) -> Packages:
    """Every distinct distribution once; two versions of one name both stay, because that is a fault worth seeing."""
    merged: dict[tuple[str, str, object], Package] = {}
    for package in (item for packages in lists for item in packages.items):
        for key in ((package.name, package.version, package.location), (package.name, package.version, None)):
            twin = merged.get(key)
            if twin and _compatible(twin, package):
                merged[key] = _joined_package(twin, package)
                break
        else:
            location = package.location if is_known(package.location) else None
            merged[package.name, package.version, location] = package
    return Packages(tuple(merged.values()), any(packages.complete for packages in lists))


def _compatible(one: Package, other: Package) -> bool:
    return not (is_known(one.owner) and is_known(other.owner) and one.owner != other.owner)


def _joined_package(one: Package, other: Package) -> Package:
    changes = {
        field.name: getattr(other, field.name) for field in fields(Package) if not is_known(getattr(one, field.name))
    }
    return replace(one, **changes)


def _merge_variables(items: list[Variables]) -> Variables:
    values: dict[str, str] = {}
    for item in items:
        for name, value in item.values.items():
            values.setdefault(name, value)
    return Variables(values, any(item.complete for item in items))


def _merge_quoted(items: list[Quoted]) -> Quoted:
    """Every different error once, at its first place; one that is in doubt only where no other of its kind is sure."""
    from torchdoctor.readers.error_places import subject  # a live host has no texts and does without

    told = [error for item in items for error in item.errors]
    sure = {error.id for error in told if not error.doubtful}
    errors: dict[Hashable, ErrorText] = {}
    for error in told:
        if error.id not in sure or not error.doubtful:
            key = (error.id, None if error.doubtful else (subject(error), error.wording))
            before = errors.setdefault(key, error)
            if before is not error:
                errors[key] = replace(before, times=before.times + error.times)
    last = next((item.last_error for item in reversed(items) if item.last_error), "")
    return Quoted(tuple(errors.values()), last, sum(item.unread for item in items))
