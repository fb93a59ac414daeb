"""Predictions at the edges: GPUs that came late to a branch, two reasons at once, what a policy sets aside."""

from __future__ import annotations

import pytest
from test_predict_images import COMPAT, CPU, CUDA, GOOD, NO, YES, image_of, recording_of, report_for, told, with_compat

from torchdoctor.facts import Request, Trial, Variables
from torchdoctor.intent import Ignore, Requirement
from torchdoctor.predict.foretell import foretell
from torchdoctor.predict.targets import target_of
from torchdoctor.prescribe.choose import choose, gpus_to_serve
from torchdoctor.prescribe.conditions import Judge, Wish
from torchdoctor.prescribe.described import describe
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import Recording
from torchdoctor.records import replace
from torchdoctor.render import text
from torchdoctor.tables import Tables
from torchdoctor.values import DriverVersion

UNKNOWN = "unknown"
LATE = [
    # GPU, driver, verdict, what is advised
    ("B300", "580.65.06", NO, "update the driver to 580.82.07 or newer"),
    ("sm_103", "580.82.06", NO, "update the driver to 580.82.07 or newer"),
    ("B300", "580.82.07", YES, ""),
    ("B300", "580.95.05", YES, ""),
    ("B300", "580", UNKNOWN, "it runs with driver 580.82.07 or newer"),
    ("B300", "590", YES, ""),
    ("B300", "550.54.15", NO, "update the driver to 580.82.07 or newer"),
    ("sm_121", "580.82.07", NO, "update the driver to 580.94.13 or newer"),
    ("GB10", "580.95.05", YES, ""),
    ("A100", "580", YES, ""),
]


@pytest.mark.parametrize(("gpu", "driver", "verdict", "advice"), LATE)
def test_a_gpu_that_came_with_a_later_driver_of_a_branch(
    gpu: str, driver: str, verdict: str, advice: str, tables: Tables
) -> None:
    item = told(image_of(CUDA, tables), tables, gpu=gpu, driver=driver)
    assert (item.verdict, str(item.change or "")) == (verdict, advice), item.why


@pytest.mark.parametrize(("gpu", "driver", "verdict", "advice"), LATE)
def test_the_solver_rests_on_the_same_first_driver(
    gpu: str, driver: str, verdict: str, advice: str, tables: Tables
) -> None:
    """The row of the image is refused where the prediction says so; an open number is an assumption that is said."""
    host = describe({"os": "linux", "machine": "x86_64", "driver": driver, "gpus": [gpu], "python": "3.12"}, tables)
    judge = Judge(host, Wish(), tables, gpus_to_serve(host, Wish())[0])
    row = next(
        row for row in tables.torch_builds.for_host("linux", "x86_64") if f"{row.torch}+{row.build}" == "2.14.1+cu130"
    )
    kinds = {item.kind for item in judge.obstacles(row)} & {"driver", "branch"}
    assert bool(kinds) == (verdict == NO)
    assumed = " ".join(map(str, judge.assumptions(row)))
    assert ("is taken to be 580.82.07 or newer" in assumed) == (verdict == UNKNOWN)
    choice = choose(host, Wish(), tables)
    assert (choice.row is None or choice.row.cuda is None) == (verdict == NO), choice.row
    needed = advice.removeprefix("update the driver to ").removesuffix(" or newer")
    assert verdict != NO or needed in f"{choice.refusal} {choice.change}"


def test_a_demand_of_the_image_is_told_beside_the_floor_of_its_torch(tables: Tables) -> None:
    """Another build helps against the floor alone: it is advised for neither the target nor the fleet."""
    demand = {"NVIDIA_REQUIRE_CUDA": "cuda>=12.8 brand=tesla,driver>=470,driver<471"}
    recording = recording_of(CUDA)
    image = replace(image_of(CUDA, tables), env=Variables(demand, complete=True))
    item = told(image, tables, gpu="RTX 3090", driver="550.54.15")
    assert {finding.id for finding in item.findings} == {"driver-too-old"}
    assert len(item.findings) == 2
    assert str(item.change) == "update the driver to 580 or newer"
    assert told(image, tables, gpu="RTX 3090", driver="570.86.15").commands[-1].endswith("cu126")
    environ = recording.answers["env"]
    asked = Recording({**recording.answers, "env": replace(environ, value={**environ.value, **demand})})
    specs = [target_of({"gpu": "RTX 3090", "driver": driver}, tables) for driver in ("550.54.15", "570.86.15")]
    report = foretell(asked, specs[:1], tables, Request(), Writing())
    assert (report.install, report.no_install) == (None, None)
    both = foretell(asked, specs, tables, Request(), Writing()).install
    assert both is not None
    assert str(both.why[0]).startswith("it runs on all of these targets but gpu=RTX 3090 driver=550.54.15")


