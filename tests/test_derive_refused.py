"""Why an installer found no torch, worked out from what it was asked, what it offered, and what lies where."""

from __future__ import annotations

import pytest
from reading import fact

from torchdoctor.readers.assemble import assemble
from torchdoctor.readers.derive import derive
from torchdoctor.readers.statement import Said
from torchdoctor.tables import Tables
from torchdoctor.values import PythonTag

WHL = "https://download.pytorch.org/whl/"
PYPI = "https://mirror.example/simple"  # a mirror: PyPI itself looks the same
WINDOWS = {"os.name": "windows", "os.machine": "x86_64"}
LINUX = {"os.name": "linux", "os.machine": "x86_64"}


@pytest.mark.parametrize(
    ("asked", "offered", "indexes", "host", "reason"),
    [
        ("2.10.0", (), (f"{WHL}cu131",), WINDOWS, "index"),  # there never was one of that name
        ("2.5.1", ("2.6.0+cu126", "2.7.0+cu126"), (f"{WHL}cu126",), {}, "index"),
        ("2.8.0", ("2.7.0+cu118", "2.7.1+cu118"), (), LINUX, "index"),  # the offer names the index
        ("2.7.0", ("2.5.1+cu124", "2.6.0+cu124"), (f"{WHL}test/cu124",), WINDOWS, "index"),
        ("2.6.0", ("2.2.1", "2.2.2"), (), {"os.name": "macos", "os.machine": "x86_64"}, "system"),
        ("", (), (PYPI,), {"os.name": "linux", "os.machine": "armv7l"}, "system"),
        ("", (), (PYPI,), {"os.name": "windows", "os.machine": "arm64"}, "index"),  # the torch index has some
        ("2.8.0", ("2.9.0", "2.9.1"), (), {**WINDOWS, "python.tag": "3.14"}, "python"),
        ("1.13.1+cu116", ("2.0.0", "2.3.0"), (PYPI, f"{WHL}cu116/"), {**WINDOWS, "python.tag": "3.11"}, "python"),
        ("1.12.1", ("2.2.0", "2.3.0"), (), {**LINUX, "python.tag": "3.12"}, "python"),  # older than the table
        ("", (), (f"{WHL}cpu",), {**LINUX, "python.tag": "3.4"}, "python"),
        ("2.8.0", ("2.7.0", "2.8.0"), (), LINUX, "?"),  # it was offered
        ("2.8.0", (), (), LINUX, "?"),  # nobody says where it was looked for
        ("2.8.0", (), (f"{WHL}nightly/cu128",), LINUX, "?"),  # the tables hold no nightlies
        ("2.8.0", (), (WHL,), LINUX, "?"),
        ("2.8.0", (), (PYPI,), LINUX, "?"),  # it lies there, and the Python is unknown
        ("99.0", ("2.8.0",), (), LINUX, "?"),
        ("words", ("2.8.0",), (), LINUX, "?"),
        ("2.8.0+odd", ("2.8.0",), (), LINUX, "?"),
    ],
)
def test_the_reason(
    asked: str, offered: tuple[str, ...], indexes: tuple[str, ...], host: dict[str, str], reason: str, tables: Tables
) -> None:
    said = [Said("torch.offered", offered, "here")]
    said += [Said("torch.requested", asked, "here")] if asked else []
    said += [Said("torch.indexes", indexes, "here")] if indexes else []
    for path, value in host.items():
        said.append(Said(path, PythonTag.parse(value) if path == "python.tag" else value, "here"))
    assert fact(derive(assemble(said), tables), "torch.refused") == reason


def test_without_an_offer_nothing_was_refused(tables: Tables) -> None:
    facts = derive(assemble([Said("torch.requested", "2.8.0", "here")]), tables)
    assert fact(facts, "torch.refused") == "?"
