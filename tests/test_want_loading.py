"""The loader's view without loading: the rules of ld.so on made libraries, and a real torch against the real loader."""

from __future__ import annotations

import json
import os
import random
import struct
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from binary_files import elf, pe

from torchdoctor.inside import Linked
from torchdoctor.readers.live_loading import LOADING, read
from torchdoctor.recording import Answer, Recording
from torchdoctor.target import dll_search, ld_cache, library_words, paths, want_loading
from torchdoctor.target import loader as loaders
from torchdoctor.target.loader import Loader

A, B = "libaa.so.1", "libbb.so.1"
ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No cache, no folders and no processor of the machine that runs the tests."""
    monkeypatch.setattr(ld_cache, "CACHE", str(tmp_path / "ld.so.cache"))
    monkeypatch.setattr(loaders, "levels", lambda: ["x86-64-v3", "x86-64-v2"])
    monkeypatch.setattr(loaders, "own_folders", lambda _: [str(tmp_path / "system")])
    monkeypatch.setattr(paths, "LISTED", {})


def written(top: Path, files: Mapping[str, dict[str, Any]]) -> None:
    for name, words in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_bytes(elf(**{"soname": Path(name).name, **words}))


# files, LD_LIBRARY_PATH, the library that is opened, a name -> where it is found and how
RULES: dict[str, tuple[dict[str, dict[str, Any]], str, str, dict[str, tuple[str, str]]]] = {
    "rpath before the variable": (
        {"t/main.so": {"needed": [A], "rpath": "$ORIGIN/own"}, f"t/own/{A}": {}, f"v/{A}": {}},
        "{top}/v", "t/main.so", {A: (f"t/own/{A}", "rpath")},
    ),
    "the variable before runpath": (
        {"t/main.so": {"needed": [A], "runpath": "${ORIGIN}/own"}, f"t/own/{A}": {}, f"v/{A}": {}},
        "{top}/none:{top}/v", "t/main.so", {A: (f"v/{A}", "LD_LIBRARY_PATH")},
    ),
    "runpath where the variable has none": (
        {"t/main.so": {"needed": [A], "runpath": "$ORIGIN/own"}, f"t/own/{A}": {}},
        "{top}/v", "t/main.so", {A: (f"t/own/{A}", "runpath")},
    ),
    "an rpath counts for what is below": (
        {"t/main.so": {"needed": [A], "rpath": "$ORIGIN/own"}, f"t/own/{A}": {"needed": [B]}, f"t/own/{B}": {}},
        "", "t/main.so", {B: (f"t/own/{B}", "rpath")},
    ),
    "a runpath does not": (
        {"t/main.so": {"needed": [A], "runpath": "$ORIGIN/own"}, f"t/own/{A}": {"needed": [B]}, f"t/own/{B}": {}},
        "", "t/main.so", {B: ("", "")},
    ),
    "who has a runpath is not helped by an rpath above": (
        {
            "t/main.so": {"needed": [A], "rpath": "$ORIGIN/own"},
            f"t/own/{A}": {"needed": [B], "runpath": "$ORIGIN/none"}, f"t/own/{B}": {},
        },
        "", "t/main.so", {B: ("", "")},
    ),
    "an rpath beside a runpath is not read": (
        {"t/main.so": {"needed": [A], "rpath": "$ORIGIN/own", "runpath": "$ORIGIN/none"}, f"t/own/{A}": {}},
        "", "t/main.so", {A: ("", "")},
    ),
    "the soname of what is loaded comes first": (
        {
            "t/main.so": {"needed": ["libcc.so", A], "rpath": "$ORIGIN/own"},
            "t/own/libcc.so": {"soname": A}, f"t/own/{A}": {},
        },
        "", "t/main.so", {A: ("t/own/libcc.so", "loaded")},
    ),
    "another machine is passed over": (
        {"t/main.so": {"needed": [A], "rpath": "$ORIGIN/arm:$ORIGIN/x86"},
         f"t/arm/{A}": {"machine": 183}, f"t/x86/{A}": {}},
        "", "t/main.so", {A: (f"t/x86/{A}", "rpath")},
    ),
    "32 bits are passed over": (
        {"t/main.so": {"needed": [A], "rpath": "$ORIGIN/32"},
         f"t/32/{A}": {"bits": 32, "machine": 3}, f"system/{A}": {}},
        "", "t/main.so", {A: (f"system/{A}", "default")},
    ),
    "the part for this processor": (
        {"t/main.so": {"needed": [A]}, f"v/{A}": {},
         f"v/glibc-hwcaps/x86-64-v2/{A}": {}, f"v/glibc-hwcaps/x86-64-v4/{A}": {}},
        "{top}/v", "t/main.so", {A: (f"v/glibc-hwcaps/x86-64-v2/{A}", "LD_LIBRARY_PATH")},
    ),
    "the system's folders last": (
        {"t/main.so": {"needed": [A]}, f"system/{A}": {}}, "{top}/v", "t/main.so", {A: (f"system/{A}", "default")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_the_rules_of_the_loader(rule: str, tmp_path: Path) -> None:
    files, variable, root, expected = RULES[rule]
    written(tmp_path, files)
    (tmp_path / "program").write_bytes(elf())
    loader = Loader(variable.format(top=tmp_path), [str(tmp_path / "program")])
    sound = loader.open(str(tmp_path / root))
    found = {item.name: (item.found.path if item.found else "", item.how) for item in loader.lookups}
    clean = {
        name: (os.path.normpath(path).removeprefix(f"{tmp_path}/") if path else "", how)
        for name, (path, how) in found.items()
    }
    assert {name: clean[name] for name in expected} == expected
    assert sound == all(path for path, _ in expected.values())


@pytest.mark.parametrize("with_old_form", [False, True])
def test_the_cache_of_the_loader(with_old_form: bool, tmp_path: Path) -> None:
    rows = [
        (A, "/a/" + A, 0),
        (A, f"/a/glibc-hwcaps/x86-64-v3/{A}", 1 << 62),
        (A, f"/a/glibc-hwcaps/x86-64-v4/{A}", 1 << 62 | 1),
        (B, "/b/haswell/" + B, 1 << 10),
    ]
    texts, places = b"", []
    start = ld_cache.HEAD_SIZE + ld_cache.ENTRY.size * len(rows)
    for name, path, _ in rows:
        places.append((start + len(texts), start + len(texts) + len(name) + 1))
        texts += name.encode() + b"\0" + path.encode() + b"\0"
    head = ld_cache.MAGIC + struct.pack("II", len(rows), len(texts)) + bytes(20)
    body = b"".join(ld_cache.ENTRY.pack(0x303, *place, 0, row[2]) for place, row in zip(places, rows, strict=True))
    old = ld_cache.OLD + struct.pack("I", 1) + bytes(12) if with_old_form else b""
    data = old + bytes(-len(old) % 8) + head + body + texts
    (tmp_path / "ld.so.cache").write_bytes(data)
    assert ld_cache.cache(["x86-64-v3", "x86-64-v2"]) == {A: [f"/a/glibc-hwcaps/x86-64-v3/{A}", "/a/" + A]}
    for size in range(0, len(data), 7):
        (tmp_path / "ld.so.cache").write_bytes(data[:size])
        ld_cache.cache([])


@pytest.mark.parametrize(
    ("libc", "folders"),
    [
        (
            "/usr/lib/x86_64-linux-gnu/libc.so.6",
            ["/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib", "/usr/lib"],
        ),
        ("/usr/lib64/libc.so.6", ["/lib64", "/usr/lib64"]),
        ("/nix/store/x-glibc/lib/libc.so.6", ["/nix/store/x-glibc/lib"]),
        ("", ["/lib", "/usr/lib"]),
    ],
)
def test_the_folders_of_the_system(libc: str, folders: list[str]) -> None:
    assert ld_cache.own_folders(libc) == folders


def test_musl_asks_the_variable_first_and_has_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaders, "musls_folders", lambda _: [])
    written(
        tmp_path,
        {"ld-musl-x86_64.so.1": {}, "t/main.so": {"needed": [A], "rpath": "$ORIGIN"}, f"t/{A}": {}, f"v/{A}": {}},
    )
    loader = Loader(str(tmp_path / "v"), [str(tmp_path / "ld-musl-x86_64.so.1")])
    assert loader.musl
    assert loader.open(str(tmp_path / "t/main.so"))
    assert loader.lookups[0].found is not None
    assert loader.lookups[0].found.path == str(tmp_path / "v" / A)


# --- a whole environment

CUDNN, JITLINK, CUDART = "libcudnn.so.9", "libnvJitLink.so.13", "libcudart.so.13"
SOURCE = """
def _preload_cuda_deps(err=None, required=True):
    cuda_libs = [
        # in "this" order
        ("cudnn", "libcudnn.so.*[0-9]"),
        ("nvjitlink", "libnvJitLink.so.*[0-9]"),
    ]

