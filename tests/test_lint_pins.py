"""The torch that releases of companions ask for: the rows, and what lint makes of every one of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from packaging.version import Version as AnyVersion

from torchdoctor.lint.knowledge import accepts, is_plain, release_for
from torchdoctor.lint.run import lint
from torchdoctor.tables import Tables
from torchdoctor.values import Version

_SAMPLE = 6  # every sixth row: each is one file to read and judge


@pytest.fixture(scope="module")
def tables() -> Tables:
    return Tables()


def test_the_rows_speak_of_torches_that_exist_and_stand_in_order(tables: Tables) -> None:
    for row in tables.companion_pins.rows:
        assert is_plain(row.spec), row.key
        assert any(accepts(row.spec, torch) for torch in tables.torch_builds.versions()), row.key
    for name in tables.companion_pins.names():
        releases = [AnyVersion(row.version) for row in tables.companion_pins.releases(name)]
        assert releases == sorted(releases, reverse=True)


def test_the_ranges_of_neighbours_agree_with_the_releases(tables: Tables) -> None:
    seen = 0
    for row in tables.companion_pins.rows:
        release = Version.parse(row.version.partition(".post")[0])
        wider = tables.neighbours.find(row.name, release)
        if wider and wider.torch_pin not in {"", "any"}:
            assert row.spec == f"=={wider.torch_pin}", row.key
            seen += 1
    assert seen > 20


def found(folder: Path, tables: Tables, *lines: str) -> list[tuple[str, str]]:
    path = folder / "requirements.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [(item.id, item.severity or "") for item in lint([str(path)], tables).report.findings]


def test_each_release_is_silent_beside_its_torch_and_found_beside_another(tmp_path: Path, tables: Tables) -> None:
    torches = tables.torch_builds.versions()
    for row in tables.companion_pins.rows[::_SAMPLE]:
        pin = f"{row.name}=={row.version}"
        theirs = next(torch for torch in torches if accepts(row.spec, torch))
        assert found(tmp_path, tables, f"torch=={theirs}", pin) == [], row.key
        other = next((torch for torch in torches if not accepts(row.spec, torch)), None)
        severity = "error" if row.stated == "metadata" else "warning"
        assert other is None or found(tmp_path, tables, f"torch=={other}", pin) == [
            ("torch-companion-mismatch", severity)
        ], row.key


@pytest.mark.parametrize(
    ("name", "torch", "release"),
    [
        ("xformers", "2.8.0", "0.0.32.post2"),
        ("xformers", "2.14.1", "0.0.35"),
        ("torchcodec", "2.9.1", "0.9.1"),
        ("torchvision", "2.8.0", "0.23.0"),
        ("vllm", "2.12.0", ""),  # not the one of long ago that asked for any newer torch
    ],
)
def test_the_release_that_goes_with_a_torch_is_named(name: str, torch: str, release: str, tables: Tables) -> None:
    assert release_for(name, Version.parse(torch), tables) == release


@pytest.mark.parametrize(
    ("lines", "severity"),
    [
        (("torch==2.9.1", "xformers<0.0.33"), ""),  # releases older than the table may be meant
        (("torch==2.9.1", "xformers>=0.0.35"), "error"),  # none after it goes back to that torch
        (("torch==2.12.0", "xformers>=0.0.35"), ""),
        (("torch==2.9.1", "xformers==0.0.33.*"), ""),
        (("torch==2.9.1", "xformers~=0.0.32.post1"), ""),
        (("torch==2.8.0", "vllm==0.6.5"), "warning"),  # no row of its own: the range of its neighbours tells
        (("torch==2.8.0", "xformers==0.0.33.dev1"), ""),
        (("torch==2.8.0", "xformers @ git+https://github.com/facebookresearch/xformers@v0.0.33"), ""),
        (("torch==2.8.0 ; sys_platform == 'darwin'", "xformers==0.0.33 ; sys_platform == 'linux'"), ""),
        (("torch==2.8.0", "xformers==0.0.33 ; sys_platform == 'darwin'"), ""),  # no wheel: it compiles there
        (("--index-url https://pypi.example.com/simple", "torch==2.8.0", "xformers==0.0.33"), "warning"),
        (("torch==2.8.0+rocm6.4.3.lw.git1234", "xformers==0.0.33"), ""),
    ],
)
def test_what_is_not_sure_is_no_error(lines: tuple[str, ...], severity: str, tmp_path: Path, tables: Tables) -> None:
    worst = [found[1] for found in found(tmp_path, tables, *lines) if found[0] == "torch-companion-mismatch"]
    assert worst == ([severity] if severity else [])
