"""The install object of a report: the choice, the commands, the reasons, and what was rejected."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from torchdoctor.facts import Unknown
from torchdoctor.findings import Text
from torchdoctor.prescribe.choose import Choice, Upgrade, choose, rejected, upgrade_of
from torchdoctor.prescribe.companions import stays_beside
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import COMPANIONS, GpuTarget
from torchdoctor.prescribe.installed import installed_is, is_in_doubt, is_unasked, version_of
from torchdoctor.prescribe.plan import ENVIRONMENT, PROJECT, Plan, companions_of, lacks_release, plan_of
from torchdoctor.prescribe.settled import said
from torchdoctor.prescribe.writers import into, uninstall_line, write
from torchdoctor.prescribe.writing import ASK_AGAIN, CONDAS, KEEPERS, Writing, Written
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import Version


class Rejected(NamedTuple):
    """A build passed over, and the hard condition it fails."""

    torch: str
    build: str
    reason: Text


class Wheel(NamedTuple):
    """One wheel that the commands want, by the version that its index lists it under (empty: the default index)."""

    name: str
    version: str
    label: str
    index_url: str


class Install(NamedTuple):
    """What to install. ``needed`` is false where what is installed is right already.

    ``file`` names a file of the project that ``lines`` belong into before the commands are run; empty where the
    commands do it all. ``torch`` is None where the index decides: a Jetson's own, a nightly.
    """

    needed: bool
    torch: str | None
    build: str | None
    index_url: str
    commands: tuple[str, ...]
    why: tuple[Text, ...]
    tool: str = ""
    file: str = ""
    lines: tuple[str, ...] = ()
    wheels: tuple[Wheel, ...] = ()
    warnings: tuple[Text, ...] = ()  # those of the reasons that must be heard unasked
    rejected: tuple[Rejected, ...] = ()
    upgrade: Upgrade | None = None

    @property
    def typed(self) -> tuple[str, ...]:
        """What a report says to type: where lines belong into a file, the command that prints them."""
        return (ASK_AGAIN,) if self.file else self.commands


def install_of(choice: Choice, wish: Wish, writing: Writing, tables: Tables, *, explain: bool = True) -> Install:
    """Return the install object for a choice that runs; ``explain`` adds rejections and what a newer driver brings."""
    row = choice.row
    writing = writing.for_system(str(choice.host.os))
    plan = plan_of(choice, wish, tables, writing.index_base, into(writing.tool))
    warnings = (
        *_hiding(choice),
        *_lacking(choice),
        *said(plan, writing),
        *_past_the_mirror(plan, writing),
        *_of_project(choice, wish, writing, tables),
        *_without(choice, wish, writing, tables),
        *_in_doubt(choice, wish, tables),
        *_beside_jetsons(choice, plan, wish),
        *_held_back(choice, plan, wish, tables),
        *_for_older_pythons(choice, wish, tables),
        *_newer_than_the_tables(choice, tables),
        *_bystanders(choice, plan, wish, writing, tables),
        *_without_code(choice, plan, tables),
        *_in_places(plan, writing),
    )
    written = _written(plan, writing)
    return Install(
        needed=bool(plan.changes),
        torch=_torch_of(choice, plan),
        build=row.build.name if row else None,
        index_url=plan.index_url,
        commands=written.commands,
        tool=writing.tool,
        file=written.file,
        lines=written.lines,
        wheels=tuple(_wheels(plan)),
        why=(*choice.why, *warnings, *_how(choice, plan, writing), *(_left_out(choice, tables) if explain else ())),
        warnings=(*choice.assumed, *warnings),
        rejected=_passed_over(choice, wish, tables) if explain else (),
        upgrade=upgrade_of(choice, wish, tables) if explain else None,
    )


def _gpus(choice: Choice) -> tuple[GpuTarget, ...]:
    """The GPUs that are served, where they are known."""
    gpus = choice.host.gpus
    return () if isinstance(gpus, Unknown) else tuple(gpu for gpu in gpus if gpu not in choice.hidden)


def _left_out(choice: Choice, tables: Tables) -> Iterator[Text]:
    """Libraries of the build that serve some of its GPUs only."""
    if choice.row is not None and not choice.row.is_of_conda and choice.backend == "cuda":
        from torchdoctor.prescribe.code_notes import notes_on_libraries

        yield from notes_on_libraries(choice.row, _gpus(choice), tables)


def _without_code(choice: Choice, plan: Plan, tables: Tables) -> Iterator[Text]:
    """Companions to be installed that have no code for a GPU: nothing else would say so before they fail."""
    pins = [pin for pin in (*plan.pins, *plan.elsewhere) if pin in plan.changes and pin.name != "torch"]
    if pins and choice.row is not None and not choice.row.is_of_conda and choice.backend == "cuda":
        from torchdoctor.prescribe.code_notes import notes_on_companions

        releases = [(pin.name, f"{pin.version}{f'+{pin.label}' if pin.label else ''}") for pin in pins]
        yield from notes_on_companions(choice.row, releases, _gpus(choice), tables)


def _written(plan: Plan, writing: Writing) -> Written:
    """The lines; where they depend on what was not read, the command that reads it and prints them."""
    if not writing.python:
        return Written((ASK_AGAIN,))
    return Written((writing.asking_again,)) if writing.is_unread and writing.tool in KEEPERS else write(plan, writing)


def _in_places(plan: Plan, writing: Writing) -> Iterator[Text]:
    """What to say of tables of the project that name a package alike."""
    if writing.tool == "uv-project" and writing.kept:
        from torchdoctor.prescribe.writers.standing import said_of_places  # of no use to any other tool

        yield from said_of_places(plan, writing)


def _torch_of(choice: Choice, plan: Plan) -> str | None:
    """The version where it is known: of an index that decides for itself, only what is there and stays."""
    if choice.row and not plan.pre:
        return str(choice.row.torch)
    return None if plan.changes or not isinstance(choice.host.torch, str) else choice.host.torch


def _wheels(plan: Plan) -> Iterator[Wheel]:
    """None for packages of conda, and where no version is known."""
    if plan.row is None or plan.pre or plan.row.is_of_conda:
        return
    for pins, url in ((plan.pins, plan.index_url), (plan.elsewhere, "")):
        yield from (Wheel(pin.name, pin.version, pin.label, url) for pin in pins)


def _how(choice: Choice, plan: Plan, writing: Writing) -> Iterator[Text]:
    if writing.reason:
        yield writing.reason
    if writing.apart and writing.tool in CONDAS:
        from torchdoctor.prescribe.writers.conda import about_new  # of no use to any other tool

        yield about_new(plan, writing)
    moved = [name for name in plan.remove if name in choice.host.libraries]
    if moved:
        yield Text("{count} libraries of the torch there go first: the new ones take their folders", count=len(moved))
    if plan.orphans:
        yield Text(
            "{count} libraries that came with a CUDA torch go last: nothing else needs them", count=len(plan.orphans)
        )


_NONE = "no {name} exists for torch {torch} {build}"
_NONE_BESIDE = "no {name} exists for torch {torch} {build}: {name} {installed} will not load beside it"
_NONE_TO_REMOVE = _NONE_BESIDE + ", and this removes it: {command}"


def _without(choice: Choice, wish: Wish, writing: Writing, tables: Tables) -> Iterator[Text]:
    """Companions that have no release for this build: pip says a word at most, and leaves them broken."""
    row = choice.row
    for name in companions_of(choice, wish) if row else ():
        if row and lacks_release(choice, name, tables):
            installed, command = version_of(choice, name), uninstall_line((name,), writing)
            text = _NONE if not installed else _NONE_TO_REMOVE if command else _NONE_BESIDE
            yield Text(text, name=name, torch=row.torch, build=row.build, installed=installed, command=command)


_SHOWN = 3


def _lacking(choice: Choice) -> Iterator[Text]:
    """Why a torch that is right is to be installed again: what it loads is not there, and the line brings it."""
    names = choice.host.lacking
    if names and installed_is(choice):
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        text = "torch {version} is installed, and these are missing or of another major version: {names}"
        yield Text(text, version=choice.host.torch, names=", ".join(names[:_SHOWN]) + more)


def _in_doubt(choice: Choice, wish: Wish, tables: Tables) -> Iterator[Text]:
    """Companions that stay though they may not go with the build: nobody asked for them, and the bound is inferred."""
    row = choice.row
    if row is None or row.is_of_conda:
        return
    for name, installed in choice.host.installed:
        release = tables.companions.find(name, installed)
        is_left = is_unasked(name, wish) and release is not None and is_in_doubt(name, installed, tables)
        if is_left and not (stays_beside(row, name, installed, tables) or lacks_release(choice, name, tables)):
            text = "{name} {installed} stays: that it does not go with torch {torch} is only inferred (--with moves it)"
            yield Text(text, name=name, installed=installed, torch=row.torch)


def _beside_jetsons(choice: Choice, plan: Plan, wish: Wish) -> Iterator[Text]:
    """Companions that were asked for or are there, where it is not known that a maker's own index holds them."""
    names = companions_of(choice, wish) if choice.jetson or choice.amd else ()
    for name in names if choice.jetson else (name for name in names if name not in COMPANIONS):
        installed = version_of(choice, name)
        if installed and plan.changes:
            text = "{name} {installed} stays and may not load beside another torch: whether {index} has it is not known"
            yield Text(text, name=name, installed=installed, index=plan.index_url)
        elif not installed:
            yield Text("{name} is left out: whether {index} has it is not known", name=name, index=plan.index_url)


