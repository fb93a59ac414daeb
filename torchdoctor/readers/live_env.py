"""Environment variables of a live host, by an allow-list: nothing else of the environment is ever asked for."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.facts import Variables
from torchdoctor.readers.answers import Answers
from torchdoctor.readers.env_names import NAMES
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want

ENV = Want("env", NAMES, name="env")
WANTS = (ENV,)


def read(recording: Recording) -> Iterator[Said]:
    """The variables that are set; a name of the list that is missing is not set."""
    answers = Answers(recording)
    if answers.looked(ENV):
        yield Said("env", Variables(dict(answers.texts(ENV)), complete=True), "environment")
