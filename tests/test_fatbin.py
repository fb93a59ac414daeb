from __future__ import annotations

import base64
import re
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from binary_files import bundle, elf, entry, fatbin, fatbin_of, fatbins, packed_bundle, pe, together

from torchdoctor.target import fatbin as reader
from torchdoctor.target.binary import Damaged
from torchdoctor.target.code_of import code_of, listed
from torchdoctor.target.zstd_head import MOST, head

REAL = Path(__file__).parent / "data" / "fatbins"
SCALE = {"sm_75": 1, "sm_90a": 1, "sm_100a": 1, "sm_120f": 1}


def found(data: bytes) -> dict[str, Any]:
    answer = listed(data)
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("name", "sass", "ptx", "isa"),
    [
        ("scale.so", SCALE, {"compute_80": 1, "compute_90a": 1}, "9.5"),
        ("scale-concat.fatbin", SCALE, {"compute_80": 1, "compute_90a": 1}, "9.5"),
        ("scale-lto.fatbin", {"sm_80": 1}, {}, ""),
    ],
)
def test_what_a_real_compiler_wrote(name: str, sass: Mapping[str, int], ptx: Mapping[str, int], isa: str) -> None:
    answer = code_of(str(REAL / name))
    assert answer is not None
    assert (answer["sass"], answer["ptx"], answer["ptx_isa"], answer["error"]) == (sass, ptx, isa, "")
    assert answer["size"] == (REAL / name).stat().st_size


CODES = [
    (["sm_75"], {"sm_75": 1}, {}),
    (["sm_90", "sm_90a", "sm_90"], {"sm_90": 2, "sm_90a": 1}, {}),
    (["sm_120f", "sm_120", "sm_120a"], {"sm_120": 1, "sm_120a": 1, "sm_120f": 1}, {}),
    (["compute_80", "compute_90a", "compute_100f"], {}, {"compute_80": 1, "compute_90a": 1, "compute_100f": 1}),
    (["sm_100a", "compute_120", "lto_90"], {"sm_100a": 1}, {"compute_120": 1}),
]


@pytest.mark.parametrize("windows", [False, True], ids=["elf", "pe"])
@pytest.mark.parametrize("compressed", ["", "lz4", "zstd"])
@pytest.mark.parametrize(("codes", "sass", "ptx"), CODES)
def test_each_kind_and_variant(
    windows: bool, compressed: str, codes: list[str], sass: Mapping[str, int], ptx: Mapping[str, int]
) -> None:
    data = fatbin(*codes, compressed=compressed, isa=(8, 7))
    answer = found(pe({".nv_fatb": data}) if windows else elf({".nv_fatbin": data}))
    assert (answer["format"], answer["fatbins"], answer["error"]) == ("pe" if windows else "elf", 1, "")
    assert (answer["sass"], answer["ptx"], answer["ptx_isa"]) == (sass, ptx, "8.7" if ptx else "")
    assert answer.get("others", 0) == codes.count("lto_90")


def test_the_newest_ptx_is_told() -> None:
    data = fatbin("compute_75", isa=(9, 1)) + fatbin("compute_80", isa=(8, 7)) + fatbin("sm_80")
    assert found(elf({".nv_fatbin": data}))["ptx_isa"] == "9.1"


def test_filling_between_fat_binaries() -> None:
    data = fatbin("sm_80") + bytes(40) + fatbin("sm_80", "sm_86") + bytes(9)
    answer = found(elf({".nv_fatbin": data}))
    assert (answer["fatbins"], answer["sass"]) == (2, {"sm_80": 2, "sm_86": 1})


def test_entries_that_were_compressed_together() -> None:
    data = fatbin_of(together("sm_75", "sm_120f"), entry("sm_80"), together("compute_90a", isa=(9, 5)))
    answer = found(data)
    assert answer["sass"] == {"sm_75": 1, "sm_80": 1, "sm_120f": 1}
    assert (answer["ptx"], answer["ptx_isa"], answer["format"]) == ({"compute_90a": 1}, "9.5", "fatbin")


