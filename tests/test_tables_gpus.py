"""Look-ups over GPU names, PCI ids and the code that runs on each GPU."""

from __future__ import annotations

import pytest

from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion, GpuArch


@pytest.mark.parametrize(
    ("name", "capability"),
    [
        ("NVIDIA GeForce RTX 3090", "8.6"),
        ("GeForce RTX 3090", "8.6"),
        ("nvidia geforce rtx 3090", "8.6"),
        ("RTX 3090", "8.6"),
        ("RTX3090", "8.6"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "8.9"),
        ("GTX 1080Ti", "6.1"),
        ("A100", "8.0"),
        ("NVIDIA A100-SXM4-40GB", "8.0"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "8.0"),
        ("NVIDIA A100 80GB PCIe", "8.0"),
        ("NVIDIA A40-24Q", "8.6"),
        ("GRID T4-16Q", "7.5"),
        ("GRID RTXA6000-24C", "8.6"),
        ("Tesla V100-SXM2-32GB", "7.0"),
        ("T4", "7.5"),
        ("NVIDIA(R) GeForce(TM) RTX 4070", "8.9"),
        ("H100", "9.0"),
        ("NVIDIA H200", "9.0"),
        ("NVIDIA GH200 480GB", "9.0"),
        ("NVIDIA B200", "10.0"),
        ("NVIDIA GB200", "10.0"),
        ("B300", "10.3"),
        ("NVIDIA GB10", "12.1"),
        ("DGX Spark", "12.1"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "12.0"),
        ("RTX PRO 6000", "12.0"),
        ("RTX 6000 Ada", "8.9"),
        ("Quadro RTX 6000", "7.5"),
        ("Orin (nvgpu)", "8.7"),
        ("NVIDIA Jetson AGX Orin Developer Kit", "8.7"),
        ("Jetson Orin Nano", "8.7"),
        ("NVIDIA Thor", "11.0"),
        ("Jetson AGX Thor", "11.0"),
        ("Xavier", "7.2"),
        ("Jetson Nano", "5.3"),
        ("Tesla V100-SXM2...", "7.0"),
        ("NVIDIA GeForce RTX 4070 Lap...", "8.9"),
        ("GeForce GT 540M", "2.1"),
        ("Quadro 6000", "2.0"),
    ],
)
def test_a_gpu_by_name(tables: Tables, name: str, capability: str) -> None:
    model = tables.gpu_models.by_name(name)
    assert model is not None
    assert str(model.compute_capability) == capability


@pytest.mark.parametrize(
    ("name", "capabilities"),
    [
        ("GT 730", ["3.0", "3.5"]),
        ("NVIDIA GeForce GTX 860M", ["3.0", "5.0"]),
        ("GeForce GTX 860M", ["3.0", "5.0"]),
        ("NVIDIA GeForce GTX 750", ["5.0", "5.2"]),
        ("RTX 6000", ["7.5", "8.9"]),
        ("TITAN X", ["5.2", "6.1"]),
    ],
)
def test_a_name_of_several_chips_decides_nothing(tables: Tables, name: str, capabilities: list[str]) -> None:
    model = tables.gpu_models.by_name(name)
    assert model is not None
    assert model.compute_capability is None
    assert [str(arch) for arch in model.capabilities] == capabilities


@pytest.mark.parametrize("name", ["NVIDIA GeForce ...", "NVIDIA", "", "Radeon RX 7900 XTX", "RTX 9999", "NVIDIA ..."])
def test_an_unknown_or_cut_name_gives_nothing(tables: Tables, name: str) -> None:
    assert tables.gpu_models.by_name(name) is None


@pytest.mark.parametrize(
    ("device_id", "name", "capability"),
    [
        ("2684", "NVIDIA GeForce RTX 4090", "8.9"),
        ("0x2B85", "NVIDIA GeForce RTX 5090", "12.0"),
        ("2e12", "NVIDIA GB10", "12.1"),
        ("0FC9", "GeForce GT 730", "3.0"),
        ("1287", "GeForce GT 730", "3.5"),
        ("1407", "NVIDIA GeForce GTX 750", "5.2"),
        ("119A", "GeForce GTX 860M", "3.0"),
    ],
)
def test_a_pci_id_decides_what_a_name_cannot(tables: Tables, device_id: str, name: str, capability: str) -> None:
    model = tables.gpu_models.by_pci(device_id)
    assert model is not None
    assert (model.name, str(model.compute_capability)) == (name, capability)


def test_gpus_in_general(tables: Tables) -> None:
    models = tables.gpu_models
    assert len(models.rows) == 560
    assert models.by_pci("FFFF") is None
    assert "NVIDIA GeForce RTX 3090" in models.suggest("3090")
    assert models.suggest("GeForce RTX 4900") != []
    exact = models.by_name("NVIDIA GH200 480GB")
    assert exact is not None
    assert exact.name == "NVIDIA GH200 480GB"
    assert {row.name for row in models.rows if row.tegra} >= {"Orin (nvgpu)", "NVIDIA Thor", "Xavier"}


