"""Errors of the program itself: the installation is fine."""

from __future__ import annotations

from torchdoctor.checks.registry import told

told(__name__, "cuda-after-fork", "The program starts CUDA and then forks.", severity="info", parent="user-code")
told(
    __name__,
    "corrupt-file",
    "A checkpoint or data file is truncated, or is a pointer to the real one.",
    severity="warning",
)
told(__name__, "port-in-use", "The port of the rendezvous is taken.", severity="warning")
told(__name__, "user-code", "The installation is fine; the program has this bug.", severity="info", parent="healthy")
told(__name__, "healthy", "A known notice: nothing is wrong with the environment.", severity="info")
told(
    __name__,
    "cause-not-shown",
    "The text shows that something failed and not what: its cause stands above.",
    severity="info",
)
