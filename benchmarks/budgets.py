"""Measure the budgets of the design, interleaved in one run: wall time, ratio to a bare Python, peak memory.

usage: python benchmarks/budgets.py [--rounds 15] [--torch-python PATH] [--batch 10000]

``--torch-python`` is an interpreter that holds a torch; ``python -m torch.utils.collect_env`` is then measured too.
Run it with the interpreter of an environment in which torchdoctor is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COLLECT_ENV_ROUNDS = 5  # seconds each
BUDGETS = {"--version over pass": 0.040, "check --static": 0.150, "install-cmd": 0.150, "batch": 10.0}
HOST = [
    "--os",
    "linux",
    "--machine",
    "x86_64",
    "--python-version",
    "3.12",
    "--libc",
    "glibc-2.35",
    "--driver",
    "550.54.15",
    "--gpu",
    "sm_89",
]


def once(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Run a command; return wall seconds and the peak resident memory of its largest process in MB."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, _, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def random_hosts(count: int) -> str:
    """A file of described hosts, different from line to line, the same in every run."""
    draw = random.Random(1)  # noqa: S311 - a fixed sample, no secret
    gpus = [
        "sm_37",
        "sm_52",
        "sm_61",
        "sm_70",
        "sm_75",
        "sm_80",
        "sm_86",
        "sm_89",
        "sm_90",
        "sm_100",
        "sm_120",
        "NVIDIA GeForce RTX 3090",
        "Tesla T4",
    ]
    lines = []
    for number in range(count):
        host = {
            "id": number,
            "os": draw.choice(["linux", "linux", "windows"]),
            "machine": "x86_64",
            "python": draw.choice(["3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.13t"]),
            "libc": f"glibc-2.{draw.randint(17, 41)}",
            "driver": f"{draw.randint(440, 620)}.{draw.randint(10, 99)}.{draw.randint(1, 9):02d}",
            "gpus": draw.sample(gpus, draw.randint(0, 2)),
            "torch": draw.choice([None, "2.9.1+cpu"]),
        }
        lines.append(json.dumps(host))
    return "\n".join(lines)


def main() -> None:
    """Measure and print a table; exit 1 when a median is over its budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--torch-python")
    parser.add_argument("--batch", type=int, default=10_000)
    options = parser.parse_args()
    environment = {**os.environ, "TERM": "dumb"}
    own = [sys.executable, "-m", "torchdoctor"]
    with tempfile.TemporaryDirectory() as folder:
        batch = Path(folder) / "hosts.jsonl"
        batch.write_text(random_hosts(options.batch), encoding="utf-8")
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "--version": [*own, "--version"],
            "check --static": [*own, "check", "--static", "--format", "json"],
            "install-cmd": [*own, "install-cmd"],
            "install-cmd (described)": [*own, "install-cmd", *HOST],
        }
        if options.torch_python:
            commands["check --static --python (with torch)"] = [
                *own,
                "check",
                "--static",
                "--python",
                options.torch_python,
            ]
            commands["collect_env"] = [options.torch_python, "-m", "torch.utils.collect_env"]
        seen: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for round_number in range(options.rounds + 1):
            for name, command in commands.items():
                if name == "collect_env" and round_number > COLLECT_ENV_ROUNDS:
                    continue
                figure = once(command, environment)
                if round_number:
                    seen[name].append(figure)
        seen["batch"] = [once([*own, "install-cmd", "--batch", str(batch)], environment)]
    over = report(seen)
    print(
        f"peak memory of this script's children: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.1f} MB"
    )
    sys.exit(1 if over else 0)


def report(seen: dict[str, list[tuple[float, float]]]) -> list[str]:
    """Print min, median and max of each command; return the names over budget."""
    medians = {name: statistics.median(wall for wall, _ in figures) for name, figures in seen.items()}
    for name, figures in seen.items():
        walls = [wall for wall, _ in figures]
        memory = max(peak for _, peak in figures)
        spread = f"min {min(walls):.3f}  median {medians[name]:.3f}  max {max(walls):.3f} s"
        print(f"{name:40} {spread}  peak {memory:.1f} MB  n={len(walls)}")
    medians["--version over pass"] = medians["--version"] - medians["python -c pass"]
    over = [name for name, budget in BUDGETS.items() if medians[name] > budget]
    for name, budget in BUDGETS.items():
        print(f"{name:40} {medians[name]:.3f} s of {budget:.3f} s {'OVER' if name in over else 'ok'}")
    return over


if __name__ == "__main__":
    main()
