from __future__ import annotations

import pytest
from install_hosts import ARM, BARE, LINUX, RTX_4090, WINDOWS, cuda, healthy, host, packages, torch
from one_check import found, is_skipped, only

from torchdoctor.facts import Facts, Gpu, Os, Packages, Toolkit, Tools, Unknown, Variables
from torchdoctor.findings import Evidence, unsetting
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import GfxId

CU121 = torch("2.1.0+cu121", "cu121")
PINS = (
    "filelock",
    'nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux" and platform_machine == "x86_64"',
    'nvidia-nccl-cu12 (==2.21.5) ; platform_system == "Linux"',
    "cuda-toolkit[cublas,cudart]==13.0.3",
    'nvidia-cublas-cu12==12.4.5.8; platform_machine == "aarch64"',
    'nvidia-cufft-cu12==1.0; python_version < "3.9"',
)
PINNED = torch("2.6.0+cu124", "cu124", requires=PINS)
ALL = ("nvidia-cudnn-cu12==9.1.0.70", "nvidia-nccl-cu12==2.21.5", "cuda-toolkit==13.0.3")

IDS = (
    "nvidia-packages-inconsistent",
    "library-path-shadowing",
    "sibling-library-needs-other-cudnn",
    "numpy-abi-mismatch",
)


@pytest.mark.parametrize("check_id", IDS)
def test_a_healthy_host_has_none_of_them(check_id: str, tables: Tables) -> None:
    assert found(check_id, healthy(), tables) == []


@pytest.mark.parametrize("check_id", IDS)
def test_nothing_known_is_skipped(check_id: str, tables: Tables) -> None:
    assert is_skipped(check_id, Facts(), tables)


# --- nvidia-packages-inconsistent


def test_a_pinned_package_is_missing(tables: Tables) -> None:
    finding = only("nvidia-packages-inconsistent", host(PINNED, installed=packages(*ALL[1:])), tables)
    assert str(finding.summary) == "torch asks for nvidia-cudnn-cu12 9.1.0.70, installed is none"
    assert (finding.severity, finding.confidence) == (None, "certain")
    assert Evidence("torch.requires", "nvidia-cudnn-cu12==9.1.0.70", "") in finding.evidence
    assert finding.remedies[1].commands == ("python -m pip install nvidia-cudnn-cu12==9.1.0.70",)


@pytest.mark.parametrize(("cudnn", "severity"), [("8.9.7.29", None), ("9.0.0.312", "warning")])
def test_a_pinned_package_is_older(cudnn: str, severity: str | None, tables: Tables) -> None:
    installed = packages(f"nvidia-cudnn-cu12=={cudnn}", *ALL[1:])
    finding = only("nvidia-packages-inconsistent", host(PINNED, installed=installed), tables)
    assert (finding.severity, finding.confidence) == (severity, "likely")


def test_a_stray_of_another_cuda_major_shares_the_folder(tables: Tables) -> None:
    installed = packages(
        "nvidia-nccl-cu12==2.29.3", "nvidia-nccl-cu13==2.29.7", "nvidia-cublas==13.1.0.3", complete=False
    )
    facts = host(torch("2.13.0.dev20260604+cu130", "cu130"), installed=installed)
    finding = only("nvidia-packages-inconsistent", facts, tables)
    assert str(finding.summary) == "nvidia-nccl-cu12 2.29.3 and nvidia-nccl-cu13 2.29.7 share one folder"
    assert finding.severity == "warning"
    assert finding.remedies[0].commands[0] == "python -m pip uninstall -y nvidia-nccl-cu12"


CONSISTENT = [
    host(PINNED, installed=packages(*ALL)),
    host(PINNED, installed=packages("nvidia-cudnn-cu12==9.5.1.17", *ALL[1:])),
    host(PINNED, installed=packages("nvidia-cudnn-cu12==9.dev", *ALL[1:])),
    host(PINNED, installed=Packages()),
    host(replace(PINNED, cuda_available=False), installed=packages()),
    host(replace(PINNED, owner="conda"), installed=packages()),
    host(PINNED, os=WINDOWS, installed=packages("cuda-toolkit==13.0.3")),
    host(PINNED, os=Os(), installed=packages("cuda-toolkit==13.0.3")),
    host(torch("2.6.0+cpu", "cpu", requires=PINS), installed=packages()),
    host(torch("2.13.0+cu130", "cu130"), installed=packages("nvidia-nccl-cu12==2.30.0", "nvidia-nccl-cu13==2.29.7")),
    host(torch("2.13.0+cu130", "cu130"), installed=packages("nvidia-nccl-cu12==2.x", "nvidia-nccl-cu13==2.29.7")),
    host(torch("2.13.0+cu130", "cu130"), installed=packages("nvidia-nccl-cu12==2.27.5")),
    host(torch("2.13.0", "cu130", cuda=Unknown("CUDA"), build=torch("2", "cu130").build), installed=packages()),
]


