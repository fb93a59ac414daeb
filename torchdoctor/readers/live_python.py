"""The examined interpreter, as it described itself."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.readers.answers import PYTHON, Answers
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording
from torchdoctor.values import PythonTag, Version, canonical_machine

WANTS = (PYTHON,)
CHOICE = "choice"  # which Python was asked, and why: noted by the asker
_SOURCE = "interpreter"
_SAME = ("bits", "implementation", "executable")


def read(recording: Recording) -> Iterator[Said]:
    """Version, ABI, environment, and why this one was chosen."""
    answers = Answers(recording)
    yield from _version(answers)
    for name in _SAME:
        if answers.python.get(name):
            yield Said(f"python.{name}", answers.python[name], _SOURCE)
    if answers.said("machine"):
        yield Said("python.machine", canonical_machine(answers.said("machine"), answers.os_name), _SOURCE)
    kind = environment_of(answers)
    yield Said("python.environment", kind, _SOURCE)
    yield Said(
        "python.externally_managed", kind == "system" and bool(answers.python.get("externally_managed")), _SOURCE
    )
    yield Said("python.has_pip", bool(answers.python.get("pip")), _SOURCE)
    length = answers.python.get("site_length")
    if isinstance(length, int) and length:
        yield Said("python.prefix_length", length, _SOURCE)
    yield from _choice(recording)


def _version(answers: Answers) -> Iterator[Said]:
    try:
        version = Version.parse(answers.said("version"))
    except ValueError:
        return
    yield Said("python.version", version, _SOURCE)
    yield Said(
        "python.tag", PythonTag(version.parts[0], version.parts[1], bool(answers.python.get("free_threaded"))), _SOURCE
    )


def environment_of(answers: Answers) -> str:
    """The kind of environment: venv, conda, conda-base or system."""
    own, base = answers.said("prefix"), answers.said("base_prefix")
    if own != base or answers.python.get("venv"):
        return "venv"
    if answers.python.get("conda"):
        return "conda-base" if answers.python.get("conda_base") else "conda"
    return "system"


def _choice(recording: Recording) -> Iterator[Said]:
    answer = recording.answers.get(CHOICE)
    choice = answer.value if answer and isinstance(answer.value, dict) else {}
    argv = choice.get("argv")
    if isinstance(argv, list) and argv:
        yield Said("python.command", "\n".join(map(str, argv)), CHOICE)  # one word a line: words may hold blanks
    if choice.get("why"):
        yield Said("python.chosen_because", str(choice["why"]), CHOICE)
    if choice:
        yield Said("python.other", choice.get("other"), CHOICE)