@pytest.mark.parametrize(
    "request_", [Request(ignores=(Ignore("driver-*"),)), Request(select=("torch-*",))], ids=["ignored", "not selected"]
)
def test_what_was_set_aside_is_named(request_: Request, tables: Tables) -> None:
    old = {"gpu": "A100", "driver": "535.65.06"}
    (item,) = report_for(CUDA, tables, old, request=request_).targets
    assert (item.verdict, "floor of cu130 (driver-too-old)" in str(item.why)) == (YES, True), item.why
    (item,) = report_for(CUDA, tables, GOOD, request=request_).targets
    assert "set aside" not in str(item.why)


@pytest.mark.parametrize("driver", ["none", "470.57.02", "570.86.15", "580.65.06"])
def test_a_host_without_a_gpu_runs_it_whatever_its_driver(driver: str, tables: Tables) -> None:
    item = told(image_of(CUDA, tables), tables, gpu="none", driver=driver)
    assert (item.verdict, str(item.why)) == (YES, "torch computes on the processor there")


def test_without_a_gpu_where_one_is_required_there_is_nothing_to_look_for(tables: Tables) -> None:
    (item,) = report_for(CUDA, tables, {"gpu": "none"}, request=Request(require_gpu=True)).targets
    assert (item.verdict, item.commands) == (NO, ())
    assert str(item.change).startswith("run it on a host with a GPU that this build has code for: sm_75")


@pytest.mark.parametrize(
    ("gpu", "unused"),
    [("A100,MI300X", "MI300X stays unused"), ("RTX 4090,UHD Graphics 770", "770 stays unused"), ("A100", "")],
)
def test_gpus_that_the_build_is_not_for_are_named_as_unused(gpu: str, unused: str, tables: Tables) -> None:
    why = str(told(image_of(CUDA, tables), tables, gpu=gpu, driver="580.65.06").why)
    assert why.startswith(f"cu130 has code for {gpu.partition(',')[0]}, and driver")
    assert why.endswith(unused or "knows its CUDA")


def test_a_forced_compat_library_is_to_be_taken_out(tables: Tables) -> None:
    image = with_compat(image_of(CUDA, tables), forced=True)
    assert DriverVersion.parse("580.95.05") > DriverVersion.parse(COMPAT.partition("so.")[2])
    item = told(image, tables, gpu="T4", driver="580.95.05")
    assert (item.verdict, item.commands, item.other_changes) == (NO, ("unset LD_LIBRARY_PATH",), ())
    older = told(image, tables, gpu="T4", driver="470.256.02")  # without the library it would not run either
    assert (older.verdict, str(older.change)) == (NO, "update the driver to branch 580")


AND_OUT = ", and take the compat folder out of LD_LIBRARY_PATH"
FORCED = [
    # GPU, driver, put in front by LD_LIBRARY_PATH, verdict, the change
    ("RTX 4090", "535.183.01", True, NO, f"no single change does: update the driver to 580 or newer{AND_OUT}"),
    ("RTX 4090", "580.126.09", True, NO, "See which libcuda the loader takes, and take its folder out of the path"),
    ("RTX 4090", "580.65.06", True, YES, ""),  # the library is that of the driver itself
    ("RTX 4090", "535.183.01", False, NO, "update the driver to 580 or newer"),
    ("T4", "525.60.13", True, NO, "update the driver to branch 580"),
]


@pytest.mark.parametrize(("gpu", "driver", "forced", "verdict", "change"), FORCED)
def test_what_is_advised_beside_a_compat_library_makes_it_run(
    gpu: str, driver: str, forced: bool, verdict: str, change: str, tables: Tables
) -> None:
    image = with_compat(image_of(CUDA, tables), forced=forced)
    item = told(image, tables, gpu=gpu, driver=driver)
    assert (item.verdict, str(item.change or "")) == (verdict, change), item.why
    if AND_OUT in change:
        bare = replace(image, env=Variables({}, complete=True))
        assert told(bare, tables, gpu=gpu, driver="580").verdict == YES
        assert told(bare, tables, gpu=gpu, driver=driver).verdict == NO