def _load_global_deps():
    try:
        ctypes.CDLL(path)
        _preload_cuda_deps(required=False)
    except OSError as err:
        _preload_cuda_deps(err)


"""
PARTS_OF_CUDNN = {".rodata": b"\0libcudnn_ops.so\0libcudnn_graph.so\0cudnnCreate\0"}


def environment(tmp_path: Path) -> Path:
    """A torch with CUDA libraries of NVIDIA's packages, as the wheels are laid out."""
    site = tmp_path / "site-packages"
    path = "$ORIGIN/../../nvidia/cu13/lib:$ORIGIN"
    written(site, {
        "torch/lib/libtorch_global_deps.so": {"needed": [CUDART], "rpath": path},
        "torch/lib/libtorch_cuda.so": {
            "needed": [CUDNN, JITLINK, "libstdc++.so.6"], "rpath": path,
            "needs": {"libstdc++.so.6": ["GLIBCXX_3.4.30"]},
        },
        "torch/lib/libtorch_python.so": {"needed": ["libtorch_cuda.so"], "rpath": path},
        "torch/_C.cpython-312-x86_64-linux-gnu.so": {"needed": ["libtorch_python.so"], "rpath": "$ORIGIN/lib"},
        "torchvision/_C.so": {"needed": ["libtorch_cuda.so", "libjpeg.so.8"]},
        f"nvidia/cu13/lib/{CUDART}": {}, f"nvidia/cu13/lib/{JITLINK}": {},
        f"nvidia/cudnn/lib/{CUDNN}": {"sections": PARTS_OF_CUDNN, "rpath": "$ORIGIN"},
        "nvidia/cudnn/lib/libcudnn_graph.so.9": {},
        "nvidia/cudnn/lib/libcudnn_ops.so.9": {"needed": ["libcudnn_graph.so.9"], "runpath": "$ORIGIN"},
    })  # fmt: skip
    written(tmp_path, {"system/libstdc++.so.6": {"defines": ["GLIBCXX_3.4.30"]}, "system/libjpeg.so.8": {}})
    (site / "torch/__init__.py").write_text(SOURCE, "utf-8")
    (site / "torch/version.py").write_text("cuda: Optional[str] = '13.0'\n", "utf-8")
    for name, version, files in (
        ("nvidia_cudnn_cu13", "9.24.0.43", ["nvidia/cudnn/lib/libcudnn.so.9"]),
        ("nvidia_nvjitlink", "13.0.88", [f"nvidia/cu13/lib/{JITLINK}"]),
    ):
        info = site / f"{name}-{version}.dist-info"
        info.mkdir()
        (info / "RECORD").write_text("".join(f"{file},sha256=x,1\n" for file in files), "utf-8")
    (tmp_path / "program").write_bytes(elf())
    return site