def test_of_relocatable_code_only_the_ptx_counts() -> None:
    linked, objects = fatbin("sm_80", "sm_90"), fatbin("sm_80", "sm_100", "compute_100", isa=(9, 0))
    answer = found(elf({".nv_fatbin": linked, "__nv_relfatbin": objects * 2}))
    assert answer["sass"] == {"sm_80": 1, "sm_90": 1}
    assert (answer["ptx"], answer["ptx_isa"], answer["fatbins"]) == ({"compute_100": 2}, "9.0", 1)
    assert answer["relocatable"]["sass"] == {"sm_80": 2, "sm_100": 2}
    alone = found(pe({"__nv_rel": objects}))
    assert (alone["sass"], alone["ptx"]) == ({"sm_80": 1, "sm_100": 1}, {"compute_100": 1})


@pytest.mark.parametrize(
    "data",
    [
        elf(needed=["libcudart.so.13"]),
        elf({".nv_fatbin": bytes(64)}),
        elf({".nv_fatbin": b""}),
        pe(imports=["c10.dll"]),
        b"\xcf\xfa\xed\xfe" + bytes(100),
        b"/* GNU ld script\n   Use the shared library */\nGROUP ( libx.so.1 )\n",
    ],
    ids=["no section", "only filling", "empty section", "pe", "mach-o", "linker script"],
)
def test_a_library_without_device_code(data: bytes) -> None:
    assert listed(data) is None


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "starts with 'version http'"),
        (bytes(4096), "starts with 000000"),
        (elf(machine=190), "bare code for a GPU"),
        (elf(fatbins(["sm_80"]))[:-100], "section table"),
    ],
    ids=["lfs", "zeros", "cubin", "cut"],
)
def test_what_cannot_be_read_at_all(data: bytes, word: str) -> None:
    with pytest.raises(Damaged, match=word):
        listed(data)


PAIR = fatbin_of(together("sm_75", "sm_86"))


def changed(at: int, form: str, value: int) -> bytes:
    """Two fat binaries, of which the second has a wrong number at this place."""
    data = bytearray(fatbin("sm_80") * 2)
    struct.pack_into(form, data, len(data) // 2 + at, value)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (changed(4, "<H", 9), "unknown version 9"),
        (changed(8, "<Q", 1 << 60), "is cut: .* missing"),
        (changed(16 + 4, "<I", 3), "damaged entry"),
        (changed(16 + 8, "<Q", (1 << 64) - 1), "damaged entry"),
        (fatbin("sm_80") + PAIR.replace(b"\x02\0\0\0\xc8", b"\x63\0\0\0\xc8"), "list of 99"),
        (fatbin("sm_80") + PAIR.replace(b"H\0\0\0\x14\0\0", b"H\0\0\0\x14\0\x7f"), "list of 2"),
    ],
    ids=["version", "size", "head", "payload", "count", "options"],
)  # fmt: skip
def test_what_was_counted_before_the_damage_is_kept(data: bytes, word: str) -> None:
    answer = found(elf({".nv_fatbin": data}))
    assert answer["sass"]["sm_80"] == 1
    assert re.search(word, answer["error"])


def test_a_section_that_goes_beyond_the_file() -> None:
    data = bytearray(elf(fatbins(["sm_80"])))
    table = struct.unpack_from("<Q", data, 40)[0]
    struct.pack_into("<Q", data, table + 64 * 3 + 32, 1 << 62)
    answer = found(bytes(data))
    assert answer["sass"] == {"sm_80": 1}
    assert "bytes of it are missing" in answer["error"]
    struct.pack_into("<Q", data, table + 64 * 3 + 24, (1 << 64) - 8)
    assert "missing" in found(bytes(data))["error"]


def test_a_file_of_nothing_but_entries_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LARGEST", 50)
    answer = found(fatbin_of(*[entry("sm_80", payload=b"")] * 200))
    assert answer["sass"] == {"sm_80": 51}
    assert "more than 50 entries" in answer["error"]


HIP = bundle("gfx90a:sramecc+:xnack-", "gfx942") + bytes(3968) + bundle("gfx1100", host=False)


