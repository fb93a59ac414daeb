"""What is foretold for recorded images: torch for the processor and for CUDA 13, against GPUs and drivers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import DATA, Run
from test_cases import SCHEMA

from torchdoctor.facts import Facts, Request, Trial, Variables
from torchdoctor.findings import Prediction
from torchdoctor.intent import Ignore, Requirement
from torchdoctor.predict.changes import Trials
from torchdoctor.predict.foretell import foretell, predict
from torchdoctor.predict.targets import Target, target_of
from torchdoctor.predict.verdict import Judged, judge
from torchdoctor.prescribe.writing import Writing
from torchdoctor.reading import facts_of
from torchdoctor.recording import Recording
from torchdoctor.records import replace
from torchdoctor.render import json_v1, text
from torchdoctor.report import Report, exit_status
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion, DriverVersion, Libc

CPU, CUDA = "torch-2.13.0-cpu", "torch-2.14.1-cu130"
DRIVERS = ("470.256.02", "525.60.13", "535.183.01", "550.54.15", "570.86.10", "580.65.06")
NO, YES, WARNED = "will-not-run", "runs", "runs-with-warnings"  # on a T4 all but MAGMA runs

# For CUDA 13: what each GPU's line of drivers gives, and the build that the first change installs (none: the driver).
GRID = {
    "T4": ((NO, "cu118"), (NO, "cu126"), (NO, "cu126"), (NO, "cu126"), (NO, "cu126"), (WARNED, "")),
    "V100": ((NO, "cu118"), (NO, "cu126"), (NO, "cu126"), (NO, "cu126"), (NO, "cu126"), (NO, "cu126")),
    "H100": ((NO, ""), (NO, "cu126"), (NO, "cu126"), (NO, "cu126"), (NO, "cu126"), (YES, "")),
    "B200": ((NO, ""), (NO, ""), (NO, ""), (NO, ""), (NO, "cu128"), (YES, "")),
    "RTX 5090": ((NO, ""), (NO, ""), (NO, ""), (NO, ""), (NO, "cu128"), (YES, "")),
    "GTX 1080": ((NO, "cu118"), (NO, "cu126"), (NO, "cu126"), (NO, "cu126"), (NO, "cu126"), (NO, "cu126")),
}
PAIRS = [
    (gpu, driver, *answer) for gpu, answers in GRID.items() for driver, answer in zip(DRIVERS, answers, strict=True)
]


def recording_of(name: str) -> Recording:
    return Recording.from_json((DATA / "images" / f"{name}.json").read_text(encoding="utf-8"))


def image_of(name: str, tables: Tables, request: Request | None = None) -> Facts:
    return facts_of(recording_of(name), tables, request or Request())


def told(image: Facts, tables: Tables, **given: Any) -> Prediction:
    target = target_of(given, tables)
    return predict((target, judge(image, target, tables)), Writing(), Trials(image, tables))


@pytest.mark.parametrize(("gpu", "driver", "verdict", "build"), PAIRS)
def test_a_cuda_image_on_every_gpu_and_driver(gpu: str, driver: str, verdict: str, build: str, tables: Tables) -> None:
    item = told(image_of(CUDA, tables), tables, gpu=gpu, driver=driver)
    assert item.verdict == verdict, item.why
    if verdict == WARNED:
        assert "libtorch_cuda_linalg.so" in str(item.why)
    elif verdict == NO and build:
        assert str(item.change).endswith(build)
        assert f"+{build}" in item.commands[-1]
    elif verdict == NO:
        assert str(item.change) == "update the driver to 580 or newer"


@pytest.mark.parametrize("gpu", list(GRID))
@pytest.mark.parametrize("driver", DRIVERS)
def test_an_image_for_the_processor_uses_no_gpu(gpu: str, driver: str, tables: Tables) -> None:
    item = told(image_of(CPU, tables), tables, gpu=gpu, driver=driver)
    assert (item.verdict, str(item.why)) == (NO, "torch 2.13.0+cpu is a CPU-only build")
    assert item.change is not None


@pytest.mark.parametrize("name", [CPU, CUDA])
def test_both_images_run_where_there_is_no_gpu(name: str, tables: Tables) -> None:
    assert told(image_of(name, tables), tables, gpu="none", driver="none").verdict == YES


@pytest.mark.parametrize("gpu", list(GRID))
def test_a_change_of_the_driver_was_tried(gpu: str, tables: Tables) -> None:
    """What is told to help does help, and a driver just below it does not."""
    image = image_of(CUDA, tables)
    item = told(image, tables, gpu=gpu, driver="470.256.02")
    texts = [str(change) for change in (item.change, *item.other_changes) if "driver" in str(change)]
    for change in texts:
        number = change.split(" driver to ")[1].split()[0]
        assert told(image, tables, gpu=gpu, driver=number).verdict == (WARNED if gpu == "T4" else YES)
        assert told(image, tables, gpu=gpu, driver=str(int(number) - 5)).verdict == NO
    assert bool(texts) == (gpu not in {"V100", "GTX 1080"})


MISSING = [
    ({"gpu": "H100"}, "NVIDIA driver version", "driver=VERSION"),
    ({"driver": "580.65.06"}, "list of GPUs", "gpu=NAME"),
    ({"machine": "x86_64"}, "list of GPUs", "gpu=NAME"),
]


@pytest.mark.parametrize(("given", "fact", "key"), MISSING, ids=[key for *_, key in MISSING[:2]] + ["machine alone"])
def test_what_is_not_said_is_asked_for_and_never_guessed(
    given: dict[str, str], fact: str, key: str, tables: Tables
) -> None:
    item = told(image_of(CUDA, tables), tables, **given)
    assert (item.verdict, str(item.why), item.missing) == ("unknown", f"not known: {fact}", key)


def test_an_unknown_driver_is_told_which_would_do(tables: Tables) -> None:
    item = told(image_of(CUDA, tables), tables, gpu="H100")
    assert str(item.change) == "it runs with driver 580 or newer"


OTHERS = [
    # target, words of the reason, words of the change
    ({"os": "windows", "gpu": "T4", "driver": "580.88"}, "the target is windows", "describe that as wsl=true"),
    ({"machine": "aarch64", "gpu": "H100", "driver": "580.65.06"}, "the target is aarch64", "linux/arm64"),
    ({"gpu": "A100", "driver": "none"}, "no NVIDIA driver is installed for A100", "install an NVIDIA driver, 580"),
    ({"gpu": "MI300X"}, "cannot use MI300X", "rocm"),
    ({"gpu": "GTX 1080", "driver": "590.48.01"}, "no code for GTX 1080", "no single change does; first: use an NVIDIA"),
    ({"gpu": "T4", "driver": "580.65.06", "cpu": "x86-64-v2"}, "the processor shows no AVX", "processor has AVX2"),
]


@pytest.mark.parametrize(("given", "reason", "change"), OTHERS, ids=[reason for _, reason, _ in OTHERS])
def test_other_reasons(given: dict[str, str], reason: str, change: str | None, tables: Tables) -> None:
    item = told(image_of(CUDA, tables), tables, **given)
    assert item.verdict == NO
    assert reason in str(item.why)
    assert change is None or change in str(item.change), item.change


def test_wsl_numbers_are_those_of_windows(tables: Tables) -> None:
    image = image_of(CUDA, tables)
    assert told(image, tables, gpu="RTX 4090", driver="581.29", wsl="true").verdict == YES
    assert told(image, tables, gpu="RTX 4090", driver="572.83", wsl="true").verdict == NO


@pytest.mark.parametrize(
    ("cpu", "verdict"),
    [
        *(
            (cpu, YES)
            for cpu in ("avx,avx2", "avx2", "fma", "avx512f", "AVX512_VNNI", "amx_tile", "x86-64-v3", "x86-64-v4")
        ),
        *((cpu, "unknown") for cpu in ("aes", "sse4_2")),  # an old set alone does not tell that newer ones are absent
        *(
            (cpu, NO)
            for cpu in ("x86-64-v2", "x86-64", "x86-64-v2,aes", "fpu vme mmx sse sse2 lm cx8 cmov fxsr syscall")
        ),
    ],
)
def test_the_instruction_sets_of_the_processor_count(cpu: str, verdict: str, tables: Tables) -> None:
    assert told(image_of(CUDA, tables), tables, gpu="A100", driver="580.65.06", cpu=cpu).verdict == verdict


def test_an_image_brings_its_c_library_and_a_folder_does_not(tables: Tables) -> None:
    image = image_of(CUDA, tables)
    folder = replace(image, place=replace(image.place, container=None, image_build=False))
    given = {"gpu": "A100", "driver": "580.65.06", "libc": "glibc-2.17"}
    assert told(image, tables, **given).verdict == YES
    item = told(folder, tables, **given)
    assert (item.verdict, str(item.why).partition(",")[0]) == (NO, "glibc 2.17 is older than 2.28")
    assert (
        told(
            replace(folder, os=replace(folder.os, libc=Libc.parse("musl"))), tables, **given | {"libc": "glibc-2.35"}
        ).verdict
        == YES
    )


def test_nothing_of_the_host_the_image_is_made_on_is_judged(tables: Tables) -> None:
    """A driver, a GPU and a failed start of this host are no fact of the target."""
    image = image_of(CUDA, tables)
    here = target_of({"gpu": "GTX 1080", "driver": "470.57.02"}, tables)
    from torchdoctor.predict.placed import placed

    broken = replace(
        placed(image, here, tables),
        trial=Trial(imported=True, init="failed", init_code=999, init_error="RuntimeError: CUDA unknown error"),
        place=image.place,
    )
    assert told(broken, tables, gpu="A100", driver="580.65.06").verdict == YES
    assert (
        told(
            replace(broken, torch=replace(broken.torch, cuda_available=False)), tables, gpu="A100", driver="580.65.06"
        ).verdict
        == YES
    )


COMPAT = "/usr/local/cuda-13.0/compat/libcuda.so.580.65.06"


def with_compat(image: Facts, *, forced: bool = False) -> Facts:
    env = {"LD_LIBRARY_PATH": "/usr/local/cuda/compat"} if forced else {}
    driver = replace(image.driver, libcuda=COMPAT, cuda_shown=CudaVersion(13, 0))
    return replace(image, driver=driver, env=Variables(env, complete=True))


COMPATS = [
    # GPU, driver, put in front by LD_LIBRARY_PATH, verdict, words
    ("A100", "535.183.01", False, YES, "lends driver 535.183.01 the CUDA of cu130"),
    ("A100", "545.23.08", False, NO, "cuda-compat does not serve driver branch 545"),
    ("RTX 4090", "535.183.01", False, NO, "cuda-compat"),
    ("RTX 4090", "580.65.06", False, YES, "knows its CUDA"),
    ("A100", "590.48.01", False, YES, "knows its CUDA"),
    ("A100", "470.256.02", False, NO, "cuda-compat does not serve driver branch 470"),  # older than those named in it
    ("A100", "450.80.02", True, NO, "cuda-compat does not serve driver branch 450"),
    ("A100", "590.48.01", True, NO, "older than driver 590.48.01"),
    ("V100", "535.183.01", False, NO, "no code for V100"),
]


@pytest.mark.parametrize(("gpu", "driver", "forced", "verdict", "words"), COMPATS)
def test_a_compat_library_helps_some_and_breaks_others(
    gpu: str, driver: str, forced: bool, verdict: str, words: str, tables: Tables
) -> None:
    item = told(with_compat(image_of(CUDA, tables), forced=forced), tables, gpu=gpu, driver=driver)
    assert (item.verdict, words in str(item.why)) == (verdict, True), item.why


@pytest.mark.parametrize(("own", "verdict"), [("590.48.01", NO), ("580.65.06", YES), ("570.86.10", YES)])
def test_driver_libraries_in_the_image_must_not_be_newer_than_the_driver(
    own: str, verdict: str, tables: Tables
) -> None:
    image = image_of(CUDA, tables)
    there = replace(image, driver=replace(image.driver, version=None, library_version=DriverVersion.parse(own)))
    item = told(there, tables, gpu="A100", driver="580.65.06")
    assert item.verdict == verdict
    assert verdict == YES or "libraries of driver 590.48.01" in str(item.why)
    folder = replace(there, place=replace(there.place, container=None))
    assert told(folder, tables, gpu="A100", driver="580.65.06").verdict == YES


REQUIRE = "cuda>=12.8 brand=unknown,driver>=535,driver<536 brand=tesla,driver>=535,driver<536"
REQUIRED = [
    ("A100", "570.86.10", {}, False),
    ("A100", "535.183.01", {}, False),  # by its brand, as the image says
    ("A100", "525.60.13", {}, True),
    ("RTX 4090", "535.183.01", {}, True),
    ("RTX 4090", "535.183.01", {"NVIDIA_DISABLE_REQUIRE": "1"}, False),
    ("RTX 4090", "570.86.10", {}, False),
]


@pytest.mark.parametrize(("gpu", "driver", "more", "refused"), REQUIRED)
def test_the_conditions_of_a_base_image(
    gpu: str, driver: str, more: dict[str, str], refused: bool, tables: Tables
) -> None:
    """With a build for CUDA 12, which all these drivers run: only the image's own condition is in the way."""
    image = image_of(CUDA, tables)
    torch = replace(
        image.torch,
        version="2.9.1",
        full="2.9.1+cu126",
        build=image.torch.build,
        cuda=CudaVersion(12, 6),
        arch_list=("sm_75", "sm_89"),
    )
    image = replace(image, torch=torch, env=Variables({"NVIDIA_REQUIRE_CUDA": REQUIRE, **more}, complete=True))
    item = told(image, tables, gpu=gpu, driver=driver)
    assert ("demands cuda>=12.8" in str(item.why)) == refused, item.why
    if refused:
        assert any(
            "NVIDIA_DISABLE_REQUIRE" in command
            for remedy in item.findings[0].remedies
            for command in map(str, remedy.commands)
        )