@pytest.mark.parametrize("facts", CONSISTENT)
def test_consistent_packages(facts: Facts, tables: Tables) -> None:
    assert found("nvidia-packages-inconsistent", facts, tables) == []


def test_a_demand_for_another_machine_is_not_ours(tables: Tables) -> None:
    arm = host(PINNED, os=ARM, installed=packages("nvidia-nccl-cu12==2.21.5", "cuda-toolkit==13.0.3"))
    finding = only("nvidia-packages-inconsistent", arm, tables)
    assert "nvidia-cublas-cu12 12.4.5.8" in str(finding.summary)


# --- library-path-shadowing


def test_an_older_toolkit_on_the_loader_path(tables: Tables) -> None:
    facts = host(CU121, RTX_4090, env={"LD_LIBRARY_PATH": ":/opt/x/lib:/usr/local/cuda-12.0/lib64:"})
    finding = only("library-path-shadowing", facts, tables)
    assert str(finding.summary) == "LD_LIBRARY_PATH puts CUDA 12.0 before torch's own CUDA 12.1"
    assert (finding.confidence, finding.severity) == ("likely", "warning")
    assert finding.evidence[0].fact == "env.LD_LIBRARY_PATH"
    assert finding.remedies[0].commands == (unsetting("LD_LIBRARY_PATH"),)


def test_the_toolkits_found_tell_what_a_plain_folder_holds(tables: Tables) -> None:
    tools = Tools(toolkits=(Toolkit(cuda=cuda("12.0"), path="/usr/local/cuda"),))
    facts = host(CU121, env={"LD_LIBRARY_PATH": "/usr/local/cuda/lib64"}, tools=tools)
    assert only("library-path-shadowing", facts, tables).evidence
    assert found("library-path-shadowing", replace(facts, tools=Tools(toolkits=())), tables) == []
    elsewhere = Tools(toolkits=(Toolkit(cuda=cuda("12.0"), path="/opt/cuda"),))
    assert found("library-path-shadowing", replace(facts, tools=elsewhere), tables) == []


HARMLESS = [
    {"LD_LIBRARY_PATH": "/usr/local/cuda-12.1/lib64"},
    {"LD_LIBRARY_PATH": "/usr/local/cuda-12.8/lib64"},
    {"LD_LIBRARY_PATH": "/usr/local/cuda-11.8/lib64"},
    {"LD_LIBRARY_PATH": "/usr/lib/x86_64-linux-gnu"},
    {},
]


@pytest.mark.parametrize("env", HARMLESS)
def test_other_paths_are_harmless(env: dict[str, str], tables: Tables) -> None:
    assert found("library-path-shadowing", host(CU121, env=env), tables) == []


OLD_PATH = {"LD_LIBRARY_PATH": "/usr/local/cuda-12.0/lib64"}
OF_OTHERS = [
    host(torch("2.1.0+cpu", "cpu"), env=OLD_PATH),
    host(replace(CU121, cuda_available=True), env=OLD_PATH),
    host(torch("2.5.0a0+872d972e41.nv24.08", "cu126"), env=OLD_PATH),
    host(torch("2.1.0", "cu121", owner="conda"), env=OLD_PATH),
]


@pytest.mark.parametrize("facts", OF_OTHERS)
def test_builds_that_bring_no_libraries_or_work_are_left_alone(facts: Facts, tables: Tables) -> None:
    assert found("library-path-shadowing", facts, tables) == []


def test_an_unread_environment_is_skipped(tables: Tables) -> None:
    assert is_skipped("library-path-shadowing", replace(host(CU121), env=Variables()), tables)


IN_WSL = replace(BARE, wsl=2)
RADEON = Gpu(vendor="amd", name="AMD Radeon RX 7900 XTX", gfx=GfxId.parse("gfx1100"))
ROCM = torch("2.9.1+rocm6.4", "rocm6.4", cuda_available=False)


def test_the_wheels_own_hsa_runtime_knows_no_wsl(tables: Tables) -> None:
    finding = only("library-path-shadowing", host(ROCM, RADEON, place=IN_WSL), tables)
    assert str(finding.summary) == "torch's own libhsa-runtime64 does not work inside WSL"
    assert finding.severity is None
    assert str(finding.remedies[0].commands[0]).endswith("/lib/libhsa-runtime64.so*")


OTHER_ROCM = [
    host(ROCM, RADEON),
    host(replace(ROCM, cuda_available=True), RADEON, place=IN_WSL),
    host(ROCM, RTX_4090, place=IN_WSL),
    host(torch("2.9.1+cpu", "cpu", cuda_available=False), RADEON, place=IN_WSL),
]


