"""How device code serves a GPU, and what the readers make of answers about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from binary_files import elf, fatbin, fatbins
from conftest import DATA

from torchdoctor.code_view import serves
from torchdoctor.inside import DeviceCode, OwnTable
from torchdoctor.readers.live_code import device_code, read
from torchdoctor.readers.own_tables import own_table
from torchdoctor.recording import Answer, Recording
from torchdoctor.tables import Tables
from torchdoctor.tables.companion_code import stem
from torchdoctor.target.code_of import code_of
from torchdoctor.values import CudaVersion, GpuArch

# What is in the library, the version of its PTX, the GPU, the CUDA of the driver: how it is served.
SERVED = [
    ("sm_80=10", "", "8.0", None, "native"),
    ("sm_80=10", "", "8.6", None, "native"),
    ("sm_86=10", "", "8.0", None, ""),
    ("sm_80=10", "", "9.0", None, ""),
    ("sm_80=10", "", "8.7", None, ""),  # Orin, before the CUDA that ends the exception
    ("sm_100=10", "", "10.3", None, "native"),
    ("sm_120=10", "", "12.1", None, "native"),
    ("sm_90a=10", "", "9.0", None, "native"),
    ("sm_100a=10", "", "10.0", None, "native"),
    ("sm_100a=10", "", "10.3", None, ""),  # for one chip
    ("sm_100f=10", "", "10.3", None, "native"),  # for a family
    ("sm_120f=10", "", "12.1", None, "native"),
    ("sm_120f=10", "", "10.0", None, ""),
    ("sm_140=10", "", "14.2", None, "native"),  # no row of the table: NVIDIA's general rule
    ("sm_140=10", "", "15.0", None, ""),
    # a few special kernels do not make it serve the GPU; variants of one architecture count together
    ("sm_80=10 sm_75=1", "", "7.5", None, "partly"),
    ("sm_80=10 sm_75=5", "", "7.5", None, "native"),
    ("sm_80=10 sm_90=3 sm_90a=2", "", "9.0", None, "native"),
    ("sm_80=10 sm_90=2 sm_90a=2", "", "9.0", None, "partly"),
    ("sm_80=10 sm_100=4 sm_103a=1", "", "10.0", None, "partly"),
    # PTX: for newer GPUs, by a driver that knows its version
    ("sm_80=10 compute_80=10", "8.7", "12.0", "12.8", "ptx"),
    ("sm_80=10 compute_80=10", "8.7", "12.0", "13.0", "ptx"),
    ("sm_80=10 compute_80=10", "8.7", "12.0", "12.6", "ptx-driver-too-old"),
    ("sm_80=10 compute_80=10", "8.7", "12.0", None, "ptx-unknown-driver"),
    ("sm_80=10 compute_80=10", "99.9", "12.0", "13.4", "ptx-unknown-driver"),
    ("sm_80=10 compute_80=10", "", "12.0", "13.4", "ptx-unknown-driver"),
    ("sm_80=10 compute_80=10", "8.7", "7.5", "13.0", ""),
    ("sm_80=10 compute_80=10", "8.7", "8.6", "12.0", "native"),
    ("sm_80=10 compute_80=1", "8.7", "12.0", "13.0", "partly"),
    ("sm_90a=10 compute_90a=10", "8.7", "10.0", "13.0", ""),
    ("sm_100f=10 compute_100f=10", "9.0", "12.0", "13.0", ""),
    ("sm_100a=10 compute_100f=10", "9.0", "10.3", "13.0", "ptx"),
]


def library(entries: str, isa: str = "", fatbins_: int = 10, **more: Any) -> DeviceCode:
    """A library with these entries in ten fat binaries."""
    counts = [(name, int(count)) for name, count in (entry.split("=") for entry in entries.split())]
    sass = tuple(item for item in counts if item[0].startswith("sm_"))
    ptx = tuple(item for item in counts if item[0].startswith("compute_"))
    return DeviceCode(**{"library": "p/_C.so", "fatbins": fatbins_, "sass": sass, "ptx": ptx, "ptx_isa": isa, **more})


@pytest.mark.parametrize(("entries", "isa", "gpu", "driver", "how"), SERVED)
def test_how_a_library_serves_a_gpu(
    entries: str, isa: str, gpu: str, driver: str | None, how: str, tables: Tables
) -> None:
    spoken = CudaVersion.parse(driver) if driver else None
    assert serves(library(entries, isa), GpuArch.parse(gpu), tables, spoken) == how


def test_the_cuda_that_compiled_it_ends_the_exceptions_of_jetsons(tables: Tables) -> None:
    orin = GpuArch.parse("8.7")
    assert serves(library("sm_80=10"), orin, tables, None, CudaVersion(13, 0)) == ""
    assert serves(library("sm_80=10"), orin, tables, None, CudaVersion(13, 2)) == "native"
    # PTX of unknown version needs the driver of the CUDA that made it
    ptx = library("compute_80=10")
    assert serves(ptx, GpuArch.parse("9.0"), tables, CudaVersion(12, 8), CudaVersion(12, 9)) == "ptx-driver-too-old"


FILES = [
    ([["sm_80"], ["sm_80"]], (8, 0), "8.6", "native"),
    ([["sm_80"], ["sm_80"]], (8, 0), "9.0", ""),
    ([["sm_80", "compute_80"]], (8, 7), "12.0", "ptx"),
    ([["sm_80", "compute_80"]], (9, 1), "12.0", "ptx-driver-too-old"),
    ([["sm_80", "sm_90a"], ["sm_80"], ["sm_80"]], (8, 0), "9.0", "partly"),
]


@pytest.mark.parametrize(("codes", "isa", "gpu", "how"), FILES)
def test_from_the_bytes_of_a_library_to_the_judgement(
    tmp_path: Path, codes: list[list[str]], isa: tuple[int, int], gpu: str, how: str, tables: Tables
) -> None:
    path = tmp_path / "_C.so"
    path.write_bytes(elf(fatbins(*codes, isa=isa)))
    read_ = device_code({"library": "p/_C.so", **(code_of(str(path)) or {})})
    assert serves(read_, GpuArch.parse(gpu), tables, CudaVersion(13, 0)) == how


def test_a_compressed_fat_binary_reads_as_well(tmp_path: Path) -> None:
    path = tmp_path / "_C.so"
    path.write_bytes(elf({".nv_fatbin": fatbin("sm_120f", "compute_120", compressed="zstd", isa=(9, 2))}))
    found = device_code({"library": "p/_C.so", **(code_of(str(path)) or {})})
    assert (found.sass, found.ptx, found.ptx_isa) == ((("sm_120f", 1),), (("compute_120", 1),), "9.2")


GOOD = {
    "library": "torch\\lib\\torch_cuda.dll",
    "package": "torch",
    "version": "2.14.1",
    "fatbins": 3,
    "sass": {"sm_80": 3},
}
MANGLED: list[tuple[Any, tuple[DeviceCode, ...]]] = [
    (
        {"files": [GOOD]},
        (
            DeviceCode(
                library="torch/lib/torch_cuda.dll", package="torch", version="2.14.1", fatbins=3, sass=(("sm_80", 3),)
            ),
        ),
    ),
    ({"files": []}, ()),
    ({"files": [{}, 7, None, {"library": 3}, {"library": ""}]}, ()),
    (
        {
            "files": [
                {"library": "a.so", "sass": {"sm_x": 1, "sm_80": "many", "sm_90": -1, "sm_86": True}, "fatbins": -3}
            ]
        },
        (DeviceCode(library="a.so"),),
    ),
    (
        {"files": [{"library": "a.so", "sass": ["sm_80"], "ptx": None, "gfx": {"gfx942": 2}, "error": 5}]},
        (DeviceCode(library="a.so", gfx=(("gfx942", 2),)),),
    ),
]


@pytest.mark.parametrize(("value", "codes"), MANGLED)
def test_a_mangled_answer_reads_as_less(value: Any, codes: tuple[DeviceCode, ...]) -> None:
    assert [said.value for said in read(Recording({"device code": Answer(value)}))] == [codes]


@pytest.mark.parametrize(
    "answer", [Answer(error="no answer in 20 s"), Answer(absent=True), Answer("text"), Answer({"files": 3})]
)
def test_no_answer_says_nothing(answer: Answer) -> None:
    assert list(read(Recording({"device code": answer}))) == []


@pytest.mark.parametrize(
    ("library_", "name"),
    [
        ("vllm/_C.abi3.so", "vllm/_C"),
        ("xformers\\_C.pyd", "xformers/_C"),
        ("x.libs/liba.1f.so.13", "x.libs/liba"),
        ("a", "a"),
    ],
)
def test_what_changes_with_a_release_is_no_part_of_the_name(library_: str, name: str) -> None:
    assert stem(library_) == name


SOURCE = """
import torch
DEVICE_REQUIREMENT: dict[int, object] = {
    50: _CompatInterval(start=50, exclude={53}),
    75: _CompatInterval(75),
    101: _CompatSet({101, 110}),
    "x": _CompatInterval(start=1),
    99: something_new(1),
    **MORE,
}
PYTORCH_RELEASES_CODE_CC = {"12.6": {50, 75}, "13.0": {"x86_64": {120, 75}, "aarch64": {80}}, 7: {1}, "13.2": NAMED}
"""
READ = OwnTable(
    serves=(
        ("5.0", "5.0", "6.0", ("5.3",)),
        ("7.5", "7.5", "8.0", ()),
        ("10.1", "10.1", "10.2", ()),
        ("10.1", "11.0", "11.1", ()),
    ),
    builds=(("12.6", "", ("5.0", "7.5")), ("13.0", "x86_64", ("7.5", "12.0")), ("13.0", "aarch64", ("8.0",))),
)


@pytest.mark.parametrize(
    ("text", "table"),
    [
        (SOURCE, READ),
        ("", None),
        ("x = 1", None),
        ("def broken(:", None),
        ("DEVICE_REQUIREMENT = make()", None),
        ("PYTORCH_RELEASES_CODE_CC = {'12.6': {50}}", OwnTable(builds=(("12.6", "", ("5.0",)),))),
        ("(" * 5000, None),
    ],
)
def test_torchs_own_tables_are_parsed_and_never_run(text: str, table: OwnTable | None) -> None:
    assert own_table(text) == table


@pytest.mark.parametrize(
    ("release", "builds", "first"),
    [
        ("2.11.0", 3, ("12.6", "", ("5.0", "6.0", "7.0", "8.0", "8.6", "9.0"))),
        ("2.15.0", 8, ("12.6", "x86_64", ("5.0", "6.0", "7.0", "7.5", "8.0", "8.6", "9.0"))),
    ],
)
def test_the_tables_of_real_releases(release: str, builds: int, first: tuple[str, str, tuple[str, ...]]) -> None:
    found = own_table((DATA / "own_tables" / f"{release}.txt").read_text(encoding="utf-8"))
    assert found is not None
    assert (len(found.builds), found.builds[0]) == (builds, first)
    assert ("9.0", "9.0", "10.0", ()) in found.serves
