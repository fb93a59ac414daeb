"""Look-ups over torch builds, companions, Pythons and indexes, with values known from the sources."""

from __future__ import annotations

import csv
from collections import defaultdict

import pytest
from conftest import DATA

from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuild
from torchdoctor.values import Build, CudaVersion, PythonTag, Version


def build(tables: Tables, torch: str, variant: str, os: str = "linux", machine: str = "x86_64") -> TorchBuild:
    found = tables.torch_builds.find(Version.parse(torch), Build.parse(variant), os, machine)
    assert found is not None
    return found


def test_all_official_builds_are_there(tables: Tables) -> None:
    builds = tables.torch_builds
    assert len(builds.rows) == 435
    assert [str(version) for version in builds.versions()[:3]] == ["2.15.0", "2.14.1", "2.14.0"]
    assert str(builds.newest()) == "2.15.0"
    assert len(builds.versions()) == 30


@pytest.mark.parametrize(
    ("torch", "os", "machine", "variant"),
    [
        ("1.13.1", "linux", "x86_64", "cu117"),
        ("2.3.0", "linux", "x86_64", "cu121"),
        ("2.8.0", "linux", "x86_64", "cu128"),
        ("2.10.0", "linux", "aarch64", "cpu"),
        ("2.11.0", "linux", "aarch64", "cu130"),
        ("2.14.1", "linux", "x86_64", "cu130"),
        ("2.15.0", "linux", "x86_64", "cu132"),
        ("2.15.0", "windows", "x86_64", "cpu"),
        ("2.15.0", "macos", "arm64", "mps"),
        ("2.2.2", "macos", "x86_64", "cpu"),
        ("2.3.0", "macos", "x86_64", None),
        ("2.15.0", "windows", "arm64", None),
        ("9.9.9", "linux", "x86_64", None),
    ],
)
def test_what_a_plain_install_gets(tables: Tables, torch: str, os: str, machine: str, variant: str | None) -> None:
    found = tables.torch_builds.pypi_default(Version.parse(torch), os, machine)
    assert (found.build.name if found else None) == variant


@pytest.mark.parametrize(
    ("torch", "variant", "os", "machine", "code", "ptx"),
    [
        ("2.14.1", "cu126", "linux", "x86_64", "5.0 6.0 7.0 7.5 8.0 8.6 9.0", ""),
        ("2.14.1", "cu126", "windows", "x86_64", "5.0 6.0 6.1 7.0 7.5 8.0 8.6 9.0", ""),
        ("2.14.1", "cu130", "linux", "x86_64", "7.5 8.0 8.6 9.0 10.0 12.0", ""),
        ("2.14.1", "cu130", "linux", "aarch64", "8.0 9.0 10.0 11.0 12.0", ""),
        ("2.7.1", "cu128", "linux", "x86_64", "7.5 8.0 8.6 9.0 10.0 12.0", "12.0"),
        ("2.8.0", "cu126", "windows", "x86_64", "6.1 7.0 7.5 8.0 8.6 9.0", ""),
        ("2.10.0", "cu128", "linux", "x86_64", "7.0 7.5 8.0 8.6 9.0 10.0 12.0", ""),
        ("2.11.0", "cu128", "linux", "x86_64", "7.5 8.0 8.6 9.0 10.0 12.0", ""),
        ("2.7.1", "cu118", "linux", "x86_64", "3.7 5.0 6.0 7.0 7.5 8.0 8.6 9.0", ""),
    ],
)
def test_device_code(
    tables: Tables, torch: str, variant: str, os: str, machine: str, code: str, ptx: str
) -> None:  # fmt: skip
    row = build(tables, torch, variant, os, machine)
    assert (" ".join(map(str, row.code)), " ".join(map(str, row.ptx))) == (code, ptx)
    assert row.code_confidence in {"measured", "read"}


