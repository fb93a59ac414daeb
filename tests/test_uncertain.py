"""Builds for hosts of which a fact is missing: one that is right whatever it is, or a question."""

from __future__ import annotations

import pytest

from torchdoctor.facts import Driver, ErrorText, Facts, Gpu, Os, Place, Python, Quoted, Request, Torch, Unknown
from torchdoctor.prescribe.choose import Choice
from torchdoctor.prescribe.conditions import Judge, Wish
from torchdoctor.prescribe.host import Host, host_of
from torchdoctor.prescribe.possible_hosts import driver_at_least
from torchdoctor.prescribe.uncertain import choose_surely
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import Build, CudaVersion, DriverVersion, GpuArch, PythonTag

TABLES = Tables()
LINUX = Os(name="linux", machine="x86_64")
PY312 = Python(tag=PythonTag(3, 12))
D570 = Driver(version=DriverVersion.parse("570.86.10"))

D535 = Driver(version=DriverVersion.parse("535.183.01"), smi="ok")
WINDOWS = Os(name="windows", machine="x86_64")
CUT = (Gpu(vendor="nvidia", name="NVIDIA GeForce ...", driver_sees=True),)
BEFORE = Torch(installed=True, full="1.10.1", version="1.10.1", arch_list=("sm_37", "sm_70"))
NO_CUDA = Quoted((ErrorText("torch-not-compiled-with-cuda", "Torch not compiled with CUDA enabled", "error.txt"),))
NAMED = Quoted(
    (
        ErrorText(
            "xformers-built-for-other-torch",
            "xFormers was built for: PyTorch 2.1.2+cu121",
            "error.txt",
            {"want": "2.1.2+cu121", "have": "2.1.2+cpu"},
        ),
    )
)


def cpu(release: str) -> Torch:
    return Torch(installed=True, full=f"{release}+cpu", version=release, build=Build("cpu"))


def gpu(major: int, minor: int, *, seen: bool = True) -> tuple[Gpu, ...]:
    return (Gpu(vendor="nvidia", name="a GPU", compute_capability=GpuArch(major, minor), driver_sees=seen),)


def chosen(facts: Facts) -> Choice:
    return choose_surely(host_of(facts, TABLES), facts, TABLES)


ANSWERED = [
    ("machine unknown", Facts(os=Os(name="linux"), python=PY312, driver=D570, gpus=gpu(8, 9)), {"cu126", "cu128"}),
    ("system unknown", Facts(python=PY312, driver=D570, gpus=gpu(8, 9)), {"cu126", "cu128"}),
    ("driver unknown, GPU new", Facts(os=LINUX, python=PY312, gpus=gpu(12, 0)), {"cu128"}),
    (
        "driver unknown, its CUDA said",
        Facts(os=LINUX, python=PY312, gpus=gpu(7, 5), driver=Driver(cuda_shown=CudaVersion(12, 4))),
        {"cu126"},
    ),
    (
        "driver unknown, torch of CUDA 13 ran",
        Facts(
            os=LINUX,
            python=PY312,
            gpus=gpu(7, 5),
            torch=Torch(full="2.9.1+cu130", version="2.9.1", build=Build("cu130")),
        ),
        {"cu132", "cu130"},
    ),
    ("Python unknown", Facts(os=LINUX, driver=D570, gpus=gpu(8, 9)), {"cu126", "cu128"}),
    ("GPU unknown, an old driver", Facts(os=LINUX, python=PY312, driver=D535), {"cu126"}),
    ("driver unknown, GPU older than the floors of CUDA", Facts(os=LINUX, python=PY312, gpus=gpu(6, 1)), {"cu118"}),
    ("driver unknown, torch from before the tables", Facts(gpus=gpu(8, 0), torch=BEFORE), {"cu116", "cu117"}),
    ("name cut short, an old driver", Facts(os=LINUX, python=PY312, driver=D535, gpus=CUT), {"cu126"}),
    (
        "driver unknown, a release for the CPU is there",
        Facts(os=WINDOWS, python=PY312, gpus=gpu(8, 9), torch=cpu("2.10.0")),
        {"cu126", "cu128"},
    ),
    (
        "driver and GPU unknown, CUDA asked of a release for the CPU",
        Facts(os=WINDOWS, python=PY312, torch=cpu("2.3.1"), quoted=NO_CUDA),
        {"cu118"},
    ),
    (
        "driver and GPU unknown, a text names the build",
        Facts(os=WINDOWS, python=Python(tag=PythonTag(3, 10)), torch=cpu("2.1.2"), quoted=NAMED),
        {"cu121"},
    ),
]


def test_a_release_for_the_cpu_stays_where_the_driver_is_unknown() -> None:
    choice = chosen(Facts(os=WINDOWS, python=PY312, gpus=gpu(8, 9), torch=cpu("2.10.0")))
    assert choice.row
    assert str(choice.row.torch) == "2.10.0"
    known = chosen(Facts(os=WINDOWS, python=PY312, gpus=gpu(8, 9), torch=cpu("2.10.0"), driver=D570))
    assert known.row
    assert known.row.torch > choice.row.torch


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("Intel(R) Arc(TM) A770 Graphics", "xpu"),
        ("Intel Data Center GPU Max 1550", "xpu"),
        ("Intel(R) UHD Graphics 630", "cpu"),
    ],
)
def test_a_gpu_of_intel_is_served_where_it_is_made_for_computing(name: str, build: str) -> None:
    for machine in ("x86_64", Unknown("machine architecture")):
        facts = Facts(
            os=Os(name="windows", machine=machine),
            python=PY312,
            gpus=(Gpu(vendor="intel", name=name),),
            torch=Torch(full="2.9.0+cu126", version="2.9.0", build=Build("cu126")),
        )
        if build == "xpu" or isinstance(machine, str):
            choice = chosen(facts)
            assert choice.row, choice.refusal
            assert choice.row.build.name == build


