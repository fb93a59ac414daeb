"""The probe's own paths and texts: a recorded tree in place of the root, and what consoles print."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchdoctor.target import paths, want_files

POSIX = pytest.mark.skipif(os.name != "posix", reason="a tree stands for another system only where colons are letters")
REG = "HKEY_LOCAL_MACHINE\\x\r\n    DriverDesc    REG_SZ    Intel® UHD-Grafik\r\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(paths, "ROOT", [str(tmp_path)])
    monkeypatch.setattr(paths, "LISTED", {})
    return tmp_path


def put(tree: Path, path: str, text: str) -> None:
    file = tree / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@POSIX
@pytest.mark.parametrize(
    ("path", "below"),
    [
        ("/proc/modules", "proc/modules"),
        ("C:\\Windows\\System32\\nvcuda.dll", "C:/Windows/System32/nvcuda.dll"),
        ("C:\\Program Files/Microsoft Visual Studio", "C:/Program Files/Microsoft Visual Studio"),
    ],
)
def test_absolute_paths_lie_below_the_root(path: str, below: str, tree: Path) -> None:
    assert paths.real(path) == f"{tree}/{below}"


def test_other_paths_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paths, "ROOT", ["/tree"])
    assert paths.real("pyproject.toml") == "pyproject.toml"
    monkeypatch.setattr(paths, "ROOT", [])
    assert paths.real("/proc/modules") == "/proc/modules"


@POSIX
def test_a_tree_is_read_and_named_as_the_host_has_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tree, "sys/bus/pci/devices/0000:01:00.0/uevent", "PCI_CLASS=30000\n")
    put(tree, "proc/self/cgroup", "0::/a.slice/b.scope\n")
    put(tree, "sys/fs/cgroup/a.slice/memory.max", "1048576\n")
    (tree / "dev").mkdir()
    (tree / "dev" / "core").symlink_to("gone")
    assert want_files.want_files(("/sys/bus/pci/devices/*/uevent",), ("PCI_CLASS=300",)) == {
        "/sys/bus/pci/devices/0000:01:00.0/uevent": "PCI_CLASS=30000\n"
    }
    assert want_files.want_files(("@cgroup/memory.max",), ()) == {"/sys/fs/cgroup/a.slice/memory.max": "1048576\n"}
    assert want_files.want_links(("/dev/*",), ()) == {"/dev/core": "gone"}
    assert want_files.want_stat(("/proc/self/cgroup",), ())["type"] == "file"
    assert want_files.want_space(("/proc",), ()) > 0
    with pytest.raises(paths.Absent):
        want_files.want_file(("/etc/hostname",), ())
    (tree / "home" / "x").mkdir(parents=True)
    monkeypatch.chdir(tree / "home" / "x")
    assert paths.here() == "/home/x"


@POSIX
def test_libraries_are_those_of_the_tree(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    put(tree, "usr/lib/wsl/lib/libcuda.so.1", "")
    put(tree, "opt/own/libcuda.so.1", "")
    put(tree, "etc/ld.so.cache", "x\0/opt/own/libcuda.so.1\0/opt/gone/libcuda.so.1\0")
    found = paths.library_files("libcuda.so.1", ("/usr/lib/wsl/lib", "/usr/lib64"))
    assert found == ["/opt/own/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (REG.encode(), REG),
        (REG.encode("utf-16"), REG),
        (REG.encode("utf-16-le"), REG),
        (b"", ""),
        (b"a", "a"),
        (b"a\0", "a\0"),
        ("ohne Gerät".encode(), "ohne Gerät"),
    ],
)
def test_what_consoles_print(data: bytes, text: str) -> None:
    assert paths.as_text(data) == text


@pytest.mark.parametrize("encoding", ["cp1252", "cp850", "cp932"])
def test_a_console_of_another_code_page_keeps_what_is_ascii(encoding: str) -> None:
    text = "DriverVersion    REG_SZ    32.0.15.9621    ü" if encoding != "cp932" else "NVIDIA-SMI 596.21 指定"
    assert text.rpartition(" ")[0] in paths.as_text(text.encode(encoding))
