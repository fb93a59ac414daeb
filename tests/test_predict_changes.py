"""The change that is advised is one that helps: under a policy, with a range that has a hole, by a number cut short."""

from __future__ import annotations

import pytest
from test_predict_images import CPU, CUDA, NO, WARNED, YES, image_of, told

from torchdoctor.checks.drivers import FULL_DRIVER
from torchdoctor.facts import Compute, Facts, Request
from torchdoctor.intent import Requirement
from torchdoctor.predict.another_build import with_build
from torchdoctor.predict.targets import target_of
from torchdoctor.predict.verdict import judge
from torchdoctor.prescribe.choose import choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import describe
from torchdoctor.records import replace
from torchdoctor.tables import Tables

NEW = "580.65.06"


def under(image: Facts, **wanted: str) -> Facts:
    requires = tuple(
        Requirement(f"require.{key.replace('__', '.')}", text, "--require") for key, text in wanted.items()
    )
    needs_gpu = any(item.key.startswith("require.gpus.") for item in requires)
    return replace(image, request=Request(requires=requires, require_gpu=needs_gpu))


POLICIES = [
    # image, GPU, what is required, the end of the command that installs, the words of the change
    (CPU, "T4", {"backend": "cuda"}, "cu132", "install torch"),
    (CPU, "T4", {}, "cu132", "install torch"),
    (CUDA, "V100", {"build": "cu126"}, "cu126", "install torch 2.14.1 cu126"),
    (CUDA, "V100", {"build": "cu130"}, "", ""),  # none of these has code for it
    (CUDA, "B200", {"build": "cu128"}, "cu128", "install torch 2.11.0 cu128"),
    (CUDA, "B200", {"build": "cpu,cu128"}, "cu128", "install torch 2.11.0 cu128"),
    (CUDA, "B200", {"build": "cu126"}, "", ""),
    (CUDA, "T4", {"torch": "==2.9.*"}, "cu128", "install torch 2.9.1 cu128"),
    (CUDA, "T4", {"torch": "==2.9.*", "build": "cu126"}, "cu126", "install torch 2.9.1 cu126"),
    (CUDA, "T4", {"torch": "==1.0.0"}, "", ""),
    (CUDA, "T4", {"backend": "rocm"}, "", ""),
    (CUDA, "MI300X", {"gpus__min": "1"}, "rocm7.2", "install torch 2.11.0 rocm7.2"),
    (CUDA, "MI300X", {"gpus__min": "2"}, "", ""),  # nor does another build make two of one
    (CUDA, "none", {"gpus__min": "1"}, "", "run it on a host with a GPU"),
]


@pytest.mark.parametrize(("name", "gpu", "wanted", "index", "words"), POLICIES)
def test_a_build_that_meets_host_and_policy_is_found(
    name: str, gpu: str, wanted: dict[str, str], index: str, words: str, tables: Tables
) -> None:
    item = told(under(image_of(name, tables), **wanted), tables, gpu=gpu, driver=NEW)
    assert item.verdict == NO
    installing = [line.rpartition("/")[2] for line in item.commands if " install torch==" in line]
    assert installing == [index] * bool(index), item.commands
    assert str(item.change or "").startswith(words), item.change
    assert bool(index) == str(item.change).startswith("install torch")


@pytest.mark.parametrize(("gpu", "loud"), [("none", ["no-gpu"]), ("T4", ["requirement-unmet"])])
def test_that_there_is_no_gpu_is_told_once(gpu: str, loud: list[str], tables: Tables) -> None:
    image = under(image_of(CUDA, tables), gpus__min="1" if gpu == "none" else "2")
    judged = judge(image, target_of({"gpu": gpu, "driver": NEW}, tables), tables)
    assert [finding.id for finding in judged.roots] == loud


