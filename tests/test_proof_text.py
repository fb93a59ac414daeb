"""What the report says of the smoke tests, in one line and one by one."""

from __future__ import annotations

import pytest

from torchdoctor.facts import Facts, Probe, Torch, Trial, Unknown
from torchdoctor.render.look import FILE
from torchdoctor.render.proof_text import proof_lines
from torchdoctor.report import Report

IMPORT = Probe(id="import", device="cpu", outcome="failed", error="ModuleNotFoundError: No module named 'torch'")
FFT = Probe(id="fft", device="cpu", library="libtorch_cpu", outcome="passed", seconds=0.5)
CHAIN = "RuntimeError: Caught one in a worker.\nOriginal Traceback (most recent call last):\nValueError: no\n"
SVD = Probe(id="svd", device="cpu", outcome="failed", error=CHAIN)
PEER = Probe(id="peer", device="cpu", outcome="skipped", reason="a CPU has no peers\nnor friends")


def lines(
    probes: tuple[Probe, ...], *, imported: bool | Unknown, installed: bool = True, verbosity: int = 0
) -> list[str]:
    facts = Facts(torch=Torch(installed=installed), trial=Trial(imported=imported, probes=probes))
    report = Report(facts=facts, findings=(), outcomes=(), tables_date="")
    return [line.text for line in proof_lines(report, verbosity, FILE)]


@pytest.mark.parametrize(
    ("probes", "imported", "installed", "told"),
    [
        ((FFT, SVD, PEER), True, True, ["smoke tests: 1 passed, 1 failed, 1 skipped"]),
        ((IMPORT,), False, False, ["smoke tests: not run, torch is missing"]),
        ((IMPORT,), False, True, ["smoke tests: not run, torch cannot be imported"]),
        ((), False, True, ["smoke tests: not run, torch cannot be imported"]),  # a hang or a crash
        ((), Unknown("result"), True, []),  # interrupted before it could be known
    ],
)
def test_one_line_counts_them_or_says_why_there_are_none(
    probes: tuple[Probe, ...], imported: bool | Unknown, installed: bool, told: list[str]
) -> None:
    assert lines(probes, imported=imported, installed=installed) == told


def test_each_is_told_with_its_exception_its_reason_or_its_time() -> None:
    assert lines((FFT, SVD, PEER), imported=True, verbosity=1)[1:] == [
        "  ok      fft on cpu (0.50 s, libtorch_cpu)",
        "  FAILED  svd on cpu: ValueError: no",
        "  skipped peer on cpu: a CPU has no peers",
    ]
