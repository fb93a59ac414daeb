"""What Windows itself must bring: a Visual C++ runtime that is new enough, and room for long paths."""

from __future__ import annotations

import pytest
from driver_hosts import changed, healthy, torch
from one_check import found, is_skipped, only, severity

from torchdoctor.checks import all_checks
from torchdoctor.facts import Facts, Unknown
from torchdoctor.tables import Tables
from torchdoctor.tables.windows_wheels import LONGEST
from torchdoctor.values import Version

all_checks()  # loads them
OLD, NEW = Version.parse("14.36.32532.0"), Version.parse("14.44.35211.0")
WINDOWS = changed(
    healthy(),
    os__name="windows",
    os__vc_runtime=OLD,
    os__long_paths=False,
    python__environment="venv",
    python__prefix_length=40,
    torch=torch("2.14.1+cu130", cuda_available=Unknown("answer of torch.cuda.is_available()")),
)
BARE = changed(WINDOWS, torch__installed=False)
ERROR = 'OSError: [WinError 1114] ... Error loading "C:\\venv\\Lib\\site-packages\\torch\\lib\\c10.dll"'


def test_the_runtime_is_older_than_the_wheel_needs(tables: Tables) -> None:
    finding = only("msvc-runtime-too-old", WINDOWS, tables)
    assert str(finding.summary) == "Visual C++ runtime 14.36.32532.0 is older than 14.40, which torch 2.14.1 needs"
    assert (finding.confidence, finding.fixable_by) == ("likely", "admin")
    assert only("msvc-runtime-too-old", changed(WINDOWS, trial__error=ERROR), tables).confidence == "certain"
    conda = changed(WINDOWS, python__environment="conda", trial__error=ERROR)
    assert only("msvc-runtime-too-old", conda, tables).confidence == "certain"


@pytest.mark.parametrize(
    "facts",
    [
        changed(WINDOWS, os__vc_runtime=NEW),
        changed(WINDOWS, os__vc_runtime=Version.parse("14.40.33810.0")),
        changed(WINDOWS, os__vc_runtime=None),  # not registered: a copy may lie beside Python
        changed(WINDOWS, torch__version="2.8.0"),  # no floor is known to matter there
        changed(WINDOWS, torch__version="2.16.0"),
        changed(WINDOWS, torch__cuda_available=True),
        changed(WINDOWS, python__environment="conda"),
        changed(WINDOWS, os__name="linux"),
        BARE,
    ],
)
def test_a_runtime_that_is_not_at_fault(facts: Facts, tables: Tables) -> None:
    assert found("msvc-runtime-too-old", facts, tables) == []


def test_a_runtime_that_nobody_read(tables: Tables) -> None:
    assert is_skipped("msvc-runtime-too-old", changed(WINDOWS, os__vc_runtime=Unknown("Visual C++ runtime")), tables)


@pytest.mark.parametrize(
    ("length", "releases", "how_bad"),
    [
        (40, "", ""),
        (91, "", ""),
        (92, "2.13.0", "info"),
        (132, "2.13.0", "info"),
        (133, "2.13.0, 2.15.0", "warning"),
        (139, "2.13.0, 2.14.1, 2.15.0", "warning"),
        (150, "all", "error"),
    ],
)
def test_paths_that_do_not_fit(length: int, releases: str, how_bad: str, tables: Tables) -> None:
    facts = changed(BARE, python__prefix_length=length)
    rows = tables.windows_wheels.too_deep(length)
    assert all(length + 1 + (row.longest_path or 0) > LONGEST for row in rows)
    if not releases:
        assert found("windows-long-path", facts, tables) == []
        return
    assert ", ".join(str(row.torch) for row in rows) == releases or releases == "all"
    assert severity("windows-long-path", facts, tables) == how_bad
    texts = [str(remedy.text) for remedy in only("windows-long-path", facts, tables).remedies]
    assert (f"Or take a release other than {releases}" in texts) is (releases != "all")


@pytest.mark.parametrize(
    "changes",
    [{"os__long_paths": True}, {"os__long_paths": None}, {"torch__installed": True}, {"os__name": "linux"}],
)
def test_deep_folders_that_are_no_trouble(changes: dict[str, object], tables: Tables) -> None:
    assert found("windows-long-path", changed(BARE, python__prefix_length=150, **changes), tables) == []


@pytest.mark.parametrize("name", ["os__long_paths", "python__prefix_length"])
def test_lengths_that_nobody_read(name: str, tables: Tables) -> None:
    assert is_skipped("windows-long-path", changed(BARE, **{name: Unknown("it")}), tables)
