"""What becomes of the libraries that came with the torch installed now, when another build takes its place.

Two majors of a CUDA library, and two flavours of triton, unpack into the same folders: the one that is not wanted goes
before the new one comes, for it would take files of the new one with it. What no longer serves anything goes last.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from torchdoctor.facts import is_known
from torchdoctor.patterns import lazily
from torchdoctor.prescribe.choose import Choice
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build

_TRITON = lazily(r"(pytorch-)?triton(-\w+)?")
_MAJOR = lazily(r".*-cu(\d+)")
_OF_OLD = "nvidia-cublas"  # it has a suffix in the majors whose libraries all have one


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


def left_behind(names: Iterable[str], versions: Mapping[str, str], rows: Iterable[TorchBuild]) -> tuple[str, ...]:
    """Those of the libraries that a torch which is gone surely brought; ``versions`` are of all that is installed.

    A torch asks for exact versions, and its cuDNN, NCCL and triton together are no other package's. The compilers for
    other vendors' GPUs are torch's by their names.
    """
    majors = {row.cuda.major for row in rows if row.cuda and _left_all(row, row.cuda.major, versions)}
    of_new = any(f"{_OF_OLD}-cu{major}" not in versions for major in majors)
    return tuple(name for name in names if _is_proven(name, majors, of_new=of_new))


def _left_all(row: TorchBuild, major: int, versions: Mapping[str, str]) -> bool:
    """Whether all three are there as the build asks for them; a row that does not tell its cuDNN proves nothing."""
    cudnn, nccl = (versions.get(f"nvidia-{name}-cu{major}", "") for name in ("cudnn", "nccl"))
    is_told = bool(row.cudnn and nccl and row.triton) and triton_of(row) == "triton"
    is_same = cudnn == row.cudnn and row.nccl in {"", nccl}
    return is_told and is_same and _is_asked_for(versions.get("triton", ""), row.triton)


def _is_asked_for(version: str, cell: str) -> bool:
    """Whether a triton is the one of a cell: ``3.5.1``, or ``~=3.8.0`` and what follows within 3.8."""
    least = cell.removeprefix("~=")
    return version == least or (cell != least and version.startswith(least.rpartition(".")[0] + "."))


def _is_proven(name: str, majors: Collection[int], *, of_new: bool) -> bool:
    if _TRITON.fullmatch(name):
        return name != "triton" or bool(majors)
    named = _MAJOR.fullmatch(name)
    return int(named[1]) in majors if named else of_new


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
