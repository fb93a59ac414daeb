"""Compare the mini benchmark's throughput on the CPU with the same loop written bare: interleaved pairs of processes.

usage: python benchmarks/compare_bare.py --torch-python PATH [--pairs 20] [--seconds 3] [--batch 512]

``--torch-python`` is an interpreter that holds a torch. Run it with one in which torchdoctor can be imported. Prints
each pair, then the median of the ratio (ours over bare, images per second) with its confidence interval.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from torchdoctor.benchmark_figures import median_interval

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = 0.02
OURS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from torchdoctor.target import bench, bench_net
bench.CPU_BATCH = int(sys.argv[3])
def tell(kind, fields):
    if fields.get("name") == "throughput":
        print(json.dumps(fields["samples"]))
bench.main(tell, {"profile": "check", "devices": ["cpu"], "seconds": float(sys.argv[2]) / bench.CHECK["throughput"]})
"""


def bare(options: argparse.Namespace) -> float:
    """Seconds of a step of the bare loop."""
    script = str(ROOT / "benchmarks" / "bare_loop.py")
    told = asked([options.torch_python, script, "--batch", str(options.batch), "--seconds", str(options.seconds)])
    return float(json.loads(told)["median"])


def ours(options: argparse.Namespace) -> float:
    """Seconds of a step as the benchmark measures it."""
    told = asked([options.torch_python, "-c", OURS, str(ROOT), str(options.seconds), str(options.batch)])
    return float(statistics.median(json.loads(told)))


def asked(command: list[str]) -> str:
    """What a command prints."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def main() -> None:
    """Run the pairs, each in the other order than the one before; exit 1 when the interval misses the allowed range."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--batch", type=int, default=512)
    options = parser.parse_args()
    ratios = []
    for number in range(options.pairs):
        first, second = (bare, ours) if number % 2 else (ours, bare)
        seconds = {first: first(options), second: second(options)}
        ratios.append(seconds[bare] / seconds[ours])
        rates = f"bare {options.batch / seconds[bare]:8.0f}  ours {options.batch / seconds[ours]:8.0f} images/s"
        print(f"{number + 1:3} {rates}  ratio {ratios[-1]:.4f}", flush=True)
    low, high = median_interval(ratios)
    covered = low <= 1 + ALLOWED and high >= 1 - ALLOWED
    print(
        f"ratio of {options.pairs} pairs: median {statistics.median(ratios):.4f}, 95 % interval {low:.4f} to {high:.4f}"
    )
    print(f"{'covers' if covered else 'MISSES'} 1 within {ALLOWED:.0%}")
    sys.exit(0 if covered else 1)


if __name__ == "__main__":
    main()
