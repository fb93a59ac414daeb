"""install-cmd and what a wheel itself has against a host: a broken release, files too deep for the folder."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from torchdoctor.prescribe.choose import already_right, choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import GpuTarget, Host
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import DriverVersion, GpuArch, Libc, PythonTag

GPU = GpuTarget("nvidia", GpuArch(8, 9), "NVIDIA GeForce RTX 4060")
WINDOWS = Host(
    os="windows", machine="x86_64", python=PythonTag(3, 12), libc=None, os_version=None, jetpack=None,
    driver=DriverVersion.parse("596.21"), gpus=(GPU,), torch=None, build=None,
)  # fmt: skip
LINUX = replace(WINDOWS, os="linux", libc=Libc.parse("glibc-2.39"), driver=DriverVersion.parse("580.95.05"))


def chosen(host: Host, tables: Tables, spec: str = "") -> str:
    choice = choose(host, Wish(torch=SpecifierSet(spec) if spec else None), tables)
    return str(choice.row.torch) if choice.row else str(choice.refusal)


@pytest.mark.parametrize(
    ("room", "spec", "torch"),
    [
        (None, "==2.13.0", "2.13.0"),
        (167, "==2.13.0", "2.13.0"),
        (166, "==2.13.0", "its longest path has 167 characters, and this folder of packages leaves room for 166"),
        (166, "<2.14", "2.12.1"),  # not measured: taken for one of the short ones, which fit
        (121, "", "2.14.1"),
        (120, "==2.14.1", "its longest path has 121 characters"),
        (116, "", "its longest path has"),  # not even those that were not measured
    ],
)
def test_a_folder_leaves_so_much_room(room: int | None, spec: str, torch: str, tables: Tables) -> None:
    assert torch in chosen(replace(WINDOWS, room=room), tables, spec)


def test_what_is_installed_did_fit(tables: Tables) -> None:
    host = replace(WINDOWS, room=90, torch="2.13.0+cu130")
    assert already_right(host, tables, Wish()) is not None


def test_a_release_that_is_broken_there_is_not_chosen(tables: Tables) -> None:
    assert chosen(WINDOWS, tables, "==2.4.0").endswith("only the Visual Studio C++ tools bring that file")
    assert chosen(WINDOWS, tables, ">=2.4,<2.5") == "2.4.1"
    assert chosen(LINUX, tables, "==2.4.0") == "2.4.0"
    assert already_right(replace(WINDOWS, torch="2.4.0+cu124"), tables, Wish()) is None
    assert already_right(replace(LINUX, torch="2.4.0+cu124"), tables, Wish()) is not None
