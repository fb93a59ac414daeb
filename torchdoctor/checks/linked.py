"""What the loader would give to torch: libraries that are nowhere, lack something, or stand in for its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from torchdoctor.checks.installed import torch_was_imported
from torchdoctor.checks.registry import seen
from torchdoctor.facts import Facts, value_or
from torchdoctor.findings import Evidence, Finding, Remedy, Severity, Text, unsetting
from torchdoctor.inside import Linked, Torn

FACT = "inside.linked"
VARIABLE = "LD_LIBRARY_PATH"
CONDAS = "conda's "
_DRIVER = ("libcuda.", "libnvidia-ml.", "nvcuda.", "nvml.")
_CUDNN = "libcudnn"


def linked(facts: Facts) -> tuple[Linked, ...]:
    """Every library that was looked for; none where nobody looked."""
    return value_or(facts.inside.linked, None) or ()


def imports(facts: Facts) -> bool:
    """Whether it is known that the import of torch works: what was foretold of it counts for nothing then."""
    return facts.trial.imported is True or torch_was_imported(facts)


def refused(facts: Facts) -> tuple[Linked, ...]:
    """The libraries that stop the import of torch, in the order in which the loader meets them.

    One of the driver is no fault of torch's files, and has checks of its own.
    """
    faults = (item for item in linked(facts) if item.for_torch and not item.opened)
    return tuple(item for item in faults if _is_fault(item) and not item.soname.lower().startswith(_DRIVER))


def all_are_found(facts: Facts) -> bool:
    """Whether somebody looked, and torch gets all that it needs."""
    return bool(linked(facts)) and not refused(facts)


def _is_fault(item: Linked) -> bool:
    return item.path is None or bool(item.damage or item.lacks)


def foretold(item: Linked) -> Text:
    """How the import of torch will end at one library."""
    if item.path is None:
        return Text("the import of torch will fail: {name} is nowhere", name=item.soname)
    if item.damage:
        return Text("the import of torch will fail: {name} is damaged", name=item.soname)
    lacks = item.lacks[0]
    return Text("the import of torch will fail: {name} lacks {version}", name=item.soname, version=lacks)


def evidence(facts: Facts, item: Linked) -> tuple[Evidence, ...]:
    """Where it is, how it is found there, and who needs it."""
    where = item.path or "nowhere"
    how = f" ({item.how})" if item.how else ""
    words = [f"{item.soname}: {where}{how}"]
    words += [f"damaged: {item.damage}"] if item.damage else []
    words += [f"lacks {' '.join(item.lacks[:5])}"] if item.lacks else []
    users = ", ".join([user for user in item.needed_by if user][:3])
    return (
        seen(facts, FACT, "; ".join(words)),
        *((seen(facts, FACT, f"{item.soname} is needed by {users}"),) if users else ()),
    )


def displaced(facts: Facts) -> Iterator[Finding]:
    """The libraries of the wheel whose place one from elsewhere takes, by the rule that lets it win."""
    for how in (VARIABLE, "cache", "default"):
        others = [item for item in linked(facts) if item.how == how and _is_another(item)]
        if others:
            yield _displaced_finding(facts, how, others)


def _is_another(item: Linked) -> bool:
    """Whether it is a library of NVIDIA's from elsewhere, and not known to be the same version."""
    if item.own is None or item.path is None or not item.own.startswith("nvidia/") or item.path.startswith("nvidia/"):
        return False
    return item.version is None or item.own_version is None or not _same(item.version, item.own_version)


def _same(one: str, other: str) -> bool:
    """Whether two versions agree as far as both are told: 9.1.0 of a file name, 9.1.0.70 of a package."""
    left, right = one.split("."), other.split(".")
    size = min(len(left), len(right))
    return left[:size] == right[:size]


def _displaced_finding(facts: Facts, how: str, others: Sequence[Linked]) -> Finding:
    first = next((item for item in others if item.lacks), others[0])
    name, own = _named(first), first.own_version or "its own"
    place = VARIABLE if how == VARIABLE else "the system"
    return Finding(
        summary=Text("{place} puts {name} before torch's own {own}", place=place, name=name, own=own),
        why=Text(
            "The loader takes {path} in place of {own}. Parts of one library in two versions refuse to work together, "
            "or miss symbols. The wheel needs nothing from elsewhere.",
            path=first.path,
            own=first.own,
        ),
        evidence=tuple(line for item in others[:5] for line in evidence(facts, item)),
        remedies=_remedies(how, first),
        severity=_severity(facts, others),
        confidence="certain" if first.version and first.own_version else "likely",
    )


def _named(item: Linked) -> str:
    return f"{item.soname} {item.version}" if item.version else item.soname


def _severity(facts: Facts, others: Sequence[Linked]) -> Severity | None:
    """Parts of cuDNN in two versions, or a symbol that is missing, fail; anything else may work."""
    fails = any(item.lacks or (item.soname.startswith(_CUDNN) and item.version) for item in others)
    return None if fails and not imports(facts) else "warning"


def _remedies(how: str, item: Linked) -> tuple[Remedy, ...]:
    if how == VARIABLE:
        return (Remedy(Text("Start the program without it"), commands=(unsetting(VARIABLE),)),)
    return (Remedy(Text("Remove {path}, or bring it to the version that torch asks for", path=item.path)),)


def shared_with_conda(facts: Facts) -> Iterator[Torn]:
    """The distributions whose files a package of conda lists as well."""
    for torn in value_or(facts.inside.torn, None) or ():
        if any(other.startswith(CONDAS) for other in torn.others):
            yield torn
