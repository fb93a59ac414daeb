"""The verdict for one target: the checks run over its facts, and what the image demands besides."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from torchdoctor.checks.drivers import FULL_DRIVER
from torchdoctor.checks.registry import CHECKS
from torchdoctor.checks.requirements import undecided
from torchdoctor.facts import (
    Driver,
    Facts,
    Gpu,
    Memory,
    NotKnownError,
    NotThereError,
    Os,
    Place,
    Unknown,
    is_known,
    value_or,
)
from torchdoctor.findings import Finding, Outcome, Text, Verdict
from torchdoctor.policy.setting_aside import set_aside
from torchdoctor.predict.compat import breaks, own_libraries, unserved_branch
from torchdoctor.predict.demands import other_platform, unmet_requirement
from torchdoctor.predict.placed import placed
from torchdoctor.predict.targets import UNSETTLED, Target
from torchdoctor.records import replace
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables
from torchdoctor.values import Build, DriverVersion, GpuArch

# Checks beside those that decide by themselves without whose answer nothing is sure.
_NEEDED = frozenset({"torch-missing", "jetson-wheel", "rocm-gfx-unsupported"})
_AVX = "cpu-instructions-missing"
_FOR_WHEELS = "python-unsupported"
# What to add to a target's description, by the name of the fact that is missing.
_KEYS = {
    Facts().gpus: "gpu=NAME",
    Driver().version: "driver=VERSION",
    Gpu().compute_capability: "gpu=sm_XX",
    Gpu().gfx: "gpu=gfxNNNN",
    Place().jetpack: "jetpack=VERSION|none",
    Os().machine: "machine=x86_64|aarch64",
    Gpu().name: "gpu=NAME",
    Gpu().memory: "memory=GB",
    Memory().shm: "shm=GB",
    Os().libc: "libc=glibc-X.YY|musl",
    UNSETTLED: "cpu=x86-64-vN",
}
_HOW_TO_SAY = {
    **{fact.what: key for fact, key in _KEYS.items() if isinstance(fact, Unknown)},
    FULL_DRIVER: "driver=VERSION",
}


class Judged(NamedTuple):
    """A target's facts, what was found in them, and the verdict that follows."""

    facts: Facts
    findings: tuple[Finding, ...]
    verdict: Verdict
    missing: str = ""  # the fact without which nothing is sure
    aside: tuple[Finding, ...] = ()  # the errors that a policy set aside
    is_elsewhere: bool = False  # the target is of another system or machine: nothing else was looked at

    @property
    def roots(self) -> tuple[Finding, ...]:
        """The errors that nothing else explains."""
        return tuple(item for item in self.findings if item.severity == "error" and item.explained_by is None)

    @property
    def runs(self) -> bool:
        """Whether it runs, with warnings or without."""
        return self.verdict in {"runs", "runs-with-warnings"}

    @property
    def how_to_say(self) -> str:
        """What to add to the description for the fact that is missing; empty where a description cannot tell it."""
        return _HOW_TO_SAY.get(self.missing, "")


def judge(image: Facts, target: Target, tables: Tables) -> Judged:
    """Put the image on the target and look."""
    facts = placed(image, target, tables)
    platform = other_platform(image, target.host)
    if platform:  # then nothing else can be told of it
        return Judged(facts, (platform,), "will-not-run", is_elsewhere=True)
    found, outcomes = run_checks(facts, tables)
    demand = unmet_requirement(facts, image, target.host, tables)  # beside the floor of torch's own build
    before = (
        breaks(facts, image, target.host, tables),
        unserved_branch(facts, image, target.host, tables),
        own_libraries(facts, image, target.host),
    )
    ids = {item.id for item in found}
    first = ((demand,) if demand else ()) + tuple(item for item in before if item and item.id not in ids)
    findings, ignored = set_aside((*first, *found), facts.request)
    missing = _missing(facts, outcomes) or (UNSETTLED.what if _turns_on_avx(facts, tables) else "")
    aside = tuple(item.finding for item in ignored if item.finding.severity == "error")
    return Judged(facts, findings, _verdict(findings, missing), missing, aside=aside)


def _verdict(findings: Sequence[Finding], missing: str) -> Verdict:
    severities = {item.severity for item in findings}
    if "error" in severities:
        return "will-not-run"
    if missing:
        return "unknown"
    return "runs-with-warnings" if "warning" in severities else "runs"


