"""Which single change would make it run: another build, another driver, another GPU. Each was tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from torchdoctor.checks.drivers import is_jetson
from torchdoctor.facts import Driver, Facts, Unknown, value_or
from torchdoctor.findings import Finding, Text
from torchdoctor.predict.targets import Target
from torchdoctor.predict.verdict import Judged, codes, judge, with_driver
from torchdoctor.prescribe.drivers import first_number
from torchdoctor.prescribe.prescribe import prescribe
from torchdoctor.prescribe.remedy_commands import with_written_commands
from torchdoctor.prescribe.writing import Writing
from torchdoctor.tables import Tables
from torchdoctor.values import Build, DriverVersion

_CODE = frozenset({"torch-arch-missing"})
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

    def runs(self, target: Target, driver: DriverVersion) -> bool:
        """Whether it runs on the target with this driver."""
        other = with_driver(target, driver)
        if other.key not in self._known:
            self._known[other.key] = judge(self.image, other, self.tables).runs
        return self._known[other.key]


def changes(judged: Judged, target: Target, writing: Writing, trials: Trials) -> tuple[Change, ...]:
    """Every single change that is known to help, the one that is made in the image first."""
    tables = trials.tables
    if judged.verdict == "unknown" and judged.missing == _DRIVER:
        return tuple(_another_driver(judged, target, trials))
    if judged.verdict != "will-not-run":
        return ()
    found = (
        *_another_build(judged, writing, tables),
        *_another_driver(judged, target, trials),
        *_another_gpu(judged, tables),
    )
    return found or tuple(_of_finding(judged, writing)) or tuple(_first_of_several(judged, writing, tables))


def _another_build(judged: Judged, writing: Writing, tables: Tables) -> Iterator[Change]:
    """The build that the solver chooses for the target, where nothing but the build is in the way."""
    if not judged.roots or not all(any(remedy.installs for remedy in item.remedies) for item in judged.roots):
        return
    told = prescribe(judged.facts, judged.findings, writing, tables)
    if told.install and told.install.needed:
        name = f"torch {told.install.torch or ''} {told.install.build or ''}".strip()
        yield Change(Text("install {name}", name=name), told.install.typed)


def _another_driver(judged: Judged, target: Target, trials: Trials) -> Iterator[Change]:
    """The oldest driver with which it runs, and the last branch that does."""
    build, host = value_or(judged.facts.torch.build, None), target.host
    gpus = value_or(judged.facts.gpus, None)
    is_for_others = gpus is not None and not any(gpu.vendor == "nvidia" for gpu in gpus)
    if build is None or build.cuda is None or is_for_others or is_jetson(judged.facts, trials.tables):
        return
    candidates = _drivers(build, host.driver_line, trials.tables)
    first = next((driver for driver in candidates if trials.runs(target, driver)), None)
    if first is None:
        return
    last = next(driver for driver in reversed(candidates) if trials.runs(target, driver))
    is_last = last == candidates[-1]
    if isinstance(host.driver, Unknown):
        yield Change(
            _from(
                first,
                last,
                "it runs with driver {first} or newer"
                if is_last
                else "it runs with driver {first} up to branch {last}",
            )
        )
    elif not is_last:
        yield Change(_from(first, last, "use a driver from {first} up to branch {last}"))
    elif host.driver is None or first > host.driver:
        verb = (
            "install an NVIDIA driver, {first} or newer"
            if host.driver is None
            else "update the driver to {first} or newer"
        )
        yield Change(_from(first, last, verb))
    else:
        yield Change(_from(first, last, "use a driver of {first} or newer"))


def _from(first: DriverVersion, last: DriverVersion, words: str) -> Text:
    return Text(words, first=first, last=last.branch)


def _drivers(build: Build, line: str, tables: Tables) -> list[DriverVersion]:
    """The drivers to try, oldest first: the floor, and the beginning of each branch above it."""
    floor = tables.cuda_drivers.floor(build.cuda, line) if build.cuda else None
    if floor is None:
        return []
    numbers = {first_number(branch, line) for branch in tables.driver_branches.rows}
    return sorted({floor, *(number for number in numbers if number > floor)}, key=lambda number: number.parts)


def _another_gpu(judged: Judged, tables: Tables) -> Iterator[Change]:
    """The GPUs that the build has code for, where nothing but the code is missing."""
    known = codes(judged.facts, tables) if {item.id for item in judged.roots} == _CODE else ()
    if known:
        names = ", ".join(code.sm for code in known)
        yield Change(Text("run it on a GPU that this build has code for: {names}", names=names))


def _of_finding(judged: Judged, writing: Writing) -> Iterator[Change]:
    """What the finding itself says, where a single one is in the way."""
    if len(judged.roots) != 1:
        return
    told: Sequence[Finding] = with_written_commands(judged.roots, judged.facts, writing.shell)
    for finding in told:
        for remedy in finding.remedies:
            if not remedy.installs:
                yield Change(remedy.text, tuple(map(str, remedy.commands)))


def _first_of_several(judged: Judged, writing: Writing, tables: Tables) -> Iterator[Change]:
    """What comes first where no single change does: what no build can do without."""
    change = prescribe(judged.facts, judged.findings, writing, tables).change
    if change:
        yield Change(Text("no single change does; first: {change}", change=change))
