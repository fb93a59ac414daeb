"""collect_env in its layouts: what each sample says, and what its words for nothing mean."""

from __future__ import annotations

import pytest
from reading import facts_from, seen, stored

from torchdoctor.tables import Tables

SAMPLES: dict[str, dict[str, str]] = {
    "collect_env_linux.txt": {
        "torch.installed": "True", "torch.full": "2.10.0+cu128", "torch.version": "2.10.0", "torch.build": "cu128",
        "torch.cuda": "12.8", "torch.hip": "None", "torch.origin": "pytorch", "torch.owner": "pip",
        "torch.cuda_available": "True", "os.name": "linux", "os.machine": "x86_64", "os.version": "22.04",
        "os.distribution": "Ubuntu 22.04.5 LTS", "os.kernel": "6.6.113+", "os.libc": "glibc-2.35", "place.wsl": "None",
        "python.version": "3.12.12", "python.tag": "3.12", "python.bits": "64", "python.machine": "x86_64",
        "driver.version": "580.105.08", "driver.source": "pasted", "tools.nvcc": "12.8", "tools.gcc": "11.4.0",
        "tools.clang": "14.0.0", "gpus[0].name": "Tesla P100-PCIE-16GB", "gpus[0].compute_capability": "6.0",
        "cpu.model": "Intel(R) Xeon(R) CPU @ 2.20GHz", "cpu.count": "2", "driver.cuda_shown": "?", "driver.smi": "?",
    },
    "collect_env_quoted_mig.txt": {
        "torch.full": "1.13.1+cu117", "torch.build": "cu117", "gpus[0].name": "NVIDIA A100-SXM4-40GB",
        "gpus[0].mig": "enabled", "driver.version": "525.105.17", "os.libc": "glibc-2.31", "torch.origin": "pypi",
    },
    "collect_env_vllm.txt": {
        "torch.full": "2.7.0+cu128", "torch.cuda": "12.8", "os.distribution": "Ubuntu 24.04.2 LTS",
        "gpus[0].name": "NVIDIA GeForce RTX 5090 D", "gpus[0].compute_capability": "12.0",
        "driver.version": "570.133.07", "python.version": "3.12.9", "torch.cuda_available": "True", "cpu.count": "32",
    },
    "collect_env_blank_lines.txt": {
        "torch.full": "2.0.1+cu117", "gpus": "()", "driver.version": "?", "os.kernel": "6.3.7-1-cachyos",
        "os.libc": "glibc-2.37", "tools.nvcc": "None", "torch.cuda_available": "False", "tools.clang": "None",
    },
    "collect_env_cut.txt": {
        "torch.build": "cu121", "cpu.flags": "?", "cpu.model": "AMD Ryzen 7 3700X 8-Core Processor",
        "tools.gcc": "13.2.1", "torch.owner": "?", "os.version": "39", "tools.nvcc": "12.3",
    },
    "collect_env_import_fails.txt": {
        "torch.installed": "True", "torch.full": "2.13.0.dev20260604+cu130", "torch.build": "cu130",
        "torch.cuda_available": "?", "torch.hip": "?", "driver.version": "595.58.03",
        "gpus[0].compute_capability": "12.0",
    },
    "collect_env_windows_no_cuda.txt": {
        "torch.build": "cpu", "torch.cuda": "None", "gpus": "()", "driver.version": "?", "os.name": "windows",
        "os.version": "10.0.22631", "os.distribution": "Microsoft Windows 11 Enterprise", "os.machine": "x86_64",
        "cpu.model": "12th Gen Intel(R) Core(TM) i7-1270P", "os.libc": "?", "place.wsl": "None",
    },
    "collect_env_windows_conda.txt": {
        "torch.full": "2.2.2", "torch.build": "cpu", "torch.cuda": "None", "torch.owner": "conda", "torch.origin": "?",
        "driver.version": "551.86", "gpus[0].name": "NVIDIA GeForce RTX 4080 Laptop GPU", "os.machine": "x86_64",
        "gpus[0].compute_capability": "8.9", "tools.nvcc": "12.4", "python.version": "3.10.13",
    },
    "collect_env_rocm.txt": {
        "torch.build": "rocm7.0", "torch.hip": "7.0.51831", "torch.cuda": "None", "torch.cuda_available": "True",
        "gpus[0].vendor": "amd", "gpus[0].gfx": "gfx1151", "driver.version": "?", "tools.nvcc": "None",
    },
    "collect_env_xpu.txt": {
        "torch.build": "xpu", "torch.cuda": "None", "gpus[0].vendor": "intel", "gpus[0].pci_id": "E20B",
        "gpus[0].name": "Intel(R) Arc(TM) B580 Graphics", "gpus[0].memory": str(11875 * 1024 * 1024),
        "driver.version": "?", "torch.cuda_available": "False",
    },
    "collect_env_rosetta.txt": {
        "os.name": "macos", "os.version": "15.3", "os.machine": "arm64", "python.machine": "x86_64",
        "place.rosetta": "True", "cpu.model": "Apple M2 Pro", "gpus[0].vendor": "apple", "torch.origin": "source",
        "torch.build": "cpu",
    },
    "collect_env_1_6.txt": {
        "torch.full": "1.6.0", "torch.build": "cu102", "torch.cuda": "10.2", "torch.hip": "?", "python.tag": "3.8",
        "gpus[0].name": "GeForce RTX 3090", "driver.version": "455.23.04", "torch.cuda_available": "False",
        "os.machine": "?", "os.libc": "glibc-2.31",
    },
    "collect_env_full_width_colon.txt": {
        "gpus[0].name": "NVIDIA GeForce RTX 4090", "gpus[1].name": "NVIDIA GeForce RTX 4090",
    },
    "collect_env_mixed_sources.txt": {
        "torch.full": "2.1.0", "torch.build": "cu121", "torch.owner": "conda", "torch.origin": "?",
    },
    "collect_env_32_bit_indented.txt": {
        "torch.installed": "False", "torch.build": "?", "python.bits": "32", "python.tag": "3.7",
        "os.name": "windows", "gpus": "?", "driver.version": "?",
    },
    "collect_env_ipex.txt": {
        "torch.installed": "?", "os.distribution": "Ubuntu 23.10", "gpus": "?", "os.libc": "glibc-2.38",
        "cpu.model": "Intel(R) Core(TM) i3-14100F",
    },
    "collect_env_after_wget.txt": {
        "torch.full": "1.8.1+cu111", "gpus[1].name": "GeForce GTX 1080 Ti", "python.bits": "64",
    },
    "collect_env_aarch64_cpu.txt": {
        "os.machine": "aarch64", "torch.build": "cpu", "torch.cuda": "None", "driver.version": "550.54.15",
        "gpus[0].name": "NVIDIA GH200 480GB", "tools.nvcc": "12.1", "torch.owner": "pip",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name: str, tables: Tables) -> None:
    assert seen(facts_from(stored(f"pasted/{name}"), tables=tables), SAMPLES[name]) == SAMPLES[name]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: "".join(f"> {line}\n" for line in text.split("\n")),
        lambda text: "".join(f"      {line}\n" for line in text.split("\n")),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: f"### Versions\n\n```\n{text}\n```\n\nThanks!\n",
        lambda text: f"(base) user@node:~$ python collect_env.py\n{text}\n(base) user@node:~$ ls\nfile.py\n",
        lambda text: "".join(f"2026-01-02T03:04:05.1234567Z {line}\n" for line in text.split("\n")),
    ],
    ids=["quoted", "indented", "crlf", "fenced", "prompts", "ci-stamps"],
)
def test_what_people_wrap_around_a_report_changes_nothing(name: str, disguise: object, tables: Tables) -> None:
    text = disguise(stored(f"pasted/{name}"))  # type: ignore[operator]  # one of the functions above
    found = seen(facts_from(text, tables=tables), SAMPLES[name])
    assert {path: value for path, value in found.items() if path != "cpu.flags"} == {
        path: value for path, value in SAMPLES[name].items() if path != "cpu.flags"
    }