def report_for(name: str, tables: Tables, *specs: dict[str, Any], request: Request | None = None) -> Report:
    targets = [target_of(spec, tables) for spec in specs]
    return foretell(recording_of(name), targets, tables, request or Request(), Writing())


GOOD, BAD, UNTOLD = (
    {"name": "good", "gpu": "H100", "driver": "580.65.06"},
    {"name": "bad", "gpu": "T4", "driver": "535.183.01"},
    {"name": "untold", "gpu": "H100"},
)
MIXED = {"name": "mixed", "gpu": "GTX 1080,RTX 5090", "driver": "580.65.06"}


@pytest.mark.parametrize(
    ("specs", "fail_on", "status"),
    [
        ((GOOD,), "error", 0),
        ((GOOD, BAD), "error", 1),
        ((GOOD, BAD), "never", 0),
        ((GOOD, UNTOLD), "error", 3),
        ((BAD, UNTOLD), "error", 1),
        ((MIXED,), "error", 0),
        ((MIXED,), "warning", 1),
    ],
)
def test_the_exit_status_is_that_of_the_worst(
    specs: tuple[dict[str, str], ...], fail_on: str, status: int, tables: Tables
) -> None:
    assert exit_status(report_for(CUDA, tables, *specs), fail_on) == status


def test_a_fault_of_the_image_itself_is_the_cause_on_every_target(tables: Tables) -> None:
    recording = recording_of(CUDA)
    answers = dict(recording.answers)
    for key, answer in recording.answers.items():
        if "torch" in key or key == "distributions":
            answers[key] = replace(answer, value=type(answer.value)())
    bare = Recording(answers)
    targets = [target_of(spec, tables) for spec in (GOOD, BAD)]
    report = foretell(bare, targets, tables, Request(), Writing())
    assert [item.verdict for item in report.targets] == [NO, NO]
    assert {item.id: item.explained_by for item in report.findings if item.severity == "error"} == {
        "torch-missing": None,
        "target-cannot-run": "torch-missing",
    }
    assert [str(item.change) for item in report.targets] == ["install torch 2.15.0 cu132", "install torch 2.14.1 cu126"]


