"""What becomes of the libraries that came with the torch installed now, when another build takes its place.

Two majors of a CUDA library, and two flavours of triton, unpack into the same folders: the one that is not wanted goes
before the new one comes, for it would take files of the new one with it. What no longer serves anything goes last.
"""

from __future__ import annotations

import re

from torchdoctor.facts import is_known
from torchdoctor.prescribe.choose import Choice
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build

_TRITON = re.compile(r"(pytorch-)?triton(-\w+)?")
_MAJOR = re.compile(r".*-cu(\d+)")


def superseded(choice: Choice, *, is_replaced: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those of the libraries that only torch needs which go first, and those which go last.

    ``is_replaced`` says that torch itself changes: beside a torch that stays, nothing is taken from its folders.
    """
    row, owners = choice.row, choice.host.owners
    if row is None or owners.conda:
        return (), ()
    if row.is_of_conda:  # whose packages bring libraries of their own
        return choice.host.libraries if "torch" in owners.pip else (), ()
    going = tuple(name for name in choice.host.libraries if not _serves(name, row, choice))
    first = tuple(name for name in going if _shares_its_folder(name, row)) if is_replaced else ()
    last = tuple(name for name in going if not _shares_its_folder(name, row))
    return first, last


def triton_of(row: TorchBuild) -> str:
    """The compiler that the build asks for by name; empty for builds without one."""
    found = re.match("[a-z-]*", row.triton)
    name = found[0] if found else ""
    return "" if name == "none" else name or ("triton" if row.cuda else "")


def _serves(name: str, row: TorchBuild, choice: Choice) -> bool:
    if _TRITON.fullmatch(name):
        return name == triton_of(row)
    if row.cuda is None:
        return False
    named = _MAJOR.fullmatch(name)
    if named:
        return int(named[1]) == row.cuda.major
    build = choice.host.build  # newer majors have no suffix, and pip puts one in the place of another
    cuda = build.cuda if isinstance(build, Build) and is_known(build) else None
    return cuda is None or row.cuda.major >= cuda.major


def _shares_its_folder(name: str, row: TorchBuild) -> bool:
    return bool(triton_of(row)) if _TRITON.fullmatch(name) else row.cuda is not None
