"""Builds that cannot be loaded, or that lack what the program asks of them."""

from __future__ import annotations

from torchdoctor.checks.registry import told

told(
    __name__,
    "executable-stack",
    "The kernel refuses a library that asks for an executable stack.",
    severity="error",
    parent="torch-import-fails",
)
told(
    __name__,
    "torch-version-mismatch",
    "The program wants a newer or an older torch than the one installed.",
    severity="error",
    after=("duplicate-torch", "mixed-package-sources"),
)
told(__name__, "backend-not-in-build", "The build lacks a backend that the program asks for.", severity="warning")
told(
    __name__,
    "optional-package-missing",
    "An optional package that the program asks for is absent.",
    spares_torch=True,
    severity="warning",
)
told(
    __name__,
    "index-lacks-version",
    "The index that was asked does not hold that version.",
    severity="error",
    parent="torch-from-wrong-index",
    after=("python-unsupported",),
)
