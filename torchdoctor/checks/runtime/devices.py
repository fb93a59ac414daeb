"""What a device or its runtime cannot do."""

from __future__ import annotations

from torchdoctor.checks.registry import told

told(__name__, "dtype-unsupported", "The device does not support the dtype.", severity="warning")
told(__name__, "kernel-too-large", "A kernel asks for more resources than the GPU has.", severity="error")