REPORT = """PyTorch version: {torch}
Is debug build: False
CUDA used to build PyTorch: {cuda}
ROCM used to build PyTorch: {rocm}

OS: {os}
Libc version: {libc}
Python version: 3.11.4 (main, Jul  5 2023, 13:45:01) [GCC 11.2.0] (64-bit runtime)
Python platform: {platform}
Is CUDA available: {available}
CUDA runtime version: {nvcc}
GPU models and configuration: {gpus}
Nvidia driver version: {driver}
cuDNN version: Could not collect
HIP runtime version: N/A
MIOpen runtime version: N/A
Is XNNPACK available: True
"""
USUAL = {
    "torch": "2.5.1+cu124", "cuda": "12.4", "rocm": "N/A", "os": "Ubuntu 22.04 LTS (x86_64)", "libc": "glibc-2.35",
    "platform": "Linux-5.15.0-91-generic-x86_64-with-glibc2.35", "available": "True", "nvcc": "12.4.131",
    "gpus": "GPU 0: NVIDIA A10", "driver": "550.54.15",
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        # R610 renamed the header collect_env looks for: a listed GPU shows that the driver is there.
        ({"driver": "Could not collect"}, {"driver.version": "?", "gpus[0].driver_sees": "True"}),
        ({"driver": "Could not collect", "gpus": "Could not collect"}, {"driver.version": "?", "gpus": "?"}),
        (
            {"driver": "No CUDA", "gpus": "No CUDA", "nvcc": "No CUDA"},
            {"driver.version": "?", "gpus": "()", "tools.nvcc": "None"},
        ),
        ({"cuda": "None", "torch": "2.5.1"}, {"torch.build": "cpu", "torch.cuda": "None"}),
        ({"cuda": "Could not collect", "torch": "2.5.1"}, {"torch.build": "cpu"}),
        ({"cuda": "12.1", "torch": "2.1.0"}, {"torch.build": "cu121", "torch.full": "2.1.0"}),
        (
            {
                "cuda": "N/A",
                "torch": "2.4.1+rocm6.1",
                "rocm": "6.1.40091-a8dbc0c19",
                "gpus": "AMD Instinct MI210 (gfx90a:sramecc+:xnack-)",
            },
            {"torch.build": "rocm6.1", "torch.cuda": "None", "gpus[0].gfx": "gfx90a", "gpus[0].vendor": "amd"},
        ),
        ({"cuda": "N/A", "torch": "2.4.1", "rocm": "6.1.40091-a8dbc0c19"}, {"torch.build": "rocm6.1"}),
        (
            {"cuda": "None", "torch": "2.9.1", "os": "macOS 15.6 (arm64)", "platform": "macOS-15.6-arm64-arm-64bit"},
            {"torch.build": "mps", "os.name": "macos", "os.machine": "arm64", "place.rosetta": "False"},
        ),
        (
            {"os": "Amazon Linux 2 (x86_64)", "libc": "N/A"},
            {"os.libc": "glibc-2.26", "os.version": "2"},
        ),
        (
            {"platform": "Linux-5.15.167.4-microsoft-standard-WSL2-x86_64-with-glibc2.35"},
            {"place.wsl": "2", "os.name": "linux"},
        ),
        ({"platform": "Linux-4.4.0-19041-Microsoft-x86_64-with-glibc2.29"}, {"place.wsl": "1"}),
        (
            {"platform": "Linux-6.10.14-linuxkit-aarch64-with-glibc2.36"},
            {"place.container": "docker", "python.machine": "aarch64"},
        ),
        (
            {"torch": "2.1.0a0+41361538.nv23.06"},
            {"torch.origin": "nvidia", "torch.version": "2.1.0a0", "torch.build": "cu124"},
        ),
        ({"torch": "2.6.0+xpu", "cuda": "None"}, {"torch.build": "xpu"}),
        ({"available": "No"}, {"torch.cuda_available": "False"}),
    ],
)
def test_the_words_for_nothing(changes: dict[str, str], expected: dict[str, str], tables: Tables) -> None:
    facts = facts_from(REPORT.format(**{**USUAL, **changes}), tables=tables)
    assert seen(facts, expected) == expected