@pytest.mark.parametrize(
    ("code", "device", "cuda", "covered"),
    [
        ("8.6", "8.9", "12.6", True),
        ("8.0", "8.6", "12.6", True),
        ("8.6", "8.0", "12.6", False),
        ("7.0", "7.5", "12.6", True),
        ("6.0", "6.1", "12.6", True),
        ("5.0", "5.2", None, True),
        ("9.0", "10.0", "12.8", False),
        ("10.0", "10.3", "13.0", True),
        ("10.0", "10.1", "12.8", False),
        ("12.0", "12.1", "13.0", True),
        ("11.0", "10.1", "13.0", True),
        ("10.1", "11.0", "12.9", True),
        ("5.0", "5.3", "12.6", False),
        ("6.0", "6.2", "13.4", False),
        ("7.0", "7.2", "12.6", False),
        ("7.0", "7.2", "13.2", True),
        ("8.0", "8.7", "13.0", False),
        ("8.0", "8.7", "13.2", True),
        ("8.0", "8.7", None, False),
        ("8.7", "8.7", "12.6", True),
        ("3.7", "3.7", "11.8", True),
        ("99.0", "99.0", "13.0", False),
    ],
)
def test_which_code_runs_on_which_gpu(tables: Tables, code: str, device: str, cuda: str | None, covered: bool) -> None:
    version = CudaVersion.parse(cuda) if cuda else None
    assert tables.coverage.covers(GpuArch.parse(code), GpuArch.parse(device), version) is covered


@pytest.mark.parametrize(
    ("codes", "ptx", "device", "cuda", "driver_cuda", "how"),
    [
        ("8.0 8.6", "", "8.9", "12.6", None, "native"),
        ("7.5 12.0", "12.0", "12.1", "12.8", "12.4", "native"),
        ("7.5 8.6", "8.6", "12.0", "12.8", "12.8", "ptx"),
        ("7.5 8.6", "8.6", "12.0", "12.8", "13.0", "ptx"),
        ("7.5 8.6", "8.6", "12.0", "12.8", "12.4", ""),
        ("7.5 8.6", "8.6", "12.0", "12.8", None, ""),
        ("7.5 8.6", "8.6", "12.0", None, "13.0", ""),
        ("9.0", "9.0", "8.6", "12.8", "13.0", ""),
        ("8.0", "8.0", "8.7", "12.6", "12.6", ""),
        ("9.0", "8.0", "8.7", "13.2", "13.2", "ptx"),
        ("", "", "8.6", "12.6", "13.0", ""),
    ],
)
def test_how_a_build_serves_a_gpu(
    tables: Tables, codes: str, ptx: str, device: str, cuda: str | None, driver_cuda: str | None, how: str
) -> None:  # fmt: skip
    code, jit = ([GpuArch.parse(part) for part in text.split()] for text in (codes, ptx))
    made, speaks = (CudaVersion.parse(text) if text else None for text in (cuda, driver_cuda))
    assert tables.coverage.serves(code, jit, GpuArch.parse(device), made, speaks) == how


def test_tegra_chips(tables: Tables) -> None:
    tegra = {
        arch for arch in ("5.3", "6.2", "7.2", "8.7", "10.1", "11.0") if tables.coverage.is_tegra(GpuArch.parse(arch))
    }
    assert tegra == {"5.3", "6.2", "7.2", "8.7", "10.1", "11.0"}
    assert not any(tables.coverage.is_tegra(GpuArch.parse(arch)) for arch in ("5.2", "7.5", "8.6", "9.0", "12.1"))


@pytest.mark.parametrize(
    ("name", "pci_id", "gfx"),
    [
        ("AMD Radeon RX 7900 XTX", "", "gfx1100"),
        ("Radeon (TM) Pro WX 5100 Graphics", "", "gfx803"),
        ("RX 6800", "", "gfx1030"),
        ("MI300X", "", "gfx942"),
        ("Radeon RX 7900 XT/7900 XTX/7900M", "", "gfx1100"),  # one chip, as lspci lists it
        ("Barcelo", "", "gfx90c"),
        ("AMD Radeon Graphics", "", None),  # many chips
        ("AMD Radeon Graphics", "0x164E", "gfx1036"),
        ("Radeon RX 9999", "", None),
        ("", "", None),
    ],
)
def test_the_gfx_id_of_an_amd_gpu(tables: Tables, name: str, pci_id: str, gfx: str | None) -> None:
    found = tables.amd_gpus.gfx(name, pci_id)
    assert (str(found) if found else None) == gfx
