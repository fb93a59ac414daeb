"""Installations that break off."""

from __future__ import annotations

from torchdoctor.checks.registry import told

told(__name__, "download-problem", "The download failed: network, proxy, certificate or hash.", severity="error")
told(
    __name__,
    "disk-full",
    "No space is left where the wheel is unpacked or cached, or where torch writes.",
    severity="error",
)
told(__name__, "file-in-use", "A file is locked by a running process.", severity="error")
told(
    __name__,
    "conda-channel-stale",
    "The pytorch channel of conda holds no newer release.",
    severity="warning",
    parent="torch-from-wrong-index",
)
