"""Libraries that a wheel links and does not bring."""

from __future__ import annotations

from torchdoctor.checks.registry import told

told(
    __name__,
    "undeclared-system-library",
    "The wheel links a library that it does not declare and the system does not have.",
    severity="error",
    parent="torch-import-fails",
)
