"""Reports of a cluster, made from a real one: what differs by nature differs, and faults are planted where asked."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

Report = dict[str, Any]
Fault = Callable[[Report], None]

GPU = {
    "vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0", "pci_id": "2330",
    "memory": 85_520_809_984, "power_limit": 700, "clock_limit": 1980, "pcie_width": 16,
    "firmware": "96.00.61.00.01", "kernel_driver": "nvidia", "driver_sees": True, "mig": "disabled", "sick": None,
}  # fmt: skip
FIGURE = {
    "name": "throughput", "dtype": "bf16", "samples": 200, "settled": True, "items_per_step": 256,
    "flops_per_step": None, "bytes_per_step": None, "quartiles": [0.01, 0.01], "interval": [0.01, 0.01],
    "conditions": {"pcie_gen": 5, "pcie_width": 16, "power_limit_w": 700.0, "clock_mhz": 1755.0},
}  # fmt: skip


def healthy(base: Report, draw: random.Random, gpus: int = 8) -> Report:
    """One host of a cluster that is as it should be."""
    report = deepcopy(base)
    facts = report["facts"]
    facts["driver"] |= {"version": "580.95.05", "cuda_shown": "13.0"}
    facts["torch"] |= {"version": "2.14.1", "full": "2.14.1+cu130", "build": "cu130"}
    facts["packages"] |= {"torch": "2.14.1+cu130", "nvidia-nccl-cu13": "2.29.3"}
    facts["env"] |= {"NCCL_SOCKET_IFNAME": "ib0", "SLURM_JOB_ID": str(draw.randrange(10**6))}
    facts["memory"] |= {
        "total": 2_164_000_000_000 - draw.randrange(10**8), "available": draw.randrange(10**12), "limit": None,
    }  # fmt: skip
    facts["gpus"] = [
        {**GPU, "pci_address": f"0000:{draw.randrange(256):02x}:00.0", "memory_free": draw.randrange(10**10)}
        for _ in range(gpus)
    ]
    report["bench"] = {
        "devices": [{"device": f"cuda:{at}", "backend": "cuda", "model": GPU["name"]} for at in range(gpus)],
        "figures": [
            {**FIGURE, "device": f"cuda:{at}", "seconds": 0.010 * draw.uniform(0.97, 1.03)} for at in range(gpus)
        ],
    }
    report["status"], report["findings"] = "ok", []
    return report


def old_driver(report: Report) -> None:
    report["facts"]["driver"]["version"] = "570.86.15"


def other_torch(report: Report) -> None:
    report["facts"]["torch"] |= {"full": "2.13.0+cu130", "version": "2.13.0"}
    report["facts"]["packages"]["torch"] = "2.13.0+cu130"


def other_nccl(report: Report) -> None:
    report["facts"]["packages"]["nvidia-nccl-cu13"] = "2.28.9"


def own_variable(report: Report) -> None:
    report["facts"]["env"]["NCCL_P2P_DISABLE"] = "1"


def lost_variable(report: Report) -> None:
    del report["facts"]["env"]["NCCL_SOCKET_IFNAME"]


def low_power(report: Report) -> None:
    report["facts"]["gpus"][3]["power_limit"] = 350


def low_clock(report: Report) -> None:
    report["facts"]["gpus"][0]["clock_limit"] = 1410


def few_lanes(report: Report) -> None:
    report["facts"]["gpus"][5]["pcie_width"] = 8


def other_firmware(report: Report) -> None:
    report["facts"]["gpus"][7]["firmware"] = "96.00.30.00.01"


def one_gpu_less(report: Report) -> None:
    report["facts"]["gpus"].pop()


def less_memory(report: Report) -> None:
    report["facts"]["memory"]["total"] //= 2


def slow_gpu(report: Report) -> None:
    report["bench"]["figures"][2]["seconds"] *= 1.5


def sick(report: Report) -> None:
    report["status"] = "fail"
    report["findings"] = [{"id": "gpu-lost", "severity": "error", "summary": "GPU 0 fell off the bus", "evidence": []}]


# A planted fault, and what names it: a fact that differs, or a list of the result.
FAULTS: dict[str, tuple[Fault, str]] = {
    "driver": (old_driver, "driver.version"),
    "torch build": (other_torch, "torch.version"),
    "NCCL": (other_nccl, "packages.nvidia-nccl-cu13"),
    "variable": (own_variable, "env.NCCL_P2P_DISABLE"),
    "no variable": (lost_variable, "env.NCCL_SOCKET_IFNAME"),
    "power limit": (low_power, "gpus[3].power_limit"),
    "clock": (low_clock, "gpus[0].clock_limit"),
    "PCIe width": (few_lanes, "gpus[5].pcie_width"),
    "firmware": (other_firmware, "gpus[7].firmware"),
    "GPU count": (one_gpu_less, "gpus"),
    "memory": (less_memory, "memory.total"),
    "slow": (slow_gpu, "slow"),
    "sick": (sick, "sick"),
}


def cluster(base: Report, count: int, seed: int = 1) -> Iterator[tuple[str, Report, str]]:
    """Hosts with their names and the fault that each has; one of each fault is spread among them."""
    draw = random.Random(seed)  # noqa: S311 - a fixed sample, no secret
    places = dict(zip(draw.sample(range(count), len(FAULTS)), FAULTS, strict=True)) if count > len(FAULTS) else {}
    for at in range(count):
        report = healthy(base, draw)
        fault = places.get(at, "")
        if fault:
            FAULTS[fault][0](report)
        yield f"node{at + 1:05}", report, fault


def write_cluster(folder: Path, base: Report, count: int, seed: int = 1) -> dict[str, str]:
    """A file each; returns the faulty hosts with their faults."""
    faults = {}
    for name, report, fault in cluster(base, count, seed):
        (folder / f"{name}.json").write_text(json.dumps(report), "utf-8")
        if fault:
            faults[name] = fault
    return faults
