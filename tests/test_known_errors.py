"""The catalogue of error texts: its schema, its examples, its words, its ranking, and the conditions on facts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import ROOT
from needles import is_needed

from torchdoctor.checks import all_checks
from torchdoctor.checks.conditions import ConditionError, clauses, holds
from torchdoctor.checks.quoted import shown_errors
from torchdoctor.checks.shown import Shown, filled
from torchdoctor.errors import TableError
from torchdoctor.facts import Driver, ErrorText, Facts, Gpu, Os, Package, Packages, Quoted, Torch, Unknown, Variables
from torchdoctor.readers.assemble import PATHS
from torchdoctor.readers.document import Document
from torchdoctor.readers.error_texts import find_errors
from torchdoctor.recording import PastedText
from torchdoctor.records import fields, replace
from torchdoctor.tables import Tables
from torchdoctor.tables.known_errors import NOTICE, KnownError, KnownErrors
from torchdoctor.values import Build, DriverVersion, GpuArch

KNOWN = Tables().known_errors
ENTRIES = list(KNOWN)
LOGS = sorted((ROOT / "tests" / "data" / "logs").glob("*.log"))
IDS = {item.id for item in all_checks()}
TEXT = (ROOT / "compat_tables" / "known_errors.toml").read_text(encoding="utf-8")


def name(entry: KnownError) -> str:
    return entry.id


def is_for_any(entry: KnownError) -> bool:
    """An entry for every sentence of CUDA, or for every number of a table, gives way to the one that knows it."""
    return re.search(r"\(\?P<(?:cuda|\w+_errors|exit_statuses)(?:_named)?>", entry.pattern) is not None


def found_in(text: str) -> list[str]:
    return [error.id for error in find_errors(Document(PastedText("text", text)), KNOWN)]


@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_every_example_matches_its_entry_and_no_undeclared_other(entry: KnownError) -> None:
    assert entry.examples
    allowed = {entry.id, *entry.also, *entry.suppresses}
    for example in entry.examples:
        found = found_in(example)
        assert entry.id in found
        loud = {other for other in found if (seen := KNOWN.find(other)) and seen.tier < NOTICE and not is_for_any(seen)}
        assert loud <= allowed


@pytest.mark.parametrize("entry", ENTRIES, ids=name)
def test_every_entry_is_whole(entry: KnownError) -> None:
    assert is_needed(entry.pattern, entry.words), "a match without any of the words is never looked for"
    assert entry.title
    assert entry.cause
    assert entry.fix
    assert entry.source
    assert entry.checked
    assert len(entry.title.split()) <= 15
    assert not entry.title.endswith(".")
    assert not entry.finding or entry.finding in IDS
    assert set(entry.suppresses) | set(entry.also) <= set(KNOWN.ids)
    texts = (entry.cause, entry.confirm, entry.fix, entry.pod, entry.beware, *map(str, entry.commands))
    assert not re.search(r"https?://", " ".join(texts))


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if "(?P<" in entry.pattern], ids=name)
def test_no_remedy_of_an_example_has_a_gap(entry: KnownError) -> None:
    groups = re.findall(r"\(\?P<(\w+)>", entry.pattern)
    for example in entry.examples:
        for error in find_errors(Document(PastedText("text", example)), KNOWN):
            if error.id == entry.id:
                fix = filled(entry.fix, Shown(entry, error))
                assert fix
                assert not any(f"<{group}>" in fix for group in groups)


@pytest.mark.parametrize("entry", [entry for entry in ENTRIES if entry.when], ids=name)
def test_every_condition_speaks_of_facts_that_exist(entry: KnownError) -> None:
    groups = set(re.findall(r"\(\?P<(\w+)>", entry.pattern))
    for row in entry.when:
        assert set(row) <= {"if", "severity", *(item.name for item in fields(KnownError))}
        assert row.get("finding", "user-code") in IDS
        for path, _, _ in clauses(row["if"]):
            head, _, tail = path.replace("[]", "").partition(".")
            known = path in PATHS or head in {"package", "env", "shown"} or path == "gpus"
            assert (
                known or (head == "gpus" and hasattr(Gpu(), tail)) or (head == "value" and tail in {*groups, "loader"})
            ), path


def test_ids_are_unique() -> None:
    assert len(set(KNOWN.ids)) == len(ENTRIES)


@pytest.mark.parametrize("log", LOGS, ids=lambda path: path.stem)
def test_logs_are_ranked_as_expected(log: Path) -> None:
    """Best first; what the host's facts decide is left to other tests, so there are none here."""
    lines = log.with_suffix(".expect").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    errors = find_errors(Document(PastedText(log.name, log.read_text(encoding="utf-8"))), KNOWN)
    shown = shown_errors(Facts(quoted=Quoted(errors)), Tables(), with_consequences=True)
    assert [one.entry.id for one in shown][: len(wanted)] == wanted
    assert all(one.entry.tier == NOTICE for one in shown[len(wanted) :])