def _held_back(choice: Choice, plan: Plan, wish: Wish, tables: Tables) -> Iterator[Text]:
    """That a newer torch would run here, were it not for companions that are installed: not where torch stays."""
    bound, row = choice.host.bound, choice.row
    if row is None or not bound or installed_is(choice) or not any(pin.name == "torch" for pin in plan.changes):
        return
    free = choose(replace(choice.host, bound=()), wish, tables)
    if free.row and free.backend == choice.backend and free.row.torch > row.torch:
        names = ", ".join(name for name in bound if lacks_release(free, name, tables))
        text = "torch {newer} {build} would run here, but no {names} exists for it, which is {state}"
        if names:
            is_named = set(names.split(", ")) <= set(choice.host.named or ())
            state = "named by the project" if is_named else "installed"
            yield Text(text, newer=free.row.torch, build=free.row.build, names=names, state=state)


def _for_older_pythons(choice: Choice, wish: Wish, tables: Tables) -> Iterator[Text]:
    """That a newer torch would run here, were it not for older Pythons that the project allows."""
    row, oldest = choice.row, choice.host.oldest
    if row is None or oldest is None or row.is_of_conda or row.torch == tables.torch_builds.newest():
        return
    free = choose(replace(choice.host, oldest=None), wish, tables).row
    if free and free.torch > row.torch and free.pythons[0] > oldest:
        text = (
            "torch {newer} {build} would run here, but the project allows Python {oldest}:"
            ' requires-python = ">={needs}" makes way for it'
        )
        yield Text(text, newer=free.torch, build=free.build, oldest=oldest, needs=free.pythons[0])


