"""What a check says: findings made of constant templates and named values, never of printed text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from torchdoctor.records import record

Severity = Literal["error", "warning", "info"]
Confidence = Literal["certain", "likely", "possible"]
Fixer = Literal["user", "admin", "provider"]
Risk = Literal["safe", "changes-system"]

UNEXPLAINED = ""  # of a finding that stands for itself whatever else is found; None leaves that to the checks' order
_OTHERWISE = "Or "  # as the words of a second remedy begin
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "info")


class Text:
    """A constant template and its named values; filled only when rendered, so that it can be translated."""

    __slots__ = ("_values", "template")

    def __init__(self, template: str, /, **values: object) -> None:
        self.template = template
        self._values = values

    @property
    def values(self) -> Mapping[str, str]:
        """The named values as text."""
        return {name: str(value) for name, value in self._values.items()}

    def __str__(self) -> str:
        return self.template.format_map(self._values)

    def __repr__(self) -> str:
        return f"Text({self.template!r}, {self.values!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and (self.template, self.values) == (other.template, other.values)

    def __hash__(self) -> int:
        return hash((self.template, tuple(sorted(self.values.items()))))


def standing_alone(text: Text) -> Text:
    """A remedy's words where the remedy before it is not told: nothing is left to say "or" to."""
    words = text.template.removeprefix(_OTHERWISE)
    return text if words == text.template else Text(f"{words[:1].upper()}{words[1:]}", **text.values)


def sentence(words: str) -> str:
    """The words of a table's cell as a sentence; a name of a program or a library keeps its letters."""
    first = words.partition(" ")[0].rstrip(".,:;")
    is_name = any(letter in "._/(=" or letter.isupper() or letter.isdigit() for letter in first)
    return (words if is_name else f"{words[:1].upper()}{words[1:]}") + ("" if words.endswith(".") else ".")


@record(frozen=True, slots=True)
class Evidence:
    """One fact a finding rests on: its dotted path, the value seen, and where it was read."""

    fact: str
    value: str
    source: str


@record(frozen=True, slots=True)
class Env:
    """A command about variables of the environment, each with its value; ``prescribe/remedy_commands.py`` writes it.

    ``${NAME}`` in a value stands for another variable; ``*`` at an end of a name that is shown, for any text.
    """

    verb: Literal["set", "unset", "show"]
    variables: tuple[tuple[str, str], ...]


Command = str | Env  # a line as it stands, or what every shell says in a way of its own


def setting(**variables: str) -> Env:
    """Give variables their values."""
    return Env("set", tuple(variables.items()))


def unsetting(*names: str) -> Env:
    """Take variables away."""
    return Env("unset", tuple((name, "") for name in names))


def showing(*names: str) -> Env:
    """Print variables."""
    return Env("show", tuple((name, "") for name in names))


MAKE_SURE = Text("To make sure")  # says nothing without its commands


@record(frozen=True, slots=True)
class Remedy:
    """What to do. ``commands`` are data; ``installs`` asks for the prescribed install command instead."""

    text: Text
    commands: tuple[Command, ...] = ()
    risk: Risk = "safe"
    installs: bool = False


@record(frozen=True, slots=True)
class Row:
    """The table row a finding rests on."""

    table: str
    key: str
    source: str


@record(frozen=True, slots=True)
class Place:
    """Where in a file of the user a finding is; a line of 0 is the whole file."""

    file: str
    line: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else self.file


@record(frozen=True, slots=True, kw_only=True)
class Finding:
    """One fault or remark. A check leaves ``id`` empty and, unless it raises or lowers it, ``severity`` None."""

    summary: Text
    why: Text
    evidence: tuple[Evidence, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    fixable_by: Fixer = "user"
    confidence: Confidence = "certain"
    severity: Severity | None = None
    row: Row | None = None
    beware: Text | None = None  # wrong advice that circulates about it, put right
    id: str = ""
    explained_by: str | None = None
    place: Place | None = None


def of_many_hosts(
    id_: str, severity: Severity, summary: Text, why: Text, evidence: Iterable[Evidence], remedy: Remedy
) -> Finding:
    """A finding about hosts or ranks together, which whoever runs them can mend; nothing else explains it."""
    return Finding(
        id=id_, severity=severity, summary=summary, why=why, evidence=tuple(evidence), remedies=(remedy,),
        fixable_by="admin", explained_by=UNEXPLAINED,
    )  # fmt: skip


@record(frozen=True, slots=True)
class Ignored:
    """A finding that a policy sets aside: why, and the last day of that where it has one."""

    finding: Finding
    reason: str
    until: str = ""


@record(frozen=True, slots=True)
class Outcome:
    """What became of one check: passed, found, skipped or crashed, and why."""

    id: str
    outcome: Literal["passed", "found", "skipped", "crashed"]
    reason: str = ""
    missing: str = ""  # the fact that it was skipped for


Verdict = Literal["runs", "runs-with-warnings", "will-not-run", "unknown"]


@record(frozen=True, slots=True, kw_only=True)
class Prediction:
    """Whether what is examined will run on another host, why, and the single changes that would make it run."""

    name: str
    target: Mapping[str, str]  # what was said of the host, by the names of the host options
    verdict: Verdict
    why: Text
    findings: tuple[Finding, ...] = ()
    cause: str = ""  # the finding in what is examined itself that keeps it from running on any host
    change: Text | None = None
    commands: tuple[str, ...] = ()
    other_changes: tuple[Text, ...] = ()
    missing: str = ""  # what to add to the description, where the verdict is unknown