def _missing(facts: Facts, outcomes: Sequence[Outcome]) -> str:
    """The fact for which a check that decides was skipped: one of the target before one of the image."""
    torch = facts.torch
    if torch.installed is False:
        return ""
    if isinstance(torch.installed, Unknown) and not (is_known(torch.version) or is_known(torch.build)):
        return torch.installed.what
    if facts.request.requires and (items := undecided(facts)):
        return items[0].missing
    needed = [item for item in outcomes if _is_needed(item.id, facts)]
    crashed = next((item for item in needed if item.outcome == "crashed"), None)
    order = [*_HOW_TO_SAY]
    skipped = sorted(
        (item.missing for item in needed if item.missing),
        key=lambda what: order.index(what) if what in order else len(order),
    )
    return crashed.reason if crashed else next(iter(skipped), "")


def _turns_on_avx(facts: Facts, tables: Tables) -> bool:
    """Whether the sets that were named of the processor leave it open, and without AVX something would be found."""
    if facts.cpu.flags != UNSETTLED:
        return False
    without = replace(facts, cpu=replace(facts.cpu, flags=frozenset()))
    with suppress(NotKnownError, NotThereError):
        found = tuple(replace(item, id=_AVX) for item in CHECKS[_AVX].rule(without, tables))
        return bool(set_aside(found, facts.request)[0])
    return False


def _is_needed(id: str, facts: Facts) -> bool:  # noqa: A002 - an id is an id
    """Whether nothing is sure without its answer; where torch is installed, there was a wheel for the Python."""
    if id == _FOR_WHEELS:
        return not (facts.torch.installed is True or value_or(facts.torch.version, ""))
    return id in _NEEDED or CHECKS[id].decides


def why(judged: Judged, target: Target, tables: Tables) -> Text:
    """The verdict's reason in one line."""
    if judged.roots:
        return judged.roots[0].summary
    if judged.missing:
        return Text("not known: {missing}", missing=judged.missing)
    warning = next((item for item in judged.findings if item.severity == "warning" and item.explained_by is None), None)
    if warning:
        return warning.summary
    if judged.aside:
        aside = "; ".join(dict.fromkeys(f"{item.summary} ({item.id})" for item in judged.aside))
        return Text("nothing but what was set aside speaks against it: {aside}", aside=aside)
    return _runs_because(judged.facts, target, tables)


def _runs_because(facts: Facts, target: Target, tables: Tables) -> Text:
    build = value_or(facts.torch.build, None)
    gpus = value_or(facts.gpus, ())
    mine = [gpu for gpu in gpus if gpu.vendor == "nvidia"]
    names = _names(gpus)
    if build is None or build.backend == "cpu" or not gpus:
        return Text("torch computes on the processor there")
    if build.cuda is None or not mine or not isinstance(target.host.driver, DriverVersion):
        return Text("torch {build} serves {gpus}", build=build, gpus=names)
    others = [gpu for gpu in gpus if gpu.vendor != "nvidia"]
    reason = _on_nvidia(build, _names(mine), target.host.driver, target.host.driver_line, tables)
    return Text("{reason}; {others} stays unused", reason=reason, others=_names(others)) if others else reason


def _names(gpus: Sequence[Gpu]) -> str:
    return ", ".join(dict.fromkeys(value_or(gpu.name, "a GPU") for gpu in gpus))


def _on_nvidia(build: Build, names: str, driver: DriverVersion, line: str, tables: Tables) -> Text:
    floor = tables.cuda_drivers.floor(build.cuda, line) if build.cuda else None
    branch = tables.driver_branches.of(driver, line)
    if floor is None or driver < floor:
        text = "the image's cuda-compat lends driver {driver} the CUDA of {build}, which serves {gpus}"
    elif branch and build.cuda and branch.cuda < build.cuda:
        text = "{build} has code for {gpus}, and driver {driver} runs it by minor-version compatibility (floor {floor})"
    else:
        text = "{build} has code for {gpus}, and driver {driver} knows its CUDA"
    return Text(text, build=build, gpus=names, driver=driver, floor=floor)


def with_driver(target: Target, driver: DriverVersion) -> Target:
    """The same host with another driver."""
    return target._replace(host=replace(target.host, driver=driver))


def codes(facts: Facts, tables: Tables) -> tuple[GpuArch, ...]:
    """The architectures that the installed build has native code for, by torch's own list or by the tables."""
    from torchdoctor.checks.installed import official_rows

    own = value_or(facts.torch.arch_list, ())
    if own:
        return tuple(GpuArch.parse_each(name for name in own if name.startswith("sm_")))
    try:
        rows = official_rows(facts, tables)
    except (NotKnownError, NotThereError):
        return ()
    return rows[0].code if len(rows) == 1 else ()
