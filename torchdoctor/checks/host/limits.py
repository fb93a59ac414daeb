"""What the process may use of the host beyond memory."""

from __future__ import annotations

from torchdoctor.checks.registry import told

told(
    __name__,
    "fd-limit",
    "Too many files are open: DataLoader workers or the launcher reached the limit of the process.",
    severity="warning",
)
