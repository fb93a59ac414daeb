"""One row of a package list: ``torch==2.9.1``, ``torch  2.9.1``, ``pytorch  2.2.2  py3.10_cpu_0  pytorch``."""

from __future__ import annotations

import re

from torchdoctor.facts import Package, Unknown
from torchdoctor.patterns import lazily

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,80}[A-Za-z0-9])?"
_VERSION = r"v?\d[\w.!+]{0,60}"
_FREEZE = lazily(rf"({_NAME})(?:\[[\w,-]*\])?===?({_VERSION})(?:\s*(?:;|#|//|--).*)?$")
_EXPRESSION = lazily(r"torch\.(?:version|cuda|__)")  # a Python expression and its answer, not a package
_FILE = lazily(rf"({_NAME})\s+@\s+\S*?/(?:[\w.]+)-(\d[\w.!+%]{{0,60}})-\S*\.whl\S*$")
_TABLE = lazily(
    rf"({_NAME})\s+({_VERSION})(?:\s+(?:[/~\\]|[A-Za-z]:[\\/]).*|\s+(?:pip|uv|conda|poetry)|\s*(?://|#).*)?$"
)
_OLD_TABLE = lazily(rf"({_NAME}) \(({_VERSION})(?:, (?:[/~\\]|[A-Za-z]:[\\/]).{{0,200}})?\)$")  # pip before version 10
_CONDA = lazily(
    rf"({_NAME})\s+({_VERSION})(?:\s+([\w.+*<>-]{{1,80}})(?:\s+\[[\w,-]{{1,60}}\])?(?:\s+(\S{{1,120}}))?)?$"
)
_CONDA_BUILD = lazily(r"\d+|pypi_\d+|(?:\w[\w.+]*_)?h?[0-9a-f]*_?\d+|mkl|cuda|cpu|openblas|pyh\w+|py\d\w*|<pip>")


def normalised(name: str) -> str:
    """A distribution's name as the packaging rules compare it: lower case, single hyphens."""
    return re.sub(r"[-_.]+", "-", name).lower()


def freeze_row(text: str) -> Package | None:
    """Read ``name==version`` or ``name @ file:///...whl``."""
    match = _FREEZE.match(text) or _FILE.match(text)
    return Package(name=normalised(match[1]), version=match[2].replace("%2B", "+")) if match else None


def table_row(text: str) -> Package | None:
    """Read a row of ``pip list``: a name, a version, and perhaps a folder or an installer."""
    match = _TABLE.match(text) or _OLD_TABLE.match(text)
    if match and _EXPRESSION.match(text):
        return None
    return Package(name=normalised(match[1]), version=match[2].removeprefix("v")) if match else None


def conda_row(text: str) -> Package | None:
    """Read a row of ``conda list``: name, version, build string, channel; pip's own rows are marked ``pypi``."""
    match = _CONDA.match(text)
    if not match:
        return None
    name, version, build, channel = match.groups()
    by_pip = (build or "").startswith("pypi_") or build == "<pip>" or channel == "pypi"
    return Package(
        name=normalised(name),
        version=version,
        owner="pip" if by_pip else "conda",
        build=Unknown("build string of the package") if by_pip or not build else build,
    )


def is_conda_build(text: str) -> bool:
    """Whether a third column looks like conda's build string."""
    return bool(_CONDA_BUILD.fullmatch(text))
