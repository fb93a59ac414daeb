"""Whether a short training learns: its loss is a number, falls, and goes the way it goes on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.benchmark import summarise
from torchdoctor.benchmark_figures import Loss
from torchdoctor.checks.answers import UNEXPLAINED, failed_probes, finding_of
from torchdoctor.checks.ours import again
from torchdoctor.checks.registry import check, seen
from torchdoctor.facts import Facts, need
from torchdoctor.findings import Finding, Remedy, Text
from torchdoctor.tables import Tables

_CAUSES = ("gpu-lost", "kernel-fault", "torch-arch-missing", "cublas-failure", "cudnn-failure")
# Tests that prove no computation: their failure explains no loss.
_NOT_NUMERIC = frozenset({
    "allocate", "checkpoint", "compile", "copy", "dataloader", "describe", "export", "memory", "onnx", "pinned",
    "repro", "runtime-compile", "triton",
})  # fmt: skip


@check("training-loss-wrong", severity="error", after=_CAUSES)
def training_loss_wrong(facts: Facts, tables: Tables) -> Iterator[Finding]:
    """A short training does not learn: its loss is no number, does not fall, or is not the CPU's."""
    for loss in summarise(need(facts.trial.bench)).losses:
        fault = _fault(loss)
        if fault:
            yield _finding(facts, loss, fault, _explained_by(facts, tables, loss))


def _fault(loss: Loss) -> str:
    """What is wrong; a mark that could not be given (None) proves nothing."""
    if not loss.finite:
        return "is no number any more"
    if loss.agrees is False:
        return "is not the CPU's" if loss.device != "cpu" else "is another one when the training is repeated"
    return "does not fall" if loss.fell is False else ""


def _explained_by(facts: Facts, tables: Tables, loss: Loss) -> str | None:
    """A failed computation on that device, or on the CPU that it is compared with, where no cause has a finding."""
    failed = {(probe.id, probe.device): finding_of(probe, tables) for probe in failed_probes(facts)}
    if not set(_CAUSES).isdisjoint(failed.values()):
        return None
    numeric = any(
        finding == UNEXPLAINED
        and device in {loss.device, "cpu"}
        and id not in _NOT_NUMERIC
        and not id.startswith("bench")
        for (id, device), finding in failed.items()  # noqa: A001 - an id is an id
    )
    return UNEXPLAINED if numeric else None


def _finding(facts: Facts, loss: Loss, fault: str, explained_by: str | None) -> Finding:
    return Finding(
        summary=Text("the loss of a short training on {device} {fault}", device=loss.device, fault=fault),
        why=Text(
            "The same net, weights, images and order of images are trained everywhere; "
            "rounding alone does not move the loss so far, so something computes wrongly there."
        ),
        evidence=(
            seen(facts, "trial.bench", f"loss on {loss.device}: {_course(loss.first, loss.last)}", "benchmark"),
            seen(facts, "trial.bench", f"reference: {_course(loss.cpu_first, loss.cpu_last)}", "benchmark"),
        ),
        remedies=(
            Remedy(
                Text("See which computation is wrong, and whether it is so every time"),
                commands=(again(facts, f"smoke --level long --device {loss.device} -v"),),
            ),
        ),
        confidence="likely",
        explained_by=explained_by,
    )


def _course(first: float | None, last: float | None) -> str:
    return " to ".join("no number" if loss is None else f"{loss:.4g}" for loss in (first, last))
