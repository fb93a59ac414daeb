"""Asking this host, and running torch on it, for the commands that do."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from torchdoctor.addresses import address, without_password
from torchdoctor.commands.common import note
from torchdoctor.errors import UsageError
from torchdoctor.recording import Answer, Recording, Want
from torchdoctor.settings import index_base

if TYPE_CHECKING:
    from collections.abc import Callable

    from torchdoctor.asked import Asked
    from torchdoctor.live import Proof
    from torchdoctor.prescribe.writing import Writing
    from torchdoctor.which_python import PythonChoice

_BENCH_SHARE = 2  # times the seconds that a benchmark may take: what no stage of it takes but one that hangs


def get_ready() -> None:
    """Load what the answers will need, while the examined Python gives them."""
    import torchdoctor.pipeline  # noqa: F401 - as said


def record_here(
    options: argparse.Namespace,
    asked: Asked | None = None,
    more: Callable[[], tuple[Want, ...]] = tuple,
    meanwhile: Callable[[], None] = get_ready,
    inside: bool = False,
) -> Recording:
    """Record the host where the examined Python runs; a Python that cannot be asked is a usage error.

    ``asked`` is what is to be proved by running torch there; None leaves torch alone. ``more`` is asked besides.
    ``meanwhile`` is done while the answers are awaited. ``inside``: the installed files are read as well.
    """
    from torchdoctor.live import record
    from torchdoctor.starting import LiveError
    from torchdoctor.which_python import choose_python

    proof = _proof(asked, options.timeout, plain=getattr(options, "plain", False)) if asked else None
    try:
        python, wants = choose_python(options.python), lambda: (*_all_wants(), *more())
        files = _wants_of_files if inside else None
        return record(python, wants, timeout=options.timeout, proof=proof, meanwhile=meanwhile, inside=files)
    except LiveError as error:
        raise UsageError(str(error)) from error


def _all_wants() -> tuple[Want, ...]:
    from torchdoctor.readers.live import ALL_WANTS

    return ALL_WANTS


def _wants_of_files() -> tuple[Want, ...]:
    from importlib import import_module

    from torchdoctor.readers.live import ON_DEMAND

    readers = [import_module(f"torchdoctor.readers.{name}") for name in ON_DEMAND.values()]
    return tuple(want for reader in readers for want in reader.WANTS)


def _proof(asked: Asked, timeout: float | None, *, plain: bool) -> Proof:
    from torchdoctor import nvml
    from torchdoctor.commands.progress import Progress
    from torchdoctor.nvml_samples import with_telemetry
    from torchdoctor.proof import prove
    from torchdoctor.trial import Limits

    limits = Limits(timeout, timeout, timeout) if timeout else Limits()
    if asked.bench is not None:
        limits = limits._replace(benching=_BENCH_SHARE * float(asked.bench["seconds"]))

    def proof(python: PythonChoice, told: Answer | None) -> Answer:
        gpus = nvml.gpus_of(told)
        busy = nvml.busy(gpus)
        bench = None if asked.bench is None else {**asked.bench, "busy": busy}
        known = asked._replace(bench=bench, busy=busy)
        with Progress(plain=plain) as progress:
            return with_telemetry(lambda: prove(python, known, limits, progress.show), gpus if bench else ())

    return proof


def writing_of(options: argparse.Namespace, *, here: bool = True) -> Writing:
    """How the install command is to be written, from the options; what they leave open, the host decides.

    A mirror that this site or project has set counts for commands of this host (``here``).
    """
    from torchdoctor.prescribe.writing import Writing

    asked = options.tool != "auto"
    base = _mirror(options) if here else ""
    return Writing(tool=options.tool if asked else "", shell=options.shell or "", index_base=base, asked=asked)


def _mirror(options: argparse.Namespace) -> str:
    config, no_config = getattr(options, "config", None), getattr(options, "no_config", False)
    tell = None if hasattr(options, "require") else lambda line: note(f"note: {line}")  # who has a policy was told
    setting = index_base(tell, config=config, no_config=no_config)
    if setting is None:
        return ""
    base = address(setting.value, setting.source)
    note(f"note: {setting.source} sets the index: {without_password(base)}")
    return base
