from __future__ import annotations

import pytest
from driver_hosts import MAC, WINDOWS, changed, commands, healthy, torch, values
from one_check import found, is_skipped, only, severity

from torchdoctor.facts import Facts, Unknown
from torchdoctor.tables import Tables
from torchdoctor.values import PythonTag

NONE = torch(None)


def with_python(tag: str, **more: object) -> Facts:
    facts = healthy(torch=NONE)
    return changed(
        facts, python__tag=PythonTag.parse(tag), **{f"python__{name}": value for name, value in more.items()}
    )


ROSETTA = changed(healthy(os=MAC, torch=NONE), os__machine="x86_64", python__machine="x86_64", place__rosetta=True)
INTEL_MAC = changed(ROSETTA, place__rosetta=False, cpu__model="Intel(R) Core(TM) i7-9750H CPU")


@pytest.mark.parametrize("tag", ["3.7", "3.9", "3.10", "3.12", "3.13t", "3.14t", "3.15"])
def test_every_python_with_any_wheel_is_supported(tag: str, tables: Tables) -> None:
    assert found("python-unsupported", with_python(tag), tables) == []


@pytest.mark.parametrize(
    ("facts", "nearest"),
    [
        (with_python("3.6"), "3.11"),
        (with_python("3.16"), "3.15"),
        (with_python("3.12t"), "3.12"),
        (changed(with_python("3.16"), os=WINDOWS), "3.15"),
    ],
    ids=["too old", "too new", "free-threaded", "Windows"],
)
def test_a_python_without_any_wheel(facts: Facts, nearest: str, tables: Tables) -> None:
    finding = only("python-unsupported", facts, tables)
    assert values(finding) == {"python.tag": str(facts.python.tag)}
    assert commands(finding) == f"uv venv --python {nearest}"
    assert finding.row
    assert finding.row.table == "torch_builds"


def test_another_interpreter_than_cpython(tables: Tables) -> None:
    finding = only("python-unsupported", with_python("3.11", implementation="pypy"), tables)
    assert values(finding) == {"python.implementation": "pypy"}
    assert str(finding.summary) == "no torch wheel exists for pypy 3.11"
    assert commands(finding) == "uv venv --python 3.11"


def test_a_system_without_any_wheel_is_not_a_fault_of_python(tables: Tables) -> None:
    assert found("python-unsupported", with_python("3.12", machine="riscv64"), tables) == []


def test_pythons_that_are_not_known_for_windows_on_arm_decide_nothing(tables: Tables) -> None:
    assert found("python-unsupported", changed(with_python("3.14", machine="arm64"), os=WINDOWS), tables) == []


def test_whoever_has_torch_has_a_fitting_python(tables: Tables) -> None:
    assert found("python-unsupported", changed(with_python("3.16"), torch=torch("2.15.0+cpu")), tables) == []


def test_a_free_threaded_python_beside_an_ordinary_torch(tables: Tables) -> None:
    facts = changed(with_python("3.13t"), torch=torch("2.6.0+cpu"), os=WINDOWS)
    finding = only("python-unsupported", facts, tables)
    assert (finding.confidence, values(finding)["python.tag"]) == ("likely", "3.13t")
    assert commands(finding) == "uv venv --python 3.13"
    assert finding.remedies[1].installs
    assert found("python-unsupported", changed(facts, torch=torch("2.8.0+cpu")), tables) == []
    assert found("python-unsupported", changed(facts, torch=torch("2.6.0+cpu", owner="conda")), tables) == []


@pytest.mark.parametrize("installed", [False, Unknown("presence of torch")])
def test_a_32_bit_python(installed: bool | Unknown, tables: Tables) -> None:
    facts = changed(with_python("3.12", bits=32), torch__installed=installed)
    finding = only("python-wrong-arch", facts, tables)
    assert str(finding.summary) == "Python is a 32-bit build; torch wheels are 64-bit only"
    assert values(finding) == {"python.bits": "32"}
    assert "calcsize('P')" in commands(finding)


def test_a_torch_that_somebody_built_for_32_bit_is_left_alone(tables: Tables) -> None:
    assert found("python-wrong-arch", changed(with_python("3.12", bits=32), torch=torch("2.6.0+cpu")), tables) == []


def test_rosetta(tables: Tables) -> None:
    finding = only("python-wrong-arch", ROSETTA, tables)
    assert finding.severity == "error"
    assert values(finding)["place.rosetta"] == "yes"
    assert "platform.machine()" in commands(finding)


def test_a_torch_that_runs_under_rosetta_is_only_worth_a_warning(tables: Tables) -> None:
    assert severity("python-wrong-arch", changed(ROSETTA, torch=torch("2.2.2+cpu")), tables) == "warning"


def test_the_processor_betrays_rosetta(tables: Tables) -> None:
    facts = changed(ROSETTA, place__rosetta=Unknown("Rosetta translation"), cpu__model="Apple M2 Pro")
    assert values(only("python-wrong-arch", facts, tables)) == {"cpu.model": "Apple M2 Pro"}


@pytest.mark.parametrize("facts", [healthy(), INTEL_MAC, healthy(os=MAC), with_python("3.12")])
def test_native_pythons(facts: Facts, tables: Tables) -> None:
    assert found("python-wrong-arch", facts, tables) == []


def test_unknown_facts_skip(tables: Tables) -> None:
    assert is_skipped("python-wrong-arch", changed(healthy(), python__bits=Unknown("Python word size")), tables)
    assert is_skipped("python-unsupported", changed(healthy(), python__tag=Unknown("Python ABI")), tables)
    missing = changed(with_python("3.16"), torch__installed=Unknown("presence of torch"))
    assert is_skipped("python-unsupported", missing, tables)


def test_an_installed_torch_does_not_decide_what_is_offered_of_another(tables: Tables) -> None:
    """A quoted refusal of the installer keeps its say: see ``decides``."""
    assert is_skipped("python-unsupported", changed(healthy(), torch__offered=("2.4.0", "2.4.1")), tables)
