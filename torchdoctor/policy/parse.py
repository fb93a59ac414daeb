"""From the table of a file to a policy; what is wrong is one line of usage."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from torchdoctor.addresses import without_password
from torchdoctor.errors import UsageError
from torchdoctor.intent import Ignore
from torchdoctor.policy import kinds, schema
from torchdoctor.policy.policy import Entry, Policy
from torchdoctor.policy.schema import Key

SHOWN = 60


def policy_of(name: str, table: Mapping[str, Any], ids: Collection[str] | None = None) -> Policy:
    """The policy of a file's table; ``ids`` are the findings that may be named."""
    policy = Policy(dict(_entries(name, table, "")))
    check_ids(policy, ids)
    return policy


def _entries(name: str, table: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Entry]]:
    for word, value in table.items():
        path = f"{prefix}{word}"
        key = schema.find(path)
        if key is not None:
            yield path, Entry(read_value(key, path, value, name), name)
        elif not schema.members(path):
            raise UsageError(f"{name}: {_unknown(path, value)}")
        elif isinstance(value, Mapping):
            yield from _entries(name, value, f"{path}.")
        else:
            within = ", ".join(schema.members(path))
            raise UsageError(f"{name}: {path} = {shown(value)}: expected a table (of {within})")


def read_value(key: Key, path: str, value: Any, name: str) -> Any:
    """A value as the kind of its key reads it; ``name`` is what says it."""
    if key.path == schema.UNTIL:
        _check_dated(value, name)
    try:
        return key.kind.read(value)
    except ValueError as error:
        near = _nearest(value, key.kind.near)
        hint = f"; did you mean: {near}?" if near else ""
        raise UsageError(f"{name}: {path} = {shown(value)}: expected {key.kind.expects}{hint}") from error


def _nearest(value: Any, words: Collection[str]) -> str:
    """The word that a text, or the first wrong one of a list, is nearly."""
    texts = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
    wrong = [text[:SHOWN].lower() for text in texts if text not in words]
    return next((near for text in wrong for near in get_close_matches(text, words, n=1)), "")


def _check_dated(value: Any, name: str) -> None:
    """Whether the tables of dated ignores hold what they need, and nothing else."""
    for item in value if isinstance(value, list) else ():
        for word in item if isinstance(item, Mapping) else ():
            if word not in kinds.DATED:
                hint = _did_you_mean(get_close_matches(word[:SHOWN].lower(), kinds.DATED, n=1), kinds.DATED)
                what = f"key {shown(f'{schema.UNTIL}.{word}')} is not known; {hint}"
                raise UsageError(f"{name}: {what} (its value: {shown(item[word])})")


def _unknown(path: str, value: Any) -> str:
    """What is said of a key that no policy has."""
    group, _, word = path.rpartition(".")
    siblings = schema.members(group)
    plain = word[:SHOWN].lower().replace("_", "-")
    near = [f"{group}.{name}" if group else name for name in get_close_matches(plain, siblings, n=1)]
    hint = _did_you_mean(near or _elsewhere(plain), siblings)
    return f"key {shown(path)} is not known; {hint} (its value: {shown(value)})"


def _elsewhere(word: str) -> list[str]:
    """A key whose last name is nearly that: it may stand in another table."""
    lasts = {key.path.rpartition(".")[2]: key.path for key in reversed(schema.KEYS)}
    lasts |= {path: path for path in lasts.values()}
    return [lasts[name] for name in get_close_matches(word, lasts, n=1, cutoff=0.8)]


def _did_you_mean(near: list[str], others: Collection[str]) -> str:
    return f"did you mean: {near[0]}?" if near else f"known here: {', '.join(others)}"


def shown(value: Any) -> str:
    """A value as an error shows it: short, and without the password of an address."""
    text = without_password(repr(value))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def check_ids(policy: Policy, ids: Collection[str] | None) -> None:
    """Whether there are findings of the names; None: any may be."""
    if ids is None:
        return
    for path in (schema.IGNORE, schema.SELECT, schema.UNTIL):
        entry = policy.get(path)
        for item in entry.value if entry else ():
            word = item.id if isinstance(item, Ignore) else item
            if not any(fnmatchcase(known, word) for known in ids):
                near = get_close_matches(word[:SHOWN], ids, n=1)
                hint = f"did you mean: {near[0]}?" if near else "see: torchdoctor explain"
                raise UsageError(f"{entry.source if entry else ''}: {path} = {shown(word)}: no such finding; {hint}")