@pytest.mark.parametrize(
    ("data", "bundles", "gfx"),
    [
        (HIP, 2, {"gfx1100": 1, "gfx90a:sramecc+:xnack-": 1, "gfx942": 1}),
        (packed_bundle(bundle("gfx942")) + bytes(16) + packed_bundle(bundle("gfx942"), version=3), 2, {"gfx942": 2}),
        (bundle("gfx906") + packed_bundle(bundle("gfx1201"), version=1), 2, {"gfx1201": 1, "gfx906": 1}),
    ],
    ids=["plain", "compressed", "version 1"],
)
def test_bundles_of_amd(data: bytes, bundles: int, gfx: Mapping[str, int]) -> None:
    answer = found(elf({".hip_fatbin": data}))
    assert answer == {"fatbins": bundles, "gfx": gfx, "format": "elf", "error": ""}


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (packed_bundle(bundle("gfx942"), method=9), "unknown way"),
        (packed_bundle(b"no list"), "holds no list"),
        (packed_bundle(b"no frame", method=1), "zstd"),
        (packed_bundle(bundle("gfx942"))[:60], "cut or damaged"),
        (packed_bundle(bundle("gfx942"), version=3).replace(b"CCOB\x03", b"CCOB\x09"), "unknown version"),
        (packed_bundle(bundle("gfx942")).replace(b"x\x9c", b"zz"), "cannot be decompressed"),
        (bundle("gfx942")[:-10], "is cut"),
        (bundle("gfx942")[:60], "the list of a bundle|damaged list"),
        (bundle("gfx942").replace(b"__\x02", b"__\xff"), "255 entries|damaged list"),
        (bundle("gfx942").replace(b"__\x02\x00", b"__\x02\x7f"), "says that it has"),
    ],
    ids=["method", "no list", "zstd", "packed cut", "version", "zlib", "cut", "list cut", "count", "huge count"],
)
def test_bundles_that_cannot_be_read_say_why(data: bytes, word: str) -> None:
    answer = found(elf({".hip_fatbin": bundle("gfx90a") + data}))
    assert answer["gfx"]["gfx90a"] == 1
    assert re.search(word, answer["error"])


GFX = ("gfx900:xnack-", "gfx906:xnack-", "gfx908:xnack-", "gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100", "gfx1101",
       "gfx1102", "gfx1151", "gfx1200", "gfx1201")  # fmt: skip
FRAMES = {
    "sequences": ((REAL / "bundle.zst").read_bytes(), bundle(*GFX)),
    "tree": ((REAL / "text.zst").read_bytes(), (REAL / "README.md").read_bytes()),
    "one byte": (base64.b64decode("KLUv/WCIEk0AABBhYQEAg9MDLA=="), b"a" * 5000),
    "not compressed": (
        base64.b64decode("KLUv/SAe8QAA9bFlIkpYt5HfavHYMD5hzcS7hsPRxCcQPDRMQS8e"),
        Random(1).randbytes(30),  # noqa: S311 - the same bytes again
    ),
}


@pytest.mark.parametrize("most", [10, 100, 1000, 10000])
@pytest.mark.parametrize("name", FRAMES)
def test_the_beginning_of_a_zstd_frame(name: str, most: int) -> None:
    frame, content = FRAMES[name]
    assert head(frame, most) == content[:most]


@pytest.mark.parametrize("name", FRAMES)
def test_a_damaged_zstd_frame_says_so(name: str) -> None:
    frame, _ = FRAMES[name]
    with pytest.raises(Damaged, match="zstd"):
        head(frame[:4] + b"\xff" * 30)
    for length in range(len(frame)):
        with suppress(Damaged):
            assert len(head(frame[:length])) <= MOST


@pytest.mark.parametrize("version", [2, 3])
def test_a_bundle_that_was_compressed_with_zstd(version: int) -> None:
    body, form = FRAMES["sequences"][0], {2: "<HHIIQ", 3: "<HHQQQ"}[version]
    data = b"CCOB" + struct.pack(form, version, 1, 4 + struct.calcsize(form) + len(body), 1, 7) + body
    answer = found(elf({".hip_fatbin": data * 2}))
    assert (answer["gfx"], answer["error"]) == (dict.fromkeys(sorted(GFX), 2), "")


def test_a_metal_library_by_its_head() -> None:
    assert listed(b"MTLB" + bytes(100)) == {"format": "metallib", "error": ""}
