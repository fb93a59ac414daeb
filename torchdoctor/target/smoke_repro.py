"""What a run must have set to be repeatable, and whether a repeated run does give the same numbers here."""

import os

from torchdoctor.target.smoke_import import attempted
from torchdoctor.target.smoke_run import Job

MYPY = False
if MYPY:
    from collections.abc import Callable
    from typing import Any

    from torchdoctor.target.smoke_devices import Device

    Tell = Callable[[str, "dict[str, Any]"], None]


def flags(torch: "Any") -> "dict[str, Any]":
    """The flags as torch has them from the start; nothing is changed."""
    cuda, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    return {
        "cudnn_benchmark": attempted(lambda: bool(cudnn.benchmark)),
        "cudnn_deterministic": attempted(lambda: bool(cudnn.deterministic)),
        "deterministic_algorithms": attempted(lambda: bool(torch.are_deterministic_algorithms_enabled())),
        "cublas_workspace_config": os.environ.get("CUBLAS_WORKSPACE_CONFIG"),
        "tf32_matmul": attempted(lambda: bool(cuda.allow_tf32)),
        "tf32_cudnn": attempted(lambda: bool(cudnn.allow_tf32)),
        "float32_matmul_precision": attempted(torch.get_float32_matmul_precision),
        "pythonhashseed": os.environ.get("PYTHONHASHSEED"),
    }


def measure(tell: "Tell", torch: "Any", devices: "list[Device]") -> "dict[str, Any]":
    """Two equal trainings on every GPU (without one, on the CPU), and the random numbers of two loader workers."""
    measured = [device for device in devices if device.kind != "cpu"] or devices[:1]
    equal = {}
    for device in measured:
        tell("stage", {"id": "repro", "device": device.name})
        equal[device.name] = repeats(torch, device)
    odd = [name for name, same in equal.items() if same is not True]
    worst = next((name for name in odd if equal[name] is False), (odd or list(equal))[0])
    return {
        "devices": equal, "device": worst, "seeded_runs_equal": equal[worst],
        "worker_seeds_differ": attempted(lambda: seeds(torch)),
    }  # fmt: skip


def repeats(torch: "Any", device: "Device") -> "bool | None":
    """Whether a training gives the same losses again; None where it cannot be run."""
    from torchdoctor.target.smoke_train import losses

    job = Job(torch, device, [device], "quick", None)
    runs = [attempted(lambda: losses(job, device.name, torch.float32)) for _ in range(2)]
    return None if runs[0] is None or runs[1] is None else bool(runs[0] == runs[1])


class Draws:
    """A data set whose items are random numbers of every generator a worker may use."""

    def __init__(self, torch: "Any") -> None:
        self.torch = torch

    def __len__(self) -> int:
        """Two, one for each worker."""
        return 2

    def __getitem__(self, index: int) -> "list[float]":
        """A number of torch, of the standard library and of numpy where that is there."""
        import random

        numpy = attempted(lambda: __import__("numpy").random.rand())
        return [float(self.torch.rand(())), random.random(), float(numpy if numpy is not None else index)]


def seeds(torch: "Any") -> "bool | None":
    """Whether two workers draw different numbers; None where workers cannot fork, since they could not find this part."""
    import multiprocessing

    if "fork" not in multiprocessing.get_all_start_methods():
        return None
    loader = torch.utils.data.DataLoader(
        Draws(torch), batch_size=None, num_workers=2, timeout=60, multiprocessing_context="fork"
    )
    first, second = [list(map(float, draws)) for draws in loader]
    return all(a != b for a, b in zip(first, second))
