"""environment.yml: conda's channels and packages, and what pip installs into the same environment."""

from __future__ import annotations

from torchdoctor.findings import Place
from torchdoctor.lint.model import Channel, Group, Pin, PythonWish
from torchdoctor.lint.readers import requirements
from torchdoctor.lint.readers.conda_words import pin_of, python_of
from torchdoctor.lint.readers.requirements import Load
from torchdoctor.lint.readers.yaml_lines import lists
from torchdoctor.lint.source import Source

_MOST = 5000  # packages
_LINUX = (("linux", "x86_64"),)


def read(source: Source, load: Load) -> list[Group]:
    """One group for conda's packages, and one for those of pip beside it."""
    found = lists(source.text)
    dependencies = found.get("dependencies", [])[:_MOST]
    channels = tuple(Channel(item.text, Place(source.name, item.line)) for item in found.get("channels", []))
    own = (pin_of(item.text, Place(source.name, item.line)) for item in dependencies if not item.under)
    pins = tuple(pin for pin in own if pin)
    python = next((wish for pin in pins if (wish := python_of(pin))), None)
    conda = Group("conda", "conda", Place(source.name), pins, python=python, channels=channels, platforms=_LINUX)
    lines = {item.line: item.text for item in dependencies if item.under == "pip"}
    if not lines:
        return [conda]
    return [conda, of_pip(source.name, lines, load, pins, python)]


def of_pip(name: str, lines: dict[int, str], load: Load, beside: tuple[Pin, ...], python: PythonWish | None) -> Group:
    """The list for pip, which is a requirements file inside the file; it sees conda's torch as installed."""
    text = "\n".join(lines.get(number, "") for number in range(1, max(lines) + 1))
    found = requirements.options_of(name, text, load)
    return Group(
        "conda",
        "pip",
        Place(name),
        found.pins,
        found.indexes,
        python=python,
        pre=found.pre,
        platforms=_LINUX,
        beside=beside,
    )