def linked(site: Path, monkeypatch: pytest.MonkeyPatch, variable: str = "") -> dict[str, Linked]:
    """What is told of that environment, by name; of several rows the one with trouble."""
    monkeypatch.setattr(want_loading, "PATH", [str(site)])
    monkeypatch.setattr(want_loading, "program", lambda: [str(site.parent / "program")])
    monkeypatch.setenv("LD_LIBRARY_PATH", variable)
    monkeypatch.setattr(sys, "platform", "linux")
    answer = want_loading.want_loading(LOADING.args, ())
    (said,) = read(Recording({LOADING.key: Answer(json.loads(json.dumps(answer)))}))
    rows = sorted(said.value, key=lambda item: bool(item.lacks))  # type: ignore[call-overload]
    return {item.soname: item for item in rows}


def test_a_sound_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = linked(environment(tmp_path), monkeypatch)
    assert (found[CUDNN].path, found[CUDNN].how, found[CUDNN].package, found[CUDNN].version) == (
        "nvidia/cudnn/lib/libcudnn.so.9", "path", "nvidia-cudnn-cu13", "9.24.0.43",
    )  # fmt: skip
    assert (found["libcudnn_graph.so.9"].how, found["libcudnn_graph.so.9"].opened) == ("rpath", False)
    assert [name for name, item in found.items() if item.path is None] == ["libcuda.so.1"]
    assert found["libcuda.so.1"].opened
    assert not any(item.lacks or item.own or item.damage for item in found.values())
    assert "libjpeg.so.8" not in found  # the system's own, and nothing wrong with it


