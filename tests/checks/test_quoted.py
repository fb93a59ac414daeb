"""Errors that a text quotes beside facts of the host: what they prove, what follows from them, who overrules whom."""

from __future__ import annotations

import pytest
from install_hosts import LINUX, gpu, host, packages, torch

from torchdoctor.checks.conditions import holds
from torchdoctor.checks.shown import Shown, filled
from torchdoctor.facts import Driver, ErrorText, Facts, Quoted, Torch
from torchdoctor.findings import Finding, sentence
from torchdoctor.records import replace
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables

RTX_5090 = gpu("NVIDIA GeForce RTX 5090", "12.0")
CU128, CU124 = torch("2.8.0+cu128", "cu128", origin="pytorch"), torch("2.6.0+cu124", "cu124", origin="pytorch")
ANY = ErrorText("any", "", "")


def quoting(facts: Facts, *ids: str) -> Facts:
    return replace(
        facts, quoted=Quoted(tuple(ErrorText(name, f"the text of {name}", "error.txt line 1") for name in ids))
    )


def findings(facts: Facts, tables: Tables) -> dict[str, Finding]:
    found, _ = run_checks(facts, tables)
    return {finding.id: finding for finding in found}


@pytest.mark.parametrize(
    ("condition", "is_true"),
    [
        ("gpus.vendor = amd", False),
        ("gpus.vendor != amd", False),
        ("gpus = no", False),
        ("gpus = unknown", True),
        ("gpus.vendor = unknown", True),
        ("driver.device_nodes = none", True),
        ("driver.device_nodes != none", False),
    ],
)
def test_a_condition_on_what_is_unknown_or_empty(condition: str, is_true: bool) -> None:
    assert holds(condition, Facts(driver=Driver(device_nodes=())), ANY) == is_true


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("torch.cuda.set_device(0) comes first", "torch.cuda.set_device(0) comes first."),
        ("nvidia_uvm is not loaded", "nvidia_uvm is not loaded."),
        ("cuInit was not called.", "cuInit was not called."),
        ("libcuda.so.1 is another one", "libcuda.so.1 is another one."),
        ("read the lines before it", "Read the lines before it."),
        ("device-side assert", "Device-side assert."),
        ("unknown: a broken state", "Unknown: a broken state."),
    ],
)
def test_a_name_at_the_beginning_of_a_sentence_keeps_its_letters(cell: str, expected: str) -> None:
    assert sentence(cell) == expected


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"xid": "79"}, "See 79. Then reset it."),
        ({}, "Then reset it."),
        ({"other": "1"}, "Then reset it."),
    ],
)
def test_a_sentence_about_what_the_text_does_not_name_is_left_out(
    values: dict[str, str], expected: str, tables: Tables
) -> None:
    entry = tables.known_errors.find("xid-in-log")
    assert entry is not None
    assert filled("See <xid>. Then reset it.", Shown(entry, ErrorText("xid-in-log", "", "", values))) == expected
    assert filled("Open <path>.", Shown(entry, ErrorText("xid-in-log", "", "", values))) == "Open <path>."


def test_a_kernel_that_torch_has_is_missing_in_an_extension(tables: Tables) -> None:
    found = findings(quoting(host(CU128, RTX_5090), "no-kernel-image"), tables)
    assert found["companion-arch-missing"].severity == "warning"
    assert found["companion-arch-missing"].evidence[0].value == "the text of no-kernel-image"
    assert "torch-arch-missing" not in found


def test_a_kernel_that_torch_lacks_is_missing_in_torch(tables: Tables) -> None:
    found = findings(quoting(host(CU124, RTX_5090), "no-kernel-image"), tables)
    assert found["torch-arch-missing"].severity == "error"
    assert "companion-arch-missing" not in found


def test_where_nobody_knows_what_torch_holds_the_error_is_believed(tables: Tables) -> None:
    made_elsewhere = torch("2.8.0a0+34c6371d24.nv25.08", "cu130", origin="nvidia")
    found = findings(quoting(host(made_elsewhere, RTX_5090), "no-kernel-image"), tables)
    assert found["torch-arch-missing"].confidence == "likely"
    assert "companion-arch-missing" not in found


def test_a_shadowed_library_ends_the_import(tables: Tables) -> None:
    facts = quoting(Facts(os=LINUX, torch=Torch(installed=True)), "nvjitlink-undefined-symbol")
    found = findings(facts, tables)
    assert found["library-path-shadowing"].severity == "error"
    assert found["torch-import-fails"].explained_by == "library-path-shadowing"


def test_a_torch_that_answered_was_imported(tables: Tables) -> None:
    facts = quoting(host(replace(CU128, cuda_available=True), RTX_5090), "nvjitlink-undefined-symbol")
    assert "torch-import-fails" not in findings(facts, tables)


def test_a_consequence_stands_only_beside_its_cause(tables: Tables) -> None:
    facts = quoting(host(CU128, RTX_5090), "cudnn-version-incompatible")
    assert findings(facts, tables)["cudnn-failure"].explained_by == "library-path-shadowing"


def test_where_torch_works_a_consequence_is_no_worse_than_its_cause(tables: Tables) -> None:
    both = replace(
        packages("torch==2.6.0", complete=False),
        items=(*packages("torch==2.6.0").items, *packages("pytorch==2.5.1", owner="conda").items),
    )
    works = host(replace(CU124, cuda_available=True), gpu("NVIDIA A100", "8.0"), installed=both)
    fails = replace(works, torch=replace(works.torch, cuda_available=False))
    for facts, severity in ((works, "warning"), (fails, "error")):
        found = findings(quoting(facts, "torch-no-attribute"), tables)["torch-version-mismatch"]
        assert (found.severity, found.explained_by) == (severity, "mixed-package-sources")


@pytest.mark.parametrize("error", ["ptx-unsupported-toolchain", "cuda-driver-symbol-missing"])
@pytest.mark.parametrize("sees", [True, False])
def test_others_may_ask_more_of_the_driver_than_torch(error: str, sees: bool, tables: Tables) -> None:
    facts = host(replace(CU124, cuda_available=sees), gpu("NVIDIA L4", "8.9"), driver="535.183.01")
    assert findings(quoting(facts, error), tables)["driver-too-old"].severity == "error"
    assert "driver-too-old" not in findings(quoting(facts, "nvidia-driver-too-old"), tables)
