"""The training loop of the mini benchmark, written as a tutorial would: what ``compare_bare.py`` compares ours with.

usage: python benchmarks/bare_loop.py [--batch 512] [--seconds 3]      (with an interpreter that holds a torch)
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Iterator
from importlib import import_module
from typing import Any

torch: Any = import_module("torch")
nn = torch.nn


def training(batch: int) -> Iterator[None]:
    """Train on the CPU without end; stops after each step for whoever counts or times them."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 6, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(16 * 4 * 4, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    batches = [(torch.randn(batch, 1, 28, 28), torch.randint(0, 10, (batch,))) for _ in range(2)]

    net.train()
    while True:
        for pixels, labels in batches:
            optimizer.zero_grad()
            loss = criterion(net(pixels), labels)
            loss.backward()
            optimizer.step()
            yield


def timed(steps: Iterator[None], seconds: float) -> list[float]:
    """Seconds of each step, for some seconds; the very first loads libraries, the first fifth is warm-up."""
    next(steps)
    times: list[float] = []
    begun = time.perf_counter()
    while time.perf_counter() - begun < seconds:
        start = time.perf_counter()
        next(steps)
        times.append(time.perf_counter() - start)
    return times[len(times) // 5 :]


def main() -> None:
    """Print the seconds of a step, as median and as mean."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    times = timed(training(options.batch), options.seconds)
    print(json.dumps({"median": statistics.median(times), "mean": statistics.mean(times), "steps": len(times)}))


if __name__ == "__main__":
    main()