def test_a_library_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = environment(tmp_path)
    (site / "nvidia/cu13/lib" / JITLINK).unlink()
    found = linked(site, monkeypatch)[JITLINK]
    assert (found.path, found.for_torch, found.needed_by) == (None, True, ("torch/lib/libtorch_cuda.so",))


def test_a_library_of_a_companion_that_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = environment(tmp_path)
    (tmp_path / "system/libjpeg.so.8").unlink()
    found = linked(site, monkeypatch)["libjpeg.so.8"]
    assert (found.path, found.for_torch, found.needed_by) == (None, False, ("torchvision/_C.so",))


def test_another_cudnn_on_the_path_wins_only_where_the_loader_lets_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = environment(tmp_path)
    written(
        tmp_path,
        {f"v/{name}": {} for name in ("libcudnn.so.9.1.0", "libcudnn_graph.so.9.1.0", "libcudnn_ops.so.9.1.0")},
    )
    for path in list((tmp_path / "v").iterdir()):
        (tmp_path / "v" / path.name.removesuffix(".1.0")).symlink_to(path)
    kept = linked(site, monkeypatch, str(tmp_path / "v"))
    assert not any(item.own for item in kept.values())
    written(site, {f"nvidia/cudnn/lib/{CUDNN}": {"sections": PARTS_OF_CUDNN, "runpath": "$ORIGIN"}})
    lost = linked(site, monkeypatch, str(tmp_path / "v"))
    assert lost[CUDNN].own is None  # torch opens it by its path
    graph = lost["libcudnn_graph.so.9"]
    assert (graph.path, graph.how, graph.version) == (f"{tmp_path}/v/libcudnn_graph.so.9", "LD_LIBRARY_PATH", "9.1.0")
    assert graph.own == "nvidia/cudnn/lib/libcudnn_graph.so.9"


def test_a_symbol_version_that_the_winner_lacks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = environment(tmp_path)
    written(tmp_path, {"v/libstdc++.so.6": {"defines": ["GLIBCXX_3.4"]}})
    found = linked(site, monkeypatch, str(tmp_path / "v"))["libstdc++.so.6"]
    assert (found.lacks, found.needed_by, found.for_torch) == (
        ("GLIBCXX_3.4.30",),
        ("torch/lib/libtorch_cuda.so",),
        True,
    )


