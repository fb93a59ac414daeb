"""Helpers of the reader tests: pasted texts to facts, and facts to the few that a row of a table names."""

from __future__ import annotations

from conftest import DATA

from torchdoctor.facts import Facts, Unknown
from torchdoctor.readers.assemble import assemble
from torchdoctor.readers.derive import derive
from torchdoctor.readers.pasted import read_pasted
from torchdoctor.readers.texts import clean, load_text
from torchdoctor.recording import PastedText, Recording
from torchdoctor.tables import Tables

UNKNOWN = "?"


def stored(name: str) -> str:
    """A sample of tests/data as text."""
    return load_text(DATA / name).text


def facts_from(*texts: str, tables: Tables) -> Facts:
    """What the given texts say, with what follows from the tables."""
    pasted = tuple(PastedText(f"file{number}", clean(text)) for number, text in enumerate(texts, 1))
    return derive(assemble(read_pasted(Recording(texts=pasted), tables)), tables)


def fact(facts: Facts, path: str) -> str:
    """A fact by its dotted path as text: ``?`` unknown, ``None`` absent; ``gpus[0].name`` works too."""
    value: object = facts
    for step in path.split("."):
        name, _, index = step.partition("[")
        value = getattr(value, name)
        if index:
            assert isinstance(value, tuple)
            value = value[int(index.rstrip("]"))]
    return UNKNOWN if isinstance(value, Unknown) else str(value)


def seen(facts: Facts, expected: dict[str, str]) -> dict[str, str]:
    """The facts that a row of expectations names, for comparing with it."""
    return {path: fact(facts, path) for path in expected}
