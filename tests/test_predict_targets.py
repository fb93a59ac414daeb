"""How hosts are described: options, lines, JSON, TOML, CSV; and what is said of one that cannot be read."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from torchdoctor.commands.predict import targets_of
from torchdoctor.errors import UsageError
from torchdoctor.facts import Unknown
from torchdoctor.predict.specs import read_file, read_words
from torchdoctor.predict.targets import target_of
from torchdoctor.prescribe.described import DescriptionError
from torchdoctor.tables import Tables

WORDS: list[tuple[str, dict[str, Any]]] = [
    ("driver=535.183 gpu=T4", {"driver": "535.183", "gpu": "T4"}),
    ("node7: driver=535.183 gpu=T4", {"name": "node7", "driver": "535.183", "gpu": "T4"}),
    ("my node 7: gpu=T4", {"name": "my node 7", "gpu": "T4"}),
    ("gpu=RTX 5090 driver=580", {"gpu": "RTX 5090", "driver": "580"}),
    ('gpu="RTX 5090" driver=580', {"gpu": "RTX 5090", "driver": "580"}),
    ("gpu=H100 gpu=T4", {"gpu": "H100,T4"}),
    ("--driver=535.183 --gpu=T4  # the old one", {"--driver": "535.183", "--gpu": "T4"}),
    ("wsl gpu=T4", {"wsl": True, "gpu": "T4"}),
]


@pytest.mark.parametrize(("text", "given"), WORDS, ids=[text for text, _ in WORDS])
def test_words_are_read(text: str, given: dict[str, Any]) -> None:
    assert read_words(text) == given


def test_a_target_holds_what_was_said_and_nothing_besides(tables: Tables) -> None:
    target = target_of({"gpu": "H100,T4", "driver": "535.183.01", "count": "2"}, tables)
    assert target.name == "gpu=H100,T4 driver=535.183.01 count=2"
    assert not isinstance(target.host.gpus, Unknown)
    assert [gpu.name for gpu in target.host.gpus] == ["H100", "H100", "T4", "T4"]
    assert str(target.host.driver) == "535.183.01"
    for fact in (target.host.os, target.host.machine, target.host.libc, target.host.jetpack, target.cpu):
        assert isinstance(fact, Unknown)


def test_none_is_something_said(tables: Tables) -> None:
    target = target_of({"gpu": "none", "driver": "none"}, tables)
    assert (target.host.gpus, target.host.driver) == ((), None)
    assert target.said == {"gpu": "none", "driver": "none"}


def test_every_host_option_can_be_said(tables: Tables) -> None:
    given = {
        "os": "linux", "machine": "AMD64", "os_version": "22.04", "libc": "glibc-2.35", "wsl": "yes",
        "jetpack": "none", "driver": "580.65.06", "gpu": "sm_90", "cpu": "sse4_2,avx2", "python-version": "3.12",
    }  # fmt: skip
    target = target_of(given, tables)
    host = target.host
    assert (host.os, host.machine, host.wsl, host.jetpack) == ("linux", "x86_64", True, None)
    assert str(host.libc) == "glibc-2.35"
    assert isinstance(target.cpu, frozenset)
    assert target.cpu > {"sse4_2", "avx2", "avx"}
    assert isinstance(host.python, Unknown)  # the image brings its own


FAULTS = [
    ({"drver": "535"}, "did you mean: driver?"),
    ({"driver": "banana"}, "driver 'banana'"),
    ({"gpu": "RTX 6090"}, "gpu 'RTX 6090' is not known"),
    ({"gpu": "T4", "count": "0"}, "count '0'"),
    ({"cpu": "AVX 2!"}, "cpu '2!'"),
    ({"cpu": "x86-64-v9"}, "cpu 'x86-64-v9' is no level"),
    ({"cpu": "haswell"}, "cpu 'haswell' is no level"),
    ({"cpu": "neon"}, "cpu 'neon' is no level"),
    ({"cpu": "x86-64-v3,haswell"}, "cpu 'haswell' is no level"),
    ({"cpu": "axv2"}, "did you mean: avx2?"),
    ({"gpu": "T4", "shm": "much"}, "shm 'much' is not a number of GB"),
    ({"gpu": "T4", "memory": "-1"}, "memory '-1' is not a number of GB"),
    ({"driver": 580.1}, "driver 580.1 cannot be read"),  # it may have been 580.10
    ({"os": "beos"}, "os 'beos'"),
    ({"wsl": "perhaps"}, "wsl 'perhaps'"),
    ({"jetpack": "99"}, "jetpack '99'"),
    ({"os": "macOS", "libc": "musl"}, "libc 'musl' is of Linux"),
    ({"os": "macos", "driver": 580}, "driver '580' is NVIDIA's"),
    ({"name": "x"}, "nothing is said of x"),
    ({}, "nothing is said of the host"),
]


@pytest.mark.parametrize(("given", "words"), FAULTS, ids=[words for _, words in FAULTS])
def test_what_cannot_be_read_is_named(given: dict[str, Any], words: str, tables: Tables) -> None:
    with pytest.raises(DescriptionError) as raised:
        target_of(given, tables)
    assert words in str(raised.value)


LINES = """# the fleet
a100: driver=535.183.01 gpu=A100 count=8

