"""nvidia-smi in all its forms: every stored sample, cut tables, mixed texts, and failures."""

from __future__ import annotations

import pytest
from conftest import DATA
from reading import facts_from, seen, stored

from torchdoctor.facts import Gpu
from torchdoctor.readers.nvidia_smi import read_smi
from torchdoctor.tables import Tables

MIB = 1024 * 1024

# file: (facts, GPUs as "name | compute capability | address | MiB | MIG | sick")
SAMPLES: dict[str, tuple[dict[str, str], list[str]]] = {
    "smi_390_no_cuda_field.txt": (
        {"driver.version": "390.157", "driver.cuda_shown": "?", "os.name": "linux", "driver.smi": "ok"},
        ["GeForce GT 730 | ? | 0000:01:00.0 | 2001 | ? | None"],
    ),
    "smi_470_tesla_k80.txt": (
        {"driver.version": "470.256.02", "driver.cuda_shown": "11.4"},
        ["Tesla K80 | 3.7 | 0000:00:1e.0 | 11441 | ? | None"],
    ),
    "smi_525_two_3090_name_truncated.txt": (
        {"driver.version": "525.147.05", "driver.cuda_shown": "12.0"},
        ["? | ? | 0000:21:00.0 | 24576 | ? | None", "? | ? | 0000:4b:00.0 | 24576 | ? | None"],
    ),
    "smi_535_t4.txt": (
        {"driver.version": "535.309.01", "driver.cuda_shown": "12.2"},
        ["Tesla T4 | 7.5 | 0000:00:04.0 | 15360 | ? | None"],
    ),
    "smi_535_container_cuda_na.txt": (
        {"driver.version": "535.183.01", "driver.cuda_shown": "None", "driver.smi": "ok"},
        ["NVIDIA RTX A5000 | 8.6 | 0000:65:00.0 | 24564 | ? | None"],
    ),
    "smi_550_h100_mig.txt": (
        {"driver.version": "550.163.01", "driver.cuda_shown": "12.4"},
        [
            "NVIDIA H100 80GB HBM3 | 9.0 | 0000:19:00.0 | ? | enabled | None",
            "NVIDIA H100 80GB HBM3 | 9.0 | 0000:3b:00.0 | 81559 | disabled | None",
        ],
    ),
    "smi_570_rtx5090.txt": (
        {"driver.version": "570.211.01", "driver.cuda_shown": "12.8"},
        ["NVIDIA GeForce RTX 5090 | 12.0 | 0000:01:00.0 | 32607 | ? | None"],
    ),
    "smi_580_gtx1080ti.txt": (
        {"driver.version": "580.178.04", "driver.cuda_shown": "13.0"},
        ["NVIDIA GeForce GTX 1080 Ti | 6.1 | 0000:0a:00.0 | 11264 | ? | None"],
    ),
    "smi_580_gb10_dgx_spark.txt": (
        {"driver.version": "580.142", "driver.cuda_shown": "13.0", "place.jetpack": "?"},
        ["NVIDIA GB10 | 12.1 | 000f:01:00.0 | ? | ? | None"],
    ),
    "smi_610_b200.txt": (
        {"driver.version": "610.43.02", "driver.cuda_shown": "13.3", "driver.library_version": "610.43.02"},
        [
            "NVIDIA B200 | 10.0 | 0000:63:00.0 | 183359 | disabled | None",
            "NVIDIA B200 | 10.0 | 0000:68:00.0 | 183359 | disabled | None",
        ],
    ),
    "smi_615_rtx4090.txt": (
        {"driver.version": "615.71.09", "driver.cuda_shown": "13.4", "place.wsl": "?"},
        ["NVIDIA GeForce RTX 4090 | 8.9 | 0000:01:00.0 | 24564 | ? | None"],
    ),
    "smi_windows_wddm_595.txt": (
        {"driver.version": "596.21", "driver.cuda_shown": "13.2", "os.name": "windows", "place.wsl": "None"},
        ["? | 8.9 | 0000:01:00.0 | 8188 | ? | None"],
    ),
    "smi_wsl_two_versions.txt": (
        {"driver.version": "582.28", "driver.library_version": "580.126.09", "place.wsl": "2", "os.name": "linux"},
        ["NVIDIA GeForce RTX 3080 | 8.6 | 0000:2d:00.0 | 10240 | ? | None"],
    ),
    "smi_jetson_orin_540.txt": (
        {"driver.cuda_shown": "12.6", "os.machine": "aarch64", "os.name": "linux", "driver.smi": "ok"},
        ["Orin (nvgpu) | 8.7 | ? | ? | ? | None"],
    ),
    "smi_550_vgpu_guest.txt": (
        {"driver.version": "550.163.01"},
        ["NVIDIA A10-24Q | 8.6 | 0000:02:02.0 | 24576 | ? | None"],
    ),
    "smi_535_err_row.txt": (
        {"driver.version": "535.288.01", "driver.smi": "ok"},
        [
            "NVIDIA A100-SXM4-80GB | 8.0 | 0000:07:00.0 | 81920 | disabled | None",
            "NVIDIA A100-SXM4-80GB | 8.0 | 0000:0f:00.0 | 81920 | ? | ERR!",
        ],
    ),
    "fail_rc09_no_driver.txt": (
        {"driver.smi": "no-driver", "driver.version": "None", "driver.module_loaded": "False", "gpus": "?"},
        [],
    ),
    "fail_rc12_no_nvml.txt": ({"driver.smi": "no-nvml", "driver.version": "?", "gpus": "?"}, []),
    "fail_rc18_version_mismatch.txt": (
        {"driver.smi": "version-mismatch", "driver.library_version": "535.161", "driver.module_loaded": "True"},
        [],
    ),
    "fail_rc04_permission.txt": ({"driver.smi": "permission", "driver.version": "?", "gpus": "?"}, []),
    "fail_rc17_blocked.txt": ({"driver.smi": "blocked", "driver.version": "?", "gpus": "?"}, []),
    "fail_rc15_gpu_lost.txt": ({"driver.smi": "gpu-lost", "driver.module_loaded": "True", "gpus": "?"}, []),
    "fail_rc255_unknown.txt": ({"driver.smi": "unknown-error", "driver.version": "?", "gpus": "?"}, []),
    "fail_rc255_no_supported_gpus_r580.txt": (
        {"driver.smi": "no-supported-gpus", "driver.module_loaded": "True", "gpus": "()"},
        [],
    ),
    "fail_no_devices_were_found.txt": (
        {"driver.smi": "no-devices", "driver.module_loaded": "True", "driver.version": "?", "gpus": "()"},
        [],
    ),
    "fail_gpu_lost_handle.txt": ({"driver.smi": "gpu-lost"}, ["? | ? | 0000:0b:00.0 | ? | ? | lost"]),
    "fail_wsl_shutdown_pair.txt": ({"driver.smi": "blocked"}, []),
    "csv_query_modern.txt": (
        {"driver.version": "580.142", "driver.smi": "ok"},
        [
            "NVIDIA GeForce RTX 4090 | 8.9 | 0000:01:00.0 | 24564 | ? | None",
            "NVIDIA GeForce RTX 3060 | 8.6 | 0000:05:00.0 | 12288 | ? | None",
        ],
    ),
    "csv_query_gb10_na.txt": ({"driver.smi": "ok", "driver.version": "?"}, ["NVIDIA GB10 | 12.1 | ? | ? | ? | None"]),
    "csv_query_470_bad_field.txt": ({"driver.smi": "?", "driver.version": "?", "gpus": "?"}, []),
    "list_gpus_mig.txt": (
        {"driver.smi": "ok", "driver.version": "?"},
        ["NVIDIA H100 80GB HBM3 | 9.0 | ? | ? | enabled | ?", "NVIDIA H100 80GB HBM3 | 9.0 | ? | ? | ? | ?"],
    ),
    "query_q_610_head.txt": (
        {"driver.version": "610.47", "driver.cuda_shown": "13.3"},
        ["NVIDIA GeForce RTX 5070 Ti | 12.0 | 0000:01:00.0 | ? | ? | None"],
    ),
    "query_q_x_550.xml": (
        {"driver.version": "550.163.01", "driver.cuda_shown": "12.4"},
        ["NVIDIA GeForce RTX 3060 | 8.6 | 0000:01:00.0 | 12288 | None | None"],
    ),
}