@pytest.mark.parametrize(("facts", "builds"), [row[1:] for row in ANSWERED], ids=[row[0] for row in ANSWERED])
def test_a_missing_fact_that_does_not_decide(facts: Facts, builds: set[str]) -> None:
    choice = chosen(facts)
    assert choice.row is not None, choice.refusal
    assert choice.row.build.name in builds


ASKED = [
    ("nothing known", Facts()),
    ("GPU and driver unknown", Facts(os=LINUX, python=PY312)),
    ("GPU unknown, driver that drives all since Maxwell", Facts(os=LINUX, python=PY312, driver=D570)),
    ("GPU of no known capability", Facts(os=LINUX, python=PY312, driver=D570, gpus=(Gpu(vendor="nvidia", name="?"),))),
    ("GPU unknown, torch for the CPU, nobody asks for CUDA", Facts(os=WINDOWS, python=PY312, torch=cpu("2.3.1"))),
    (
        "GPU unknown, CUDA asked of a release whose builds serve different GPUs",
        Facts(os=LINUX, python=PY312, torch=cpu("2.9.1"), quoted=NO_CUDA),
    ),
    ("GPUs of two vendors", Facts(python=PY312, driver=D570, gpus=(*gpu(8, 9), Gpu(vendor="amd", name="a Radeon")))),
]


@pytest.mark.parametrize("facts", [row[1] for row in ASKED], ids=[row[0] for row in ASKED])
def test_a_missing_fact_that_decides_is_asked_for(facts: Facts) -> None:
    choice = chosen(facts)
    assert not choice.runs
    assert choice.asks


def _is_too_old(number: DriverVersion, bound: DriverVersion | None, choice: Choice) -> bool:
    served = choice.host.driver
    return (bound is not None and number < bound) or (isinstance(served, DriverVersion) and number < served)


def _drives(host: Host) -> bool:
    """Whether the driver drives the GPUs: a newer one may drive them no more."""
    gpus = () if isinstance(host.gpus, Unknown) else host.gpus
    branch = (
        TABLES.driver_branches.of(host.driver, host.driver_line) if isinstance(host.driver, DriverVersion) else None
    )
    return branch is None or all(branch.supports(gpu.target) for gpu in gpus if isinstance(gpu.target, GpuArch))


@pytest.mark.parametrize("row", ANSWERED, ids=[row[0] for row in ANSWERED])
@pytest.mark.parametrize("os", ["linux", "windows"])
@pytest.mark.parametrize("driver", ["535.183.01", "550.54", "570.86.10", "580.65.06", "595.10"])
def test_the_build_runs_whatever_the_missing_facts_are(row: tuple[str, Facts, set[str]], os: str, driver: str) -> None:
    """Every host that fits what was known must be able to run what was chosen without knowing the rest."""
    facts, choice = row[1], chosen(row[1])
    host = host_of(facts, TABLES)
    bound = driver_at_least(facts, replace(host, os=os), TABLES)
    number = DriverVersion.parse(driver)
    full = replace(
        host,
        os=os if isinstance(host.os, Unknown) else host.os,
        machine="x86_64",
        python=choice.host.python,
        driver=number if isinstance(host.driver, Unknown) else host.driver,
        gpus=choice.host.gpus,
    )
    if isinstance(host.driver, Unknown) and (_is_too_old(number, bound, choice) or not _drives(full)):
        return  # no host that fits, or none that any build serves
    assert choice.row
    gpus = () if isinstance(full.gpus, Unknown) else full.gpus
    same = [
        item
        for item in TABLES.torch_builds.rows
        if (item.torch, item.build, item.os, item.machine) == (choice.row.torch, choice.row.build, full.os, "x86_64")
    ]
    assert [
        str(found.text) for item in same for found in [Judge(full, Wish(), TABLES, gpus).obstacle(item)] if found
    ] == []
    assert same


@pytest.mark.parametrize(
    ("facts", "bound"),
    [
        (Facts(os=LINUX), None),
        (Facts(os=LINUX, gpus=gpu(12, 0)), "570"),
        (Facts(os=Os(name="windows", machine="x86_64"), gpus=gpu(12, 0)), "570"),
        (Facts(os=LINUX, driver=Driver(cuda_shown=CudaVersion(12, 2))), "535.54.03"),
        (Facts(os=LINUX, place=Place(wsl=2), driver=Driver(cuda_shown=CudaVersion(12, 2))), "536.25"),
        (Facts(os=LINUX, torch=Torch(build=Build("cu130"), cuda_available=True)), "580"),
        (Facts(os=LINUX, torch=Torch(build=Build("cu130"), cuda_available=False)), None),
    ],
)
def test_the_oldest_driver_that_a_host_can_have(facts: Facts, bound: str | None) -> None:
    found = driver_at_least(facts, host_of(facts, TABLES), TABLES)
    assert (found and str(found)) == bound


OLD = Facts(os=LINUX, python=PY312, driver=Driver(version=DriverVersion.parse("470.82.01")), gpus=gpu(3, 5))


def test_a_gpu_that_no_build_serves_gets_the_build_for_the_cpu() -> None:
    choice = chosen(OLD)
    assert choice.backend == "cpu"
    assert "code for" in str(choice.why[0])


@pytest.mark.parametrize(
    "facts",
    [replace(OLD, request=Request(require_gpu=True)), replace(OLD, torch=Torch(build=Build("cpu"), full="2.9.1+cpu"))],
    ids=["a GPU is required", "it is installed already"],
)
def test_nor_where_that_would_not_help(facts: Facts) -> None:
    assert not chosen(facts).runs