{"id": "t4", "driver": "535.183.01", "gpus": ["T4"]}
gpu=H100 driver=580.65.06
"""
TOML = """
[[target]]
name = "a100"
driver = "535.183.01"
gpu = "A100"
count = 8

[t4]
driver = "535.183.01"
gpus = ["T4"]
"""
CSV = """name,driver,gpu,count
a100,535.183.01,A100,8
t4,535.183.01,T4,
"""


@pytest.mark.parametrize(
    ("name", "text", "names"),
    [
        ("fleet.txt", LINES, ["a100", "t4", "gpu=H100 driver=580.65.06"]),
        ("fleet.jsonl", LINES, ["a100", "t4", "gpu=H100 driver=580.65.06"]),
        ("fleet.toml", TOML, ["a100", "t4"]),
        ("fleet.csv", CSV, ["a100", "t4"]),
    ],
)
def test_a_file_lists_a_fleet(name: str, text: str, names: list[str], tables: Tables, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    targets = targets_of([str(tmp_path / name)], tables)
    assert [target.name for target in targets] == names
    assert [str(target.host.driver) for target in targets[:2]] == ["535.183.01"] * 2
    gpus = targets[0].host.gpus
    assert not isinstance(gpus, Unknown)
    assert len(gpus) == 8


ARRAY = """[
  {"name": "a100", "driver": "535.183.01", "gpus": ["A100"], "count": 8},
  {"name": "t4", "driver": "535.183.01", "gpu": "T4"}
]"""


@pytest.mark.parametrize("name", ["fleet.json", "fleet.txt", "--for"])
def test_an_array_of_json_lists_a_fleet(name: str, tables: Tables, tmp_path: Path) -> None:
    (tmp_path / name).write_text(ARRAY, encoding="utf-8")
    value = ARRAY if name == "--for" else str(tmp_path / name)
    assert [target.name for target in targets_of([value], tables)] == ["a100", "t4"]


def test_one_host_in_json_is_one_target(tables: Tables, tmp_path: Path) -> None:
    (tmp_path / "host.json").write_text('{\n  "driver": 580,\n  "gpu": "T4"\n}\n', encoding="utf-8")
    for value in ('{"driver": 580, "gpu": "T4"}', str(tmp_path / "host.json")):
        (target,) = targets_of([value], tables)
        assert (str(target.host.driver), target.said) == ("580", {"driver": "580", "gpu": "T4"})


@pytest.mark.parametrize(
    ("value", "words"),
    [("", "nothing is said"), ("  ", "nothing is said"), ("{", "not JSON"), ("[1]", "not a JSON object")],
)
def test_an_option_that_describes_nothing_says_so(value: str, words: str, tables: Tables) -> None:
    with pytest.raises(UsageError, match=words):
        targets_of([value], tables)


def test_words_may_be_capitals(tables: Tables) -> None:
    target = target_of({"os": "Linux", "gpu": "None", "driver": "None"}, tables)
    assert (target.host.os, target.host.gpus, target.host.driver) == ("linux", (), None)


def test_a_jetpack_is_of_one_machine(tables: Tables) -> None:
    host = target_of({"jetpack": "6.2"}, tables).host
    assert (host.os, host.machine) == ("linux", "aarch64")
    assert isinstance(target_of({"jetpack": "none", "gpu": "T4"}, tables).host.machine, Unknown)


def test_sizes_are_in_gb(tables: Tables) -> None:
    target = target_of({"gpu": "T4", "shm": "0.5", "memory": 16}, tables)
    assert (target.shm, target.memory) == (500_000_000, 16_000_000_000)
    assert isinstance(target_of({"gpu": "T4"}, tables).shm, Unknown)


BAD_FILES = [
    ("bad.txt", "gpu=T4\nbanana\ngpu=X9999\n", ["bad.txt:2: 'banana' is not KEY=VALUE", "bad.txt:3: gpu 'X9999'"]),
    ("bad.txt", "gpu='T4\n", ["bad.txt:1:", "no closing quotation"]),
    ("bad.jsonl", '{"gpus": ["T4"]}\n{"gpus": \n', ["bad.jsonl:2: not JSON"]),
    ("bad.toml", "a = \n", ["bad.toml: not TOML"]),
    ("bad.toml", "a = 3\n", ["bad.toml: a: not a table of a host"]),
    ("bad.csv", "name,gpu\na,T4,more\n", ["bad.csv:2: 2 cells are wanted"]),
    ("bad.csv", "name,gqu\na,T4\n", ["bad.csv:2:", "did you mean: gpu?"]),
    ("empty.txt", "# nobody\n", ["no host is described there"]),
    ("many.txt", "x=1\n" * 9, ["many.txt:5:", "(and 4 more)"]),
]


@pytest.mark.parametrize(
    ("name", "text", "words"), BAD_FILES, ids=[f"{name} {words[0]}" for name, _, words in BAD_FILES]
)
def test_every_bad_line_is_named_by_its_number(
    name: str, text: str, words: list[str], tables: Tables, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        targets_of([str(tmp_path / name)], tables)
    assert [word for word in words if word not in str(raised.value)] == [], str(raised.value)


def test_a_file_that_is_not_there_or_not_text_is_a_usage_error(tables: Tables, tmp_path: Path) -> None:
    for value in ("nobody.txt", str(tmp_path)):
        with pytest.raises(UsageError, match="cannot read it"):
            targets_of([value], tables)
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        targets_of([str(tmp_path / "bytes.txt")], tables)


def test_targets_of_one_name_are_told_apart(tables: Tables) -> None:
    assert [target.name for target in targets_of(["a: gpu=T4", "a: gpu=H100"], tables)] == ["a", "a (2)"]


@pytest.mark.parametrize(
    "text", ["::error::x", "\x1b[31mred: gpu=T4", "=", "a=b=c", '{"a":' * 5000, "gpu=" + "T" * 9999]
)
def test_hostile_lines_give_a_description_or_an_error(text: str, tables: Tables) -> None:
    for item in read_file("f.txt", text):
        error = item.error
        with suppress(DescriptionError):
            error = error or f"target {target_of(item.given, tables).name}"
        assert len(error) < 400


TWICE = [
    ("driver=580 driver=550 gpu=T4", "driver is said twice, as '580' and '550'"),
    ("gpu=T4 driver=580 --driver=550", "driver is said twice"),
    ("gpu=T4 gpus=H100 driver=580", "is said twice"),
    ("gpu=T4 shm=1 shm=2", "shm is said twice"),
]


@pytest.mark.parametrize(("text", "words"), TWICE)
def test_a_key_with_two_values_is_refused(text: str, words: str, tables: Tables) -> None:
    with pytest.raises(DescriptionError, match=words):
        target_of(read_words(text), tables)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.json", '[{"gpu": "T4", "driver": "580", "driver": "550"}]', "driver is said twice"),
        ("a.txt", '{"gpu": "T4", "driver": "580", "driver": "550"}', "driver is said twice"),
        ("a.csv", "gpu,driver,driver\nT4,580,550\n", "driver heads two columns"),
        ("a.toml", '[a]\ngpu = "T4"\ndriver = "580"\ndriver = "550"\n', "not TOML"),
        ("a.json", '[{"gpu": "T4", "driver": "580"}, {"gpu": "T4", "driver": "550"}]', ""),
        ("a.csv", "gpu,driver\nT4,580\nT4,550\n", ""),
    ],
)
def test_a_file_that_says_a_key_twice_is_refused(name: str, text: str, words: str) -> None:
    errors = [item.error for item in read_file(name, text) if item.error]
    assert len(errors) == bool(words)
    assert not words or words in errors[0]