def described(gpu: Gpu) -> str:
    memory = gpu.memory // MIB if isinstance(gpu.memory, int) else gpu.memory
    values = (gpu.name, gpu.compute_capability, gpu.pci_address, memory, gpu.mig, gpu.sick)
    return " | ".join("?" if type(value).__name__ == "Unknown" else str(value) for value in values)


def test_every_stored_sample_has_an_expectation() -> None:
    assert set(SAMPLES) == {path.name for path in (DATA / "nvidia_smi").iterdir()}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name: str, tables: Tables) -> None:
    expected, gpus = SAMPLES[name]
    facts = facts_from(stored(f"nvidia_smi/{name}"), tables=tables)
    assert seen(facts, expected) == expected
    listed = facts.gpus if isinstance(facts.gpus, tuple) else ()
    assert [described(gpu) for gpu in listed] == gpus


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_in_the_middle_of_something_else(name: str, tables: Tables) -> None:
    """Prompts, quote marks and a log around it change nothing."""
    expected, gpus = SAMPLES[name]
    quoted = "\n".join(f"> {line}" for line in stored(f"nvidia_smi/{name}").split("\n"))
    facts = facts_from(f"Hello, it fails:\n\n> $ nvidia-smi\n{quoted}\n\nepoch 1 loss 0.5\n", tables=tables)
    assert seen(facts, expected) == expected
    listed = facts.gpus if isinstance(facts.gpus, tuple) else ()
    assert [described(gpu) for gpu in listed] == gpus


