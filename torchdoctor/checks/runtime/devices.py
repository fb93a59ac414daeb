"""What a device or its runtime cannot do."""

from __future__ import annotations

from torchdoctor.checks.registry import told

told(__name__, "dtype-unsupported", "The device does not support the dtype.", severity="warning")
told(__name__, "kernel-too-large", "A kernel asks for more resources than the GPU has.", severity="error")
told(
    __name__,
    "mps-unavailable",
    "The Apple GPU cannot be used.",
    severity="error",
    after=("python-wrong-arch", "os-unsupported"),
)
told(__name__, "rocm-permission", "The AMD GPU's device files deny access.", severity="error", by_admin=True)
told(__name__, "xpu-runtime-missing", "The runtime of the Intel GPU (Level Zero, driver) is missing.", severity="error")
