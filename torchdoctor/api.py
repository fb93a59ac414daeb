"""The Python interface: what other projects call in place of a doctor of their own.

Five steps, each usable alone, none of which prints, exits, prompts or changes the host::

    recording = record()                      # or read(text), read(Path("report.txt"))
    report = diagnose(recording)
    report.status                             # "ok", "warn", "fail", "unknown"
    prescribe({"os": "linux", "machine": "x86_64", "python": "3.12", "libc": "glibc-2.35",
               "driver": "580.65.06", "gpus": ["sm_90"]})
    render(report, "json")

``triage`` does all of it for one pasted report, from plain values to plain values: it can be sent to other processes
and machines (multiprocessing, Ray, Spark). What cannot be done as asked raises ``UsageError``, whose text is one line.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchdoctor.errors import UsageError
from torchdoctor.findings import Finding
from torchdoctor.recording import Recording
from torchdoctor.report import Report

if TYPE_CHECKING:
    from torchdoctor.tables import Tables

__all__ = [
    "Finding", "Recording", "Report", "UsageError", "diagnose", "prescribe", "read", "record", "render", "triage",
]  # fmt: skip

Source = str | bytes | Path
_TEXT = "text"  # the name of a text that has none


def record(python: str | None = None, *, run: bool = False, timeout: float | None = None) -> Recording:
    """Ask the host where ``python`` runs (a path, or a command that starts one; by default as ``check`` chooses).

    ``run``: torch is also imported and tried by the quick smoke tests, in a child that may crash. ``timeout``: seconds
    for one probe. The recording is redacted; ``recording.to_json()`` saves it.
    """
    from argparse import Namespace

    from torchdoctor.asked import LEVELS, Asked
    from torchdoctor.commands.here import record_here

    asked = Asked(level=LEVELS[0]) if run else None
    return record_here(Namespace(python=python, timeout=timeout), asked)


def read(*sources: Source) -> Recording:
    """Read pasted texts (``str``, ``bytes``) and files (``Path``): reports and logs in any mixture, saved recordings.

    Texts of more than 8 MB keep their first and last 4 MB.
    """
    from torchdoctor.commands.diagnose import joined, recording_of

    return joined(recording_of(text.name, text) for text in map(_text_of, sources))


def _text_of(source: Source, name: str = _TEXT) -> Any:
    from torchdoctor.readers.texts import BadInputError, load_text

    try:
        if isinstance(source, Path):
            return load_text(source)
        return load_text(BytesIO(source if isinstance(source, bytes) else source.encode("utf-8", "replace")), name)
    except BadInputError as error:
        raise UsageError(str(error)) from error


def diagnose(recording: Recording | Source, *, require_gpu: bool = False, tables: Tables | None = None) -> Report:
    """The report on a recording, or on what ``read`` makes of a text or a file. Pure: no host is asked.

    ``require_gpu``: a host whose torch cannot use a GPU is an error. ``tables``: others than the product's own.
    """
    from torchdoctor.facts import Request
    from torchdoctor.pipeline import examine
    from torchdoctor.prescribe.writing import Writing

    seen = recording if isinstance(recording, Recording) else read(recording)
    return examine(seen, tables or _tables(), Request(require_gpu=require_gpu), Writing())


def prescribe(  # noqa: PLR0913 - the options of install-cmd, by keyword alone
    host: Mapping[str, Any], *, torch: str | None = None, companions: Sequence[str] = (), backend: str = "auto",
    max_cuda: str | None = None, tool: str = "", shell: str = "", index_base: str = "", tables: Tables | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The build and the commands for a described host; ``host`` has the keys of a line of ``install-cmd --batch``.

    ``os``, ``machine``, ``python``, ``libc``, ``os_version``, ``wsl``, ``jetpack``, ``driver``, ``gpus``, ``torch``:
    a key left out is unknown, None is none. Returns ``{"id", "torch", "build", "commands", "reason"}``; ``build`` is
    None with the reason where nothing runs. The keywords are the options of ``install-cmd``.
    """
    from argparse import Namespace

    from torchdoctor.commands.batch import answer_for
    from torchdoctor.commands.install_wish import wish_of
    from torchdoctor.prescribe.writing import Writing

    known = tables or _tables()
    options = {"torch": torch, "companions": list(companions), "backend": backend, "max_cuda": max_cuda}
    wish = wish_of(Namespace(**options, nightly=False, allow_inferred=False, prefer="newest"), known)
    writing = Writing(tool=tool, shell=shell, index_base=index_base, asked=bool(tool))
    answer = answer_for(host, wish, writing, known)
    if "error" in answer:
        raise UsageError(str(answer["error"]))
    return answer


def render(report: Report, form: str = "text", *, fail_on: str = "error") -> str:
    """The report in one of the formats of ``--format``: text, json, junit, markdown, gitlab ..."""
    from torchdoctor.render.formats import FORMATS, View, rendered

    if form not in FORMATS:
        raise UsageError(f"format {form!r} is not known (choose from: {', '.join(FORMATS)})")
    return rendered(form, report, View(fail_on))


def triage(item: object, *, tables: str | None = None) -> dict[str, Any]:
    """One pasted report in, one answer out: ``{"id", "report"}``, or ``{"id", "error"}``; it never raises.

    ``item`` is ``{"id", "text"}`` or ``{"id", "files": {name: text}}``, and may say ``"require_gpu": true``; texts are
    ``str`` or ``bytes``. ``report`` is ``torchdoctor.report/1`` as plain values. ``tables`` is a folder of tables.
    """
    if not isinstance(item, Mapping):
        return {"id": None, "error": "an item is an object with a text"}
    return report_on(item, lambda: read_named(_texts(item)), tables)


def report_on(item: Mapping[str, Any], load: Callable[[], Recording], tables: str | None = None) -> dict[str, Any]:
    """The answer of ``triage`` for an item that is read by ``load``."""
    try:
        report = diagnose(load(), require_gpu=item.get("require_gpu") is True, tables=_tables(tables))
        return {"id": item.get("id"), "report": json.loads(render(report, "json"))}
    except UsageError as error:
        return {"id": item.get("id"), "error": str(error)}
    except Exception as error:  # noqa: BLE001 - one bad input never stops the rest, whatever our mistake is
        return {"id": item.get("id"), "error": f"torchdoctor itself failed: {type(error).__name__}: {error}"}


def read_named(texts: Mapping[str, str | bytes]) -> Recording:
    """Read texts that have names of their own, as findings cite them."""
    from torchdoctor.commands.diagnose import joined, recording_of

    loaded = [_text_of(text, Path(name).name) for name, text in texts.items()]
    return joined(recording_of(text.name, text) for text in loaded)


def _texts(item: Mapping[str, Any]) -> dict[str, str | bytes]:
    files = item.get("files", {_TEXT: item.get(_TEXT)})
    if not isinstance(files, Mapping) or not files:
        raise UsageError('"files" is no object of names and texts')
    for name, text in files.items():
        if not isinstance(name, str) or not isinstance(text, (str, bytes)):
            raise UsageError('an item holds "text", or "files" with a text for each name')
    return dict(files)


@cache
def _tables(folder: str | None = None) -> Tables:
    from torchdoctor.tables.overlay import tables_of

    return tables_of(folder)
