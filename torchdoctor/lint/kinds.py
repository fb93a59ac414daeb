"""Which kind a file is, by its name, and the names that are looked for where none is given."""

from __future__ import annotations

import re
from pathlib import Path

_KINDS = (
    ("pylock", r"pylock(\.[\w.-]+)?\.toml"),
    ("lock", r"(uv|poetry|pdm)\.lock"),
    ("pixi", r"pixi\.toml"),
    ("pyproject", r"pyproject([.-][\w-]+)?\.toml"),
    ("conda", r"(environment|env|conda|conda[-_]env)([-_.][\w.-]+)?\.ya?ml|[\w-]+[-_.]environment\.ya?ml"),
    ("dockerfile", r"(docker|container)file([.-][\w.-]+)?|[\w.-]+\.(docker|container)file"),
    ("requirements", r"(.*[-_.])?(requirements?|constraints?)([-_.].*)?\.(txt|in|pip)|pip[-_]requirements?.*"),
)
# What a project's folder is looked through for.
_PATTERNS = (
    *("*requirements*.txt", "*requirements*.in", "constraints*.txt", "requirements/*.txt", "requirements/*.in"),
    "pyproject.toml",
    *("environment*.yml", "environment*.yaml", "pylock*.toml", "uv.lock", "poetry.lock", "pdm.lock", "pixi.toml"),
    *("Dockerfile*", "*.Dockerfile", "*.dockerfile", "Containerfile*", "docker/Dockerfile*"),
)
_MOST = 100
_FOLDER = "requirements"  # of files that are named by what they are for
LOCKS = {"lock", "pylock"}


def kind_of(path: Path) -> str:
    """The kind; empty for a name that says nothing."""
    name = path.name.lower()
    if path.parent.name.lower() == _FOLDER and path.suffix in {".txt", ".in"}:
        return "requirements"
    return next((kind for kind, pattern in _KINDS if len(name) < 250 and re.fullmatch(pattern, name)), "")  # noqa: PLR2004 - a name


def kind_of_text(text: str) -> str:
    """The kind of a file with another name, by how it begins; empty where that does not tell either."""
    head = [line.strip() for line in text[:20_000].split("\n") if line.strip() and not line.strip().startswith("#")]
    if any(re.match(r"FROM\s+\S+", line) for line in head[:20]):
        return "dockerfile"
    if any(re.match(r"(dependencies|channels)\s*:", line) for line in head):
        return "conda"
    if any(re.match(r"\[(project|tool\.[\w.-]+|build-system)\]", line) for line in head):
        return "pyproject"
    if any(re.match(r"\[(workspace|pypi-dependencies)\]", line) for line in head):
        return "pixi"
    requirement = re.compile(r"(-[a-z-]{1,30}\b.*|[A-Za-z0-9][\w.-]{0,80}(\[.{0,80}\])?\s*([=<>!~]{1,3}.{1,100})?)")
    return "requirements" if head and all(requirement.fullmatch(line[:300]) for line in head[:200]) else ""


def known_files(folder: Path) -> list[Path]:
    """The files of a folder that can be linted, by their names."""
    patterns = (*_PATTERNS, *(("*.txt", "*.in") if folder.name.lower() == _FOLDER else ()))
    found = {path: None for pattern in patterns for path in sorted(folder.glob(pattern)) if path.is_file()}
    return list(found)[:_MOST]