HOST = Facts(
    os=Os(name="windows"),
    driver=Driver(version=DriverVersion.parse("535.183.01")),
    torch=Torch(version="2.6.0", build=Build("cu124"), cuda_available=False),
    gpus=(
        Gpu(vendor="nvidia", compute_capability=GpuArch(8, 6)),
        Gpu(vendor="nvidia", compute_capability=GpuArch(12, 0)),
    ),
    packages=Packages((Package(name="numpy", version="2.1.0"),), complete=True),
    env=Variables({"CUDA_VISIBLE_DEVICES": ""}, complete=True),
    quoted=Quoted((ErrorText("first", "", ""), ErrorText("other-error", "", ""))),
)
ERROR = ErrorText("first", "", "", {"sm": "120", "lib": "libcudnn.so.9"})


@pytest.mark.parametrize(
    ("condition", "is_true"),
    [
        ("os.name = windows", True),
        ("os.name != windows", False),
        ("os.name = linux", False),
        ("torch.build ~ cu", True),
        ("torch.version >= 2.6", True),
        ("torch.version < 2.10", True),
        ("driver.version < 525.60.13", False),
        ("driver.version >= 535", True),
        ("gpus.vendor = amd", False),
        ("gpus.vendor != amd", True),
        ("gpus.compute_capability >= 12.0", True),
        ("gpus = 2", True),
        ("gpus = 1", False),
        ("package.numpy >= 2", True),
        ("package.torchvision = none", True),
        ("torch.cuda_available = false", True),
        ("torch.cuda_available = no", True),
        ("torch.cuda_available = true", False),
        ("env.CUDA_VISIBLE_DEVICES = none", False),
        ("env.LD_LIBRARY_PATH = none", True),
        ("value.sm = 120", True),
        ("value.lib ~ CUDNN", True),
        ("value.missing = 1", False),
        ("shown = other-error", True),
        ("shown = first", False),
        ("os.machine = x86_64", False),
        ("os.machine != x86_64", False),
        ("os.machine = unknown", True),
        ("os.name = known", True),
        ("os.name = windows and driver.version > 600", False),
        ("os.name = windows and driver.version > 500", True),
    ],
)
def test_conditions(condition: str, is_true: bool) -> None:
    assert holds(condition, HOST, ERROR) == is_true


@pytest.mark.parametrize(("loaded", "is_true"), [(Unknown("driver"), True), (False, True), (True, False)])
def test_an_empty_list_is_no_gpu_unless_a_driver_is_loaded(loaded: bool | Unknown, is_true: bool) -> None:
    none = replace(HOST, gpus=(), driver=Driver(module_loaded=loaded))
    assert holds("gpus = none", none, ERROR) == is_true
    assert not holds("gpus = none", HOST, ERROR)


def test_one_gpu_is_a_number_and_no_yes() -> None:
    one = replace(HOST, gpus=HOST.gpus[:1] if isinstance(HOST.gpus, tuple) else ())
    assert holds("gpus = 1", one, ERROR)
    assert not holds("gpus = yes", one, ERROR)


@pytest.mark.parametrize("condition", ["", "os.name", "os.name is windows"])
def test_what_is_no_condition(condition: str) -> None:
    with pytest.raises(ConditionError):
        list(clauses(condition))


def read_all(text: str) -> list[KnownError]:
    known = KnownErrors(text)
    return [entry for each in known.ids if (entry := known.find(each))]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("tier = 1", "tier = 9", "tier"),
        ("tier = 1", "tiers = 1", "tiers is no field"),
        ("pattern = '''", "pattern = '''(", "pattern"),
        ('id = "', 'id = "Wrong ', "without an id"),
        ('words = ["requirement"]', 'words = ["a b"]', "blanks"),
        ('group = "install"', 'group = "shop"', "shop"),
        ('cause = "', "cause = ", "known_errors.toml:"),
    ],
)
def test_a_wrong_entry_is_named_with_its_line(before: str, after: str, said: str) -> None:
    with pytest.raises(TableError, match=r"known_errors\.toml:\d+: ") as caught:
        read_all(TEXT.replace(before, after, 1))
    assert said in str(caught.value)
