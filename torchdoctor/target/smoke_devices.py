"""One face for every device: what it is called, what it can, which library does what, how it is waited for and timed."""

import time

from torchdoctor.target.smoke_run import Skip

MYPY = False
if MYPY:
    from collections.abc import Callable
    from typing import Any

LIBRARIES = {
    "cpu": {"": "libtorch_cpu", "all-reduce": "gloo", "compile": "inductor", "vision": "torchvision"},
    "cuda": {
        "": "libtorch_cuda",
        "memory": "libcudart",
        "matmul": "libcublas",
        "scaled-matmul": "libcublasLt",
        "conv": "libcudnn",
        "fft": "libcufft",
        "linalg": "libcusolver",
        "sparse": "libcusparse",
        "semi-structured": "libcusparseLt",
        "random": "libcurand",
        "runtime-compile": "libnvrtc",
        "all-reduce": "libnccl",
        "graph": "libcuda",
        "compile": "inductor",
        "triton": "triton",
        "vision": "torchvision",
    },
    "rocm": {
        "": "libtorch_hip",
        "memory": "libamdhip64",
        "matmul": "librocblas",
        "scaled-matmul": "libhipblaslt",
        "conv": "libMIOpen",
        "fft": "libhipfft",
        "linalg": "libhipsolver",
        "sparse": "libhipsparse",
        "semi-structured": "libhipsparselt",
        "random": "libhiprand",
        "runtime-compile": "libhiprtc",
        "all-reduce": "librccl",
        "graph": "libamdhip64",
        "compile": "inductor",
        "triton": "triton",
        "vision": "torchvision",
    },
    "xpu": {
        "": "libtorch_xpu",
        "memory": "libsycl",
        "matmul": "libdnnl",
        "conv": "libdnnl",
        "fft": "libmkl_sycl",
        "linalg": "libmkl_sycl",
        "all-reduce": "libccl",
        "compile": "inductor",
        "triton": "triton",
        "vision": "torchvision",
    },
    "mps": {"": "MetalPerformanceShadersGraph", "runtime-compile": "Metal", "vision": "torchvision"},
}

# What a kind of device cannot do, whatever the version of torch.
LACKS = {
    ("cpu", "streams"): "a CPU has no streams",
    ("cpu", "graph"): "a CPU has no graphs",
    ("cpu", "pinned"): "only an accelerator copies from pinned memory",
    ("cpu", "runtime-compile"): "on a CPU nothing but torch.compile compiles at run time",
    ("cpu", "triton"): "Triton kernels need a GPU",
    ("cpu", "peer"): "a CPU has no peers",
    ("cpu", "tf32"): "a CPU has no TF32",
    ("cpu", "semi-structured"): "a CPU has no products of semi-structured matrices",
    ("mps", "semi-structured"): "MPS has no products of semi-structured matrices",
    ("mps", "tf32"): "MPS has no TF32",
    ("mps", "float64"): "MPS has no float64",
    ("mps", "float8"): "MPS has no 8-bit floats",
    ("mps", "streams"): "torch offers one stream on MPS",
    ("mps", "graph"): "MPS has no graphs",
    ("mps", "pinned"): "CPU and GPU share their memory",
    ("mps", "triton"): "there is no Triton for MPS",
    ("mps", "peer"): "there is one GPU",
    ("mps", "all-reduce"): "torch has no collectives on MPS",
    ("xpu", "semi-structured"): "torch has no products of semi-structured matrices on an XPU",
    ("xpu", "graph"): "CUDA graphs are of CUDA and ROCm",
    ("xpu", "peer"): "torch copies between XPUs through the host",
    ("xpu", "runtime-compile"): "torch compiles at run time on an XPU through Triton only",
    ("xpu", "float8"): "torch has no 8-bit matmul on an XPU",
}