def test_a_free_threaded_python_is_told_by_its_banner(tables: Tables) -> None:
    banner = "3.13.1 experimental free-threading build (main, Dec  3 2024) [GCC 13.3.0] (64-bit runtime)"
    report = REPORT.format(**USUAL).replace(
        "3.11.4 (main, Jul  5 2023, 13:45:01) [GCC 11.2.0] (64-bit runtime)", banner
    )
    assert seen(facts_from(report, tables=tables), {"python.tag": "3.13t"}) == {"python.tag": "3.13t"}


def test_no_cuda_at_the_end_of_a_cut_report_proves_no_absence(tables: Tables) -> None:
    """The lines on Intel's and Apple's GPUs come later."""
    report = REPORT.format(**{**USUAL, "gpus": "No CUDA", "driver": "No CUDA"})
    assert facts_from(report, tables=tables).gpus == ()
    cut = report.partition("HIP runtime")[0]
    assert seen(facts_from(cut, tables=tables), {"gpus": "?"}) == {"gpus": "?"}


def test_packages_keep_their_owner_and_build(tables: Tables) -> None:
    items = facts_from(stored("pasted/collect_env_mixed_sources.txt"), tables=tables).packages.items
    rows = {(item.name, item.version, str(item.owner), str(item.build)) for item in items}
    assert ("pytorch", "2.1.0", "conda", "py3.10_cuda12.1_cudnn8.9.2_0") in rows
    assert ("torch", "2.2.0", "pip") in {row[:3] for row in rows}