def test_a_build_carries_what_its_wheels_need(tables: Tables) -> None:
    row = build(tables, "2.14.1", "cu126")
    assert row.key == "2.14.1+cu126 linux x86_64"
    assert [str(tag) for tag in row.pythons] == ["3.10", "3.11", "3.12", "3.13", "3.14", "3.14t"]
    assert (str(row.glibc_min), row.os_min, row.windows_min) == ("2.28", None, None)
    assert (row.cuda, row.cuda_toolkit, row.indexes) == (CudaVersion(12, 6), "12.6.3", ("pytorch",))
    assert str(build(tables, "2.5.1", "cu121").glibc_min) == "2.17"
    assert str(build(tables, "2.15.0", "cpu", "windows").windows_min) == "10"


def test_macos_minimums_differ_by_python(tables: Tables) -> None:
    row = build(tables, "2.10.0", "mps", "macos", "arm64")
    assert str(row.os_min) == "11.0"
    later = {str(tag): str(floor) for tag, floor in row.os_min_exceptions.items()}
    assert later == {"3.13t": "14.0", "3.14": "14.0", "3.14t": "14.0"}
    assert build(tables, "2.11.0", "mps", "macos", "arm64").os_min_exceptions == {}
    assert str(build(tables, "2.12.0", "mps", "macos", "arm64").os_min) == "14.0"
    assert str(build(tables, "2.2.2", "cpu", "macos", "x86_64").os_min) == "10.9"


@pytest.mark.parametrize(
    ("torch", "variant", "held", "missing", "broken"),
    [
        ("2.9.1", "rocm6.4", "gfx1100", "gfx1151", "gfx906"),
        ("2.9.1", "rocm6.3", "gfx906", "gfx1151", ""),
        ("2.11.0", "rocm7.2", "gfx1151", "gfx1103", "gfx906"),
        ("2.14.1", "rocm7.14", "gfx1103", "gfx906", ""),
        ("2.5.1", "rocm6.1", "gfx1100", "gfx1101", ""),
    ],
)
def test_rocm_targets(tables: Tables, torch: str, variant: str, held: str, missing: str, broken: str) -> None:
    row = build(tables, torch, variant)
    names = {gfx.name for gfx in row.gfx}
    assert held in names
    assert missing not in names
    assert broken in {gfx.name for gfx in row.gfx_broken} | {""}
    assert bool(broken) == bool(row.gfx_broken)


def test_unpublished_rows_are_kept_and_marked(tables: Tables) -> None:
    hidden = [row for row in tables.torch_builds.rows if not row.emit]
    assert {row.build.name for row in hidden} == {"cu134"}
    assert len(hidden) == 6


def test_rows_of_a_host_come_newest_first(tables: Tables) -> None:
    rows = tables.torch_builds.for_host("linux", "aarch64")
    assert rows is tables.torch_builds.for_host("linux", "aarch64")
    assert [row.torch for row in rows] == sorted((row.torch for row in rows), reverse=True)
    assert {row.machine for row in rows} == {"aarch64"}
    assert tables.torch_builds.for_host("linux", "riscv64") == ()


