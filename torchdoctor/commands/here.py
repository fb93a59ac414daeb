"""Asking this host, for the commands that do."""

from __future__ import annotations

import argparse
import sys

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import Recording


def record_here(options: argparse.Namespace) -> Recording:
    """Record the host where the examined Python runs; a Python that cannot be asked is a usage error."""
    from torchdoctor.live import LiveError, record
    from torchdoctor.readers.live import ALL_WANTS
    from torchdoctor.which_python import choose_python

    try:
        return record(choose_python(options.python), ALL_WANTS, timeout=options.timeout)
    except LiveError as error:
        raise UsageError(str(error)) from error


def writing_of(options: argparse.Namespace) -> Writing:
    """How the install command is to be written, from the options."""
    shell = options.shell or ("powershell" if sys.platform == "win32" else "posix")
    return Writing(tool="pip" if options.tool == "auto" else options.tool, shell=shell)
