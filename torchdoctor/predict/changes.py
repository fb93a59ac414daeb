"""Which single change would make it run: another build, another driver, another GPU. Each was tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchdoctor.checks.drivers import FULL_DRIVER, is_jetson
from torchdoctor.facts import Driver, Facts, Unknown, Variables, value_or
from torchdoctor.findings import Finding, Text, standing_alone, unsetting
from torchdoctor.intent import Requirement
from torchdoctor.policy.kinds import drivers
from torchdoctor.predict.another_build import another_build
from torchdoctor.predict.compat import ID as COMPAT
from torchdoctor.predict.targets import Target
from torchdoctor.predict.verdict import Judged, codes, judge, with_driver
from torchdoctor.prescribe.drivers import first_for, first_number
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.prescribe import prescribe
from torchdoctor.prescribe.remedy_commands import with_written_commands, written
from torchdoctor.prescribe.writing import Writing
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import Build, DriverVersion

_CODE = frozenset({"torch-arch-missing"})
_NO_GPU = frozenset({"no-gpu"})
_DRIVER_KEY = "require.driver"
_LOADER_PATH = "LD_LIBRARY_PATH"
_DRIVER = getattr(Driver().version, "what", "")


class Change(NamedTuple):
    """One change, and the commands that make it; none where it is not made where the image is."""

    text: Text
    commands: tuple[str, ...] = ()


class Trials:
    """What is examined, tried with other drivers; what was tried for one target is known for those like it."""

    def __init__(self, image: Facts, tables: Tables) -> None:
        self.image, self.tables = image, tables
        self._known: dict[object, bool] = {}
        self._without: dict[str, Trials] = {}

    def runs(self, target: Target, driver: DriverVersion) -> bool:
        """Whether it runs on the target with this driver."""
        other = with_driver(target, driver)
        if other.key not in self._known:
            self._known[other.key] = judge(self.image, other, self.tables).runs
        return self._known[other.key]

    def without(self, variable: str) -> Trials:
        """The same image, which does not set this variable."""
        env = self.image.env
        values = {name: value for name, value in env.values.items() if name != variable}
        bare = replace(self.image, env=Variables(values, env.complete))
        return self._without.setdefault(variable, Trials(bare, self.tables))


def changes(judged: Judged, target: Target, writing: Writing, trials: Trials) -> tuple[Change, ...]:
    """Every single change that is known to help, the one that is made in the image first."""
    tables = trials.tables
    if {item.id for item in judged.roots} == _NO_GPU:
        return tuple(_a_gpu(judged, tables))
    if judged.verdict == "unknown" and judged.missing in {_DRIVER, FULL_DRIVER}:
        return tuple(_another_driver(judged, target, trials))
    if judged.verdict != "will-not-run":
        return ()
    found = (
        *_another_build(judged, target, writing, trials),
        *_without_compat(judged, target, writing, trials),
        *_another_driver(judged, target, trials),
        *_another_gpu(judged, tables),
    )
    return (
        found
        or tuple(_driver_without_compat(judged, target, writing, trials))
        or tuple(_of_finding(judged, writing))
        or tuple(_first_of_several(judged, writing, tables))
    )


def _another_build(judged: Judged, target: Target, writing: Writing, trials: Trials) -> Iterator[Change]:
    """The build that the solver chooses for the target, where nothing but the build is in the way."""
    if install := another_build(trials.image, judged, target, writing, trials.tables):
        name = f"torch {install.torch or ''} {install.build or ''}".strip()
        yield Change(Text("install {name}", name=name), install.typed)


def _without_compat(judged: Judged, target: Target, writing: Writing, trials: Trials) -> Iterator[Change]:
    """The driver's own libcuda, where the image's compat one is all that is in the way."""
    without = trials.without(_LOADER_PATH)
    if {item.id for item in judged.roots} == {COMPAT} and judge(without.image, target, trials.tables).runs:
        yield from _of_finding(judged, writing)


def _driver_without_compat(judged: Judged, target: Target, writing: Writing, trials: Trials) -> Iterator[Change]:
    """Another driver and its own libcuda, where the GPU takes no compat one and the driver is too old without it."""
    if COMPAT not in {item.id for item in judged.roots}:
        return
    for driver in _another_driver(judged, target, trials.without(_LOADER_PATH)):
        words = "no single change does: {driver}, and take the compat folder out of {variable}"
        lines = written((unsetting(_LOADER_PATH),), value_or(judged.facts.os.name, ""), writing.shell)
        yield Change(Text(words, driver=driver.text, variable=_LOADER_PATH), lines)


def _another_driver(judged: Judged, target: Target, trials: Trials) -> Iterator[Change]:
    """The oldest driver with which it runs, and the last branch that does."""
    build, host = value_or(judged.facts.torch.build, None), target.host
    gpus = value_or(judged.facts.gpus, None)
    is_for_others = gpus is not None and not any(gpu.vendor == "nvidia" for gpu in gpus)
    if build is None or build.cuda is None or is_for_others or is_jetson(judged.facts, trials.tables):
        return
    candidates = _drivers(build, host, judged.facts.request.requires, trials.tables)
    there = host.driver if isinstance(host.driver, DriverVersion) else None
    span = _span([(driver, trials.runs(target, driver)) for driver in candidates], there)
    if span is None:
        return
    first, last, end = span
    if there and first <= there and (end is None or there < end) and judged.verdict != "unknown":
        return  # it is one of these, and what is in the way is no matter of its number
    words = _told(host, first, is_open=judged.verdict == "unknown") + _range(first, last, end)
    yield Change(Text(words, first=first, last=last.branch, end=end))


def _span(
    tried: Sequence[tuple[DriverVersion, bool]], there: DriverVersion | None
) -> tuple[DriverVersion, DriverVersion, DriverVersion | None] | None:
    """The nearest drivers in a row that run it, newer ones before older: the first, the last, and the one after."""
    spans: list[tuple[DriverVersion, DriverVersion, DriverVersion | None]] = []
    for (driver, runs), after in zip(tried, [*(driver for driver, _ in tried[1:]), None], strict=True):
        if runs:
            is_next = spans and spans[-1][2] == driver
            spans = [*spans[:-1], (spans[-1][0], driver, after)] if is_next else [*spans, (driver, driver, after)]
    newer = (span for span in spans if there is None or span[2] is None or span[2] > there)
    return next(newer, spans[-1] if spans else None)


def _told(host: Host, first: DriverVersion, *, is_open: bool) -> str:
    """What to do about the driver: nothing is to be done yet where it was not told."""
    if is_open or isinstance(host.driver, Unknown):
        return "it runs with driver "
    if host.driver is None:
        return "install an NVIDIA driver, "
    return "update the driver to " if first > host.driver else "use driver "


def _range(first: DriverVersion, last: DriverVersion, end: DriverVersion | None) -> str:
    """From the first up to the last that runs; ``end`` is the first after these that does not."""
    if end is None:
        return "{first} or newer"
    if end.branch == last.branch:
        return "{first}" if end == _after(first) else "{first} or newer, and older than {end}"
    if first.branch == last.branch:
        return "branch {last}" if first.parts == (last.branch,) else "branch {last}, from {first} on"
    return "{first} up to branch {last}"


def _after(driver: DriverVersion) -> DriverVersion:
    """The number after this one, as far as it is written."""
    return DriverVersion((*driver.parts[:-1], driver.parts[-1] + 1))


def _of_policy(requires: Sequence[Requirement]) -> Iterator[DriverVersion]:
    """The releases at which the answer of a policy may turn; the branches are tried in any case."""
    for item in requires:
        if item.key == _DRIVER_KEY:
            bounds = (bound for _, bound in drivers(item.wanted).bounds if isinstance(bound, DriverVersion))
            for bound in bounds:
                yield from (bound, _after(bound)) if len(bound.parts) > 1 else (bound,)


def _drivers(build: Build, host: Host, requires: Sequence[Requirement], tables: Tables) -> list[DriverVersion]:
    """The drivers to try, oldest first: the floor, the beginning of each branch above it, the GPUs' and policy's."""
    line, gpus = host.driver_line, () if isinstance(host.gpus, Unknown) else host.gpus
    floor = tables.cuda_drivers.floor(build.cuda, line) if build.cuda else None
    if floor is None:
        return []
    rows = tables.driver_branches.rows
    numbers = {number for branch in rows for number in (first_number(branch, line), first_for(gpus, branch, line))}
    numbers.update(_of_policy(requires))
    return sorted({floor, *(number for number in numbers if number > floor)}, key=lambda number: number.parts)


def _another_gpu(judged: Judged, tables: Tables) -> Iterator[Change]:
    """The GPUs that the build has code for, where nothing but the code is missing."""
    known = codes(judged.facts, tables) if {item.id for item in judged.roots} == _CODE else ()
    if known:
        names = ", ".join(code.sm for code in known)
        yield Change(Text("run it on a GPU that this build has code for: {names}", names=names))


def _a_gpu(judged: Judged, tables: Tables) -> Iterator[Change]:
    """A host that has one: where the target was said to have none, there is nothing to look for."""
    names = ", ".join(code.sm for code in codes(judged.facts, tables))
    text = (
        "run it on a host with a GPU that this build has code for: {names}" if names else "run it on a host with a GPU"
    )
    yield Change(Text(text, names=names))


def _of_finding(judged: Judged, writing: Writing) -> Iterator[Change]:
    """What the finding itself says, where a single one is in the way."""
    if len(judged.roots) != 1:
        return
    told: Sequence[Finding] = with_written_commands(judged.roots, judged.facts, writing)
    for finding in told:
        for remedy in finding.remedies:
            if not remedy.installs:
                yield Change(standing_alone(remedy.text), tuple(map(str, remedy.commands)))


def _first_of_several(judged: Judged, writing: Writing, tables: Tables) -> Iterator[Change]:
    """What comes first where no single change does: what no build can do without."""
    change = prescribe(judged.facts, judged.findings, writing, tables).change
    told = {"gpu=NAME": judged.facts.gpus, "driver=VERSION": judged.facts.driver.version}
    unsaid = [key for key, fact in told.items() if isinstance(fact, Unknown)]
    if change and unsaid:
        yield Change(Text("say {keys} as well: which build runs there turns on it", keys=" and ".join(unsaid)))
    elif change:
        yield Change(Text("no single change does; first: {change}", change=change))
