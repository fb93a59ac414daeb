"""Asking this host, and running torch on it, for the commands that do."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import Answer, Recording

if TYPE_CHECKING:
    from torchdoctor.asked import Asked
    from torchdoctor.live import Proof
    from torchdoctor.which_python import PythonChoice

_BENCH_SHARE = 2  # times the seconds that a benchmark may take: what no stage of it takes but one that hangs


def record_here(options: argparse.Namespace, asked: Asked | None = None) -> Recording:
    """Record the host where the examined Python runs; a Python that cannot be asked is a usage error.

    ``asked`` is what is to be proved by running torch there; None leaves torch alone.
    """
    from torchdoctor.live import record
    from torchdoctor.readers.live import ALL_WANTS
    from torchdoctor.starting import LiveError
    from torchdoctor.which_python import choose_python

    proof = _proof(asked, options.timeout) if asked else None
    try:
        return record(choose_python(options.python), ALL_WANTS, timeout=options.timeout, proof=proof)
    except LiveError as error:
        raise UsageError(str(error)) from error


def _proof(asked: Asked, timeout: float | None) -> Proof:
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
        with Progress() as progress:
            return with_telemetry(lambda: prove(python, known, limits, progress.show), gpus if bench else ())

    return proof


def writing_of(options: argparse.Namespace) -> Writing:
    """How the install command is to be written, from the options; what they leave open, the host decides."""
    return Writing(tool="" if options.tool == "auto" else options.tool, shell=options.shell or "")
