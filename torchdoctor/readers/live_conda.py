"""Which names conda's environments have on a live host: of those only that one of ours could have, and no other."""

from __future__ import annotations

import re

from torchdoctor.readers.answers import Answers
from torchdoctor.recording import Recording, Want

_BEGINNING = "torch-"
# The list that conda and mamba keep of all that they make, and the folder of the examined base environment.
_LIST = Want("file", ("~/.conda/environments.txt",), keep=(_BEGINNING,))
_FOLDER = Want("glob", (f"@prefix/envs/{_BEGINNING}*",))
WANTS = (_LIST, _FOLDER)  # asked only where an environment may be made


def taken_names(recording: Recording) -> frozenset[str] | None:
    """The names that are in use, in small letters; None where nobody looked."""
    answers = Answers(recording)
    if not answers.looked(_LIST):
        return None
    paths = (*answers.text(_LIST).splitlines(), *answers.names(_FOLDER))
    return frozenset(re.split(r"[/\\]", path.strip())[-1].lower() for path in paths)
