from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import ROOT

from torchdoctor.checks import all_checks
from torchdoctor.checks.registry import seen
from torchdoctor.facts import Driver, Facts, Gpu, NotKnownError, Package, Packages, Request, Unknown, Variables
from torchdoctor.facts import Torch as TorchFacts
from torchdoctor.findings import Evidence
from torchdoctor.records import fields, is_record
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables
from torchdoctor.values import Build

AFTER = {item.id: item.after for item in all_checks()}


def cycle_from(start: str, path: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The ids of a circle of explanations that a finding leads into, or nothing."""
    if start in path:
        return (*path[path.index(start) :], start)
    return next((found for cause in AFTER.get(start, ()) if (found := cycle_from(cause, (*path, start)))), ())


def test_nothing_but_the_list_brings_checks_and_so_decides_their_order() -> None:
    code = (
        "import torchdoctor.checks as checks, torchdoctor.run_checks, torchdoctor.commands.check, "
        "torchdoctor.render.text\nprint(*checks.CHECKS)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_python_that_drops_docstrings_runs_every_check() -> None:
    code = "from torchdoctor.checks import all_checks\nprint(*(item.meaning for item in all_checks()), sep='\\n')"
    done = subprocess.run([sys.executable, "-OO", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    meanings = done.stdout.splitlines()
    assert len(meanings) == len(AFTER)
    assert "Torch import fails." in meanings


@pytest.mark.parametrize("check_id", AFTER)
def test_no_finding_explains_its_own_cause(check_id: str) -> None:
    assert cycle_from(check_id) == ()


def test_a_cpu_build_is_the_echo_of_a_required_gpu_that_is_not_there(tables: Tables) -> None:
    torch = TorchFacts(installed=True, version="2.14.1", full="2.14.1+cpu", build=Build("cpu"), cuda=None)
    facts = Facts(torch=torch, gpus=(), driver=Driver(version=None), request=Request(require_gpu=True))
    findings, _ = run_checks(facts, tables)
    explained = {finding.id: finding.explained_by for finding in findings}
    assert explained["no-gpu"] is None
    assert explained["torch-cpu-build"] == "no-gpu"


@pytest.mark.parametrize(
    ("value", "words"), [(True, "yes"), (False, "no"), (None, "none"), (0, "0"), (1, "1"), ("no", "no"), ("", "")]
)
def test_values_in_evidence(value: object, words: str) -> None:
    facts = Facts(sources={"driver.uvm_loaded": "lsmod"})
    assert seen(facts, "driver.uvm_loaded", value) == Evidence("driver.uvm_loaded", words, "lsmod")
    assert seen(facts, "driver.uvm_loaded", value, "modules").source == "modules"


def unknowns(thing: Any) -> Iterator[str]:
    """The names of all facts that a recording may lack."""
    if isinstance(thing, Unknown):
        yield thing.what
    elif is_record(thing):
        for item in fields(thing):
            yield from unknowns(getattr(thing, item.name))


EMPTY = (Facts(), Gpu(), Package(name="torch", version="1"))
NAMES = [
    *(name for thing in EMPTY for name in unknowns(thing)),
    *unknowns(Packages().find("triton")),
    *unknowns(Variables().get("CC")),
]
PLURAL_HEADS = ("gpus", "requirements", "architectures", "instruction sets", "files", "nodes", "packages", "where", "a")


@pytest.mark.parametrize("name", sorted(set(NAMES)))
def test_a_skip_reads_well(name: str) -> None:
    """Every name stands in "the ... is not in this recording": one thing, without an article of its own."""
    head = re.split(" (?:of|in|to|inside) ", name)[0]
    assert not name.startswith(("the ", "an ", *(f"{word} " for word in PLURAL_HEADS)))
    assert head.rpartition(" ")[2] not in PLURAL_HEADS
    assert not head.lower().endswith("gpus")


def test_names_of_what_the_checks_miss_are_singular_too(tables: Tables) -> None:
    """With nothing known every check that can skip does so, with a reason that reads well."""
    _, outcomes = run_checks(Facts(), tables)
    reasons = {outcome.reason for outcome in outcomes if outcome.outcome == "skipped"}
    assert reasons
    for reason in reasons:
        what = reason.removeprefix("the ").removesuffix(" is not in this recording")
        assert reason == f"the {what} is not in this recording"
        assert what.split(" of ")[0].rpartition(" ")[2] not in PLURAL_HEADS, reason


def test_the_reason_is_the_fact(tables: Tables) -> None:
    outcome = next(outcome for outcome in run_checks(Facts(), tables)[1] if outcome.id == "torch-arch-missing")
    assert outcome.reason == "the torch build is not in this recording"
    with pytest.raises(NotKnownError, match="torch build"):
        next(next(item for item in all_checks() if item.id == "torch-arch-missing").rule(Facts(), tables))
