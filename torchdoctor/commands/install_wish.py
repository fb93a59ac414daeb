"""What install-cmd was asked for, read from its options; anything that could reach a shell is checked here."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from torchdoctor.commands.host_options import described_keys
from torchdoctor.errors import UsageError
from torchdoctor.prescribe.choices import BACKENDS
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_OF_ONE_HOST = {"python": "--python", "online": "--online", "explain": "--explain", "timeout": "--timeout"}
_SPEC = re.compile(r"[\w.*+!<>=~, -]{1,200}", re.ASCII)  # nothing that a shell expands, even inside quotes


def refuse_contradictions(options: argparse.Namespace) -> None:
    """Refuse what one option makes meaningless in another: nothing that was typed is passed over in silence."""
    given = described_keys(options)
    if options.batch:
        _refuse_beside_batch(options, given)
    elif options.python is not None and {"os", "machine"} & given.keys():
        raise UsageError("--os and --machine describe another host: leave --python out, which asks this one")
    backend = options.backend.lower()
    if options.require_gpu and backend == "cpu":
        raise UsageError("--backend cpu has no GPU support, and --require-gpu asks for it: leave one of them out")
    if options.max_cuda is not None and (given.get("os") == "macos" or backend.startswith(_WITHOUT_CUDA)):
        where = "--os macos" if given.get("os") == "macos" else f"--backend {options.backend}"
        raise UsageError(f"--max-cuda is of CUDA builds, and {where} has none: leave one of them out")


_WITHOUT_CUDA = ("cpu", "rocm", "xpu", "mps")


def _refuse_beside_batch(options: argparse.Namespace, given: Mapping[str, object]) -> None:
    if given:
        raise UsageError("--batch describes its hosts line by line: leave the host options out")
    if options.format:
        raise UsageError("--batch answers in JSON lines on stdout: leave --format out")
    for name, option in _OF_ONE_HOST.items():
        if getattr(options, name):
            raise UsageError(f"--batch answers each line from the tables and says why: leave {option} out")


def wish_of(options: argparse.Namespace, tables: Tables) -> Wish:
    """The wish; a usage error names the option, the value seen and what to type."""
    backend = options.backend.lower()
    if backend not in BACKENDS and backend not in {row.build.name for row in tables.torch_builds.rows}:
        newest = max((row.torch, row.build.name) for row in tables.torch_builds.rows if row.cuda)[1]
        known = f"{', '.join(BACKENDS)}, or a variant such as {newest}"
        raise UsageError(f"--backend {options.backend}: not a backend (choose from: {known})")
    if options.nightly and options.torch is not None:
        raise UsageError("--nightly has no version to choose: leave --torch out")
    return Wish(
        backend=backend,
        torch=_spec(options.torch),
        companions=_companions(options, tables),
        allow_inferred=options.allow_inferred,
        max_cuda=_cuda(options.max_cuda),
        prefer=options.prefer,
        nightly=options.nightly,
    )


def _cuda(text: str | None) -> CudaVersion | None:
    if text is None:
        return None
    try:
        return CudaVersion.parse(text)
    except ValueError as error:
        raise UsageError(f"--max-cuda {text}: not a CUDA version (as 12.8)") from error


def _spec(text: str | None) -> SpecifierSet | None:
    if text is None:
        return None
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return SpecifierSet(_specifier(text))
    except InvalidSpecifier as error:
        raise UsageError(f'--torch {text}: not a version or range (as 2.9.1 or ">=2.6,<2.10")') from error


def _companions(options: argparse.Namespace, tables: Tables) -> tuple[str, ...]:
    names = tuple(name.strip() for value in options.companions for name in value.split(",") if name.strip())
    known = tables.companions.names()
    for name in names:
        if name not in known:
            raise UsageError(f"--with {name}: not a companion of torch (choose from: {', '.join(known)})")
    return names


def _specifier(text: str) -> str:
    """A bare version is an exact one; what holds other characters is no specifier."""
    exact = f"=={text}" if re.match(r"\d", text) else text
    return exact if _SPEC.fullmatch(exact) else "?"
