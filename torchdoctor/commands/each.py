"""``torchdoctor diagnose --each``: thousands of pasted reports, one JSON line out for each, on all cores."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any

from torchdoctor.api import report_on, triage
from torchdoctor.commands.common import note
from torchdoctor.commands.diagnose import load
from torchdoctor.each import answers, cores
from torchdoctor.errors import UsageError

SCHEMA = "torchdoctor.each/1"
_SECONDS = 60.0  # for one input, unless --timeout says otherwise
_LONGEST = 32_000_000  # characters of a line
_OF_ONE_REPORT = {
    "here": "--here", "format": "--format", "targets": "--for", "require": "--require", "ignore": "--ignore",
    "select": "--select", "config": "--config", "fail_on": "--fail-on", "python": "--python",
}  # fmt: skip

Item = dict[str, Any]


def run_each(options: argparse.Namespace) -> int:
    """Answer each input; the exit status is 0 when all were answered, errors included."""
    _refuse(options)
    done = _answered(options.resume) if options.resume else frozenset()
    counts = {"answered": 0, "skipped": 0, "errors": 0}
    todo = _new(_items(options.files), done, counts)
    work = partial(answer, require_gpu=options.require_gpu, tables=options.tables)
    with _output(options.resume) as stream:
        for told in answers(todo, work, jobs=options.jobs or cores(), seconds=options.timeout or _SECONDS):
            stream.write(json.dumps({"schema": SCHEMA, **told}) + "\n")
            stream.flush()
            counts["errors" if "error" in told else "answered"] += 1
    note(f"{counts['answered']} answered, {counts['errors']} that could not be read, {counts['skipped']} done before")
    return 0


def answer(item: Mapping[str, Any], *, require_gpu: bool, tables: str | None) -> dict[str, Any]:
    """What a process does with one item: a line's object, or the files of a folder."""
    if "refused" in item:
        return {"id": item["id"], "error": item["refused"]}
    asked = {**item, "require_gpu": require_gpu or item.get("require_gpu") is True}
    if "paths" in item:
        return report_on(asked, lambda: load(list(item["paths"])), tables)
    return triage(asked, tables=tables)


def _refuse(options: argparse.Namespace) -> None:
    """What one report can be given, and thousands of them cannot."""
    for name, option in _OF_ONE_REPORT.items():
        if getattr(options, name, None):
            raise UsageError(f"diagnose --each answers in JSON lines, a report each: leave {option} out")


def _items(names: Iterable[str]) -> Iterator[Item]:
    for name in names:
        if name != "-" and Path(name).is_dir():
            yield from _of_folder(Path(name))
        else:
            yield from _of_lines(name)


def _of_folder(folder: Path) -> Iterator[Item]:
    """Every file of a folder is a report; a folder in it is one report of several files."""
    for path in sorted(folder.iterdir()):
        files = [path] if path.is_file() else sorted(item for item in path.rglob("*") if item.is_file())
        if files:
            yield {"id": path.name, "paths": [str(item) for item in files]}


def _of_lines(name: str) -> Iterator[Item]:
    with _lines_of(name) as stream:
        for number, line in enumerate(iter(partial(stream.readline, _LONGEST), ""), 1):
            if line.strip():
                yield _of_line(line, number)


def _of_line(line: str, number: int) -> Item:
    """One line's object; what is none is told as an error of its number."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"id": number, "refused": f"line {number} is not JSON: {str(error)[:100]}"}
    if isinstance(given, str):
        given = {"text": given}
    if not isinstance(given, dict):
        return {"id": number, "refused": f"line {number} is no JSON object with a text"}
    known = {key: given[key] for key in ("text", "files", "require_gpu") if key in given}
    return {"id": given.get("id", number), **known}


def _lines_of(name: str) -> AbstractContextManager[IO[str]]:
    if name == "-":
        return nullcontext(sys.stdin)
    try:
        return Path(name).open(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror or error} (a folder, FILE.jsonl, or -)") from error


def _new(items: Iterable[Item], done: frozenset[str], counts: dict[str, int]) -> Iterator[Item]:
    for item in items:
        if json.dumps(item["id"]) in done:
            counts["skipped"] += 1
        else:
            yield item


def _answered(path: str) -> frozenset[str]:
    """What an output that is there has answered; a last line that was cut off is taken away."""
    if not Path(path).exists():
        return frozenset()
    ids, whole = set(), 0
    try:
        with Path(path).open("rb") as stream:
            for line in stream:
                if not line.endswith(b"\n"):
                    break
                whole += len(line)
                with suppress(ValueError, TypeError, KeyError):
                    ids.add(json.dumps(json.loads(line)["id"]))
        os.truncate(path, whole)
    except OSError as error:
        raise UsageError(f"cannot go on with {path}: {error.strerror or error}") from error
    return frozenset(ids)


def _output(path: str | None) -> AbstractContextManager[IO[str]]:
    if path is None:
        return nullcontext(sys.stdout)
    try:
        return Path(path).open("a", encoding="ascii")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
