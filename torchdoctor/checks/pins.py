"""The CUDA packages that the installed torch demands: its own pins, and those behind the extras of cuda-toolkit."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.markers import holds
from torchdoctor.facts import Facts, Package, value_or
from torchdoctor.patterns import lazily
from torchdoctor.records import record
from torchdoctor.values import Version

_TOOLKIT = "cuda-toolkit"
_LINE = lazily(r"([A-Za-z][\w.-]*)\s*(?:\[([\w, -]*)\])?\s*\(?\s*([^;()]*?)\s*\)?\s*(?:;(.*))?")
_CLAUSE = lazily(r"(==|>=|<|~=)\s*(\d+(?:\.\d+)*)(\.\*)?")
_BEGINNINGS = ("nvidia-", _TOOLKIT)


@record(frozen=True, slots=True)
class Demand:
    """One package that has to be there: from ``floor`` on and, where there is one, below ``limit``."""

    name: str
    floor: Version
    limit: Version | None
    exact: bool  # one version, perhaps with any further part
    words: str  # the versions as they are demanded: ==13.1.1.3.*
    source: str  # who demands it

    @property
    def wanted(self) -> str:
        """The version as a sentence names it."""
        return str(self.floor) if self.exact else self.words

    @property
    def requirement(self) -> str:
        """What an installer takes, quoted where a shell would read it as something else."""
        text = f"{self.name}{self.words}"
        return f'"{text}"' if set(text) & set("<>*~") else text

    def refuses(self, installed: Version) -> bool:
        """Whether a version is below the demand, or at its limit; a newer one than an exact demand serves as well."""
        return not installed.reaches(self.floor) or (self.limit is not None and installed.reaches(self.limit))


def demands(facts: Facts) -> Iterator[Demand]:
    """What torch's metadata demands on this host; a condition about anything unknown drops its line."""
    toolkit = facts.packages.find(_TOOLKIT)
    for line in value_or(facts.torch.requires, ()):
        match = _LINE.fullmatch(line.strip())
        if match is None or not match[1].lower().startswith(_BEGINNINGS) or not holds(match[4] or "", facts):
            continue
        demand = _demand(match[1], match[3], "torch")
        if demand:
            yield demand
        if match[1].lower() == _TOOLKIT and isinstance(toolkit, Package):
            extras = [extra.strip() for extra in (match[2] or "").split(",") if extra.strip()]
            yield from _behind(facts, toolkit, extras)


def _behind(facts: Facts, toolkit: Package, extras: list[str]) -> Iterator[Demand]:
    """What the installed cuda-toolkit demands for some of its extras, each package once."""
    told: set[str] = set()
    for line in value_or(toolkit.requires, None) or ():
        match = _LINE.fullmatch(line.strip())
        if match is None or match[1] in told or not any(holds(match[4] or "", facts, extra) for extra in extras):
            continue
        told.add(match[1])
        demand = _demand(match[1], match[3], f"{_TOOLKIT} {toolkit.version}")
        if demand:
            yield demand


def _demand(name: str, words: str, source: str) -> Demand | None:
    """A demand with a floor; None where there is none, or where it has another form."""
    clauses = [_CLAUSE.fullmatch(part.strip()) for part in words.split(",")]
    floors = [match for match in clauses if match and match[1] != "<"]
    if not all(clauses) or len(floors) != 1:
        return None
    limits = [Version.parse(match[2]) for match in clauses if match and match[1] == "<"]
    exact = floors[0][1] == "=="
    spec = ",".join(f"{match[1]}{match[2]}{match[3] or ''}" for match in (*floors, *clauses) if match)
    unique = ",".join(dict.fromkeys(spec.split(",")))
    return Demand(name.lower(), Version.parse(floors[0][2]), min(limits, default=None), exact, unique, source)