def test_a_library_that_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = environment(tmp_path)
    (site / "torch/lib/libtorch_cuda.so").write_bytes(elf()[:100])
    found = linked(site, monkeypatch)["libtorch_cuda.so"]
    assert "beyond the file's end" in found.damage or "cut" in found.damage


OLD_SOURCE = SOURCE.replace("        _preload_cuda_deps(required=False)\n", "")
TWO = SOURCE.replace("_preload_cuda_deps(required=False)", '_preload_cuda_deps("cuda_nvrtc", "libnvrtc.so.*[0-9]")')


@pytest.mark.parametrize(
    ("source", "always"),
    [
        (SOURCE, [("cudnn", "libcudnn.so.*[0-9]"), ("nvjitlink", "libnvJitLink.so.*[0-9]")]),
        (OLD_SOURCE, []),
        (TWO, [("cuda_nvrtc", "libnvrtc.so.*[0-9]")]),
        ("", []),
    ],
)
def test_what_a_torch_opens_by_itself_stands_in_its_source(source: str, always: object, tmp_path: Path) -> None:
    (tmp_path / "x.py").write_text(source, "utf-8")
    first, second = want_loading.parts(str(tmp_path / "x.py"))
    assert first == always
    assert [folder for folder, _ in second] == (["cudnn", "nvjitlink"] if source else [])


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 1\n#define CUDNN_PATCHLEVEL 0\n", "9.1.0"),
        ("#define CUDNN_MAJOR 9\n", ""),
    ],
)
def test_the_version_of_cudnn_in_its_header(text: str, version: str, tmp_path: Path) -> None:
    written(tmp_path, {f"lib/{CUDNN}": {}})
    (tmp_path / "include").mkdir()
    (tmp_path / "include/cudnn_version.h").write_text(text, "utf-8")
    assert library_words.file_version(CUDNN, str(tmp_path / "lib" / CUDNN)) == version


def test_the_version_inside_nccl(tmp_path: Path) -> None:
    words = b"\0the NCCL version info only\0NCCL version %d\0NCCL version 2.30.7+cuda13.3\0"
    written(tmp_path, {"libnccl.so.2": {"sections": {".rodata": words}}})
    assert library_words.file_version("libnccl.so.2", str(tmp_path / "libnccl.so.2")) == "2.30.7"