def test_a_list_without_torch_proves_that_it_is_missing_only_where_conda_was_asked_too(tables: Tables) -> None:
    report = REPORT.format(**{**USUAL, "torch": "N/A", "cuda": "N/A"})
    both = "[pip3] numpy==1.26.4\n[conda] Could not collect\n"
    assert facts_from(report + both, tables=tables).torch.installed is False
    assert seen(facts_from(report + "[pip3] numpy==1.26.4\n", tables=tables), {"torch.installed": "?"}) == {
        "torch.installed": "?"
    }
    assert facts_from(report + both, "torch==2.5.1\n", tables=tables).torch.installed is True


def test_of_two_reports_the_fuller_one_is_read_and_never_a_mixture(tables: Tables) -> None:
    short = "Collecting environment information...\nPyTorch version: 1.13.1+cu117\nCUDA used to build PyTorch: 11.7\n"
    facts = facts_from(
        f"it worked before:\n{short}\n\nnow:\nCollecting environment information...\n{REPORT.format(**USUAL)}",
        tables=tables,
    )
    expected = {"torch.full": "2.5.1+cu124", "torch.cuda": "12.4", "driver.version": "550.54.15"}
    assert seen(facts, expected) == expected


def test_a_single_label_is_no_report_and_is_still_read(tables: Tables) -> None:
    facts = facts_from("PyTorch version: 2.4.0+cu121\nhello\n", tables=tables)
    assert seen(facts, {"torch.full": "2.4.0+cu121", "os.name": "?"}) == {"torch.full": "2.4.0+cu121", "os.name": "?"}


def test_lines_that_are_no_part_of_the_report_stay_messages(tables: Tables) -> None:
    facts = facts_from(
        "RuntimeError: boom\n" + REPORT.format(**USUAL) + "Process finished with exit code 0\n", tables=tables
    )
    assert facts.quoted.last_error == "RuntimeError: boom"
