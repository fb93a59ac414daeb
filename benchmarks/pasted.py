"""Measure ``torchdoctor diagnose`` of long texts, interleaved in one run: wall time, processor time, peak memory.

usage: python benchmarks/pasted.py [--rounds 5] [--huge-rounds 2]

Run it with the interpreter of an environment in which torchdoctor is installed. The texts: a training log of 2 MB with
one error at its end, 2 MB of random words, 2 MB without a line end, a log of 100 MB with an error at either end. Exit 1
when the first takes more than 0.5 s of processor time, or the huge one more than 400 MB.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

MEGABYTE = 1_000_000
LOG_SECONDS, HUGE_MEGABYTES = 0.5, 400
ERROR = "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
SPELLED = (
    "loss",
    "grad",
    "step",
    "cuda",
    "torch",
    "error",
    "lr",
    "epoch",
    "device",
    "tensor",
    "memory",
    "failed",
    "NCCL",
)
SHARE = 0.3  # of spelled words


class Figures(NamedTuple):
    """One run of a command."""

    wall: float
    cpu: float
    megabytes: float


def training_log(size: int) -> Iterator[str]:
    """Lines as trainers write them, every one a little different, up to a size."""
    draw, written, step = random.Random(1), 0, 0  # noqa: S311 - a fixed sample, no secret
    while written < size:
        step += 1
        line = (
            f"2025-03-01 10:{step // 60 % 60:02d}:{step % 60:02d},123 - INFO - step {step} loss {draw.random():.4f} "
            f"grad_norm {draw.random():.3f} lr 3.0e-04 tokens/s {draw.randint(9000, 9999)} mem 71.2GiB\n"
        )
        if not step % 500:
            line += "/opt/lib/python3.12/site-packages/torch/utils.py:12: UserWarning: an error is possible here\n"
        written += len(line)
        yield line


def random_words(size: int) -> Iterator[str]:
    """Words that error texts are made of, among others, in no order."""
    draw, written = random.Random(2), 0  # noqa: S311 - a fixed sample, no secret
    while written < size:
        words = [draw.choice(SPELLED) if draw.random() < SHARE else f"{draw.getrandbits(40):x}" for _ in range(12)]
        line = " ".join(words) + "\n"
        written += len(line)
        yield line


def write_texts(folder: Path) -> dict[str, Path]:
    """The texts as files."""
    made = {name: folder / f"{name}.txt" for name in ("log 2 MB", "random 2 MB", "one line 2 MB", "log 100 MB")}
    with made["log 2 MB"].open("w", encoding="utf-8") as file:
        file.writelines(training_log(2 * MEGABYTE))
        file.write(ERROR)
    with made["random 2 MB"].open("w", encoding="utf-8") as file:
        file.writelines(random_words(2 * MEGABYTE))
    with made["one line 2 MB"].open("w", encoding="utf-8") as file:
        file.writelines(line.rstrip("\n") + " " for line in random_words(2 * MEGABYTE))
    with made["log 100 MB"].open("w", encoding="utf-8") as file:
        file.write(ERROR)
        file.writelines(training_log(100 * MEGABYTE))
        file.write(ERROR)
    return made


def once(command: list[str]) -> Figures:
    """Run a command and take its figures."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return Figures(time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def main() -> None:
    """Measure and print a table; exit 1 over a budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--huge-rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        texts = write_texts(Path(folder))
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            **{name: [sys.executable, "-m", "torchdoctor", "diagnose", str(path)] for name, path in texts.items()},
        }
        seen: dict[str, list[Figures]] = {name: [] for name in commands}
        for number in range(options.rounds + 1):  # the first warms the caches
            for name, command in commands.items():
                if name != "log 100 MB" or 0 < number <= options.huge_rounds:
                    figures = once(command)
                    seen[name] += [figures] if number else []
    for name, runs in seen.items():
        walls, cpus = sorted(run.wall for run in runs), sorted(run.cpu for run in runs)
        print(
            f"{name:14} wall min {walls[0]:.3f}  median {statistics.median(walls):.3f}  max {walls[-1]:.3f} s"
            f"  cpu {statistics.median(cpus):.3f} s  peak {max(run.megabytes for run in runs):.0f} MB  n={len(runs)}"
        )
    log = statistics.median(run.cpu for run in seen["log 2 MB"])
    peak = max(run.megabytes for run in seen["log 100 MB"])
    print(f"log of 2 MB: {log:.3f} s of {LOG_SECONDS} s; log of 100 MB: {peak:.0f} MB of {HUGE_MEGABYTES} MB")
    sys.exit(log > LOG_SECONDS or peak > HUGE_MEGABYTES)


if __name__ == "__main__":
    main()
