"""The benchmark where a part of it raises, crashes, hangs or cannot be done: a finding, and what is missing is listed.

The torch of tests/fake_torch.py computes nothing, so that each fault is put where the first training begins.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from broken_hosts import Host
from fake_torch import CPU, install

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="environments and signals of POSIX"),
    pytest.mark.slow,
]
REST = "throughput, overhead, matmul-fp32, copy, data-0"
AGAIN = ["torchdoctor bench --device cpu --python PYTHON"]


class Fault(NamedTuple):
    """What begins a training, and what is to be said: the finding, its summary, the failure, and what is missing."""

    code: str
    status: int
    id: str
    summary: str
    failed: str = ""
    missing: str = ""
    evidence: str = ""
    commands: list[str] = AGAIN


FAULTS = {
    "raises": Fault(
        "raise RuntimeError('CUDA error: an illegal memory access was encountered')",
        1,
        "kernel-fault",
        "the part loss of the benchmark failed on cpu",
        "RuntimeError: CUDA error: an illegal memory access was encountered",
        "it computes nothing any more after the failure of loss",
        "bench-loss on cpu: RuntimeError: CUDA error: an illegal memory access",
    ),
    "raises what nobody knows": Fault(
        "raise ZeroDivisionError('out of the blue')",
        1,
        "smoke-test-failed",
        "the part loss of the benchmark failed on cpu",
        "ZeroDivisionError: out of the blue",
        "it computes nothing any more after the failure of loss",
        "bench-loss on cpu: ZeroDivisionError: out of the blue",
    ),
    "aborts": Fault(
        "import os; os.abort()",
        1,
        "smoke-test-failed",
        "the part loss of the benchmark failed on cpu",
        "its process ended in the stage bench-loss (SIGABRT)",
        f"its process ended in the stage bench-loss (SIGABRT); not reached: {REST}",
        "bench-loss on cpu: ended by SIGABRT",
    ),
    "hangs": Fault(
        "import time; time.sleep(100)",
        1,
        "smoke-test-failed",
        "the part loss of the benchmark failed on cpu",
        "its process ended in the stage bench-loss (timed out)",
        f"its process ended in the stage bench-loss (timed out); not reached: {REST}",
        "bench-loss on cpu: no answer in ",
    ),
    "was never written": Fault(
        "raise NotImplementedError(\"'normal' not implemented for 'fake'\")", 3, "", "", "",
        "NotImplementedError: 'normal' not implemented for 'fake'",
    ),
}  # fmt: skip


def bench(host: Host, *arguments: str) -> tuple[int, dict[str, Any], str]:
    done = host.run("bench", "--seconds", "1", "--no-sweep", "--format", "json", "--python", host.python, *arguments)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def loud(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The findings that are more than a remark; without device nodes of a GPU a container is one more fault."""
    ignored = {"container-without-gpu"}
    return [item for item in report["findings"] if item["severity"] != "info" and item["id"] not in ignored]


@pytest.mark.parametrize("name", FAULTS)
def test_a_part_that_fails_is_a_finding(name: str, tmp_path: Path) -> None:
    host, fault = Host(tmp_path), FAULTS[name]
    install(host.site, CPU, at_import=f"def Generator(*args):\n    {fault.code}\n")
    status, report, noted = bench(host, "--timeout", "3")
    assert (status, "nothing was measured" in noted) == (fault.status, True), report["findings"]
    missing = [(item["stage"], item["reason"]) for item in report["bench"]["missing"]]
    assert [reason for stage, reason in missing if stage == "bench-loss" and reason == fault.failed] == (
        [fault.failed] if fault.failed else []
    )
    assert [reason for _, reason in missing if reason.startswith(fault.missing)] != []
    (found, *more) = loud(report) or [{}]
    assert (found.get("id", ""), more) == (fault.id, [])
    if not found:
        return
    assert found["summary"] == fault.summary
    assert found["evidence"][0]["value"].startswith(fault.evidence)
    assert [command for remedy in found["remedies"] for command in remedy["commands"]] == [
        command.replace("PYTHON", host.python) for command in fault.commands
    ]
    text = host.run("bench", "--seconds", "1", "--python", host.python, "--timeout", "3").stdout
    assert "benchmark: loss failed on cpu: " in text
    assert "smoke tests: 1 passed, 1 skipped\n" in text  # the import and the start of the devices


def test_an_interrupted_benchmark_says_what_it_did_not_reach(tmp_path: Path) -> None:
    host, begun = Host(tmp_path), tmp_path / "begun"
    code = f"import time; open({str(begun)!r}, 'w'); time.sleep(100)"
    install(host.site, CPU, at_import=f"def Generator():\n    {code}\n")
    command = [sys.executable, "-m", "torchdoctor", "bench", "--format", "json", "--no-sweep", "--python", host.python]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=host.work, env=host.env
    )
    for _ in range(300):
        if begun.exists():
            break
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    out, noted = child.communicate(timeout=30)
    assert (child.returncode, "Traceback" in noted) == (130, False), noted
    report = json.loads(out)
    (missing,) = report["bench"]["missing"]
    assert missing["reason"].startswith(f"interrupted; not reached: loss, {REST}")
    assert loud(report) == []
