"""``tables refresh``: what an index shows is taken over; what it lacks, contradicts or pretends changes nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import ROOT, Run
from index_pages import (
    JSON,
    Reply,
    companion_names,
    html_page,
    json_page,
    metadata_text,
    served,
    torch_names,
    write_index,
)
from loopback_index import LoopbackIndex, Wheel

from torchdoctor.index.client import Client, IndexReadError
from torchdoctor.index.diff import difference
from torchdoctor.index.refresh import Refresh, refresh
from torchdoctor.index.store import store
from torchdoctor.tables import Tables
from torchdoctor.tables.describe import describe
from torchdoctor.tables.invariants import faults
from torchdoctor.tables.loading import newest_day
from torchdoctor.values import Build, CudaVersion, Version


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is asked directly, whatever the machine's proxy."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


TABLES = Tables()
KNOWN = [*torch_names(TABLES), *companion_names(TABLES)]
LINUX, ARM, WINDOWS = "manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "win_amd64"
NEW = [
    f"torch-2.16.0+{build}-{python}-{platform}.whl"
    for build, platforms in {
        "cpu": (LINUX, WINDOWS),
        "cu132": (LINUX, ARM),
        "cu136": (LINUX,),
        "rocm10.0": (LINUX,),
    }.items()
    for python in ("cp312-cp312", "cp315-cp315t", "cp316-cp316")
    for platform in platforms
] + ["torch-2.16.0-cp312-none-macosx_15_0_arm64.whl"]
VISION = f"torchvision-0.30.0+cu132-cp312-cp312-{LINUX}.whl"
OFFERED = {
    f"torch-2.16.0+cu132-cp316-cp316-{LINUX}.whl": metadata_text(
        'triton==3.10.0; platform_system == "Linux"',
        "cuda-toolkit[cudart]==13.2.3",
        "nvidia-cudnn-cu13==9.30.0.1",
        "nvidia-nccl-cu13==2.31.0",
    ),
    VISION: metadata_text("torch==2.16.0", "numpy", python=">=3.11,!=3.14.1"),
}
DAY = "2026-12-07"


def index_of(folder: Path, *names: str, without: tuple[str, ...] = (), offered: Mapping[str, str] | None = None) -> str:
    """An index that shows what the tables know, and more; no name that holds one of ``without``."""
    known = [name for name in KNOWN if not any(word in name for word in without)]
    return write_index(folder, [*known, *names], offered)


def refreshed(base: str, tables: Tables = TABLES, day: str = DAY) -> Refresh:
    return refresh(Client(timeout=20), base, tables, day)


def over(found: Refresh, tables: Tables, folder: Path) -> Tables:
    """The tables with what was found laid over them."""
    store(found.changed, tables, folder, DAY)
    return Tables(over=folder)


@pytest.fixture(scope="module")
def news(tmp_path_factory: pytest.TempPathFactory) -> str:
    return index_of(tmp_path_factory.mktemp("news"), *NEW, VISION, offered=OFFERED)


@pytest.fixture(scope="module")
def new(news: str, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return over(refreshed(news), TABLES, tmp_path_factory.mktemp("over") / "made")


def row(tables: Tables, torch: str, build: str, os: str = "linux", machine: str = "x86_64"):  # type: ignore[no-untyped-def] # noqa: ANN201
    found = tables.torch_builds.find(Version.parse(torch), Build.parse(build), os, machine)
    assert found, f"{torch}+{build} {os} {machine}"
    return found


def test_what_exists_is_added_from_the_names_of_its_wheels(new: Tables) -> None:
    cuda, cpu, mac = (
        row(new, "2.16.0", "cu132"),
        row(new, "2.16.0", "cpu", "windows"),
        row(new, "2.16.0", "mps", "macos", "arm64"),
    )
    assert [str(tag) for tag in cuda.pythons] == ["3.12", "3.15t", "3.16"]
    assert (cuda.python_confidence, cuda.existence, cuda.indexes) == ("read", "read", ("pytorch",))
    assert (cuda.glibc_min, cuda.cuda) == (Version((2, 28)), CudaVersion(13, 2))
    assert (cpu.windows_min, cpu.glibc_min, cpu.code_confidence) == (Version((10,)), None, "none")
    assert (mac.os_min, mac.indexes) == (Version((15, 0)), ("pytorch-cpu",))
    assert {one.key for one in new.torch_builds.rows} - {one.key for one in TABLES.torch_builds.rows} == {
        "2.16.0+cpu linux x86_64",
        "2.16.0+cpu windows x86_64",
        "2.16.0+cu132 linux x86_64",
        "2.16.0+cu132 linux aarch64",
        "2.16.0+cu136 linux x86_64",
        "2.16.0+rocm10.0 linux x86_64",
        "2.16.0+mps macos arm64",
    }


def test_what_only_a_person_can_know_is_unknown(new: Tables) -> None:
    for build in ("cu132", "cu136", "rocm10.0"):
        found = row(new, "2.16.0", build)
        assert (found.code_confidence, found.code, found.gfx, found.on_pypi) == ("unknown", (), (), None)
        assert found.notes
    assert row(new, "2.16.0", "cu132", machine="aarch64").released == ""


def test_what_a_wheel_asks_for_is_read_where_it_is_offered(new: Tables) -> None:
    cuda, other = row(new, "2.16.0", "cu132"), row(new, "2.16.0", "cu136")
    assert (cuda.cuda_toolkit, cuda.cudnn, cuda.nccl, cuda.triton) == ("13.2.3", "9.30.0.1", "2.31.0", "3.10.0")
    assert (other.cuda_toolkit, other.cudnn, other.triton) == ("", "", "")
    vision, triton = new.companions.find("torchvision", "0.30.0"), new.companions.find("triton", "3.10.0")
    assert vision
    assert triton
    assert (vision.is_pinned, vision.listed_for, vision.labelled) == (True, (Version.parse("2.16.0"),), "yes")
    assert vision.pythons_excluded == (Version.parse("3.14.1"),)
    assert triton.fits(Version.parse("2.16.0"))


def test_the_result_holds_every_rule_and_the_pythons_follow(new: Tables) -> None:
    assert list(faults(new)) == []
    assert {str(one.python): str(one.last_torch) for one in new.pythons.rows}["3.16"] == "2.16.0"
    assert new.edition == f"{DAY}+overlay"


def test_a_second_run_finds_no_difference_on_that_day_nor_later(news: str, new: Tables) -> None:
    for day in (DAY, "2027-01-31"):
        again = refreshed(news, new, day)
        assert again.changed == ()
        assert [line for sheet in again.sheets for line in difference(sheet)] == []


def test_what_was_inferred_and_is_there_becomes_read(tmp_path: Path) -> None:
    before = row(TABLES, "2.15.0", "cu130")
    assert before.existence == "inferred"
    names = [f"torch-2.15.0+cu130-cp3{minor}-cp3{minor}-{LINUX}.whl" for minor in (11, 12, 13, 14, 15)]
    names += [f"torch-2.15.0+cu130-cp3{minor}-cp3{minor}t-{LINUX}.whl" for minor in (14, 15)]
    found = refreshed(index_of(tmp_path / "index", *names))
    after = row(over(found, TABLES, tmp_path / "over"), "2.15.0", "cu130")
    assert (after.existence, after.python_confidence, after.pythons) == ("read", "read", before.pythons)
    assert "inferred" not in after.notes
    assert after.code == before.code


def test_pythons_are_added_and_none_is_taken_away(tmp_path: Path) -> None:
    """3.16 is new; 3.12 is gone from the page, which is said; of previews of 3.15 the notes leave the decision open."""
    extra = [f"torch-2.14.1+cu126-{tag}-{LINUX}.whl" for tag in ("cp316-cp316", "cp315-cp315")]
    found = refreshed(index_of(tmp_path / "index", *extra, without=(f"torch-2.14.1+cu126-cp312-cp312-{LINUX}",)))
    after = row(over(found, TABLES, tmp_path / "over"), "2.14.1", "cu126")
    assert [str(tag) for tag in after.pythons] == ["3.10", "3.11", "3.12", "3.13", "3.14", "3.14t", "3.16"]
    assert any(line.startswith("2.14.1+cu126 linux x86_64: Python 3.12 ") for line in found.outcome.lacking)


def test_a_row_that_the_page_lacks_is_told_and_kept(tmp_path: Path) -> None:
    found = refreshed(index_of(tmp_path / "index", without=("torch-2.11.0+cu128", "torch-2.9.1-cp")))
    assert {line for line in found.outcome.lacking if line.endswith("no wheel")} >= {
        "2.11.0+cu128 linux x86_64: no wheel",
        "2.11.0+cu128 windows x86_64: no wheel",
        "2.9.1+mps macos arm64: no wheel",
    }
    assert row(over(found, TABLES, tmp_path / "over"), "2.11.0", "cu128") is not None


def renamed(names: list[str], old: str, new_: str) -> list[str]:
    changed = [name.replace(old, new_) for name in names]
    assert changed != names
    return changed


def test_what_was_read_is_not_contradicted(tmp_path: Path) -> None:
    """The PyPI builds were read with their glibc and their macOS; another number on a page is told, not believed."""
    names = renamed(
        KNOWN,
        "torch-2.14.1+cu130-cp312-cp312-manylinux_2_28_x86_64",
        "torch-2.14.1+cu130-cp312-cp312-manylinux_2_39_x86_64",
    )
    names = [name for name in names if not (name.startswith("torch-2.14.1+cu130") and name.endswith(f"{LINUX}.whl"))]
    names = renamed(names, "torch-2.15.0-cp312-cp312-macosx_14_0", "torch-2.15.0-cp312-none-macosx_26_0")
    found = refreshed(write_index(tmp_path / "index", names))
    assert found.outcome.contradictions == [
        "2.14.1+cu130 linux x86_64: glibc_min is 2.28 in the tables, the index shows 2.39",
        "2.15.0+mps macos arm64: os_min of 3.12 is 14.0 in the tables, the index shows 26.0",
    ]
    after = over(found, TABLES, tmp_path / "over")
    assert row(after, "2.14.1", "cu130").glibc_min == Version((2, 28))
    assert row(after, "2.15.0", "mps", "macos", "arm64").os_min_exceptions == {}


def test_a_companion_that_asks_for_another_torch_contradicts(tmp_path: Path) -> None:
    name = next(name for name in KNOWN if name.startswith("torchvision-0.29.2-"))
    found = refreshed(index_of(tmp_path / "index", offered={name: metadata_text("torch==2.15.0")}))
    assert found.outcome.contradictions == [
        "torchvision 0.29.2: torch is 2.14.0 to any in the tables, the index shows 2.15.0 to 2.15.0"
    ]
    assert over(found, TABLES, tmp_path / "over").companions.best("torchvision", Version.parse("2.14.1")) is not None


def test_a_companion_without_the_label_it_was_read_with_contradicts(tmp_path: Path) -> None:
    names = renamed(KNOWN, "torchvision-0.24.1+cpu-", "torchvision-0.24.1-")
    found = refreshed(write_index(tmp_path / "index", names))
    assert found.outcome.contradictions == ["torchvision 0.24.1: labelled is yes in the tables, the index shows no"]


def own_rows(folder: Path, old: str, new_: str) -> Tables:
    """An overlay of one row: the cu126 build of 2.14.1, changed."""
    head, *lines = (ROOT / "compat_tables" / "torch_builds.csv").read_text(encoding="utf-8").splitlines()
    line = next(line for line in lines if line.startswith("2.14.1,cu126,linux,x86_64,"))
    assert old in line
    folder.mkdir()
    (folder / "torch_builds.csv").write_text(f"{head}\n{line.replace(old, new_, 1)}\n", encoding="utf-8")
    return Tables(over=folder)


def test_rows_of_the_users_own_stay_when_new_ones_are_written_beside_them(tmp_path: Path) -> None:
    tables = own_rows(tmp_path / "mine", "the last torch for Maxwell", "my own note on Maxwell")
    base = index_of(tmp_path / "index", f"torch-2.16.0+cpu-cp312-cp312-{LINUX}.whl", without=("torch-2.14.1+cu126",))
    after = over(refreshed(base, tables), tables, tmp_path / "mine")
    assert "my own note" in row(after, "2.14.1", "cu126").notes
    assert row(after, "2.16.0", "cpu").existence == "read"


def test_a_result_that_breaks_a_rule_is_not_written(torchdoctor: Run, tmp_path: Path) -> None:
    own_rows(tmp_path / "mine", ",12.6,12.6.3,", ",12.7,12.6.3,")
    before = (tmp_path / "mine" / "torch_builds.csv").read_bytes()
    base = index_of(tmp_path / "index", f"torch-2.16.0+cpu-cp312-cp312-{LINUX}.whl")
    result = torchdoctor("tables", "refresh", "--from", base, "--tables", "mine", "--write")
    assert result.returncode == 1
    assert "torch_builds.csv:2: 2.14.1+cu126 linux x86_64: CUDA 12.7 is not that of cu126" in result.stderr
    assert "nothing was written" in result.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["torch_builds.csv"]
    assert (tmp_path / "mine" / "torch_builds.csv").read_bytes() == before


def test_labels_that_were_open_are_settled(tmp_path: Path) -> None:
    found = refreshed(index_of(tmp_path / "index", f"torchvision-0.29.1+cu126-cp312-cp312-{LINUX}.whl"))
    companions = over(found, TABLES, tmp_path / "over").companions
    labels = {name: companions.find("torchvision", name) for name in ("0.29.1", "0.29.2")}
    assert {name: one.labelled for name, one in labels.items() if one} == {"0.29.1": "yes", "0.29.2": "no"}


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "no page of torch"),
        (["torch-2.16.0.dev20261101+cpu-cp312-cp312-win_amd64.whl"], "no wheel of a final release"),
        (KNOWN[:40], "not believed: it shows"),
        (["torch-9.9.0+cu199-cp312-cp312-win_amd64.whl"], "no build on it is known"),
        (
            [name for name in KNOWN if "torchvision-0.1" not in name and "torchvision-0.20" not in name],
            "page of torchvision",
        ),
    ],
)
def test_a_page_that_cannot_be_the_index_is_not_believed(tmp_path: Path, names: list[str], said: str) -> None:
    with pytest.raises(IndexReadError, match=said):
        refreshed(write_index(tmp_path, names) if names else tmp_path.as_uri())


def test_nightlies_candidates_other_labels_and_old_versions_are_passed_over(tmp_path: Path) -> None:
    names = (
        f"torch-2.17.0.dev20261201+cu132-cp312-cp312-{LINUX}.whl",
        f"torch-2.16.0rc2+cpu-cp312-cp312-{LINUX}.whl",
        f"torch-2.5.0+cpu.cxx11.abi-cp39-cp39-{LINUX}.whl",
        "torch-1.7.0+cpu-cp38-cp38-win_amd64.whl",
        f"torchvision-0.31.0.dev1+cpu-cp312-cp312-{LINUX}.whl",
    )
    found, plain = refreshed(index_of(tmp_path / "a", *names)), refreshed(index_of(tmp_path / "b"))
    assert [sheet.rows for sheet in found.sheets] == [sheet.rows for sheet in plain.sheets]
    assert any("label +cpu.cxx11.abi" in line for line in found.outcome.remarks)


def test_a_yanked_release_is_not_added(tmp_path: Path) -> None:
    base = index_of(tmp_path, f"torch-2.16.0+cpu-cp312-cp312-{LINUX}.whl")
    page = tmp_path / "torch" / "index.html"
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace('<a href="torch-2.16.0', '<a data-yanked="bad" href="torch-2.16.0'), encoding="utf-8")
    found = refreshed(base)
    assert "1 files passed over: yanked" in found.outcome.remarks
    assert [key for sheet in found.sheets for key in sheet.touched() if "2.16.0" in key] == []


def test_a_wheel_without_label_confirms_only_what_pypi_is_known_to_serve(tmp_path: Path) -> None:
    names = (f"torch-2.15.0-cp316-cp316-{LINUX}.whl", f"torch-2.16.0-cp312-cp312-{LINUX}.whl")
    found = refreshed(index_of(tmp_path / "index", *names))
    after = over(found, TABLES, tmp_path / "over")
    assert "3.16" in map(str, row(after, "2.15.0", "cu132").pythons)
    assert after.torch_builds.newest() == TABLES.torch_builds.newest()
    assert any(line.startswith("2.16.0 linux x86_64: no label") for line in found.outcome.remarks)


def test_hostile_names_leave_no_trace_in_a_table(tmp_path: Path) -> None:
    evil = ['=HYPERLINK("http://x")', "+cmd|calc", "a,b,c", '"\r\n1.0', "../../etc/passwd", "\u202e", "x" * 5000]
    names = [f"torch-2.16.0+{text}-cp312-cp312-{LINUX}.whl" for text in evil]
    names += [f"torch-{text}+cpu-cp312-cp312-{LINUX}.whl" for text in evil]
    names += [f"torch-2.16.0+cpu-{text}-cp312-{LINUX}.whl" for text in evil] + [
        f"torch-2.16.0+cpu-cp312-cp312-{text}.whl" for text in evil
    ]
    pages = {
        "/torch/": Reply(json_page([*torch_names(TABLES), *names]), JSON),
        "/torchvision/": Reply(
            html_page(companion_names(TABLES)[:35] + [f"torchvision-{text}-py3-none-any.whl" for text in evil])
        ),
    }
    with served(pages) as url:
        found = refreshed(url)
    builds = next(sheet for sheet in found.sheets if sheet.file.name == "torch_builds.csv")
    assert {key for key in builds.touched() if key not in builds.before} == set()
    store(found.changed, TABLES, tmp_path / "over", DAY)
    assert list(faults(Tables(over=tmp_path / "over"))) == []


def test_requirements_that_lie_are_not_written(tmp_path: Path) -> None:
    lies = metadata_text(
        'triton==3.10.0; platform_system == "Linux"', "nvidia-cudnn-cu13===x,y", "cuda-toolkit==13.2.3"
    )
    name = f"torch-2.16.0+cu132-cp312-cp312-{LINUX}.whl"
    found = refreshed(index_of(tmp_path / "index", name, offered={name: lies + "Requires-Dist: =cmd\n"}))
    after = over(found, TABLES, tmp_path / "over")
    assert (row(after, "2.16.0", "cu132").cudnn, row(after, "2.16.0", "cu132").cuda_toolkit) == ("", "13.2.3")


def test_a_new_torch_extends_the_triton_it_asks_for(tmp_path: Path) -> None:
    cuda, rocm = f"torch-2.15.1+cu132-cp312-cp312-{LINUX}.whl", f"torch-2.15.1+rocm7.14-cp312-cp312-{LINUX}.whl"
    offered = {
        cuda: metadata_text('triton~=3.9.0; platform_system == "Linux"'),
        rocm: metadata_text('triton-rocm==3.9.0; platform_system == "Linux"'),
    }
    after = over(refreshed(index_of(tmp_path / "index", cuda, rocm, offered=offered)), TABLES, tmp_path / "over")
    assert [row(after, "2.15.1", build).triton for build in ("cu132", "rocm7.14")] == ["~=3.9.0", "triton-rocm 3.9.0"]
    triton = after.companions.find("triton", "3.9.0")
    assert triton
    assert [str(version) for version in triton.listed_for] == ["2.15.0", "2.15.1"]
    assert triton.fits(Version.parse("2.15.1"))
    assert list(faults(after)) == []


def loopback(name: str, *requires: str) -> Wheel:
    project, version, tags = name.removesuffix(".whl").split("-", 2)
    return Wheel(project, version, tags, requires)


@pytest.mark.parametrize("as_json", [True, False], ids=["PEP 691", "PEP 503"])
def test_a_real_server_gives_the_same_in_both_forms(tmp_path: Path, as_json: bool) -> None:
    wheels = [loopback(name) for name in KNOWN if "torch-2." in name and "+cpu" in name]
    wheels.append(loopback(f"torch-2.16.0+cpu-cp312-cp312-{LINUX}.whl"))
    wheels.append(loopback(f"torchvision-0.30.0+cpu-cp312-cp312-{LINUX}.whl", "torch==2.16.0", "numpy"))
    wheels += [loopback(name) for name in KNOWN if name.startswith("torchvision")]
    with LoopbackIndex({"whl": wheels}, as_json=as_json) as index:
        found = refreshed(f"{index.url}/whl")
    after = over(found, TABLES, tmp_path / "over")
    assert row(after, "2.16.0", "cpu").triton == "none"
    assert after.companions.find("torchvision", "0.30.0") is not None
    assert "no page of torchaudio" in found.outcome.remarks


def test_an_index_of_one_folder_a_build_is_read_folder_by_folder(tmp_path: Path) -> None:
    for build in ("cpu", "cu126"):
        known = [name for name in KNOWN if f"+{build}-" in name]
        write_index(tmp_path / build, [*known, f"torch-2.16.0+{build}-cp312-cp312-{LINUX}.whl"])
    found = refreshed(tmp_path.as_uri())
    builds = next(sheet for sheet in found.sheets if sheet.file.name == "torch_builds.csv")
    new_ = [key for key in builds.touched() if key not in builds.before]
    assert new_ == [("2.16.0", "cpu", "linux", "x86_64"), ("2.16.0", "cu126", "linux", "x86_64")]


def test_a_whole_folder_is_written_with_its_date_and_its_readme(news: str, tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    shutil.copytree(ROOT / "compat_tables", folder)
    tables = Tables(folder)
    paths = store(refreshed(news, tables).changed, tables, folder, DAY)
    assert {path.name for path in paths} == {
        "torch_builds.csv",
        "torch_companions.csv",
        "python_support.csv",
        "DATE",
        "README.md",
    }
    assert (folder / "DATE").read_text(encoding="utf-8") == f"{DAY}\n" == f"{newest_day(folder)}\n"
    assert (folder / "README.md").read_text(encoding="utf-8") == describe(folder)
    after = Tables(folder)
    assert list(faults(after)) == []
    for sheet in refreshed(news, after).sheets:
        text = (folder / sheet.file.name).read_text(encoding="utf-8")
        assert sheet.file.canonical(text) == text
        assert list(sheet.touched()) == []
    assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []


# The same as a command.


def test_it_writes_only_when_asked_to_and_then_into_the_users_folder(
    torchdoctor: Run, tmp_path: Path, news: str
) -> None:
    config = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "APPDATA": str(tmp_path / "config")}
    dry = torchdoctor("tables", "refresh", "--from", news, env=config)
    assert (dry.returncode, list(tmp_path.rglob("*.csv"))) == (0, [])
    assert "@@ 2.16.0 cu132 linux x86_64 @@\n+pythons=3.12 3.15t 3.16 " in dry.stdout
    assert "--write" in dry.stderr
    wet = torchdoctor("tables", "refresh", "--from", news, "--write", env=config)
    assert (wet.returncode, wet.stdout) == (0, dry.stdout)
    assert len(list((tmp_path / "config" / "torchdoctor" / "tables").glob("*.csv"))) == 3
    again = torchdoctor("tables", "refresh", "--from", news, "--write", env=config)
    assert (again.returncode, again.stdout) == (0, "")
    assert "no difference" in again.stderr
    host = ("--os", "linux", "--machine", "x86_64", "--python-version", "3.12", "--libc", "glibc-2.35")
    assert "torch==2.16.0+cpu" in torchdoctor("install-cmd", *host, "--gpu", "none", env=config).stdout
    gpu = ("--driver", "610.43.02", "--gpu", "sm_90")
    unsure = torchdoctor("install-cmd", *host, *gpu, "--allow-inferred", env=config)
    assert "torch==2.16.0+cu132" in unsure.stdout
    assert "for which GPUs torch 2.16.0 cu132 has code is unknown" in unsure.stderr


def test_a_contradiction_ends_in_1_and_the_rest_is_written(torchdoctor: Run, tmp_path: Path) -> None:
    names = renamed(KNOWN, "torch-2.15.0-cp312-cp312-macosx_14_0", "torch-2.15.0-cp312-none-macosx_26_0")
    base = write_index(tmp_path / "index", [*names, f"torch-2.16.0+cpu-cp312-cp312-{LINUX}.whl"])
    result = torchdoctor("tables", "refresh", "--from", base, "--tables", "mine", "--write")
    assert result.returncode == 1
    assert "contradiction, not changed: 2.15.0+mps macos arm64: os_min of 3.12" in result.stderr
    assert row(Tables(over=tmp_path / "mine"), "2.16.0", "cpu") is not None


@pytest.mark.parametrize("address", ["file:///no/such/index", "http://127.0.0.1:1/whl"])
def test_an_index_that_cannot_be_read_changes_nothing(torchdoctor: Run, tmp_path: Path, address: str) -> None:
    result = torchdoctor("tables", "refresh", "--from", address, "--tables", "mine", "--write", "--timeout", "5")
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.endswith("; nothing was changed\n")
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("day", "is_date"),
    [
        ("2026-12-01", True),
        ("2028-02-29", True),
        ("2026-02-29", False),
        ("2026-13-45", False),
        ("2026-00-10", False),
        ("2026-04-31", False),
        ("2026-12", False),
        ("yesterday!", False),
        ("\u0662\u0660\u0662\u0666-12-01", False),
    ],
)
def test_a_day_of_upload_that_is_none_is_the_pages_fault(
    torchdoctor: Run, tmp_path: Path, day: str, *, is_date: bool
) -> None:
    wheel = f"torch-2.16.0+cpu-cp312-cp312-{LINUX}.whl"
    base = index_of(tmp_path / "index")
    page = [name for name in KNOWN if name.startswith("torch-")]
    older = json.loads(json_page(page))
    older["files"] += json.loads(json_page([wheel], uploaded=day))["files"]
    (tmp_path / "index" / "torch" / "index.json").write_text(json.dumps(older), encoding="utf-8")
    result = torchdoctor("tables", "refresh", "--from", base, "--tables", "mine", "--write")
    if is_date:
        assert row(Tables(over=tmp_path / "mine"), "2.16.0", "cpu").released == day
        return
    assert (result.returncode, result.stdout) == (1, "")
    assert f"{base}/torch/: {wheel}: upload-time " in result.stderr
    assert result.stderr.endswith(" is not a date; nothing was changed\n")
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("refresh",), "--from INDEX"),
        (("refresh", "--from", "ftp://x/whl"), "not an http, https or file address"),
        (("refresh", "--from", "https://x/whl?a=b"), "not an address without query"),
        (("list", "--write"), "belong to tables refresh"),
        (("verify", "--from", "https://x/whl"), "belong to tables refresh"),
        (("refresh", "--from", "file:///x", "--tables", "nowhere"), "no such folder"),
    ],
)
def test_usage(torchdoctor: Run, arguments: tuple[str, ...], said: str) -> None:
    result = torchdoctor("tables", *arguments)
    assert (result.returncode, result.stdout) == (2, "")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1
