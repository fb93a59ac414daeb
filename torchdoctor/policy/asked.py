"""What options and variables say of a policy: ``--require 'driver>=550'`` and its like; a bad one is one line."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import Any

from torchdoctor.errors import UsageError
from torchdoctor.policy import kinds, schema
from torchdoctor.policy.kinds import Kind
from torchdoctor.policy.parse import SHOWN, check_ids, read_value, shown
from torchdoctor.policy.policy import Entry, Policy, in_words
from torchdoctor.policy.schema import Key

_ASKED = re.compile(r"\s*([\w.*-]+?)\s*((?:[<>=!~]=?|===).*)", re.DOTALL | re.ASCII)
_SIGNED = re.compile(r"([<>=!~]+)\s*(.*)", re.DOTALL)
_NUMBER = re.compile(r"\d{1,9}(\.\d{1,9})?")
_RANGES = (kinds.VERSIONS, kinds.PACKAGE, kinds.DRIVERS, kinds.CAPABILITIES)
_LISTS, _LEAST = (kinds.BUILDS, kinds.BACKEND), (kinds.COUNT, kinds.NUMBER)
_TRUE, _FALSE = {"1", "true", "yes"}, {"0", "false", "no"}
_REQUIRE = "require."


def requirements_of(texts: Collection[str], source: str) -> Policy:
    """The policy of what ``--require`` or its variable says; ranges of one key hold together."""
    entries: dict[str, Entry] = {}
    for text in texts:
        name, said = _parts(text, source)
        path = name if name.startswith((_REQUIRE, "bench.")) else f"{_REQUIRE}{name}"
        key = schema.find(path)
        where = f"{source} {shown(text)}"
        if key is None or key.variable != schema.REQUIRE_VARIABLE:
            raise UsageError(f"{where}: {_no_requirement(name.removeprefix(_REQUIRE))}")
        entry = Entry(read_value(key, path, _value(key, said, where), where), source)
        entries[path] = _both(key, entries[path], entry, where) if path in entries else entry
    return Policy(entries)


def _parts(text: str, source: str) -> tuple[str, str]:
    """The key, and what stands behind it from the sign on."""
    match = _ASKED.fullmatch(text)
    if not match:
        raise UsageError(f"{source} {shown(text)}: expected a key and what it has to be, as driver>=550")
    return match[1], match[2].strip()


def _both(key: Key, first: Entry, second: Entry, where: str) -> Entry:
    """Two requirements on one key: ranges are one range, and of anything else one value counts."""
    if second.value in {first.value, kinds.ANY}:
        return first
    if first.value == kinds.ANY:
        return second
    if key.kind in _RANGES:
        return first._replace(value=read_value(key, key.path, f"{first.value},{second.value}", where))
    once = "name all of them at once, with commas" if key.kind in _LISTS else "give it once"
    raise UsageError(f"{where}: {_plain(key)} is required to be {in_words(first.value)} already: {once}")


def _value(key: Key, said: str, where: str) -> Any:
    """What stands behind the key, as a file would say it: a range with its signs, any other value without."""
    if key.kind == kinds.PACKAGE and said.lstrip("= ") == kinds.ANY:
        return kinds.ANY
    match = _SIGNED.fullmatch(said)
    if key.kind in _RANGES or match is None:
        return said
    signs, (sign, bare) = _signs(key.kind), match.groups()
    if sign not in signs:
        raise UsageError(f"{where}: {_plain(key)} takes {' or '.join(signs)} and no {sign}")
    if key.kind in _LISTS:
        return [word.strip() for word in bare.split(",")]
    if key.kind in _LEAST and _NUMBER.fullmatch(bare):
        return float(bare) if "." in bare else int(bare)
    return bare


def _signs(kind: Kind) -> tuple[str, ...]:
    """The signs that say what the key means: at least so many, one of these, or found in the name."""
    if kind in _LEAST:
        return ("=", ">=")
    return ("=", "==") if kind in _LISTS else ("=",)


def _plain(key: Key) -> str:
    return key.path.removeprefix(_REQUIRE).replace("*", "NAME")


def _no_requirement(name: str) -> str:
    """What is said of a key that no requirement has."""
    other = schema.find(f"{_REQUIRE}{name}") or schema.find(name)
    if other is not None:
        ways = (f"write {other.option}" if other.option else "", f"set {other.variable}" if other.variable else "")
        how = ", or ".join(way for way in ways if way) or "it stands in a file"
        return f"{_plain(other)} is not asked for in this way: {how}"
    known = [_plain(key) for key in schema.KEYS if key.variable == schema.REQUIRE_VARIABLE]
    plain = name[:SHOWN].lower().replace("_", "-")
    lasts = {path.rpartition(".")[2]: path for path in reversed(known)}
    near = get_close_matches(plain, known, n=1) or [lasts[word] for word in get_close_matches(plain, lasts, n=1)]
    inside = [path for path in known if path.startswith(f"{plain}.")]
    hint = f"did you mean: {near[0]}?" if near and not inside else f"known here: {', '.join(inside or known)}"
    return f"key {shown(name)} is not known; {hint}"


def options_of(given: Mapping[str, Any], ids: Collection[str]) -> Policy:
    """The policy of options, each as (what the option is called, its value)."""
    entries = {
        path: Entry(read_value(_key(path), path, value, source), source) for path, (source, value) in given.items()
    }
    policy = Policy(entries)
    check_ids(policy, ids)
    return policy


def variables_of(variables: Mapping[str, str], ids: Collection[str]) -> Policy:
    """The policy of environment variables; lists are separated by commas, requirements by semicolons."""
    given: dict[str, Any] = {}
    for key in schema.KEYS:
        text = variables.get(key.variable, "").strip()
        if text and key.variable != schema.REQUIRE_VARIABLE:
            given[key.path] = (key.variable, _of_variable(key, text))
    texts = [text for text in variables.get(schema.REQUIRE_VARIABLE, "").split(";") if text.strip()]
    return options_of(given, ids).over(requirements_of(texts, schema.REQUIRE_VARIABLE))


def _of_variable(key: Key, text: str) -> Any:
    if key.kind == kinds.IDS:
        return [word.strip() for word in text.split(",") if word.strip()]
    if key.kind == kinds.FLAG and text.lower() in _TRUE | _FALSE:
        return text.lower() in _TRUE
    return text


def _key(path: str) -> Key:
    return next(key for key in schema.KEYS if key.path == path)
