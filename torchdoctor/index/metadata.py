"""What a wheel asks for, from the METADATA file that an index offers beside it (PEP 658)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from email.parser import HeaderParser
from typing import NamedTuple

from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
from packaging.requirements import InvalidRequirement, Requirement

from torchdoctor.index.client import MEBIBYTE, Client, IndexReadError, NoPageError
from torchdoctor.index.pages import IndexFile

_PIN = re.compile(r"(==|~=|>=|<)(\d{1,4}(?:\.\d{1,9}){0,3})")
_EXCLUDED = re.compile(r"!=\s*(\d\.\d{1,2}(?:\.\d{1,3})?)(?![.*\d])")
_SYSTEMS = {"linux": ("Linux", "linux", "posix"), "windows": ("Windows", "win32", "nt"), "macos": ("Darwin", "darwin", "posix")}  # fmt: skip  # noqa: E501


class Requires(NamedTuple):
    """One requirement that holds on the wheel's platform: the project and its plain version clauses."""

    project: str
    clauses: tuple[tuple[str, str], ...]

    def clause(self, operator: str) -> str:
        """The version of the clause with this operator, or nothing."""
        return next((version for found, version in self.clauses if found == operator), "")


class Metadata(NamedTuple):
    """What METADATA says and a table wants to know."""

    requires: tuple[Requires, ...]
    pythons_excluded: tuple[str, ...]

    def find(self, project: str) -> Requires | None:
        """The requirement of a project."""
        return next((item for item in self.requires if item.project == project), None)

    def beginning(self, prefix: str) -> Requires | None:
        """The first requirement whose project begins so."""
        return next((item for item in self.requires if item.project.startswith(prefix)), None)


def read_metadata(client: Client, file: IndexFile, os: str, machine: str) -> Metadata | None:
    """Return what the wheel asks for on a platform, or None when the index offers no metadata for it."""
    if file.metadata is None:
        return None
    try:
        body = client.get(f"{file.url}.metadata", limit=MEBIBYTE).body
    except NoPageError:
        return None
    if file.metadata and hashlib.sha256(body).hexdigest() != file.metadata.lower():
        raise IndexReadError(f"{file.name}.metadata: not the file whose hash the page names")
    headers = HeaderParser().parsestr(body.decode("utf-8", "replace"))
    lines = headers.get_all("Requires-Dist") or []
    excluded = _EXCLUDED.findall(headers.get("Requires-Python") or "")
    return Metadata(tuple(_that_hold(map(str, lines), os, machine)), tuple(excluded))


def _that_hold(lines: Iterable[str], os: str, machine: str) -> Iterable[Requires]:
    system, platform, name = _SYSTEMS[os]
    is_windows = os == "windows"
    host = {
        "platform_system": system,
        "sys_platform": platform,
        "os_name": name,
        "platform_machine": {"x86_64": "AMD64", "arm64": "ARM64"}[machine] if is_windows else machine,
        "extra": "",
    }
    for line in lines:
        try:
            requirement = Requirement(line)
            holds = requirement.marker is None or requirement.marker.evaluate(host)
        except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            continue
        if holds:
            clauses = (match for clause in requirement.specifier if (match := _PIN.fullmatch(str(clause))))
            project = re.sub(r"[-_.]+", "-", requirement.name).lower()
            yield Requires(project, tuple((match[1], match[2]) for match in clauses))