@pytest.mark.parametrize("facts", OTHER_ROCM)
def test_elsewhere_that_runtime_is_right(facts: Facts, tables: Tables) -> None:
    assert found("library-path-shadowing", facts, tables) == []


# --- sibling-library-needs-other-cudnn


def test_a_sibling_of_another_cudnn_major(tables: Tables) -> None:
    facts = host(torch("2.4.1+cu121", "cu121"), RTX_4090, os=WINDOWS, installed=packages("ctranslate2==4.4.0"))
    finding = only("sibling-library-needs-other-cudnn", facts, tables)
    assert str(finding.summary) == "ctranslate2 4.4.0 needs cuDNN 8, torch brings cuDNN 9"
    assert finding.evidence[1].source == "torch_builds: 2.4.1+cu121 windows x86_64"
    assert finding.remedies[0].commands == ("python -m pip install --upgrade ctranslate2",)
    assert finding.row
    assert finding.row.source


def test_the_installed_cudnn_package_decides(tables: Tables) -> None:
    installed = packages("onnxruntime-gpu==1.20.1", "nvidia-cudnn-cu12==8.9.7.29")
    finding = only(
        "sibling-library-needs-other-cudnn", host(torch("2.4.1+cu121", "cu121"), RTX_4090, installed=installed), tables
    )
    assert finding.evidence[1] == Evidence("packages.nvidia-cudnn-cu12", "8.9.7.29", "site-packages")
    assert finding.remedies[0].commands == ()


FITTING = [
    host(torch("2.4.1+cu121", "cu121"), RTX_4090, installed=packages("ctranslate2==4.5.0", "onnxruntime-gpu==1.19.2")),
    host(torch("2.2.2+cu121", "cu121"), RTX_4090, installed=packages("ctranslate2==4.4.0")),
    host(torch("2.4.1+cu121", "cu121"), RTX_4090, installed=packages("ctranslate2==1.0", "onnxruntime-gpu==1.x")),
    host(torch("2.4.1+cu121", "cu121"), RTX_4090, installed=packages("onnxruntime==1.17.0")),
    host(torch("2.4.1+cu121", "cu121"), installed=packages("ctranslate2==4.4.0")),
    host(torch("2.4.1+cpu", "cpu"), RTX_4090, installed=packages("ctranslate2==4.4.0")),
]


@pytest.mark.parametrize("facts", FITTING)
def test_siblings_that_fit(facts: Facts, tables: Tables) -> None:
    assert found("sibling-library-needs-other-cudnn", facts, tables) == []


def test_an_unknown_cudnn_is_skipped(tables: Tables) -> None:
    installed = packages("ctranslate2==4.4.0")
    for build in (torch("2.99.0+cu126", "cu126"), torch("2.4.1", "cu121", owner="conda")):
        assert is_skipped("sibling-library-needs-other-cudnn", host(build, RTX_4090, installed=installed), tables)
    unlisted = host(torch("2.4.1+cu121", "cu121"), RTX_4090, installed=Packages())
    assert is_skipped("sibling-library-needs-other-cudnn", unlisted, tables)


# --- numpy-abi-mismatch


def test_numpy_2_beside_an_older_torch(tables: Tables) -> None:
    facts = host(torch("2.2.2", "cpu"), os=replace(LINUX, name="macos"), installed=packages("numpy==2.4.5"))
    finding = only("numpy-abi-mismatch", facts, tables)
    assert str(finding.summary) == "torch 2.2.2 was compiled for an older NumPy than 2.4.5"
    assert finding.remedies[0].commands == ('python -m pip install "numpy<2"',)
    assert finding.evidence[1] == Evidence("packages.numpy", "2.4.5", "site-packages")


@pytest.mark.parametrize(
    "facts",
    [
        host(torch("2.2.2", "cpu"), installed=packages("numpy==1.26.4")),
        host(torch("2.3.0", "cpu"), installed=packages("numpy==2.4.5")),
        host(torch("2.2.2", "cpu"), installed=packages("numpy==2.0.0rc1")),
        host(torch("2.2.2", "cpu"), installed=packages("pip==26.1")),
        host(torch("2.2.0a0+git", "cpu", version="2.2.0a0"), installed=packages("numpy==2.4.5")),
    ],
)
def test_numpy_that_fits(facts: Facts, tables: Tables) -> None:
    assert found("numpy-abi-mismatch", facts, tables) == []


def test_numpy_unknown_is_skipped(tables: Tables) -> None:
    assert is_skipped("numpy-abi-mismatch", host(torch("2.2.2", "cpu"), installed=Packages()), tables)
