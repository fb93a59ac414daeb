"""Measure ``fleet``: time and memory for 1,000 and for 10,000 reports, and whether every planted outlier is found.

usage: python benchmarks/fleet_merge.py [--counts 1000 10000] [--rounds 3]

The reports are made from a real one of this host (tests/fleet_reports.py). Run it with the interpreter of an
environment in which torchdoctor is installed.
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
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from fleet_reports import write_cluster


def once(folder: Path, told: Path) -> tuple[float, float]:
    """Wall seconds and the peak memory in MB."""
    command = [sys.executable, "-m", "torchdoctor", "fleet", str(folder), f"--format=json={told}"]
    start = time.perf_counter()
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    _, _, usage = os.wait4(process.pid, 0)
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def main() -> None:
    """Make the clusters, merge each in turns, compare what was found with what was planted."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--counts", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        base = Path(place, "host.json")
        check = [sys.executable, "-m", "torchdoctor", "check", "--static", f"--format=json={base}"]
        subprocess.run(check, check=False, stderr=subprocess.DEVNULL)
        report = json.loads(base.read_text("utf-8"))
        planted: dict[int, dict[str, str]] = {}
        runs: dict[int, list[tuple[float, float]]] = {}
        for count in options.counts:
            folder = Path(place, str(count))
            folder.mkdir()
            planted[count] = write_cluster(folder, report, count)
        for _ in range(options.rounds):
            for count in options.counts:
                runs.setdefault(count, []).append(once(Path(place, str(count)), Path(place, f"{count}.told")))
        for count in options.counts:
            fleet = json.loads(Path(place, f"{count}.told").read_text("utf-8"))
            found = {name for group in fleet["groups"] for name in group["names"]}
            found |= {item["host"] for item in (*fleet["slow"], *fleet["sick"])}
            seconds = statistics.median(run[0] for run in runs[count])
            memory = max(run[1] for run in runs[count])
            missed, invented = planted[count].keys() - found, found - planted[count].keys()
            print(
                f"{count:6} reports: {seconds:6.2f} s, {memory:5.1f} MB, {len(planted[count])} planted, "
                f"{len(missed)} missed, {len(invented)} invented"
            )


if __name__ == "__main__":
    main()
