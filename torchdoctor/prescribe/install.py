"""The install object of a report: the choice, the commands, the reasons, and what was rejected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchdoctor.findings import Text
from torchdoctor.prescribe import pip, uv_pip
from torchdoctor.prescribe.choose import Choice, Upgrade, rejected, upgrade_of
from torchdoctor.prescribe.companions import release_beside
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.plan import Plan, companions_of, installed_is, plan_of
from torchdoctor.prescribe.writing import ASK_AGAIN, Writing
from torchdoctor.tables import Tables

WRITERS = {"pip": pip.write, "uv": uv_pip.write}


class Rejected(NamedTuple):
    """A build passed over, and the hard condition it fails."""

    torch: str
    build: str
    reason: Text


class Install(NamedTuple):
    """What to install. ``needed`` is false where the installed build is right already."""

    needed: bool
    torch: str | None
    build: str | None
    index_url: str
    commands: tuple[str, ...]
    why: tuple[Text, ...]
    warnings: tuple[Text, ...] = ()  # those of the reasons that must be heard unasked
    rejected: tuple[Rejected, ...] = ()
    upgrade: Upgrade | None = None


def install_of(choice: Choice, wish: Wish, writing: Writing, tables: Tables, *, explain: bool = True) -> Install:
    """Return the install object for a choice that runs; ``explain`` adds rejections and what a newer driver brings."""
    plan = plan_of(choice, wish, tables, writing.index_base)
    row = choice.row
    warnings = (*_hiding(choice), *_without(choice, wish, tables))
    return Install(
        needed=not installed_is(choice),
        torch=str(row.torch) if row else None,
        build=row.build.name if row else None,
        index_url=plan.index_url,
        commands=_commands(plan, writing, str(choice.host.os)),
        why=(*choice.why, *warnings, *_how(writing)),
        warnings=(*choice.assumed, *warnings),
        rejected=_passed_over(choice, wish, tables) if explain else (),
        upgrade=upgrade_of(choice, wish, tables) if explain else None,
    )


def _commands(plan: Plan, writing: Writing, os_name: str) -> tuple[str, ...]:
    if not writing.python:
        return (ASK_AGAIN,)
    writing = writing.for_system(os_name)
    return WRITERS[writing.tool](plan, writing)


def _how(writing: Writing) -> tuple[Text, ...]:
    return (writing.reason,) if writing.reason else ()


def _without(choice: Choice, wish: Wish, tables: Tables) -> Iterator[Text]:
    """Companions that are installed and have no release for this build."""
    row = choice.row
    for name in companions_of(choice, wish) if row else ():
        if row and release_beside(row, name, tables, choice.host) is None:
            yield Text("no {name} exists for torch {torch} {build}", name=name, torch=row.torch, build=row.build)


def _hiding(choice: Choice) -> tuple[Text, ...]:
    if not choice.hidden:
        return ()
    hidden = ", ".join(str(gpu) for gpu in choice.hidden)
    keep = ",".join(map(str, choice.visible))
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
