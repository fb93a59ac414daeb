"""Installations that break off."""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.checks.registry import check, told_by_a_text
from torchdoctor.facts import Facts
from torchdoctor.findings import Finding
from torchdoctor.tables import Tables


@check("download-problem", severity="error")
def download_problem(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The download failed: network, proxy, certificate or hash."""
    yield from told_by_a_text(facts)


@check("disk-full", severity="error")
def disk_full(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """No space is left where the wheel is unpacked or cached."""
    yield from told_by_a_text(facts)


@check("file-in-use", severity="error")
def file_in_use(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A file is locked by a running process."""
    yield from told_by_a_text(facts)


@check("windows-long-path", severity="error")
def windows_long_path(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """A path is longer than this Windows allows."""
    yield from told_by_a_text(facts)


@check("conda-channel-stale", severity="warning", parent="torch-from-wrong-index")
def conda_channel_stale(facts: Facts, _tables: Tables) -> Iterator[Finding]:
    """The pytorch channel of conda holds no newer release."""
    yield from told_by_a_text(facts)
