"""Measure the whole ``check``: wall time, and what of it is neither the import of torch nor measuring.

usage: python benchmarks/whole_check.py --torch-python PATH [--rounds 7]

Run it with the interpreter of an environment in which torchdoctor is installed. Each round imports torch bare in a new
process, then runs ``check``; the first round warms the caches and is not counted. Measuring is the time of the smoke
tests and of the benchmark as the report tells them. Exit 1 over a budget: 8 s in all, 0.3 imports for the rest.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time

WHOLE, REST = 8.0, 0.3
IMPORT = "import time; begun = time.perf_counter(); import torch; print(time.perf_counter() - begun)"


def one_round(torch_python: str) -> dict[str, float]:
    """Seconds of a bare import, of a whole check, and of the parts of that check."""
    bare = float(subprocess.run([torch_python, "-c", IMPORT], capture_output=True, text=True, check=True).stdout)
    command = [sys.executable, "-m", "torchdoctor", "check", "--python", torch_python, "--format", "json"]
    begun = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    whole = time.perf_counter() - begun
    report = json.loads(done.stdout)
    tests = sum(test["seconds"] or 0.0 for test in report["smoke"] if test["id"] not in {"import", "init"})
    imported = report["facts"]["trial"]["import_seconds"]
    measuring = tests + report["bench"]["seconds"]
    rest = whole - imported - measuring
    return {
        "import torch": bare, "check": whole, "its import": imported, "its tests": tests,
        "its benchmark": report["bench"]["seconds"], "rest": rest, "rest / import": rest / bare,
    }  # fmt: skip


def main() -> None:
    """Measure, print min, median and max of each part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rounds = [one_round(options.torch_python) for _ in range(options.rounds + 1)][1:]
    for name in rounds[0]:
        figures = sorted(figures[name] for figures in rounds)
        print(f"{name:15} min {figures[0]:.3f}  median {statistics.median(figures):.3f}  max {figures[-1]:.3f}")
    whole = statistics.median(figures["check"] for figures in rounds)
    rest = statistics.median(figures["rest / import"] for figures in rounds)
    print(f"check {whole:.2f} s of {WHOLE:.0f} s; rest {rest:.2f} imports of {REST}")
    sys.exit(whole > WHOLE or rest > REST)


if __name__ == "__main__":
    main()