def test_a_table_without_its_header_still_lists_gpus(tables: Tables) -> None:
    lines = stored("nvidia_smi/smi_615_rtx4090.txt").split("\n")
    facts = facts_from("\n".join(lines[7:]), tables=tables)
    assert seen(facts, {"driver.version": "?", "gpus[0].name": "NVIDIA GeForce RTX 4090"}) == {
        "driver.version": "?",
        "gpus[0].name": "NVIDIA GeForce RTX 4090",
    }


def test_a_header_without_its_table_still_gives_the_driver(tables: Tables) -> None:
    lines = stored("nvidia_smi/smi_615_rtx4090.txt").split("\n")
    facts = facts_from("\n".join(lines[:3]), tables=tables)
    expected = {"driver.version": "615.71.09", "driver.cuda_shown": "13.4", "gpus": "?"}
    assert seen(facts, expected) == expected


MIG_TABLE = stored("nvidia_smi/smi_550_h100_mig.txt")


@pytest.mark.parametrize(
    ("text", "mig"),
    [
        (MIG_TABLE, "enabled"),
        (MIG_TABLE.partition("| MIG devices")[0], "enabled"),
        (
            MIG_TABLE.replace("|  0    1   0   0  |", "|  1    1   0   0  |").replace("|  0    5", "|  1    5"),
            "enabled-without-instance",
        ),
        (MIG_TABLE.partition("|  0    1")[0] + "|  No MIG devices found |", "enabled-without-instance"),
    ],
)
def test_mig_without_an_instance_is_told_apart(text: str, mig: str, tables: Tables) -> None:
    assert seen(facts_from(text, tables=tables), {"gpus[0].mig": mig}) == {"gpus[0].mig": mig}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("driver_version\n535.54.03\n535.54.03", {"driver.version": "535.54.03"}),
        ("name\nNVIDIA A100-PCIE-40GB", {"gpus[0].name": "NVIDIA A100-PCIE-40GB", "gpus[0].compute_capability": "8.0"}),
        ("compute_cap\n7.5", {"gpus[0].compute_capability": "7.5", "gpus[0].name": "?"}),
        (
            "NVIDIA GeForce RTX 3060, 535.171.04, 12288 MiB",
            {"driver.version": "535.171.04", "gpus[0].memory": str(12288 * MIB)},
        ),
        (
            "index, name, pci.device_id, mig.mode.current\n0, NVIDIA H100 PCIe, 0x233110DE, Enabled",
            {"gpus[0].pci_id": "2331", "gpus[0].mig": "enabled"},
        ),
        ("name, memory.total [MiB]\nNVIDIA A10, [GPU requires reset]", {"gpus[0].sick": "requires reset"}),
        ("pid, used_gpu_memory [MiB]\n3794364, 5144 MiB", {"gpus": "?", "driver.smi": "?"}),
        ("The NVIDIA RTX A6000, 48 GB, is what I have", {"driver.smi": "?"}),
        ("name\nvalue", {"gpus": "?", "driver.smi": "?"}),
    ],
)
def test_csv_is_read_by_its_columns(text: str, expected: dict[str, str], tables: Tables) -> None:
    assert seen(facts_from(text, tables=tables), expected) == expected


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("Command 'nvidia-smi' not found, but can be installed with:", "not-found"),
        ("bash: nvidia-smi: command not found", "not-found"),
        ("'nvidia-smi' is not recognized as an internal or external command,", "not-found"),
        ("Failed to initialize NVML: Driver/library version mismatch", "version-mismatch"),
    ],
)
def test_failures_are_recognised_in_a_log(text: str, outcome: str, tables: Tables) -> None:
    facts = facts_from(f"$ nvidia-smi\n{text}\n$ ls\n", tables=tables)
    assert seen(facts, {"driver.smi": outcome}) == {"driver.smi": outcome}


