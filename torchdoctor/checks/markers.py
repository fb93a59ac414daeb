"""Whether the condition behind a requirement holds on the examined host; one about anything unknown does not."""

from __future__ import annotations

from collections.abc import Mapping

from torchdoctor.facts import Facts, value_or
from torchdoctor.patterns import lazily
from torchdoctor.values import Version

_TOKEN = lazily(r"\s*(\(|\)|and\b|or\b|[\w.]+|'[^']*'|\"[^\"]*\"|[<>=!~]=?=?)")
_SYSTEMS = {"linux": "linux", "windows": "win32", "macos": "darwin"}
_NAMES = {"linux": "linux", "windows": "windows", "macos": "darwin"}
_WINDOWS_MACHINES = {"x86_64": "amd64"}
_LONGEST = 2000


def holds(marker: str, facts: Facts, extra: str = "") -> bool:
    """Whether a marker (``platform_system == "Linux" and extra == 'x'``) is true; an empty one is."""
    if not marker.strip():
        return True
    tokens = _TOKEN.findall(marker[:_LONGEST])
    return _either(tokens, _values(facts, extra)) and not tokens


def _values(facts: Facts, extra: str) -> Mapping[str, str]:
    """What the variables of markers are on this host, in small letters; what is unknown is left out."""
    os_name, machine = value_or(facts.os.name, ""), value_or(facts.os.machine, "")
    tag = value_or(facts.python.tag, None)
    values = {
        "platform_system": _NAMES.get(os_name, ""),
        "sys_platform": _SYSTEMS.get(os_name, ""),
        "platform_machine": _WINDOWS_MACHINES.get(machine, machine) if os_name == "windows" else machine,
        "python_version": f"{tag.major}.{tag.minor}" if tag else "",
    }
    return {**{name: value.lower() for name, value in values.items() if value}, "extra": extra.lower()}


def _either(tokens: list[str], values: Mapping[str, str]) -> bool:
    """``a or b``; takes what it reads off the list."""
    found = _all(tokens, values)
    while tokens and tokens[0] == "or":
        tokens.pop(0)
        found = _all(tokens, values) or found
    return found


def _all(tokens: list[str], values: Mapping[str, str]) -> bool:
    found = _one(tokens, values)
    while tokens and tokens[0] == "and":
        tokens.pop(0)
        found = _one(tokens, values) and found
    return found


def _one(tokens: list[str], values: Mapping[str, str]) -> bool:
    if tokens and tokens[0] == "(":
        tokens.pop(0)
        found = _either(tokens, values)
        return bool(tokens) and tokens.pop(0) == ")" and found
    left, sign, right = ([tokens.pop(0) for _ in range(min(3, len(tokens)))] + ["", "", ""])[:3]
    ours, theirs = (_value(word, values) for word in (left, right))
    return ours is not None and theirs is not None and _compared(ours, sign, theirs)


def _value(word: str, values: Mapping[str, str]) -> str | None:
    return word[1:-1].lower() if word[:1] in {"'", '"'} else values.get(word)


def _compared(ours: str, sign: str, theirs: str) -> bool:
    """Versions by their numbers, anything else only for being equal."""
    if sign in {"==", "!="}:
        return (ours == theirs) == (sign == "==")
    try:
        left, right = Version.parse(ours), Version.parse(theirs)
    except ValueError:
        return False
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}.get(sign, False)