def test_a_warning_of_the_image_itself_is_told_once(tables: Tables) -> None:
    """With another torchvision than this torch needs, every target is impaired, and the image is the cause."""
    recording = recording_of(CUDA)
    listed = recording.answers["distributions"]
    others = [{**item, "version": "0.20.0"} if item["name"] == "torchvision" else item for item in listed.value]
    changed = Recording({**recording.answers, "distributions": replace(listed, value=others)})
    report = foretell(changed, [target_of(GOOD, tables)], tables, Request(), Writing())
    assert [item.verdict for item in report.targets] == ["runs-with-warnings"]
    told_of = {item.id: item.explained_by for item in report.findings if item.severity == "warning"}
    assert told_of == {"torch-companion-mismatch": None, "target-impaired": "torch-companion-mismatch"}
    assert not any("echo: target" in line.text for line in text.render(report))


def test_a_policy_holds_on_the_targets(tables: Tables) -> None:
    requires = (Requirement("require.driver", ">=590", "torchdoctor.toml"),)
    report = report_for(CUDA, tables, GOOD, request=Request(requires=requires))
    assert [item.verdict for item in report.targets] == [NO]
    assert "590" in str(report.targets[0].why)
    calm = report_for(CUDA, tables, BAD, request=Request(ignores=(Ignore("driver-too-old"),)))
    assert [item.verdict for item in calm.targets] == [WARNED]