@pytest.mark.parametrize(("gpu", "driver"), [(None, "570.86.15"), ("RTX 4090", "580.126.09"), ("T4", "535.183.01")])
def test_no_change_begins_with_or(gpu: str | None, driver: str, tables: Tables) -> None:
    image = with_compat(image_of(CUDA, tables), forced=True) if gpu == "RTX 4090" else image_of(CUDA, tables)
    item = told(image, tables, **({"gpu": gpu} if gpu else {}), driver=driver)
    texts = [str(text) for text in (item.change, *item.other_changes)]
    assert [text for text in texts if text.startswith("Or ")] == []
    assert any("pdate the " in text for text in texts), texts


BOUNDS = [
    # what a policy requires of the driver, the driver, verdict, the change
    (">=580.80", "580", UNKNOWN, "it runs with driver 580.80 or newer"),
    (">=580.80", "580.65.06", NO, "update the driver to 580.80 or newer"),
    (">=580.80", "580.95.05", YES, ""),
    (">=580.80", "590", YES, ""),
    ("<580.80", "580", UNKNOWN, ""),
    ("<580.80", "580.65.06", YES, ""),
    ("<580.80", "590", NO, "Change the host, or the key require.driver of the policy"),
    ("==580.95.05", "580.65.06", NO, "update the driver to 580.95.05"),
    (">=580.80,<580.100", "580.65.06", NO, "update the driver to 580.80 or newer, and older than 580.100"),
    (">580.80", "580.65.06", NO, "update the driver to 580.81 or newer"),
    (">=590", "580", NO, "update the driver to 590 or newer"),
    (">=580", "580", YES, ""),
]


@pytest.mark.parametrize(("wanted", "driver", "verdict", "change"), BOUNDS)
def test_a_bare_branch_decides_no_bound_within_it(
    wanted: str, driver: str, verdict: str, change: str, tables: Tables
) -> None:
    request = Request(requires=(Requirement("require.driver", wanted, "torchdoctor.toml"),))
    (item,) = report_for(CUDA, tables, {"driver": driver, "gpu": "H100"}, request=request).targets
    assert (item.verdict, str(item.change or "")) == (verdict, change), item.why
    assert item.missing == ("driver=VERSION" if verdict == UNKNOWN else "")


SETS = [
    # what is said of the processor, verdict, what is to be said besides
    (None, YES, ""),
    ("sse2", UNKNOWN, "cpu=x86-64-vN"),
    ("sse4_2,popcnt", UNKNOWN, "cpu=x86-64-vN"),
    ("sse4_2,fma", YES, ""),
    ("avx2", YES, ""),
    ("x86-64-v2", NO, ""),
    ("x86-64-v2,sse4_2", NO, ""),
    ("x86-64-v3", YES, ""),
    ("cmov cx8 fpu fxsr lm mmx sse sse2 syscall", NO, ""),  # a whole list
]


@pytest.mark.parametrize(("cpu", "verdict", "missing"), SETS)
def test_sets_that_do_not_settle_avx_leave_it_open(cpu: str | None, verdict: str, missing: str, tables: Tables) -> None:
    given = {"gpu": "A100", "driver": "580.65.06", **({"cpu": cpu} if cpu else {})}
    image = replace(image_of(CUDA, tables), trial=Trial())  # torch was not imported on such a processor
    item = told(image, tables, **given)
    assert (item.verdict, item.missing) == (verdict, missing), item.why
    (ignored,) = report_for(CUDA, tables, given, request=Request(ignores=(Ignore("cpu-*"),))).targets
    assert ignored.verdict == YES, ignored.why


OF_GPUS = [
    # the target, what a policy requires of its GPUs, verdict, how that is told
    ("H100,MI300X", {"min": "2"}, NO, ">=2, and it is H100, MI300X (not used by this build)"),
    ("H100,MI300X", {"min": "1"}, YES, ""),
    ("H100,H100", {"min": "2"}, YES, ""),
    ("T4,T4,T4", {"min": "8"}, NO, ">=8, and it is 3 T4"),
    ("H100", {"memory-gb": "40"}, NO, ">=1 of at least 40 GB, and it is H100 of 16 GB"),
    ("H100", {"memory-gb": "16"}, YES, ""),
    ("T4", {"name": "H100"}, NO, ">=1 named H100, and it is T4"),
]


