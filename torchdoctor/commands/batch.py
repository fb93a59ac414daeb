"""Many described hosts, one JSON object a line in, one a line out; one bad line never stops the rest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.choices import BATCH_KEYS
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.decide import decide
from torchdoctor.prescribe.described import DescriptionError, describe
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.writing import Writing
from torchdoctor.tables import Tables

_OTHER_WORDS = {"gpu": "gpus", "python_version": "python", "jetpack_version": "jetpack", "arch": "machine"}
_MAX_LINE = 100_000


class Terms(NamedTuple):
    """What holds for every line beside the wish: ``--require-gpu`` and ``--if-needed``."""

    require_gpu: bool = False
    if_needed: bool = False


_NO_TERMS = Terms()


def answer_lines(
    lines: Iterable[str], wish: Wish, writing: Writing, tables: Tables, terms: Terms = _NO_TERMS
) -> Iterator[str]:
    """Yield one JSON line per non-empty input line, in order."""
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield json.dumps(_answer(line, number, wish, writing, tables, terms), allow_nan=False)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _answer(line: str, number: int, wish: Wish, writing: Writing, tables: Tables, terms: Terms) -> dict[str, Any]:
    try:
        given = json.loads(line, parse_constant=_no_constant) if len(line) <= _MAX_LINE else None
    except (ValueError, RecursionError) as error:
        return _error(None, f"line {number} is not JSON: {str(error)[:100]}")
    if not isinstance(given, dict):
        return _error(None, f"line {number} is not a JSON object")
    return answer_for(given, wish, writing, tables, terms, where=f"line {number}: ")


def answer_for(
    given: Mapping[str, Any], wish: Wish, writing: Writing, tables: Tables, terms: Terms = _NO_TERMS, where: str = ""
) -> dict[str, Any]:
    """The answer for one described host; of one that makes no sense an ``error``, which begins with ``where``."""
    try:
        _check_keys(given)
        return {"id": given.get("id"), **_install(describe(given, tables), wish, writing, tables, terms)}
    except (DescriptionError, UsageError) as error:
        return _error(given.get("id"), f"{where}{error}")


def _install(host: Host, wish: Wish, writing: Writing, tables: Tables, terms: Terms) -> dict[str, Any]:
    """The answer for one host; ``file`` and ``lines`` only where the tool keeps a file of the project."""
    decision = decide(host, wish, writing, tables)
    if refusal := decision.refusal(require_gpu=terms.require_gpu):
        reason = "; ".join(str(text) for text in refusal if text)
        return {"torch": None, "build": None, "commands": [], "reason": reason}
    install = decision.install(explain=False)
    if terms.if_needed and not install.needed:
        install = install._replace(commands=(), file="")
    in_file = {"file": install.file, "lines": list(install.lines)} if install.file else {}
    why = "; ".join(map(str, install.why))
    return {
        "torch": install.torch,
        "build": install.build,
        "commands": list(install.commands),
        **in_file,
        "reason": why,
    }


def _check_keys(given: Mapping[str, Any]) -> None:
    """Refuse a key that nobody reads: a misspelt one would leave its fact unknown, unheard."""
    for key in given:
        if key not in BATCH_KEYS:
            from difflib import get_close_matches

            near = get_close_matches(key.lower(), [*BATCH_KEYS, *_OTHER_WORDS], n=1)
            meant = f"; did you mean: {_OTHER_WORDS.get(near[0], near[0])}?" if near else ""
            raise DescriptionError(f"key {key[:40]!r} is not known{meant} (keys: {', '.join(BATCH_KEYS)})")


def _error(id_: object, message: str) -> dict[str, Any]:
    return {"id": id_, "torch": None, "build": None, "commands": [], "reason": message, "error": message}
