"""What a person sees: the verdict first, one line when all is well, tables that fit or become sentences, signs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import Any

import pytest
from conftest import CASES, DATA
from format_reports import REPORTS

from torchdoctor.facts import Facts, Gpu, Probe, Request, Trial
from torchdoctor.findings import Prediction, Text
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import Recording
from torchdoctor.records import replace
from torchdoctor.render.fold import columns_of, fold
from torchdoctor.render.gpus_text import gpu_lines
from torchdoctor.render.look import FILE, Look, Row, table
from torchdoctor.render.proof_text import proof_lines
from torchdoctor.render.targets_text import target_lines
from torchdoctor.render.text import render, verdict
from torchdoctor.report import Report
from torchdoctor.tables import Tables
from torchdoctor.values import GpuArch

WIDTHS = (40, 80, 120, 200)
COMMANDS = re.compile(r" {4,}\S.*")
RECORDED = {
    "windows11": DATA / "recordings" / "windows11-rtx4060.json",
    "slurm": DATA / "recordings" / "slurm-h100-conda.json",
    "slow": CASES / "power-capped-4090" / "recording.json",
    "healthy": DATA / "recordings" / "vm-mi300x-rocm.json",
}
SICK = [name for name in RECORDED if name != "healthy"]
PASSED = Probe(id="fft", device="cpu")


def recorded(name: str) -> Report:
    recording = Recording.from_json(RECORDED[name].read_text(encoding="utf-8"))
    return examine(recording, Tables(), Request(), Writing())


# ---------------------------------------------------------------------------------------------------------------- order


@pytest.mark.parametrize("name", SICK)
def test_verdict_cause_evidence_command_and_then_the_machine(name: str) -> None:
    report = recorded(name)
    lines = [line.text for line in render(report)]
    assert lines[0] == verdict(report)
    starts = ("seen:", "why:", "do:", "more:")
    order = [next(at for at, line in enumerate(lines) if line.startswith(f"  {start}")) for start in starts]
    assert order == sorted(order)
    machine = next(at for at, line in enumerate(lines) if line.startswith("  GPU  name"))
    assert machine > max(at for at, line in enumerate(lines) if line.startswith("  more:"))
    assert not any(line.startswith("  passed") for line in lines)


@pytest.mark.parametrize("name", [*SICK, *(kind for kind in REPORTS if kind != "unknown")])
def test_a_command_stands_alone_on_its_line(name: str) -> None:
    report = recorded(name) if name in RECORDED else REPORTS[name]()
    roots = [item for item in report.findings if item.explained_by is None]
    commands = [command for item in roots for remedy in item.remedies for command in remedy.commands]
    shown = [line.text.strip() for line in render(report) if line.style == "command"]
    assert shown
    assert set(map(str, commands)) <= set(shown)


HEALTHY = [
    ("nothing was run", {}, True),
    ("smoke tests passed", {"probes": (PASSED,)}, True),
    ("a smoke test failed", {"probes": (replace(PASSED, outcome="failed"),)}, False),
    ("the benchmark is what was asked for", {"bench": ({"kind": "bench-done", "profile": "bench"},)}, False),
    ("the benchmark broke off", {"bench": ({"kind": "bench-plan"},)}, False),
    ("the benchmark came to its end", {"bench": ({"kind": "bench-done", "profile": "check"},)}, True),
]


@pytest.mark.parametrize(("trial", "is_short"), [row[1:] for row in HEALTHY], ids=[row[0] for row in HEALTHY])
def test_one_line_when_all_is_well(trial: dict[str, Any], is_short: bool) -> None:
    report = recorded("healthy")
    report = replace(report, facts=replace(report.facts, trial=Trial(**trial)))
    first, *more = (line.text for line in render(report))
    assert first.startswith("ok: torch 2.8.0+rocm6.4 fits this host and ")
    assert (not more) is is_short
    assert ("; examined: ~/ml/bin/python (Python 3.12.3), VIRTUAL_ENV is set" in first) is is_short
    assert ("; smoke tests: 1 passed; " in first) is (is_short and "probes" in trial)
    assert len(render(report, verbosity=1)) > 30


# -------------------------------------------------------------------------------------------------------- tables, signs

ROWS = [
    Row(("cuda:0", "matmul bf16", "341 Tflop/s", ""), "matmul on cuda:0: 341 Tflop/s", 1.0),
    Row(("cuda:1", "matmul bf16", "85 Tflop/s", ""), "matmul on cuda:1: 85 Tflop/s", 0.25, "at 900 MHz"),
]
HEADS = ("device", "benchmark", "rate", "spread")


@pytest.mark.parametrize(
    ("look", "expected"),
    [
        (
            FILE,
            [
                "  device  benchmark           rate",
                "  cuda:0  matmul bf16  341 Tflop/s  ########################",
                "  cuda:1  matmul bf16   85 Tflop/s  ######",
                "    at 900 MHz",
            ],
        ),
        (
            Look(46, blocks=True),
            [
                "  device  benchmark           rate",
                f"  cuda:0  matmul bf16  341 Tflop/s  {chr(0x2588) * 10}",
                f"  cuda:1  matmul bf16   85 Tflop/s  {chr(0x2588) * 2}",
                "    at 900 MHz",
            ],
        ),
        (Look(30), ["matmul on cuda:0: 341 Tflop/s", "matmul on cuda:1: 85 Tflop/s, at 900 MHz"]),
        (Look(200, plain=True), ["matmul on cuda:0: 341 Tflop/s", "matmul on cuda:1: 85 Tflop/s, at 900 MHz"]),
    ],
    ids=["file", "terminal", "narrow", "plain"],
)
def test_a_table_has_bars_where_there_is_room_and_sentences_where_there_is_none(
    look: Look, expected: list[str]
) -> None:
    assert [line.text for line in table(HEADS, ROWS, look)] == expected


@pytest.mark.parametrize("columns", range(20, 201, 7))
def test_no_row_is_wider_than_the_terminal(columns: int) -> None:
    lines = list(table(HEADS, ROWS, Look(columns)))
    is_table = lines[0].text.startswith("  device")
    assert all(len(line.text) <= columns for line in lines) or not is_table


def test_equal_gpus_share_a_row() -> None:
    h100 = Gpu(name="H100", compute_capability=GpuArch(9, 0), memory=80 * 2**30, memory_free=60 * 2**30)
    facts = Facts(gpus=(h100, h100, h100, replace(h100, sick="lost"), h100))
    assert [line.text for line in gpu_lines(facts, FILE)] == [
        "",
        "         GPU  name  code     memory    in use  state",
        "  0, 1, 2, 4  H100  sm_90  80.0 GiB  20.0 GiB         ######",
        "           3  H100  sm_90  80.0 GiB  20.0 GiB  lost   ######",
    ]
    assert [line.text for line in gpu_lines(Facts(gpus=(h100, h100)), Look(plain=True))] == [
        "",
        "GPU 0-1: H100, sm_90, 80.0 GiB, 20.0 GiB in use",
    ]


def test_names_alone_are_no_table() -> None:
    assert list(gpu_lines(Facts(gpus=(Gpu(name="Tesla T4"),)), FILE)) == []
    assert list(gpu_lines(Facts(), FILE)) == []


def test_smoke_tests_of_several_devices_are_a_matrix() -> None:
    probes = (
        Probe(id="fft", device="cpu", seconds=0.5),
        Probe(id="fft", device="cuda:0", outcome="failed", error="RuntimeError: no\n"),
        Probe(id="svd", device="cuda:0", outcome="skipped", reason="busy"),
    )
    report = Report(facts=Facts(trial=Trial(probes=probes)), findings=(), outcomes=(), tables_date="")
    assert [line.text for line in proof_lines(report, 1, FILE)] == [
        "smoke tests: 1 passed, 1 failed, 1 skipped",
        "  smoke test  cpu        cuda:0",
        "  fft         ok 0.50 s  FAILED",
        "    cuda:0: RuntimeError: no",
        "  svd                    skipped",
        "    cuda:0: busy",
    ]
    assert [line.text for line in proof_lines(report, 1, Look(plain=True))][1:] == [
        "  ok      fft on cpu (0.50 s, )",
        "  FAILED  fft on cuda:0: RuntimeError: no",
        "  skipped svd on cuda:0: busy",
    ]


def test_the_hosts_asked_about_are_sentences_where_there_is_no_room() -> None:
    asked = [Prediction(name="cluster-a", target={}, verdict="runs", why=Text("the driver is new enough"))]
    wide, narrow = (list(target_lines(asked, look))[-1].text for look in (FILE, Look(39)))
    assert wide == "  cluster-a  runs          the driver is new enough"
    assert narrow == "  cluster-a: runs: the driver is new enough"
    assert list(target_lines(asked, Look(plain=True)))[-1].text == narrow


# -------------------------------------------------------------------------------------------------------------- folding


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("short", 40, ["short"]),
        ("fail: one two three", 12, ["fail: one", "  two three"]),
        ("  why:  one two three", 14, ["  why:  one", "       two", "       three"]),
        ("  do:   /a/very/long/path/in/one/piece", 20, ["  do:   /a/very/long/path/in/one/piece"]),
        ("a  b", 3, ["a", " b"]),
        ("驱动程序太旧了", 10, ["驱动程序太", "  旧了"]),
        ("驱动 535 太旧了", 10, ["驱动 535", "  太旧了"]),
    ],
)
def test_lines_are_broken_between_words_and_wide_characters(text: str, width: int, expected: list[str]) -> None:
    assert fold(text, width) == expected


@pytest.mark.parametrize("width", [10, 39, 40, 79, 199])
def test_folding_loses_nothing(width: int) -> None:
    for name in RECORDED:
        for line in render(recorded(name), 1):
            parts = fold(line.text, width)
            assert "".join("".join(parts).split()) == "".join(line.text.split())
            assert all(columns_of(part) <= width or len(part.split()) <= 2 for part in parts)  # a label, a long word


# ------------------------------------------------------------------------------------------------------ real terminals


def on_terminal(columns: int, env: dict[str, str], *arguments: str) -> str:
    """What ``torchdoctor`` writes to a terminal of so many columns, without the colours."""
    import pty

    master, slave = pty.openpty()
    command = [sys.executable, "-m", "torchdoctor", *arguments]
    child = subprocess.Popen(command, stdout=slave, stderr=slave, env={**env, "COLUMNS": str(columns), "TERM": "xterm"})
    os.close(slave)
    written = b""
    while True:
        try:
            chunk = os.read(master, 4096)
        except OSError:  # how a terminal says that its other side is closed
            break
        if not chunk:
            break
        written += chunk
    os.close(master)
    child.wait(60)
    return re.sub(r"\x1b\[[\d;]*m", "", written.decode("utf-8")).replace("\r", "")


SIGNS = [
    ({"LC_ALL": "C.UTF-8"}, (), "\u2588"),
    ({"LC_ALL": "C"}, (), "#"),
    ({"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "cp1252"}, (), "#"),
    ({"LC_ALL": "C.UTF-8"}, ("--plain",), ""),
]


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
@pytest.mark.parametrize(("locale", "options", "sign"), SIGNS, ids=["UTF-8", "C", "cp1252", "plain"])
def test_bars_are_of_signs_that_the_terminal_shows(
    locale: dict[str, str], options: tuple[str, ...], sign: str, clean_environment: dict[str, str]
) -> None:
    shown = on_terminal(90, {**clean_environment, **locale}, "diagnose", str(RECORDED["windows11"]), *options)
    bars = {found[-1] for found in re.findall(r"1\.2 GiB  (?:[#\u2588]+)", shown)}
    assert bars == ({sign} if sign else set())
    assert ("1.2 GiB in use" in shown) is (not sign)
    assert shown.isascii() is (sign != "\u2588")


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
@pytest.mark.parametrize("columns", WIDTHS)
def test_every_width_shows_the_same_facts(columns: int, clean_environment: dict[str, str]) -> None:
    shown = on_terminal(columns, {**clean_environment, "LC_ALL": "C"}, "diagnose", str(RECORDED["slow"]))
    lines = shown.splitlines()
    assert all(len(line) < columns for line in lines if " " in line.strip() and not COMMANDS.fullmatch(line))
    words = " ".join(shown.split())
    for fact in ("cuda:0 reaches 37 % of its peak", "21.6 Tflop/s", "throttled: sw_power_cap", "24.0 GiB", "gfx1036"):
        assert fact in words


PARTS = ("importing torch", "asking torch", "starting the devices", "smoke tests", "benchmark")


@pytest.mark.skipif(sys.platform == "win32", reason="terminals of POSIX")
def test_plain_progress_names_each_part_once_and_writes_over_nothing(clean_environment: dict[str, str]) -> None:
    stages = ("import", "describe", "init", "describe", "fft", "svd", "bench-loss", "bench-sweep-2")
    code = (
        "from torchdoctor.commands.progress import Progress\n"
        "with Progress(plain=True) as progress:\n"
        f"    for stage in {stages}: progress.show(stage, 'cpu')\n"
    )
    import pty

    master, slave = pty.openpty()
    child = subprocess.Popen([sys.executable, "-c", code], stderr=slave, env=clean_environment)
    os.close(slave)
    assert child.wait(60) == 0
    assert os.read(master, 4096).decode() == "\r\n".join((*PARTS, ""))
    os.close(master)


def test_nothing_heavy_is_imported_for_a_report_through_a_pipe(clean_environment: dict[str, str]) -> None:
    code = (
        f"import sys; from torchdoctor.cli import run\nrun(['diagnose', {str(RECORDED['slow'])!r}])\n"
        "print(*{'rich', 'textwrap', 'unicodedata', 'torchdoctor.render.fold'}.intersection(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60, env=clean_environment
    )
    assert done.stdout.endswith("--fail-on warning would fail\n\n"), done.stdout + done.stderr
