from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from binary_files import elf, fatbins, pe

from torchdoctor.target.binary import Damaged
from torchdoctor.target.elf import described, read_elf, sections
from torchdoctor.target.pe import described as described_pe
from torchdoctor.target.pe import read_pe
from torchdoctor.target.pe import sections as pe_sections

NEEDS = {"libstdc++.so.6": ["GLIBCXX_3.4.32", "CXXABI_1.3"], "libc.so.6": ["GLIBC_2.28"]}
FULL = {
    "needed": ["libcudart.so.13", "libc.so.6"], "soname": "libx.so.1", "needs": NEEDS, "defines": ["X_1", "X_2"],
    "exec_stack": True,
}  # fmt: skip


def full(**more: object) -> bytes:
    return elf(fatbins(["sm_80"]), rpath="$ORIGIN:/a", runpath="$ORIGIN/../b", **{**FULL, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize(("order", "name"), [("<", "little"), (">", "big")])
def test_of_any_class_and_byte_order(bits: int, order: str, name: str) -> None:
    found = described(full(bits=bits, order=order))
    assert found == {
        **FULL, "format": "elf", "bits": bits, "order": name, "machine": "x86_64", "type": "shared",
        "rpath": ["$ORIGIN", "/a"], "runpath": ["$ORIGIN/../b"],
    }  # fmt: skip


@pytest.mark.parametrize(("stack", "said"), [(True, True), (False, False), (None, None)])
def test_an_executable_stack_is_told_from_a_file_that_does_not_say(stack: bool | None, said: bool | None) -> None:
    assert described(elf(exec_stack=stack))["exec_stack"] is said


@pytest.mark.parametrize(("machine", "name"), [(183, "aarch64"), (62, "x86_64"), (3, "i386"), (999, "machine 999")])
def test_machines_have_names(machine: int, name: str) -> None:
    assert described(elf(machine=machine))["machine"] == name


def test_sections_have_their_place() -> None:
    data = full()
    at, size = sections(data)[".nv_fatbin"]
    assert data[at : at + 4] == b"\x50\xed\x55\xba"
    assert size == len(fatbins(["sm_80"])[".nv_fatbin"])


@pytest.mark.skipif(shutil.which("readelf") is None, reason="readelf is not here")
@pytest.mark.parametrize("made", [True, False], ids=["made", "real"])
def test_as_readelf_reads_it(tmp_path: Path, made: bool) -> None:
    path = tmp_path / "libx.so"
    path.write_bytes(full())
    path = path if made else Path(sys.executable).resolve()
    found = read_elf(str(path))
    printed = subprocess.run(["readelf", "-dVW", str(path)], capture_output=True, text=True, check=True).stdout
    assert re.findall(r"Shared library: \[(.*)\]", printed) == found["needed"]
    blocks = re.split(r"Version: 1  File: ", printed.partition("Version needs section")[2])[1:]
    theirs = {block.split()[0]: re.findall(r"Name: (\S+)", block.partition("Version def")[0]) for block in blocks}
    assert theirs == found["needs"]


CUT = [(0, "no ELF file"), (3, "no ELF file"), (20, "ELF head"), (100, "program header"), (400, "dynamic section")]


@pytest.mark.parametrize(("length", "word"), CUT)
def test_a_cut_file_says_what_is_missing(length: int, word: str) -> None:
    with pytest.raises(Damaged, match=word):
        described(full()[:length])


@pytest.mark.parametrize(
    ("at", "value", "word"),
    [(4, b"\x07", "unknown class"), (54, b"\x01\x00", "program headers of 1 "), (58, b"\x01\x00", "section headers")],
)
def test_a_head_that_lies_is_not_believed(at: int, value: bytes, word: str) -> None:
    data = full()
    data = data[:at] + value + data[at + len(value) :]
    read = sections if word == "section headers" else described
    with pytest.raises(Damaged, match=word):
        read(data)


def test_versions_that_lead_back_come_to_an_end() -> None:
    data = bytearray(full())
    at, _ = sections(data)[".gnu.version_r"]
    struct.pack_into("<HHIII", data, at, 1, 1, 1, 0, 0xFFFFFFF0)
    with pytest.raises(Damaged, match="beyond the file's end"):
        described(bytes(data))
    struct.pack_into("<HHIII", data, at, 1, 0, 1, 16, 0)
    assert described(bytes(data))["needs"] == {"libcudart.so.13": []}


@pytest.mark.parametrize("kind", ["folder", "pipe", "empty", "missing"])
def test_what_is_no_file_with_content(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "lib.so"
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "empty":
        path.touch()
    with pytest.raises(FileNotFoundError if kind == "missing" else Damaged):
        read_elf(str(path))


@pytest.mark.parametrize("wide", [True, False])
def test_a_dll_of_windows(tmp_path: Path, wide: bool) -> None:
    data = pe(
        {".nv_fatb": b"code"}, imports=["c10.dll", "MSVCP140.dll"], delayed=["cupti.dll"], version=(14, 38, 33135, 0),
        wide=wide, machine=0x8664 if wide else 0x14C,
    )  # fmt: skip
    (tmp_path / "x.dll").write_bytes(data)
    assert read_pe(str(tmp_path / "x.dll")) == {
        "format": "pe", "bits": 64 if wide else 32, "order": "little", "machine": "x86_64" if wide else "i386",
        "imports": ["c10.dll", "MSVCP140.dll"], "delayed": ["cupti.dll"], "file_version": "14.38.33135.0",
    }  # fmt: skip
    at, size = pe_sections(data)[".nv_fatb"]
    assert data[at : at + size] == b"code"


def test_a_dll_that_says_little() -> None:
    found = described_pe(pe())
    assert (found["imports"], found["delayed"], found["file_version"]) == ([], [], None)


@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump is not here")
def test_as_objdump_reads_it(tmp_path: Path) -> None:
    (tmp_path / "x.dll").write_bytes(pe({".nv_fatb": b"code"}, imports=["c10.dll"]))
    printed = subprocess.run(
        ["objdump", "-h", "-p", str(tmp_path / "x.dll")], capture_output=True, text=True, check=False
    ).stdout
    assert "DLL Name: c10.dll" in printed
    assert ".nv_fatb" in printed


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"MZ", "PE head"),
        (b"MZ" + bytes(62), "DOS program"),
        (pe()[:100], "optional head"),
        (pe(imports=["a.dll"])[:530], "imports"),
    ],
    ids=["magic", "dos", "head", "table"],
)
def test_a_damaged_dll_says_so(data: bytes, word: str) -> None:
    with pytest.raises(Damaged, match=word):
        described_pe(data)
