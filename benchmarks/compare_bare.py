"""Compare the mini benchmark's throughput on the CPU with the same loop written bare, in interleaved pairs.

usage: python benchmarks/compare_bare.py --torch-python PATH [--pairs 20] [--seconds 3] [--batch 512] [--threads N]
                                         [--together] [--cpu-time]

``--torch-python`` is an interpreter that holds a torch. Run this with one in which torchdoctor can be imported. Prints
each pair, then the median of the ratio (ours over bare, images per second) with its confidence interval.

A pair is two new processes, one after the other: the bare loop, and the benchmark as ``check`` runs it. On a host that
does other work too they meet different hosts. ``--together`` takes both into one process and times a step of the one
and a step of the other in turn, the benchmark's by its own stopwatch; ``--threads 1`` helps too, because threads that
wait for each other crawl there; ``--cpu-time`` counts the time on the processor alone, summed over threads.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from torchdoctor.benchmark_figures import median_interval

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = 0.02
HEAD = """
import json, statistics, sys
root, pairs, seconds, batch = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
sys.path[:0] = [root, root + "/benchmarks"]
import bare_loop
from torchdoctor.target import bench, bench_net, bench_timing
from torchdoctor.target.smoke_devices import Device
bench.CPU_BATCH = batch
device = Device(bare_loop.torch, "cpu", None)
if sys.argv[5] == "True":
    from time import monotonic, process_time, time
    from types import SimpleNamespace
    bare_loop.time = bench_timing.time = SimpleNamespace(perf_counter=process_time, monotonic=monotonic, time=time)
"""
BARE = """
print(json.dumps(statistics.median(bare_loop.timed(bare_loop.training(batch), seconds))))
"""
OURS = """
def tell(kind, fields):
    if fields.get("name") == "throughput":
        print(json.dumps(statistics.median(fields["samples"])))
bench.main(tell, {"profile": "check", "seconds": seconds / bench.CHECK["throughput"]}, [device])
"""
TOGETHER = """
bare, steps = bare_loop.training(batch), bench_net.Training(device).resident(batch)
watch = bench_timing.Stopwatch(device, steps)
def time_bare():
    start = bare_loop.time.perf_counter()
    next(bare)
    return bare_loop.time.perf_counter() - start
def time_ours():
    return watch.block(1)
time_bare(), time_ours()
for number in range(pairs):
    turns = [time_bare, time_ours] if number % 2 else [time_ours, time_bare]
    took = {turn: [] for turn in turns}
    until = bare_loop.time.monotonic() + 2 * seconds
    while bare_loop.time.monotonic() < until:
        for turn in turns:
            took[turn].append(turn())
    print(json.dumps([statistics.median(took[turn]) for turn in (time_bare, time_ours)]), flush=True)
"""


def lines(options: argparse.Namespace, code: str) -> Iterator[str]:
    """What code prints in the interpreter that holds a torch, as it comes."""
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(options.threads)} if options.threads else {})}
    sizes = [str(value) for value in (options.pairs, options.seconds, options.batch, options.cpu_time)]
    command = [options.torch_python, "-c", HEAD + code, str(ROOT), *sizes]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as child:
        yield from child.stdout or ()
    if child.returncode:
        sys.exit(f"{options.torch_python} ended with status {child.returncode}")


def pairs(options: argparse.Namespace) -> Iterator[tuple[float, float]]:
    """Seconds of a step, bare and ours; which of them goes first alternates."""
    if options.together:
        for line in lines(options, TOGETHER):
            bare, ours = json.loads(line)
            yield bare, ours
        return
    for number in range(options.pairs):
        turns = (BARE, OURS) if number % 2 else (OURS, BARE)
        took = {code: float("".join(lines(options, code))) for code in turns}
        yield took[BARE], took[OURS]


def main() -> None:
    """Run the pairs; exit 1 when the interval of the ratio's median does not reach 1 within the allowed difference."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--threads", type=int, default=0, help="threads of torch; 0: as many as it takes itself")
    parser.add_argument("--together", action="store_true", help="turns of one process in place of new processes")
    parser.add_argument("--cpu-time", action="store_true", help="time on the processor in place of wall time")
    options = parser.parse_args()
    ratios = []
    for bare, ours in pairs(options):
        ratios.append(bare / ours)
        rates = f"bare {options.batch / bare:8.0f}  ours {options.batch / ours:8.0f} images/s"
        print(f"{len(ratios):3} {rates}  ratio {ratios[-1]:.4f}", flush=True)
    low, high = median_interval(ratios)
    print(f"median ratio {statistics.median(ratios):.4f}, 95 % interval {low:.4f} to {high:.4f}, {len(ratios)} pairs")
    reached = low <= 1 + ALLOWED and high >= 1 - ALLOWED
    print(f"{'reaches' if reached else 'MISSES'} 1 within {ALLOWED:.0%}")
    sys.exit(0 if reached else 1)


if __name__ == "__main__":
    main()