def _newer_than_the_tables(choice: Choice, tables: Tables) -> Iterator[Text]:
    """That what is installed may be as good, and was not judged."""
    if choice.row and choice.row.is_of_conda:
        return
    installed, newest = choice.host.torch, tables.torch_builds.newest()
    version = installed.partition("+")[0] if isinstance(installed, str) else ""
    with suppress(ValueError):
        if Version.parse(version) > newest:
            text = "the installed torch {version} is newer than the tables, which end at {newest}: it was not judged"
            yield Text(text, version=version, newest=newest)


def _bystanders(choice: Choice, plan: Plan, wish: Wish, writing: Writing, tables: Tables) -> Iterator[Text]:
    """What to say of packages beside torch; those of a project its own tool holds against each other."""
    if not (choice.host.requirers or companions_of(choice, wish)):
        return
    from torchdoctor.prescribe.bystanders import broken_by, made_for_older  # most environments hold nothing of the kind

    yield from made_for_older(choice, plan, wish, tables)
    if into(writing.tool) == ENVIRONMENT:
        yield from broken_by(choice, plan, tables)


def _of_project(choice: Choice, wish: Wish, writing: Writing, tables: Tables) -> Iterator[Text]:
    """What to say of the torch that the project's own file asks for."""
    if writing.kept:
        from torchdoctor.prescribe.own_range import said_of_range  # of no use without such a file

        yield from said_of_range(choice, wish, writing, tables)


def _past_the_mirror(plan: Plan, writing: Writing) -> Iterator[Text]:
    """That packages come from elsewhere than the index that was set: it mirrors the official one alone."""
    if not writing.index_base:
        return
    if not plan.index_url.startswith(writing.index_base):
        text = "the index base is a mirror of the PyTorch index, and these packages come from {other}: it is not used"
        yield Text(text, other=plan.index_url or "conda-forge")
    named = plan.elsewhere if into(writing.tool) == PROJECT else [pin for pin in plan.elsewhere if pin in plan.changes]
    if named:
        names = ", ".join(pin.name for pin in named)
        yield Text("from the installer's default index and not from the index base: {names}", names=names)


def _hiding(choice: Choice) -> tuple[Text, ...]:
    if not choice.hidden:
        return ()
    hidden = ", ".join(str(gpu) for gpu in choice.hidden)
    keep = ",".join(map(str, choice.visible))
    if choice.backend == "rocm":
        return (Text("no build serves all GPUs; hide {gpus}: HIP_VISIBLE_DEVICES={keep}", gpus=hidden, keep=keep),)
    return (
        Text(
            "no build serves all GPUs; hide {gpus}: CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES={keep}",
            gpus=hidden,
            keep=keep,
        ),
    )


def _passed_over(choice: Choice, wish: Wish, tables: Tables) -> tuple[Rejected, ...]:
    """The rejected builds that would have stood above the chosen one; all of them when a Jetson's index was chosen."""
    row = choice.row
    if row is None:
        return ()
    above = [
        (other, obstacle) for other, obstacle in rejected(choice, wish, tables)
        if other.torch > row.torch or (other.torch == row.torch and (other.cuda or row.cuda) != row.cuda)
    ]  # fmt: skip
    return tuple(Rejected(str(other.torch), other.build.name, obstacle.text) for other, obstacle in above)