def test_a_failure_in_a_container_counts_before_the_good_answer_of_its_host(tables: Tables) -> None:
    facts = facts_from(
        stored("nvidia_smi/smi_535_t4.txt"),
        "(container) $ nvidia-smi\nFailed to initialize NVML: Unknown Error",
        tables=tables,
    )
    expected = {"driver.smi": "unknown-error", "driver.version": "535.309.01", "gpus[0].name": "Tesla T4"}
    assert seen(facts, expected) == expected


def test_an_exit_status_decides_where_the_text_says_nothing(tables: Tables) -> None:
    first = next(read_smi("", "nvidia-smi", 9, tables))
    assert (first.path, first.value) == ("driver.smi", "no-driver")
    assert list(read_smi("", "nvidia-smi", 0, tables)) == []
    assert list(read_smi("anything", "nvidia-smi", None, None)) == []


def test_xml_never_follows_a_document_type(tables: Tables) -> None:
    """A billion laughs must stay a line of text."""
    bomb = "".join(f'<!ENTITY x{n} "{f"&x{n - 1};" * 10}">' for n in range(1, 12))
    text = stored("nvidia_smi/query_q_x_550.xml").replace(
        '<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">', f"<!DOCTYPE nvidia_smi_log [{bomb}]>"
    )
    text = text.replace("NVIDIA GeForce RTX 3060", "NVIDIA GeForce RTX 3060&x11;")
    facts = facts_from(text, tables=tables)
    assert len(facts.gpus[0].name) < 60  # type: ignore[index,arg-type]  # known in this text


@pytest.mark.parametrize("lines", range(3, 40, 4))
def test_cut_xml_gives_what_it_holds(lines: int, tables: Tables) -> None:
    cut = "\n".join(stored("nvidia_smi/query_q_x_550.xml").split("\n")[:lines])
    facts = facts_from(cut, tables=tables)
    version = "550.163.01" if lines > 4 else "?"
    assert seen(facts, {"driver.version": version}) == {"driver.version": version}
