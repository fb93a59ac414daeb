"""Rules about conda's channels, and about pip's torch beside conda's."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.findings import Finding, Remedy, Row, Severity, Text
from torchdoctor.lint.conda_lines import conda_lines
from torchdoctor.lint.knowledge import torch_versions
from torchdoctor.lint.model import Channel, Pin
from torchdoctor.lint.rules.registry import Judged, pinned, rule, written
from torchdoctor.tables.conda_channels import CondaChannel
from torchdoctor.tables.torch_builds import CHANNEL

_CHOOSES_CUDA = "pytorch-cuda"  # the channel's own package that named the CUDA of torch
_OVERRIDE = "CONDA_OVERRIDE_CUDA"


@rule("conda-channel-stale", severity="warning")
def conda_channel_stale(judged: Judged) -> Iterator[Finding]:
    """Torch is asked of the conda channel that gets no new releases."""
    group = judged.group
    if group.tool not in {"conda", "pixi"}:
        return
    torch = next(iter(group.find("torch")), None)
    chooser = next(iter(group.find(_CHOOSES_CUDA)), None)
    channel = _asked(judged, torch, chooser)
    row = judged.tables.conda_channels.find(channel.name) if channel else None
    wanted = chooser or torch
    if channel and row and wanted:
        ends = Text("its last torch is {last}; new ones are on conda-forge and PyPI", last=row.last_torch)
        yield Finding(
            summary=Text("torch is asked of the channel {channel}, which has ended", channel=row.name),
            why=ends if row.last_torch else Text("new releases are on conda-forge and PyPI alone"),
            evidence=(written(channel.name, str(channel.place)), pinned(wanted)),
            remedies=_remedies(torch, judged),
            severity=_severity(torch, row, judged),
            row=Row("conda_channels", row.key, row.source),
            place=channel.place,
        )


def _asked(judged: Judged, torch: Pin | None, chooser: Pin | None) -> Channel | None:
    """The ended channel that gives torch: the pin's own, else the first one listed that has torch at all."""
    known = judged.tables.conda_channels
    for pin in (chooser, torch):
        row = known.find(pin.channel) if pin and pin.channel else None
        if pin and row and row.ended:
            return Channel(pin.channel, pin.place)
    listed = [(item, row) for item in judged.group.channels if (row := known.find(item.name))]
    ended = [item for item, row in listed if row.ended]
    if chooser:
        return next(iter(ended), Channel(next(row.name for row in known.rows if row.ended), chooser.place))
    return ended[0] if torch and not torch.channel and listed and listed[0][1].ended else None


def _severity(torch: Pin | None, row: CondaChannel, judged: Judged) -> Severity:
    """An error where the version is newer than all that the channel ever got."""
    versions = torch_versions(torch, judged.tables) if torch and torch.spec else None
    return "error" if versions and row.last_torch and min(versions) > row.last_torch else "warning"


def _remedies(torch: Pin | None, judged: Judged) -> tuple[Remedy, ...]:
    lines = conda_lines(judged.group, torch, judged.tables)
    return (Remedy(Text("Take torch from {channel}, or by pip inside the environment", channel=CHANNEL), lines),)


@rule("mixed-package-sources", severity="warning")
def mixed_package_sources(judged: Judged) -> Iterator[Finding]:
    """Pip installs torch into an environment in which conda's own torch stands."""
    group = judged.group
    theirs = next((pin for pin in group.beside if pin.name == "torch"), None)
    for ours in group.find("torch") if theirs else ():
        if theirs:
            yield Finding(
                summary=Text("torch is installed by conda and by pip"),
                why=Text("both unpack into the same folder, and neither knows of the other's files"),
                evidence=(pinned(theirs), pinned(ours)),
                remedies=(Remedy(Text("Keep one of the two lines; packages that need torch go with that installer")),),
                place=ours.place,
            )


@rule("torch-cpu-build", severity="warning")
def gpu_package_without_cuda(judged: Judged) -> Iterator[Finding]:
    """A torch for the GPU is asked for, and the workspace does not say that its platform has CUDA."""
    if judged.group.tool != "pixi":
        return
    for pin in judged.group.find("torch"):
        if pin.asks_gpu and any(os == "linux" for os, _ in judged.group.platforms):
            yield Finding(
                summary=Text(
                    "{name} is asked for, and no platform declares CUDA", name=pin.text.split()[0].split("=")[0]
                ),
                why=Text(
                    "pixi solves for what the platform declares: without CUDA it takes builds for the CPU, or none"
                ),
                evidence=(pinned(pin),),
                remedies=(
                    Remedy(
                        Text("Say it in the workspace"),
                        (f'platforms = [{{ platform = "linux-64", cuda = "{_major(judged)}.0" }}]',),
                    ),
                ),
                place=pin.place,
            )


def _major(judged: Judged) -> int:
    """The newest CUDA major of conda-forge's builds."""
    return max(row.cuda.major for row in judged.tables.of_conda().torch_builds.rows if row.cuda)


@rule("build-step-no-gpu", severity="warning")
def conda_sees_no_gpu(judged: Judged) -> Iterator[Finding]:
    """Conda is asked for a GPU build in an image build, and nothing tells it of a driver."""
    group = judged.group
    if group.tool != "conda" or group.image is None:
        return
    text = " ".join(one.text for one in group.image.lines)
    for pin in group.find("torch"):
        if pin.asks_gpu and _OVERRIDE not in group.image.env and _OVERRIDE not in text:
            cuda = next((other.spec.strip("=.*") for other in group.find("cuda-version") if other.spec), "")
            yield Finding(
                summary=Text(
                    "{name} in an image build without {variable}", name=pin.text.split("=")[0], variable=_OVERRIDE
                ),
                why=Text("a build sees no driver: conda finds no package, or takes the one for the CPU in silence"),
                evidence=(pinned(pin),),
                remedies=(
                    Remedy(
                        Text("Tell conda what driver there will be"),
                        (f"ENV {_OVERRIDE}={cuda or f'{_major(judged)}.0'}",),
                    ),
                ),
                place=pin.place,
            )
