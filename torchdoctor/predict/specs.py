"""Descriptions of hosts as they are written: a line of words, a line of JSON, a table of TOML or CSV."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from torchdoctor.prescribe.described import DescriptionError

_NAMED = re.compile(r"\s*([^\s=:\"'][^=:\"']*):(?=\s|$)(.*)")
_FLAGS = {"wsl"}  # host options without a value
_LISTS = {"gpu", "gpus"}  # those that may be said again


class Described(NamedTuple):
    """What one place of a file, or one option, says of a host; ``error`` where that could not be read."""

    place: str
    given: Mapping[str, Any]
    error: str = ""


def read_words(text: str) -> dict[str, Any]:
    """Read ``[name:] driver=535.183 gpu=T4``; a word without ``=`` belongs to the value before it."""
    named = _NAMED.fullmatch(text)
    name, rest = (named[1].strip(), named[2]) if named else ("", text)
    given: dict[str, Any] = {"name": name} if name else {}
    last = ""
    for word in _split(rest):
        key, mark, value = word.partition("=")
        if mark and re.fullmatch(r"-{0,2}[\w-]+", key):
            last = key
            if key in given and key.lower().lstrip("-") not in _LISTS:
                raise twice(key, given[key], value)
            given[key] = f"{given[key]},{value}" if key in given else value
        elif word.lstrip("-").lower() in _FLAGS:
            given[word.lstrip("-").lower()] = True
        elif last:
            given[last] += f" {word}"
        else:
            raise DescriptionError(f"{word[:40]!r} is not KEY=VALUE (as driver=535.183 gpu=T4)")
    return given


def twice(key: str, first: object, second: object) -> DescriptionError:
    """What to say of a key that has two values: neither is more meant than the other."""
    seen = " and ".join(repr(value)[:40] for value in (first, second))
    return DescriptionError(f"{key.lstrip('-')} is said twice, as {seen}: leave one out")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object of which no key stands there twice: the last one would count, unheard."""
    given: dict[str, Any] = {}
    for key, value in pairs:
        if key in given:
            raise twice(key, given[key], value)
        given[key] = value
    return given


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text, comments=True)
    except ValueError as error:
        raise DescriptionError(f"{text.strip()[:40]!r}: {str(error).lower()}") from error


def read_file(name: str, text: str) -> Iterator[Described]:
    """Every host of a file: TOML and CSV by the name's ending, a JSON document, else one a line, in words or JSON."""
    ending = name.rpartition(".")[2].lower()
    if ending == "toml":
        yield from _of_toml(name, text)
    elif ending == "csv":
        yield from _of_csv(name, text)
    elif ending == "json" or text.lstrip().startswith("["):
        yield from _of_document(name, text)
    else:
        yield from _of_lines(name, text)


def _of_lines(name: str, text: str) -> Iterator[Described]:
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        place = f"{name}:{number}"
        try:
            yield Described(place, read_json(stripped) if stripped.startswith("{") else read_words(stripped))
        except DescriptionError as error:
            yield Described(place, {}, str(error))


def _of_document(name: str, text: str) -> Iterator[Described]:
    """A JSON array of hosts, or one host; where the text is neither, one host a line."""
    try:
        document = json.loads(text, object_pairs_hook=_once)
    except RecursionError:
        document = None
    except DescriptionError as error:
        yield Described(name, {}, str(error))
        return
    except ValueError as error:
        if text.lstrip().startswith("["):
            yield Described(name, {}, f"not JSON: {str(error)[:100]}")
        else:
            yield from _of_lines(name, text)
        return
    for number, given in enumerate(document if isinstance(document, list) else [document], 1):
        place = f"{name}: [{number}]" if isinstance(document, list) else name
        is_host = isinstance(given, dict)
        yield Described(place, given) if is_host else Described(place, {}, "not a JSON object")


def read_json(line: str) -> dict[str, Any]:
    """Read one host as a JSON object."""
    try:
        given = json.loads(line, object_pairs_hook=_once)
    except DescriptionError:
        raise
    except (ValueError, RecursionError) as error:
        raise DescriptionError(f"not JSON: {str(error)[:100]}") from error
    if not isinstance(given, dict):
        raise DescriptionError("not a JSON object")
    return given


def _of_toml(name: str, text: str) -> Iterator[Described]:
    """``[[target]]`` tables, or one table a host with the host's name as its own."""
    from torchdoctor import toml

    try:
        tables = toml.loads(text)
    except (ValueError, RecursionError) as error:
        yield Described(name, {}, f"not TOML: {error}")
        return
    for key, value in tables.items():
        members = value if isinstance(value, list) else [{"name": key, **value}] if isinstance(value, dict) else [value]
        for number, given in enumerate(members, 1):
            place = f"{name}: {key}[{number}]" if isinstance(value, list) else f"{name}: {key}"
            is_host = isinstance(given, dict)
            yield (
                Described(place, given, "")
                if is_host
                else Described(place, {}, "not a table of a host (as [[target]])")
            )


def _of_csv(name: str, text: str) -> Iterator[Described]:
    """The first line names the keys; an empty cell says nothing."""
    import csv
    import io

    reader = csv.DictReader(io.StringIO(text), strict=True)
    try:
        names = reader.fieldnames or ()
        if again := next((key for key in names if names.count(key) > 1), ""):
            yield Described(f"{name}:1", {}, f"{again} heads two columns: leave one out")
            return
        for row in reader:
            place = f"{name}:{reader.line_num}"
            if None in row or None in row.values():
                yield Described(place, {}, f"{len(reader.fieldnames or ())} cells are wanted, as in the first line")
            else:
                yield Described(place, {key: value.strip() for key, value in row.items() if value and value.strip()})
    except csv.Error as error:
        yield Described(f"{name}:{reader.line_num}", {}, f"not CSV: {error}")
