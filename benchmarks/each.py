"""Measure ``diagnose --each``: throughput by number of processes, and whether time grows linearly with the inputs.

usage: python benchmarks/each.py [--count 1000] [--rounds 3]

The inputs are the texts of tests/cases, each with a line of its own put before it, so that no two are equal. Run it
with the interpreter of an environment in which torchdoctor is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

CASES = Path(__file__).resolve().parent.parent / "tests" / "cases"


def texts_of(case: Path) -> dict[str, str]:
    """The pasted files of a case; none of one that is a recording."""
    files = [path for path in case.iterdir() if path.suffix not in {".toml", ".json"}]
    return {path.name: path.read_text("utf-8", "replace") for path in files}


def write_inputs(target: Path, count: int) -> None:
    """One object a line."""
    cases = [texts for case in sorted(CASES.iterdir()) if (texts := texts_of(case))]
    with target.open("w", encoding="utf-8") as stream:
        for number, texts in enumerate(islice(cycle(cases), count)):
            files = {name: f"report number {number}\n{text}" for name, text in texts.items()}
            stream.write(json.dumps({"id": number, "files": files}) + "\n")


def once(inputs: Path, jobs: int) -> tuple[float, float]:
    """Wall seconds, and the peak memory in MB of the largest process."""
    command = [sys.executable, "-m", "torchdoctor", "diagnose", "--each", str(inputs), "--jobs", str(jobs)]
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with status {status}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    """Measure a tenth, a half and all of the inputs, with one process and with one for each processor, interleaved."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sizes = [options.count // 10, options.count // 2, options.count]
    jobs = sorted({1, len(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        inputs = {size: Path(folder, f"{size}.jsonl") for size in sizes}
        for size, path in inputs.items():
            write_inputs(path, size)
        told: dict[tuple[int, int], list[tuple[float, float]]] = {}
        for _ in range(options.rounds):
            for size in sizes:
                for count in jobs:
                    told.setdefault((size, count), []).append(once(inputs[size], count))
    for (size, count), runs in told.items():
        seconds = statistics.median(run[0] for run in runs)
        memory = max(run[1] for run in runs)
        rate = size / seconds
        rates = f"{rate:5.1f} a second, {rate / count:5.1f} a core"
        print(f"{size:6} inputs, {count} jobs: {seconds:6.2f} s, {rates}, {memory:.0f} MB")


if __name__ == "__main__":
    main()