def test_require_gpu_is_meant_for_the_targets(tables: Tables) -> None:
    none = {"name": "none", "gpu": "none", "driver": "none"}
    assert report_for(CUDA, tables, none, GOOD).status == "ok"
    report = report_for(CUDA, tables, none, GOOD, request=Request(require_gpu=True))
    assert [item.verdict for item in report.targets] == [NO, YES]


def test_one_build_for_the_whole_fleet(tables: Tables) -> None:
    """The build of the report itself runs on every target that any build serves."""
    volta = {"name": "volta", "gpu": "V100", "driver": "580.65.06"}
    install = report_for(CUDA, tables, GOOD, BAD, volta).install
    assert install is not None
    assert (install.needed, install.torch, install.build) == (True, "2.14.1", "cu126")
    assert [str(reason) for reason in install.why][:1] == ["it runs on all of these targets"]
    lost = {"name": "lost", "gpu": "sm_35", "driver": "470.57.02"}
    install = report_for(CUDA, tables, BAD, lost).install
    assert install is not None
    assert "it runs on all of these targets but lost" in [str(reason) for reason in install.why]
    assert report_for(CUDA, tables, GOOD).install is None
    old = {"name": "old", "gpu": "GTX 1080", "driver": "470.57.02"}
    report = report_for(CUDA, tables, old, {"name": "new", "gpu": "B200", "driver": "570.86.10"})
    assert (report.install, str(report.no_install)) == (None, "no one build of torch runs on all of these targets")


