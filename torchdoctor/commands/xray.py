"""``torchdoctor xray``: the device code inside installed libraries, and what of it serves a GPU."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torchdoctor import __version__
from torchdoctor.commands.common import add_live_options, note, open_tables, parse_formats, put
from torchdoctor.errors import UsageError
from torchdoctor.recording import Answer, Want
from torchdoctor.render.output import show

if TYPE_CHECKING:
    from torchdoctor.inside import DeviceCode
    from torchdoctor.prescribe.host import GpuTarget
    from torchdoctor.tables import Tables
    from torchdoctor.values import CudaVersion
    from torchdoctor.which_python import PythonChoice

SCHEMA = "torchdoctor.xray/1"
_READ, _NOTHING, _UNREADABLE = 0, 1, 2
_NONE = ("", "ptx-driver-too-old")
_CODE, _PYTHON = "device code", "python"
_MARGIN = 5.0  # for the start of the interpreter, beyond what the reading may take
_PRIVATE = ("home", "home_real", "user", "host", "mark")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("what", nargs="*", metavar="FILE|PACKAGE", help="a library, a folder or an installed package")
    parser.add_argument(
        "--gpu", action="append", default=[], metavar="NAME|sm_XX|gfxNNNN", help="what serves it; repeat or use commas"
    )
    parser.add_argument("--driver", metavar="VERSION", help="NVIDIA driver, as 580.65.06: whether it may compile PTX")
    add_live_options(parser)
    group = parser.add_argument_group("output")
    group.add_argument("--format", action="append", metavar="FORMAT[=FILE]", help="text, json; to stdout or a file")
    group.add_argument("--color", choices=("auto", "always", "never"), default="auto", help="auto: on a terminal")
    group.add_argument("--plain", action="store_true", help="no colour")
    group.add_argument("--tables", metavar="DIR", help="use the compatibility tables in this folder")


def run(options: argparse.Namespace) -> int:
    """Read, judge, print."""
    from torchdoctor.which_python import choose_python

    formats = parse_formats(options.format)
    gpus, driver = _gpus(options)
    python = choose_python(options.python)
    answers = _asked(python, tuple(options.what), options.timeout)
    read = _value(answers[_CODE], python)
    if read["unknown"]:
        raise UsageError(f"{read['unknown'][0]}: no such file, folder or installed package (a path needs its slash)")
    cuda = _driver_cuda(driver, answers[_PYTHON].value, options.tables)
    rows = _rows(read["files"], gpus, cuda, options)
    report = {
        "schema": SCHEMA,
        "torchdoctor": __version__,
        "python": " ".join(python.argv),
        "gpus": [str(gpu) for gpu in gpus],
        "driver_cuda": None if cuda is None else str(cuda),
        "files": rows,
        "files_read": read["read"],
        "cut": read["cut"],
    }
    for name, path in formats:
        _deliver(report, name, path, options)
    return _status(rows, gpus, read["asked"])


def _deliver(report: Mapping[str, Any], name: str, path: str | None, options: argparse.Namespace) -> None:
    if name == "json":
        put(json.dumps(report, indent=2, ensure_ascii=False) + "\n", path, is_json=True)
        return
    from torchdoctor.render.xray_text import render

    lines = render(report)
    if path is None:
        show(lines, plain=options.plain, colour=options.color)
    else:
        put("".join(f"{line.text}\n" for line in lines), path)


def _status(rows: list[dict[str, Any]], gpus: tuple[GpuTarget, ...], asked: list[str]) -> int:
    """2 where a file that was named, or every one, cannot be read, 1 where a library of torch has nothing for a GPU."""
    unread = [row["library"] for row in rows if row["error"]]
    if set(unread) & set(asked) or (rows and len(unread) == len(rows)):
        return _UNREADABLE
    torch = [row for row in rows if row["package"] == "torch" and not row["error"]]
    lacking = any(row["serves"][str(gpu)] in _NONE for row in torch for gpu in gpus)
    return _NOTHING if lacking else _READ


def _asked(python: PythonChoice, what: tuple[str, ...], timeout: float | None) -> dict[str, Answer]:
    """The answers of the X-ray, redacted; a Python that cannot be asked is a usage error."""
    from torchdoctor.redact import Identity, Redactor
    from torchdoctor.xray import SECONDS, finish, start

    seconds = timeout or SECONDS
    child = start(python, (Want("python", name=_PYTHON), Want("code", what, seconds=seconds, name=_CODE)))
    answers = finish(child, seconds + _MARGIN)
    told = answers[_PYTHON].value
    if not isinstance(told, dict):
        raise UsageError(child.trouble or f"cannot examine {' '.join(python.argv)}: {answers[_PYTHON].error}")
    home, real, user, host, _ = (str(told.pop(name, "")) for name in _PRIVATE)
    redactor = Redactor(Identity((home, real), user, host))
    return {key: Answer(redactor.value(it.value), it.absent, redactor.text(it.error)) for key, it in answers.items()}


def _value(answer: Answer, python: PythonChoice) -> Mapping[str, Any]:
    if not isinstance(answer.value, dict):
        raise UsageError(f"{' '.join(python.argv)}: nothing was read: {answer.error} (give it longer with --timeout)")
    return answer.value


def _gpus(options: argparse.Namespace) -> tuple[tuple[GpuTarget, ...], Any]:
    """The GPUs and the driver that are asked about; a name that is not known, or of several, is a usage error."""
    from torchdoctor.commands.common import open_tables
    from torchdoctor.prescribe.described import DescriptionError, describe

    names = [name.strip() for value in options.gpu for name in value.split(",")]
    if options.driver and not names:
        raise UsageError("--driver says what may be compiled for a GPU: give --gpu too, as --gpu sm_86")
    if not names:
        return (), None
    given: dict[str, Any] = {"gpus": names, **({"driver": options.driver} if options.driver else {})}
    try:
        host = describe(given, open_tables(options.tables))
    except DescriptionError as error:
        raise UsageError(f"--{error}") from error
    gpus = host.gpus if isinstance(host.gpus, tuple) else ()
    for gpu in gpus:
        if gpu.target is None:
            raise UsageError(f"--gpu {gpu.name}: not one architecture stands for it: give sm_XX or gfxNNNN")
    return gpus, host.driver if options.driver else None


def _driver_cuda(driver: Any, told: Any, folder: str | None) -> CudaVersion | None:
    """The CUDA that a driver speaks; None where none was given, or its branch is not known."""
    if driver is None:
        return None
    uname = told.get("uname")
    release = str(uname.get("release", "")) if isinstance(uname, dict) else ""
    windows = told.get("platform") == "win32" or "microsoft" in release.lower()
    branch = open_tables(folder).driver_branches.of(driver, "windows" if windows else "linux")
    if branch is None:
        note(f"note: --driver {driver}: the tables know no such branch, so what it may compile is unknown")
    return branch.cuda if branch else None


def _rows(
    files: list[dict[str, Any]], gpus: tuple[GpuTarget, ...], cuda: CudaVersion | None, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """What was read, with what of it serves each GPU."""
    if not gpus:
        return files
    from torchdoctor.readers.live_code import device_code

    tables = open_tables(options.tables)
    return [
        {**row, "serves": {str(gpu): _serves(device_code(row), gpu, tables, cuda) for gpu in gpus}} for row in files
    ]


def _serves(code: DeviceCode, gpu: GpuTarget, tables: Tables, cuda: CudaVersion | None) -> str:
    from torchdoctor.code_view import serves
    from torchdoctor.values import GpuArch

    if isinstance(gpu.target, GpuArch):
        return serves(code, gpu.target, tables, cuda)
    return "native" if str(gpu.target) in {name.partition(":")[0] for name, _ in code.gfx} else ""
