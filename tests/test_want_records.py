"""Files that are not as the installer wrote them, found by its own list: made environments, no imports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from binary_files import elf, pe

from torchdoctor.inside import Torn
from torchdoctor.readers.live_records import RECORDS, read
from torchdoctor.recording import Answer, Recording
from torchdoctor.target import paths, want_records

LIBRARY = elf(needed=["libc.so.6"], soname="libnccl.so.2")
NAME = "nvidia/nccl/lib/libnccl.so.2"
WHEEL = {NAME: LIBRARY, "nvidia/nccl/include/nccl.h": b"int x;\n", "nvidia/nccl/__init__.py": b"x = 1\n"}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "env" / "lib" / "python3.12" / "site-packages"
    folder.mkdir(parents=True)
    monkeypatch.setattr(paths, "PATH", [str(folder)])
    monkeypatch.setattr(want_records, "PATH", paths.PATH)
    monkeypatch.setattr(paths, "LISTED", {})
    return folder


def install(site: Path, name: str, version: str, files: Mapping[str, bytes], more: str = "") -> None:
    """A wheel as an installer leaves it."""
    info = f"{name}-{version}.dist-info"
    rows = [f"{path},sha256={hash(data)},{len(data)}" for path, data in files.items()]
    for path, data in {**files, f"{info}/METADATA": b"Name: x\n", f"{info}/RECORD": b""}.items():
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)
    rows += [f"{info}/METADATA,sha256=x,9999", f"{info}/INSTALLER,sha256=x,4", f"{info}/RECORD,,", more]
    (site / info / "RECORD").write_text("\n".join(rows), "utf-8")


def asked() -> list[dict[str, Any]]:
    return want_records.want_records(RECORDS.args, ())


def state() -> dict[str, Any]:
    found = asked()
    assert len(found) == 1, found
    return found[0]


def test_a_sound_wheel_is_not_told(site: Path) -> None:
    install(site, "nvidia_nccl_cu12", "2.21.5", WHEEL)
    assert asked() == []


@pytest.mark.parametrize(
    "row",
    [
        "nvidia/nccl/__pycache__/__init__.cpython-312.pyc,,",
        "nvidia/nccl/__pycache__/x.cpython-312.pyc,sha256=x,77",
        "../../../bin/nccl-tool,sha256=x,249",
        "/etc/nccl.conf,sha256=x,249",
        "C:\\tools\\nccl.exe,sha256=x,249",
        "nvidia_nccl_cu12-2.21.5.dist-info/direct_url.json,sha256=x,90",
        "nvidia/nccl/lib/gone.so,,",
        "no row at all",
    ],
)
def test_what_a_list_may_name_without_being_there(site: Path, row: str) -> None:
    install(site, "nvidia_nccl_cu12", "2.21.5", WHEEL, row)
    assert asked() == []


def test_files_that_are_gone_are_told_with_libraries_first(site: Path) -> None:
    install(site, "nvidia_nccl_cu12", "2.21.5", WHEEL)
    for path in WHEEL:
        (site / path).unlink()
    told = state()
    assert (told["package"], told["version"], told["files"]) == ("nvidia-nccl-cu12", "2.21.5", 3)
    assert told["missing"] == [NAME, "nvidia/nccl/__init__.py", "nvidia/nccl/include/nccl.h"]
    assert (told["missing_count"], "changed" in told) == (3, False)


def test_a_long_list_is_cut_and_counted(site: Path) -> None:
    install(site, "torch", "2.9.1", {f"torch/{number}.py": b"x" for number in range(200)})
    for path in (site / "torch").iterdir():
        path.unlink()
    told = state()
    assert (len(told["missing"]), told["missing_count"]) == (want_records.NAMES, 200)


@pytest.mark.parametrize(
    ("data", "cut"),
    [
        (b"", True),
        (LIBRARY[:200], True),
        (LIBRARY[: len(LIBRARY) // 2], True),
        (b"version https://git-lfs.github.com/spec/v1\n", True),
        (LIBRARY + bytes(64), False),
        (pe(imports=["c10.dll"]), False),
    ],
    ids=["empty", "head", "half", "pointer", "longer", "dll"],
)
def test_a_library_of_another_size_is_cut_or_only_changed(site: Path, data: bytes, cut: bool) -> None:
    install(site, "nvidia_nccl_cu12", "2.21.5", WHEEL)
    (site / NAME).write_bytes(data)
    told = state()
    assert (told["changed"], told.get("cut", [])) == ([NAME], [NAME] if cut else [])


def test_a_module_is_cut_only_where_nothing_is_left_of_it(site: Path) -> None:
    install(site, "torch", "2.9.1", {"torch/a.py": b"x = 1\n", "torch/b.py": b"x = 1\n"})
    (site / "torch/a.py").write_bytes(b"")
    (site / "torch/b.py").write_bytes(b"x = 1\nprint(x)\n")
    told = state()
    assert (told["changed"], told["cut"]) == (["torch/a.py", "torch/b.py"], ["torch/a.py"])


def test_names_with_backslashes_and_quotes_are_read(site: Path) -> None:
    install(
        site, "torch", "2.9.1", {"torch/a.py": b"x"}, 'torch\\lib\\c10.dll,sha256=x,5\n"torch/with,comma.py",sha256=x,5'
    )
    assert state()["missing"] == ["torch/lib/c10.dll", "torch/with,comma.py"]


def test_two_packages_of_one_file_with_other_contents(site: Path) -> None:
    install(site, "nvidia_nccl_cu13", "2.28.9", {**WHEEL, NAME: LIBRARY + b"newer"})
    install(site, "nvidia_nccl_cu12", "2.21.5", WHEEL)
    told = {item["package"]: item for item in asked()}
    assert told["nvidia-nccl-cu13"]["changed"] == [NAME]
    for name, other in (
        ("nvidia-nccl-cu13", "nvidia-nccl-cu12 2.21.5"),
        ("nvidia-nccl-cu12", "nvidia-nccl-cu13 2.28.9"),
    ):
        assert (told[name]["shared_with"], told[name]["others"], told[name]["shared_count"]) == ([NAME], [other], 1)


@pytest.mark.parametrize("is_its_own", [False, True])
def test_conda_and_pip_own_the_same_files(site: Path, is_its_own: bool) -> None:
    install(site, "torch", "2.9.1", {"torch/__init__.py": b"x", "torch/version.py": b"y"})
    inner = [f"lib/python3.12/site-packages/torch/{name}" for name in ("__init__.py", "version.py", "more.py")]
    inner += ["lib/python3.12/site-packages/torch-2.9.1.dist-info/METADATA"] if is_its_own else ["bin/x"]
    meta = site.parents[2] / "conda-meta"
    meta.mkdir()
    (meta / "pytorch-2.5.1-py3.12_cuda12.4_cudnn9.1.0_0.json").write_text(json.dumps({"files": inner}), "utf-8")
    (meta / "torchvision-0.20.1-broken_0.json").write_text("{", "utf-8")
    told = asked()
    if is_its_own:
        assert told == []
    else:
        assert told[0]["others"] == ["conda's pytorch-2.5.1"]
        assert (told[0]["shared_with"], told[0]["shared_count"]) == (["torch/__init__.py", "torch/version.py"], 2)


def test_packages_that_nobody_asked_about_are_left_alone(site: Path) -> None:
    install(site, "requests", "2.32.0", {"requests/__init__.py": b"x"})
    (site / "requests/__init__.py").unlink()
    (site / "torch-2.9.1.dist-info").mkdir()  # without a list
    assert asked() == []


SAID = {
    "package": "torch", "version": "2.9.1", "files": 5, "missing": ["a.so", 3], "missing_count": 9,
    "cut": ["b.so"], "changed": ["b.so"], "changed_count": True,
}  # fmt: skip


def torns(recording: Recording) -> list[Torn]:
    (said,) = read(recording)
    assert isinstance(said.value, tuple)
    return list(said.value)


def test_the_reader_takes_what_has_its_shape() -> None:
    recording = Recording(
        {RECORDS.key: Answer([SAID, 7, {"package": None}, {"package": "x", "files": -1, "cut": "no"}])}
    )
    torn, other = torns(recording)
    assert (torn.missing, torn.missing_count, torn.changed_count, torn.cut) == (("a.so",), 9, 1, ("b.so",))
    assert other == Torn(package="x", version="", files=0)
    assert list(read(Recording({RECORDS.key: Answer(error="late")}))) == []