def test_json_holds_the_targets_and_text_a_table(tables: Tables) -> None:
    report = report_for(CUDA, tables, GOOD, BAD, MIXED, UNTOLD)
    data = json.loads(json_v1.render(report))
    jsonschema.validate(data, SCHEMA)
    assert [(item["name"], item["verdict"]) for item in data["targets"]] == [
        ("good", YES),
        ("bad", NO),
        ("mixed", "runs-with-warnings"),
        ("untold", "unknown"),
    ]
    assert data["targets"][1]["findings"][0]["id"] == "driver-too-old"
    assert data["targets"][1]["commands"]
    lines = [line.text for line in text.render(report)]
    assert lines[0] == "fail: 4 targets: 1 will run it, 1 with warnings, 1 will not run it, 1 unknown"
    for start in ("  good    runs ", "  bad     will not run ", "  mixed   warning ", "  untold  unknown "):
        assert sum(line.startswith(start) for line in lines) == 1, start
    assert not any(line.startswith("error target-cannot-run") for line in lines)


def test_a_report_without_targets_says_nothing_of_them(tables: Tables) -> None:
    from torchdoctor.pipeline import examine

    report = examine(recording_of(CPU), tables, Request(), Writing())
    assert "targets" not in json.loads(json_v1.render(report))


