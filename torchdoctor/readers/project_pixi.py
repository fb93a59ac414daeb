"""What a file of pixi says beside the lines to be put into it: channels, platforms, and where torch stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchdoctor.readers.project_torch import MAIN, Kept, Pixi, Stand, at, by_name, listed

_HEADERS = ("workspace", "project")  # the second is the older name of the first
_FAMILY = ("pytorch", "pytorch-gpu", "pytorch-cpu", "cuda-version")
# A selector of [target.NAME] -> the systems that it is for, as a marker.
_MARKERS: Mapping[str, str] = {
    "linux-64": "sys_platform == 'linux' and platform_machine == 'x86_64'",
    "linux-aarch64": "sys_platform == 'linux' and platform_machine == 'aarch64'",
    "win-64": "sys_platform == 'win32' and platform_machine == 'x86_64'",
    "osx-64": "sys_platform == 'darwin' and platform_machine == 'x86_64'",
    "osx-arm64": "sys_platform == 'darwin' and platform_machine == 'arm64'",
    "unix": "sys_platform != 'win32'",
    "linux": "sys_platform == 'linux'",
    "win": "sys_platform == 'win32'",
    "osx": "sys_platform == 'darwin'",
}


def kept_by_pixi(table: Mapping[str, Any], *, in_pyproject: bool) -> Kept:
    """Read pixi's own file, or its tables in pyproject.toml: what they take from PyPI, pixi installs beside conda's."""
    own = at(table, "tool", "pixi") if in_pyproject else table
    prefix = "tool.pixi." if in_pyproject else ""
    stands = list(listed(at(table, "project").get("dependencies"), MAIN, "", "[project] dependencies"))
    conda: list[Stand] = []
    for feature, where, place in _places(own):
        stands += by_name(at(place, "pypi-dependencies"), MAIN, "", f"[{prefix}{where}pypi-dependencies]")
        conda += _conda(place, feature, f"{prefix}{where}")
    header = next((name for name in _HEADERS if isinstance(own.get(name), dict)), _HEADERS[0])
    head = at(own, header)
    pixi = Pixi(f"{prefix}{header}", _entries(head, "channels"), _entries(head, "platforms"), tuple(conda))
    return Kept(tuple(stands), in_pyproject=in_pyproject, pixi=pixi)


def _places(own: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    yield "", "", own
    yield from ((name, f"feature.{name}.", at(own, "feature", name)) for name in at(own, "feature"))


def _conda(place: Mapping[str, Any], feature: str, where: str) -> Iterator[Stand]:
    """The lines for conda's torch and what goes with it, in the table for all systems and in those for some."""
    targets = {"": place, **{f"target.{name}.": at(place, "target", name) for name in at(place, "target")}}
    for target, inside in targets.items():
        marker = _MARKERS.get(target.removeprefix("target.").rstrip("."), "") if target else ""
        if target and not marker:
            continue  # a platform that no torch is for
        for name, said in at(inside, "dependencies").items():
            if name in _FAMILY or name.startswith("torch"):
                spec = said.get("version", "") if isinstance(said, dict) else said
                yield Stand(name, MAIN, feature, f"[{where}{target}dependencies]", _versions(str(spec)), marker)


def _versions(spec: str) -> str:
    """Without what is said of the build; conda's ``=2.9`` is any release of it."""
    first = spec if "," in spec else spec.partition(" ")[0]
    is_any = first[:1] == "=" and first[1:2].isdecimal() and not first.endswith("*")
    return f"{first[1:]}.*" if is_any else first


def _entries(head: Mapping[str, Any], key: str) -> tuple[Any, ...]:
    found = head.get(key)
    return tuple(found) if isinstance(found, list) else ()