def test_a_build_is_put_in_the_place_of_the_one_there(tables: Tables) -> None:
    """What the old one was seen to be and to do is no fact of the new one."""
    host = describe({"os": "linux", "machine": "x86_64", "python": "3.12", "gpus": ["V100"], "driver": NEW}, tables)
    row = choose(host, Wish(), tables).row
    assert row is not None
    image = image_of(CUDA, tables)
    fresh = with_build(image, row, tables)
    assert (str(fresh.torch.full), str(fresh.torch.build)) == (f"{row.torch}+{row.build}", str(row.build))
    assert not [item for item in fresh.packages.items if item.name.startswith("nvidia-")]
    v100 = target_of({"gpu": "V100", "driver": NEW}, tables)
    assert [judge(facts, v100, tables).verdict == NO for facts in (image, fresh)] == [True, False]


def test_nothing_of_amds_driver_here_is_a_fact_of_the_target(tables: Tables) -> None:
    here = Compute(kfd=None, render="closed", amdgpu=None, rocm=None)
    image = replace(under(image_of(CUDA, tables), gpus__min="1"), compute=here)
    assert told(image, tables, gpu="MI300X", driver=NEW).commands[-1].endswith("rocm7.2")


HOLES = [
    # driver, what is required of it, the change; CUDA 13 needs 580
    ("580.65.06", "!=580.65.06", "update the driver to 580.65.07 or newer"),
    ("580.65.06", "!=580", "update the driver to 590 or newer"),
    ("580.65.06", ">=580.95", "update the driver to 580.95 or newer"),
    ("570.86.10", "!=580.65.06", "update the driver to 580.65.07 or newer"),
    ("595.45.04", "<595", "use driver 580 up to branch 590"),
    ("590.48.01", "==580.*", "use driver branch 580"),
]


@pytest.mark.parametrize(("driver", "wanted", "change"), HOLES)
def test_no_driver_is_advised_that_a_policy_excludes(driver: str, wanted: str, change: str, tables: Tables) -> None:
    item = told(under(image_of(CUDA, tables), driver=wanted), tables, gpu="A100", driver=driver)
    assert item.verdict == NO
    assert change in [str(text) for text in (item.change, *item.other_changes)]


SHORT = [
    # system, driver, GPU, verdict for a build of CUDA 12, whether a note says what the number is taken to be
    ("linux", "525", "T4", "unknown", True),
    ("linux", "525.60", "T4", "unknown", True),
    ("linux", "525.60.13", "T4", WARNED, False),
    ("linux", "525.85", "T4", WARNED, False),
    ("linux", "525.53", "T4", NO, False),
    ("linux", "520", "T4", NO, False),
    ("linux", "530", "T4", WARNED, False),
    ("windows", "528", "T4", "", True),
    ("windows", "528.33", "T4", "", False),
    ("windows", "527", "T4", "", False),
]


@pytest.mark.parametrize(("system", "driver", "gpu", "verdict", "noted"), SHORT)
def test_a_driver_by_the_beginning_of_its_number(
    system: str, driver: str, gpu: str, verdict: str, noted: bool, tables: Tables
) -> None:
    """It may be older or newer than the floor: unknown for a prediction, an assumption that is said for a command."""
    host = describe({"os": system, "machine": "x86_64", "python": "3.12", "gpus": [gpu], "driver": driver}, tables)
    choice = choose(host, Wish(), tables)
    assert choice.row is not None
    assert choice.row.cuda is not None
    is_older = verdict == NO or driver == "527"
    assert (choice.row.cuda.major < 12) == is_older
    assert bool([text for text in choice.assumed if "is taken to be 52" in str(text)]) == noted
    if system == "linux" and choice.row.cuda.major == 12:
        image = with_build(image_of(CUDA, tables), choice.row, tables)
        judged = judge(image, target_of({"gpu": gpu, "driver": driver}, tables), tables)
        assert judged.verdict in {verdict, YES if verdict == WARNED else verdict}
        assert (judged.missing == FULL_DRIVER) == noted