def test_a_hundred_alike_are_judged_once(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    from torchdoctor.predict import foretell as module

    asked: list[str] = []
    real = module.predict

    def counted(item: tuple[Target, Judged], writing: Writing, trials: Trials) -> Prediction:
        asked.append(item[0].name)
        return real(item, writing, trials)

    monkeypatch.setattr(module, "predict", counted)
    report = report_for(CUDA, tables, *({**BAD, "name": f"n{number}"} for number in range(100)))
    assert (len(asked), len({item.name for item in report.targets})) == (1, 100)


def test_the_command_line(torchdoctor: Run, tmp_path: Path) -> None:
    (tmp_path / "fleet.txt").write_text("a: gpu=H100 driver=580.65.06\nb: gpu=T4 driver=470.57.02\n", encoding="utf-8")
    image = str(DATA / "images" / f"{CUDA}.json")
    done = torchdoctor("diagnose", image, "--for", "fleet.txt", "--for", "c: gpu=none", "--format", "json")
    assert done.returncode == 1, done.stderr
    assert [item["name"] for item in json.loads(done.stdout)["targets"]] == ["a", "b", "c"]
    done = torchdoctor("diagnose", image, "--for", "-", stdin="gpu=H100 driver=580.65.06\n")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "ok: 1 target: 1 will run it")
    done = torchdoctor("diagnose", image, "--for", "gpu=T4 drver=3")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "did you mean: driver?" in done.stderr


def test_check_static_without_torch_foretells(torchdoctor: Run) -> None:
    """In an image build before torch is installed the answer is still one, and no traceback."""
    done = torchdoctor("check", "--static", "--for", "gpu=H100 driver=580.65.06", "--format", "json")
    data = json.loads(done.stdout)
    assert [item["name"] for item in data["targets"]] == ["gpu=H100 driver=580.65.06"]
    assert done.returncode in {0, 1}
    assert data["facts"]["driver"] == {}
    assert "gpus" in data["unknown"]


RECORDED = sorted(path for path in (DATA / "recordings").glob("*.json") if "expected" not in path.name)
ANY: tuple[dict[str, Any], ...] = (
    {"gpu": "T4", "driver": "535.183"},
    {"gpu": "none", "driver": "none"},
    {"gpu": "MI300X"},
    {"jetpack": "6.2"},
    {"os": "windows", "gpu": "RTX 4060", "driver": "576.88"},
    {"driver": "580"},
    {"os": "macos", "machine": "arm64", "os_version": "14.5"},
)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_any_recording_can_be_asked_about_any_host(path: Path, tables: Tables) -> None:
    """Each gets a verdict with a reason; no check crashes, and what is unknown says what is missing."""
    recording = Recording.from_json(path.read_text(encoding="utf-8"))
    report = foretell(recording, [target_of(spec, tables) for spec in ANY], tables, Request(), Writing())
    assert [item for item in report.outcomes if item.outcome == "crashed"] == []
    jsonschema.validate(json.loads(json_v1.render(report)), SCHEMA)
    for item in report.targets:
        assert str(item.why)
        assert item.verdict != "unknown" or str(item.why).startswith("not known: "), item.why
    system = str(report.facts.os.name)
    assert [item.verdict for item in report.targets if item.target.get("os", system) != system] == [NO] * (
        1 + (system == "linux")
    )