class Device:
    """A CPU, a GPU or a GPU-like device of the examined torch. ``backend`` tells ROCm from CUDA, ``kind`` does not."""

    def __init__(self, torch: "Any", backend: str, index: "int | None") -> None:
        self.torch, self.backend, self.index = torch, backend, index
        self.kind = "cuda" if backend == "rocm" else backend
        self.name = self.kind if index is None else "%s:%d" % (self.kind, index)
        self.module = getattr(torch, self.kind, None)  # type: Any

    def library(self, area: str) -> str:
        """The shared library that does the work of an area here."""
        names = LIBRARIES[self.backend]
        return names.get(area, names[""])

    def need(self, what: str) -> None:
        """Skip the probe, with the reason, when this kind of device cannot do it."""
        if (self.kind, what) in LACKS:
            raise Skip(LACKS[self.kind, what])
        if what == "float64" and self.kind == "xpu" and not getattr(self.properties(), "has_fp64", True):
            raise Skip("this XPU has no float64")

    def properties(self) -> "Any":
        """What the runtime tells of the device; None where it tells nothing."""
        ask = getattr(self.module, "get_device_properties", None)
        return ask(self.index) if ask and self.index is not None else None

    def current(self) -> "Any":
        """A context in which this is the current device."""
        import contextlib

        return self.module.device(self.index) if self.module and self.index is not None else contextlib.nullcontext()

    def use(self) -> None:
        """Make it the current device of its kind, for good."""
        if self.index is not None and self.module:
            self.module.set_device(self.index)

    def synchronize(self) -> None:
        """Wait until everything queued is done, so that its errors are met here and its time is counted."""
        if self.kind == "mps":
            self.module.synchronize()
        elif self.index is not None and self.module:
            self.module.synchronize(self.index)

    def seconds(self, action: "Callable[[], object]", repeats: int) -> float:
        """The mean time of an action, by the device's own events where it has them."""
        action()
        self.synchronize()
        if self.index is None or self.module is None:
            started = time.perf_counter()
            for _ in range(repeats):
                action()
            self.synchronize()
            return (time.perf_counter() - started) / repeats
        begin, end = self.module.Event(enable_timing=True), self.module.Event(enable_timing=True)
        begin.record()
        for _ in range(repeats):
            action()
        end.record()
        self.synchronize()
        return float(begin.elapsed_time(end)) / 1000 / repeats

    def memory(self) -> "tuple[int | None, int | None]":
        """Free and total memory in bytes."""
        if self.kind == "mps":
            total = int(self.module.recommended_max_memory())
            return total - int(self.module.driver_allocated_memory()), total
        ask = getattr(self.module, "mem_get_info", None)
        if self.index is None or ask is None:
            return None, getattr(self.properties(), "total_memory", None)
        free, total = ask(self.index)
        return int(free), int(total)

    def describe(self) -> "dict[str, Any]":
        """What is told of the device; a device that cannot even answer this is told with its error."""
        names = ("model", "capability", "arch", "units", "threads", "pci", "uuid", "memory", "free", "error")
        told = dict(dict.fromkeys(names), device=self.name, backend=self.backend)  # type: dict[str, Any]
        try:
            told["threads"] = self.torch.get_num_threads() if self.kind == "cpu" else None
            known = self.properties()
            told["model"] = getattr(known, "name", None) or self.chip()
            told["arch"], told["units"] = (
                getattr(known, name, None) for name in ("gcnArchName", "multi_processor_count")
            )
            if hasattr(known, "major") and hasattr(known, "minor"):
                told["capability"] = "%d.%d" % (known.major, known.minor)
            told["pci"], told["uuid"] = self.addresses()
            told["free"], told["memory"] = self.memory()
        except Exception as error:
            told["error"] = str(error)[:500]
        return told

    def chip(self) -> "str | None":
        """The name of a Mac's chip, where torch is new enough to tell; no other device lacks properties."""
        ask = getattr(self.torch.backends.mps, "get_name", None) if self.kind == "mps" else None
        return ask() if ask else None

    def addresses(self) -> "tuple[str | None, str | None]":
        """The PCI address as the system writes it and the UUID, where torch is new enough to tell."""
        known = self.properties()
        names = ("pci_domain_id", "pci_bus_id", "pci_device_id")
        numbers = [getattr(known, name) for name in names if hasattr(known, name)]
        pci = "%04x:%02x:%02x.0" % tuple(numbers) if len(numbers) == len(names) else None
        return pci, str(getattr(known, "uuid", "") or "") or None
