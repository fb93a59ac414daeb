"""The probes in their order: what each proves, from which level on it is run, where its code is."""

MYPY = False
if MYPY:
    from collections.abc import Callable
    from typing import Any

    from torchdoctor.target.smoke_run import Job

LEVELS = ("quick", "standard", "long")


class Probe:
    """A line of the list. ``scope``: on each device, on the first accelerator (else the CPU), or on the CPU alone."""

    def __init__(self, id: str, level: str, area: str, part: str, scope: str = "each") -> None:
        self.id, self.level, self.area, self.part, self.scope = id, level, area, part, scope

    def load(self) -> "Callable[[Job], dict[str, Any]]":
        """Its function, named like the probe; the part is imported only now."""
        module = __import__("torchdoctor.target.smoke_" + self.part, fromlist=["*"])
        function = getattr(module, self.id.replace("-", "_"))
        return function  # type: ignore[no-any-return]


PROBES = (
    Probe("allocate", "quick", "memory", "memory"),
    Probe("elementwise", "quick", "", "basic"),
    Probe("copy", "standard", "memory", "basic"),
    Probe("matmul-fp64", "standard", "matmul", "matmul"),
    Probe("matmul-fp32", "quick", "matmul", "matmul"),
    Probe("matmul-tf32", "standard", "matmul", "matmul"),
    Probe("matmul-fp16", "quick", "matmul", "matmul"),
    Probe("matmul-bf16", "quick", "matmul", "matmul"),
    Probe("matmul-fp8", "standard", "scaled-matmul", "matmul"),
    Probe("conv", "quick", "conv", "nets"),
    Probe("lstm", "standard", "conv", "nets"),
    Probe("ctc", "standard", "conv", "nets"),
    Probe("fft", "standard", "fft", "linalg"),
    Probe("solve", "standard", "linalg", "linalg"),
    Probe("svd", "standard", "linalg", "linalg"),
    Probe("cholesky", "standard", "linalg", "linalg"),
    Probe("sparse", "standard", "sparse", "linalg"),
    Probe("sparse-semi-structured", "long", "semi-structured", "linalg"),
    Probe("rng", "standard", "random", "basic"),
    Probe("sdpa-math", "standard", "", "sdpa"),
    Probe("sdpa-flash", "standard", "", "sdpa"),
    Probe("sdpa-efficient", "standard", "", "sdpa"),
    Probe("sdpa-cudnn", "standard", "conv", "sdpa"),
    Probe("autograd", "standard", "", "nets"),
    Probe("amp", "standard", "", "train"),
    Probe("cuda-graph", "standard", "graph", "queues"),
    Probe("streams", "standard", "memory", "queues"),
    Probe("runtime-compile", "standard", "runtime-compile", "compile"),
    Probe("compile", "standard", "compile", "compile"),
    Probe("triton", "standard", "triton", "compile"),
    Probe("pinned", "standard", "memory", "memory"),
    Probe("peer", "standard", "memory", "many"),
    Probe("all-reduce-gloo", "standard", "all-reduce", "many", "cpu"),
    Probe("all-reduce-nccl", "standard", "all-reduce", "many", "first"),
    Probe("all-reduce-processes", "long", "all-reduce", "group", "first"),
    Probe("dataloader", "standard", "", "data", "first"),
    Probe("torchvision-nms", "standard", "vision", "data"),
    Probe("checkpoint", "quick", "", "data"),
    Probe("export", "standard", "", "export", "cpu"),
    Probe("onnx", "standard", "", "export", "cpu"),
    Probe("int8", "standard", "matmul", "matmul"),
    Probe("repeat", "long", "matmul", "matmul"),
    Probe("equal-gpus", "long", "matmul", "matmul", "first"),
    Probe("memory", "long", "memory", "memory"),
    Probe("train", "quick", "", "train"),
)


def wanted(probe: Probe, level: str, only: "list[str]") -> bool:
    """Whether a run of this level has it; those asked for by name are run at any level."""
    return probe.id in only if only else LEVELS.index(probe.level) <= LEVELS.index(level)
