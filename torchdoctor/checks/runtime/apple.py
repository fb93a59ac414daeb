"""Apple GPUs: whether this macOS lets this torch use them, by the table and never by torch's message."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.host.python import wheel_machine
from torchdoctor.checks.installed import torch_release
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, NotKnownError, known, need, value_or
from torchdoctor.findings import Finding, Remedy, Row, Text
from torchdoctor.tables import Tables
from torchdoctor.tables.mps_floors import MpsFloor
from torchdoctor.values import Version

_NO_DEVICE = "no-device"


@check("mps-unavailable", severity="error", after=("python-wrong-arch", "os-unsupported"))
def mps_unavailable(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """The Apple GPU cannot be used."""
    if need(facts.os.name) != "macos" or wheel_machine(facts) != "arm64" or need(facts.torch.build).backend != "mps":
        return
    if value_or(facts.torch.cuda_available, False) or value_or(facts.trial.init, "") == "passed":
        return
    macos, floor = _version(need(facts.os.version)), tables.mps_floors.of(torch_release(facts))
    if floor is not None and not macos.reaches(floor.macos_min):
        yield _too_old(facts, macos, floor, tables)
        return
    if value_or(facts.trial.init, "") == _NO_DEVICE:
        yield _no_device(facts)


def _too_old(facts: Facts, macos: Version, floor: MpsFloor, tables: Tables) -> Finding:
    older = _last(facts, macos, tables)
    command = f"python -m pip install torch=={older}"
    return Finding(
        summary=Text(
            "torch {torch} needs macOS {floor} for the Apple GPU, this is {macos}",
            torch=facts.torch.version,
            floor=floor.macos_min,
            macos=macos,
        ),
        why=_why(floor),
        evidence=(seen(facts, "os.version", macos), seen(facts, "torch.version", facts.torch.version)),
        remedies=(
            Remedy(Text("Update macOS to {floor} or newer", floor=floor.macos_min), risk="changes-system"),
            *((Remedy(Text("Or take the last torch that uses the Apple GPU here"), (command,)),) if older else ()),
        ),
        severity=None if value_or(facts.trial.init, "") == _NO_DEVICE or facts.request.require_gpu else "warning",
        confidence="certain" if floor.confidence == "read" else "likely",
        row=Row("mps_floors", floor.key, floor.source),
    )


def _last(facts: Facts, macos: Version, tables: Tables) -> Version | None:
    """The newest torch whose Apple GPU support runs on this macOS and that has a wheel for this Python."""
    row, tag = tables.mps_floors.newest_on(macos), value_or(facts.python.tag, None)
    wheel = tables.torch_builds.find(row.torch_max, need(facts.torch.build), "macos", "arm64") if row else None
    return wheel.torch if wheel and tag in wheel.pythons else None


def _why(floor: MpsFloor) -> Text:
    if floor.message_names is None or floor.message_names >= floor.macos_min:
        return Text("The wheel installs on an older macOS and computes on the processor there.")
    return Text(
        "The wheel installs on an older macOS and computes on the processor there. Its own message asks for {told}, "
        "which is not enough.",
        told=floor.message_names,
    )


def _no_device(facts: Facts) -> Finding:
    """This macOS is new enough and Metal gives this process no device."""
    sandbox, virtual = known(facts.place.sandbox), value_or(facts.place.virtual_machine, None)
    evidence = seen(facts, "place.sandbox", sandbox) if sandbox else seen(facts, "trial.init", facts.trial.init)
    return Finding(
        summary=Text("macOS gives this process no Apple GPU"),
        why=Text(
            "macOS and torch are new enough, and Metal lists no device: a sandbox, a service without a session or a "
            "virtual machine keeps it back. torch is not at fault."
        ),
        evidence=(evidence,),
        remedies=(Remedy(Text("Run the same Python in Terminal, outside of whatever started it")),),
        confidence="likely" if sandbox or virtual else "possible",
    )


def _version(text: str) -> Version:
    try:
        return Version.parse(text)
    except ValueError:
        raise NotKnownError("number of this macOS") from None