@pytest.mark.parametrize("name", ["_rocm_init.py", ""])
def test_a_torch_that_is_loaded_in_another_way_is_not_judged(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = environment(tmp_path)
    if name:
        (site / "torch" / name).write_text("", "utf-8")
    else:
        (tmp_path / "first" / "torch").mkdir(parents=True)  # a checkout without libraries, which import takes
        (tmp_path / "first" / "torch" / "__init__.py").write_text("", "utf-8")
    monkeypatch.setattr(want_loading, "PATH", [str(tmp_path / "first"), str(site)])
    with pytest.raises(paths.Absent):
        want_loading.want_loading(LOADING.args, ())


def test_hostile_libraries_end_in_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = environment(tmp_path)
    numbers = random.Random(7)  # noqa: S311 - not a secret
    victims = [
        site / "torch/lib/libtorch_cuda.so",
        site / "nvidia/cudnn/lib" / CUDNN,
        tmp_path / "system/libstdc++.so.6",
    ]
    sound = {path: path.read_bytes() for path in victims}
    for _ in range(150):
        for path, data in sound.items():
            broken = bytearray(data[: numbers.choice([len(data), numbers.randrange(1, len(data))])])
            for _ in range(numbers.randrange(1, 6)):
                broken[numbers.randrange(len(broken))] = numbers.randrange(256)
            path.write_bytes(broken)
        assert linked(site, monkeypatch)


# --- Windows


def test_dlls_are_found_by_the_rules_of_windows(tmp_path: Path) -> None:
    lib, system = tmp_path / "torch" / "lib", tmp_path / "System32"
    for folder in (lib, system):
        folder.mkdir(parents=True)
    (lib / "torch_cpu.dll").write_bytes(
        pe(imports=["C10.dll", "MSVCP140.dll", "api-ms-win-crt-heap-l1-1-0.dll"], delayed=["late.dll"])
    )
    (lib / "c10.dll").write_bytes(pe(imports=["libomp140.x86_64.dll", "KERNEL32.dll"]))
    (lib / "shm.dll").write_bytes(b"MZ")
    (system / "msvcp140.dll").write_bytes(pe(version=(14, 29, 30133, 0)))
    (system / "kernel32.dll").write_bytes(pe(imports=["ntdll_of_its_own.dll"]))
    dlls = dll_search.Dlls([(str(system), "system")])
    for path in sorted(lib.iterdir()):
        dlls.open(str(path))
    rows = {name: (row["path"] and Path(row["path"]).name, row["how"]) for name, row in dlls.rows.items()}
    assert rows == {
        "c10.dll": ("c10.dll", "own"), "msvcp140.dll": ("msvcp140.dll", "system"),
        "kernel32.dll": ("kernel32.dll", "system"),
        "libomp140.x86_64.dll": (None, ""), "shm.dll": ("shm.dll", "own"),
    }  # fmt: skip
    assert "damage" in dlls.rows["shm.dll"]
    assert dll_search.file_version(str(system / "msvcp140.dll")) == "14.29.30133.0"
    assert dll_search.file_version(str(system / "none.dll")) is None


# --- the truth

_OURS = """
import json, os, sys
sys.path.insert(0, {root!r})
from torchdoctor.target import loader, paths, want_loading
loaded = loader.Loader(os.environ.get("LD_LIBRARY_PATH", ""), loader.program())
start = len(loaded.libraries)
site = {site!r}
want_loading.start_torch(loaded, site + "/torch", [site])
print(json.dumps([os.path.realpath(item.path) for item in loaded.libraries[start:]]))
"""


@pytest.mark.torch
@pytest.mark.skipif(not os.environ.get("TORCHDOCTOR_CUDA_PYTHON"), reason="TORCHDOCTOR_CUDA_PYTHON names no CUDA build")
@pytest.mark.parametrize("with_another_cudnn", [False, True])
def test_it_agrees_with_the_real_loader_file_by_file(
    with_another_cudnn: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = os.environ["TORCHDOCTOR_CUDA_PYTHON"]
    find = "import importlib.util as u, os; print(os.path.dirname(os.path.dirname(u.find_spec('torch').origin)))"
    site = subprocess.run([python, "-c", find], capture_output=True, text=True, check=True).stdout.strip()
    if with_another_cudnn:
        for path in Path(site, "nvidia", "cudnn", "lib").glob("*.so.*"):
            (tmp_path / path.name).symlink_to(path.resolve())
        (tmp_path / "libcudart.so.13").write_bytes(b"")  # would end the import where it was taken
        monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))
    ours = subprocess.run(
        [python, "-S", "-c", _OURS.format(root=str(ROOT), site=site)], capture_output=True, text=True, check=True
    )
    monkeypatch.setenv("LD_DEBUG", "libs")
    monkeypatch.setenv("LD_DEBUG_OUTPUT", str(tmp_path / "debug"))
    subprocess.run([python, "-c", "import torch"], check=True, capture_output=True)
    text = "".join(path.read_text("utf-8", "replace") for path in tmp_path.glob("debug.*"))
    real = {
        os.path.realpath(line.partition("calling init: ")[2].strip())
        for line in text.splitlines()
        if "calling init: " in line
    }
    foretold = json.loads(ours.stdout)
    assert [path for path in foretold if path not in real] == []
    assert {path for path in real if "/torch/lib/" in path or "/nvidia/" in path} <= set(foretold)