def measured_builds() -> dict[tuple[str, str, str], set[str]]:
    """Main code list of each measured wheel: architectures in at least half of the fatbins of its CUDA libraries."""
    fatbins: dict[tuple[str, str, str], int] = defaultdict(int)
    entries: dict[tuple[str, str, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    with (DATA / "measured_code.csv").open(encoding="utf-8", newline="") as stream:
        for line in csv.DictReader(stream):
            key = (line["torch_version"], line["variant"], line["machine"])
            if "linalg" in line["library"]:
                continue
            assert line["ptx_entries"] == ""
            fatbins[key] += int(line["fatbins"])
            for arch, _, count in (part.partition(":") for part in line["sass_entries"].split()):
                entries[key][arch] += int(count)
    return {key: {arch for arch, n in entries[key].items() if 2 * n >= fatbins[key]} for key in fatbins}


def test_measured_wheels_agree_with_the_table(tables: Tables) -> None:
    compared = 0
    for (torch, variant, machine), archs in measured_builds().items():
        row = tables.torch_builds.find(Version.parse(torch), Build.parse(variant), "linux", machine)
        if row is not None:
            compared += 1
            assert {str(arch) for arch in row.code} == archs, row.key
            assert row.ptx == (), row.key
            assert row.code_confidence == "measured", row.key
    assert compared == 32


@pytest.mark.parametrize(
    ("name", "torch", "cuda", "version"),
    [
        ("torchvision", "2.13.0", None, "0.28.0"),
        ("torchvision", "2.14.0", None, "0.29.0"),
        ("torchvision", "2.14.1", "12.6", "0.29.1"),
        ("torchvision", "2.15.0", "13.2", "0.29.2"),
        ("torchvision", "2.15.0", "13.0", "0.29.2"),
        ("torchaudio", "2.9.1", "12.6", "2.9.1"),
        ("torchaudio", "2.11.0", "13.0", "2.11.0"),
        ("torchaudio", "2.14.1", "12.6", "2.11.0"),
        ("torchaudio", "2.14.1", "13.2", "2.11.1"),
        ("torchaudio", "2.13.0", "12.9", None),
        ("torchaudio", "2.15.0", "13.2", "2.11.1"),
        ("torchtext", "2.3.1", None, "0.18.0"),
        ("torchtext", "2.4.0", None, None),
        ("torchdata", "2.15.0", None, "0.11.0"),
        ("triton", "2.9.1", None, "3.5.1"),
        ("triton", "2.14.1", None, "3.8.0"),
        ("torchcodec", "2.14.0", None, "0.16.0"),
        ("torchvision", "1.12.0", None, None),
        ("torchsnail", "2.9.1", None, None),
    ],
)
def test_the_companion_for_a_torch(
    tables: Tables, name: str, torch: str, cuda: str | None, version: str | None
) -> None:  # fmt: skip
    found = tables.companions.best(name, Version.parse(torch), CudaVersion.parse(cuda) if cuda else None)
    assert (str(found.version) if found else None) == version


@pytest.mark.parametrize(
    ("torch", "cuda", "os", "backend", "vision", "audio"),
    [
        ("2.14.1", None, "", "", "0.29.1", "2.11.1"),
        ("2.14.1", None, "linux", "cpu", "0.29.1", "2.11.0"),
        ("2.14.1", None, "linux", "rocm", "0.29.1", "2.11.0"),
        ("2.15.0", None, "linux", "cpu", "0.29.1", "2.11.0"),
        ("2.15.0", None, "linux", "xpu", "0.29.1", "2.11.0"),
        ("2.15.0", None, "windows", "cpu", "0.29.2", "2.11.1"),
        ("2.15.0", None, "macos", "mps", "0.29.2", "2.11.1"),
        ("2.15.0", "13.2", "linux", "cuda", "0.29.2", "2.11.1"),
        # beside a build for CUDA, one with code for it goes first
        ("2.14.1", "12.6", "windows", "cuda", "0.29.1", "2.11.0"),
        ("2.9.1", None, "linux", "cpu", "0.24.1", "2.9.1"),
    ],
)
def test_the_companion_for_a_build(
    tables: Tables, torch: str, cuda: str | None, os: str, backend: str, vision: str, audio: str
) -> None:
    version, spoken = Version.parse(torch), CudaVersion.parse(cuda) if cuda else None
    names = ("torchvision", "torchaudio")
    found = [tables.companions.best(name, version, spoken, os=os, backend=backend) for name in names]
    assert [str(row.version) if row else None for row in found] == [vision, audio]


@pytest.mark.parametrize(
    ("cuda", "os", "backend", "loads"),
    [
        ("13.0", "linux", "cuda", True),
        ("12.6", "linux", "cuda", False),
        ("12.6", "", "cuda", False),
        ("12.6", "windows", "cuda", True),
        (None, "linux", "cpu", False),
        (None, "linux", "xpu", False),
        (None, "linux", "rocm", False),
        (None, "windows", "cpu", True),
        (None, "macos", "mps", True),
        (None, "", "cpu", True),
        (None, "linux", "", True),
    ],
)
def test_beside_which_torch_a_cuda_wheel_loads(
    tables: Tables, cuda: str | None, os: str, backend: str, loads: bool
) -> None:
    row = tables.companions.find("torchaudio", "2.11.1")
    assert row is not None
    assert row.accepts_cuda(CudaVersion.parse(cuda) if cuda else None, os=os, backend=backend) is loads


@pytest.mark.parametrize(
    ("name", "version", "torch", "fits"),
    [
        ("torchvision", "0.24.1+cu126", "2.9.1", True),
        ("torchvision", "0.24.1", "2.9.0", False),
        ("torchvision", "0.29.2", "2.14.1", True),
        ("torchvision", "0.29.2", "2.13.0", False),
        ("torchvision", "0.99.0", "2.15.0", None),
        ("torchvision", "0.25.0a0+5beb28e", "2.9.1", None),
        ("torchaudio", "2.11.0", "2.14.1", True),
        ("triton", "3.8.4", "2.14.1", True),
        ("triton", "3.5.9", "2.9.1", None),
    ],
)
def test_whether_an_installed_companion_fits(
    tables: Tables, name: str, version: str, torch: str, fits: bool | None
) -> None:  # fmt: skip
    assert tables.companions.fits(name, version, Version.parse(torch)) is fits


def test_companions_know_their_cuda_and_their_pythons(tables: Tables) -> None:
    companions = tables.companions
    assert set(companions.names()) == {"torchaudio", "torchcodec", "torchdata", "torchtext", "torchvision", "triton"}
    exact, major = companions.find("torchaudio", "2.11.0"), companions.find("torchaudio", "2.11.1")
    assert exact is not None
    assert major is not None
    assert (exact.cuda_rule, exact.labelled, exact.accepts_cuda(CudaVersion(13, 2))) == ("exact", "yes", False)
    assert (major.cuda_rule, major.labelled, major.accepts_cuda(CudaVersion(13, 0))) == ("major", "unknown", True)
    assert major.accepts_cuda(None)
    assert (exact.cuda_only_on, major.cuda_only_on) == ((), ("linux",))
    vision = companions.find("torchvision", "0.28.0")
    assert vision is not None
    assert vision.is_pinned
    assert [vision.accepts_python(Version.parse(text)) for text in ("3.14.0", "3.14.1", "3.14.2")] == [
        True,
        False,
        True,
    ]
    old = companions.releases("torchvision")[-1]
    assert (str(old.version), old.accepts_python(Version.parse("3.11.4"))) == ("0.14.0", False)


def test_current_pythons_are_in_support_and_have_recent_wheels(tables: Tables) -> None:
    assert [str(tag) for tag in tables.pythons.current()] == ["3.11", "3.12", "3.13", "3.14", "3.15"]
    assert tables.pythons.range(PythonTag(3, 6)) is None
    free = tables.pythons.range(PythonTag(3, 13, free_threaded=True))
    assert free is not None
    assert (str(free.first_torch), str(free.last_torch)) == ("2.7.0", "2.12.0")


def test_index_addresses_are_templates(tables: Tables) -> None:
    indexes = tables.indexes
    assert indexes.url("pytorch", variant=Build("cu126")) == "https://download.pytorch.org/whl/cu126"
    assert indexes.url("pytorch-cpu", variant=Build("mps")) == "https://download.pytorch.org/whl/cpu"
    assert indexes.url("jetson", path="jp6/cu126") == "https://pypi.jetson-ai-lab.io/jp6/cu126"
    assert indexes.url("pypi") == ""
    assert indexes.find("conda") is None
    with pytest.raises(KeyError):
        indexes.url("conda")