@pytest.mark.parametrize(("gpu", "wanted", "verdict", "words"), OF_GPUS)
def test_what_is_required_of_gpus_is_told_beside_what_is_there(
    gpu: str, wanted: dict[str, str], verdict: str, words: str, tables: Tables
) -> None:
    requires = tuple(Requirement(f"require.gpus.{key}", text, "p.toml") for key, text in wanted.items())
    request = Request(requires=requires)
    given = {"gpu": gpu, "driver": "580.65.06", "memory": "16"}
    (item,) = report_for(CUDA, tables, given, request=request).targets
    assert item.verdict == verdict, item.why
    assert (str(item.why) == f"the policy requires gpus {words}") == (verdict == NO), item.why


@pytest.mark.parametrize(("keys", "is_said"), [(("gpus.min", "shm-gb"), True), (("shm-gb",), False)])
def test_where_no_single_change_does_that_is_said(keys: tuple[str, ...], is_said: bool, tables: Tables) -> None:
    request = Request(requires=tuple(Requirement(f"require.{key}", "8", "torchdoctor.toml") for key in keys))
    report = report_for(CUDA, tables, {"gpu": "H100", "driver": "580.65.06", "shm": "4"}, request=request)
    lines = [line.text.strip() for line in text.render(report)]
    assert ("do: no single change does" in lines) == is_said
    assert len([line for line in lines if line.startswith("do: ")]) == 1


REQUIRED = [
    ({"gpu": "sm_90"}, "gpus.name", "H100", UNKNOWN, "gpu=NAME"),
    ({"gpu": "H100"}, "gpus.name", "H100", YES, ""),
    ({"gpu": "T4"}, "gpus.name", "H100", NO, ""),
    ({"gpu": "H100"}, "gpus.memory-gb", "70", UNKNOWN, "memory=GB"),
    ({"gpu": "H100", "memory": "80"}, "gpus.memory-gb", "70", YES, ""),
    ({"gpu": "H100", "memory": "40"}, "gpus.memory-gb", "70", NO, ""),
    ({"gpu": "H100"}, "shm-gb", "1", UNKNOWN, "shm=GB"),
    ({"gpu": "H100", "shm": "2"}, "shm-gb", "1", YES, ""),
    ({"gpu": "H100", "shm": "0.064"}, "shm-gb", "1", NO, ""),
]


@pytest.mark.parametrize(("given", "key", "wanted", "verdict", "missing"), REQUIRED)
def test_what_a_policy_requires_can_be_said_of_a_target(
    given: dict[str, str], key: str, wanted: str, verdict: str, missing: str, tables: Tables
) -> None:
    request = Request(requires=(Requirement(f"require.{key}", wanted, "torchdoctor.toml"),))
    (item,) = report_for(CUDA, tables, {"driver": "580.65.06", **given}, request=request).targets
    assert (item.verdict, item.missing) == (verdict, missing), item.why


def test_no_build_is_advised_where_which_one_runs_was_not_told(tables: Tables) -> None:
    """With a build for the processor and a driver alone, or a GPU alone, the fleet's build is open, and that is all."""
    report = report_for(CPU, tables, {"driver": "580.65.06"})
    (item,) = report.targets
    assert (item.verdict, item.commands) == (NO, ())
    assert str(item.change) == "say gpu=NAME as well: which build runs there turns on it"
    assert (report.install, report.no_install) == (None, None)
    report = report_for(CPU, tables, {"gpu": "T4"})
    assert (report.install, report.no_install) == (None, None)
    install = report_for(CPU, tables, {"gpu": "T4", "driver": "580.65.06"}).install
    assert install is not None
    assert install.build == "cu132"


def test_what_each_target_tells_is_not_missing_in_the_text(tables: Tables) -> None:
    """Of a pasted text alone: the GPUs and the driver are those of the targets."""
    from torchdoctor.recording import PastedText

    build = "PyTorch version: 2.14.1+cu130\nCUDA used to build PyTorch: 13.0\n"
    packages = "[pip3] torch==2.14.1+cu130\n[pip3] torchvision==0.20.0\n"
    pasted = Recording({}, (PastedText("p.txt", build + packages),))
    report = foretell(pasted, [target_of({"gpu": "T4", "driver": "535.183.01"}, tables)], tables, Request(), Writing())
    assert report.targets[0].verdict == NO
    (line,) = [line.text for line in text.render(report) if line.text.startswith("not told here")]
    assert "list of GPUs" not in line
    assert "driver" not in line
