"""Whose environment the .venv of the current folder is, by the mark in it."""

from __future__ import annotations

import pytest

from torchdoctor.readers.live_place import read
from torchdoctor.readers.live_python import WANTS as PYTHON
from torchdoctor.readers.live_venv import VENV_MARK
from torchdoctor.recording import Answer, Recording

SYSTEM = {"executable": "/usr/bin/python3.11", "version": "3.11.2"}


def kind(mark: Answer) -> object:
    recording = Recording({PYTHON[0].key: Answer(SYSTEM), VENV_MARK.key: mark})
    return {item.path: item.value for item in read(recording)}.get("place.venv", "nobody looked")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("home = /usr/bin\nversion = 3.11.2\n", "own"),
        ("home = /usr/bin\nversion = 3.11.9\n", "own"),
        ("home = /bin\nversion_info = 3.11.2.final.0\n", "own"),
        ("home=/usr/bin/\nversion_info=3.11.2", "own"),
        ("home = /usr/bin\nversion = 3.12.2\n", "other"),
        ("home = /usr/local/bin\nversion = 3.11.2\n", "other"),
        ("home = /usr/bin\n", "other"),
        ("version = 3.11.2\n", None),
        ("", None),
    ],
)
def test_the_mark_tells_who_made_it(text: str, expected: str | None) -> None:
    assert kind(Answer(text)) == expected


def test_without_a_mark_it_is_no_environment() -> None:
    assert kind(Answer(absent=True)) is None
    assert kind(Answer(error="no answer in 5 s")) == "nobody looked"
