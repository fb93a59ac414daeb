"""What follows from the tables, and what must stay unknown."""

from __future__ import annotations

import pytest
from reading import fact, facts_from, seen

from torchdoctor.facts import Gpu, Unknown
from torchdoctor.readers.assemble import assemble
from torchdoctor.readers.derive import derive
from torchdoctor.readers.statement import Said
from torchdoctor.tables import Tables
from torchdoctor.values import Build, CudaVersion, GfxId, Libc, PythonTag, Version

Values = dict[str, object]


def derived(values: Values, tables: Tables, *gpus: Gpu) -> dict[str, str]:
    said = [Said(path, value, "here") for path, value in values.items()]
    if gpus:
        said.append(Said("gpus", gpus, "here"))
    facts = derive(assemble(said), tables)
    paths = {
        "torch.build", "torch.cuda", "torch.origin", "os.name", "os.machine", "os.libc", "python.tag", "place.jetpack",
        "place.l4t", "place.wsl", "place.rosetta",
    }  # fmt: skip
    return {path: fact(facts, path) for path in sorted(paths) if fact(facts, path) != "?"}


@pytest.mark.parametrize(
    ("gpu", "capability"),
    [
        (Gpu(vendor="nvidia", name="NVIDIA GeForce RTX 3090"), "8.6"),
        (Gpu(name="GeForce GTX 1080 Ti"), "6.1"),
        (Gpu(vendor="nvidia", name="GeForce GT 730"), "?"),  # one name, two chips
        (Gpu(vendor="nvidia", name="GeForce GT 730", pci_id="1287"), "3.5"),  # the id tells them apart
        (Gpu(vendor="nvidia", pci_id="2684"), "8.9"),
        (Gpu(vendor="nvidia", name="NVIDIA Something 9999"), "?"),
        (Gpu(vendor="amd", name="Radeon RX 7900 XTX"), "?"),
    ],
)
def test_the_capability_of_a_gpu(gpu: Gpu, capability: str, tables: Tables) -> None:
    facts = derive(assemble([Said("gpus", (gpu,), "here")]), tables)
    assert fact(facts, "gpus[0].compute_capability") == capability
    if capability != "?":
        assert facts.source("gpus[0].compute_capability").startswith("gpu_models: ")
        assert fact(facts, "gpus[0].vendor") == "nvidia"
        assert fact(facts, "gpus[0].name") != "?"


@pytest.mark.parametrize(
    ("gpu", "gfx", "source"),
    [
        (Gpu(vendor="amd", name="Radeon RX 7900 XTX"), "gfx1100", "amd_gpus: Radeon RX 7900 XTX"),
        (Gpu(vendor="amd", name="AMD Radeon Graphics"), "?", ""),
        (Gpu(vendor="amd", name="Radeon RX 7900 XTX", gfx=GfxId("gfx1101")), "gfx1101", ""),  # what is printed counts
    ],
)
def test_the_gfx_id_of_a_gpu(gpu: Gpu, gfx: str, source: str, tables: Tables) -> None:
    facts = derive(assemble([Said("gpus", (gpu,), "here")]), tables)
    assert fact(facts, "gpus[0].gfx") == gfx
    assert facts.source("gpus[0].gfx") == source


LINUX: Values = {"os.name": "linux", "os.machine": "x86_64"}
PLAIN: Values = {"torch.installed": True, "torch.version": "2.9.1", "torch.full": "2.9.1"}


@pytest.mark.parametrize(
    ("values", "build"),
    [
        ({**PLAIN, **LINUX}, "cu128"),
        ({**PLAIN, "os.name": "linux", "os.machine": "aarch64"}, "cpu"),
        ({**PLAIN, "os.name": "linux"}, "?"),  # x86-64 and Arm differ
        ({**PLAIN, "os.name": "windows"}, "cpu"),  # every Windows wheel of PyPI is a CPU one
        ({**PLAIN, "os.name": "macos", "os.machine": "arm64"}, "mps"),
        (PLAIN, "?"),
        ({**PLAIN, **LINUX, "torch.build": Build("cu126")}, "cu126"),
        ({**PLAIN, **LINUX, "torch.cuda": CudaVersion(12, 6)}, "cu126"),
        ({**PLAIN, **LINUX, "torch.owner": "conda"}, "?"),
        ({**PLAIN, **LINUX, "place.jetpack": "6.2"}, "?"),
        ({**PLAIN, **LINUX, "torch.version": "2.9.1.dev1", "torch.full": "2.9.1.dev1"}, "?"),
        ({**PLAIN, **LINUX, "torch.full": "2.9.1+git123"}, "?"),
        ({**PLAIN, **LINUX, "torch.installed": False}, "?"),
        ({**PLAIN, "os.name": "windows", "torch.cuda": None, "torch.hip": None}, "cpu"),
    ],
)
def test_the_build_of_a_version_without_suffix(values: Values, build: str, tables: Tables) -> None:
    assert derived(values, tables).get("torch.build", "?") == build


def test_a_derived_build_names_its_row(tables: Tables) -> None:
    said = [Said(path, value, "here") for path, value in {**PLAIN, **LINUX}.items()]
    facts = derive(assemble(said), tables)
    assert facts.source("torch.build") == "torch_builds: 2.9.1+cu128 linux x86_64"
    assert (fact(facts, "torch.origin"), fact(facts, "torch.cuda")) == ("pypi", "12.8")


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"os.name": "linux", "os.distribution": "Ubuntu 22.04.4 LTS"}, {"os.libc": "glibc-2.35"}),
        ({"os.name": "linux", "os.distribution": "Alpine Linux v3.18"}, {"os.libc": "musl"}),
        ({"os.distribution": "Ubuntu 22.04", "os.libc": Libc("glibc", Version((2, 31)))}, {"os.libc": "glibc-2.31"}),
        ({"place.l4t": "36.4.3"}, {"place.jetpack": "6.2", "os.name": "linux", "os.machine": "aarch64"}),
        ({"place.jetpack": "5.1.2"}, {"os.name": "linux", "os.machine": "aarch64"}),
        ({"place.wsl": 2}, {"os.name": "linux"}),
        ({"os.name": "windows"}, {"place.wsl": "None", "place.jetpack": "None", "place.rosetta": "False"}),
        ({"os.name": "linux", "os.machine": "arm64"}, {"os.machine": "aarch64"}),
        ({"os.name": "macos", "os.machine": "aarch64"}, {"os.machine": "arm64"}),
        ({"python.version": Version((3, 12, 4))}, {"python.tag": "3.12"}),
        (
            {"python.version": Version((3, 13, 1)), "python.tag": PythonTag(3, 13, free_threaded=True)},
            {"python.tag": "3.13t"},
        ),
        ({"python.version": Version((3, 12, 4)), "python.tag": PythonTag(3, 10)}, {"python.tag": "3.12"}),
        (
            {"os.name": "macos", "os.machine": "arm64", "python.machine": "x86_64"},
            {"place.rosetta": "True"},
        ),
        ({"os.name": "linux", "python.machine": "x86_64"}, {"os.machine": "x86_64", "place.l4t": "None"}),
        ({"torch.origin": "nvidia", "place.jetpack": "6.2"}, {"torch.origin": "jetson"}),
    ],
)
def test_what_else_follows(values: Values, expected: dict[str, str], tables: Tables) -> None:
    found = derived(values, tables)
    assert {path: found.get(path, "?") for path in expected} == expected


def test_a_jetsons_release_from_its_own_driver_number_only(tables: Tables) -> None:
    text = "| NVIDIA-SMI 540.4.0   Driver Version: 540.4.0   CUDA Version: 12.6 |\nGPU 0: {name} (UUID: GPU-0)\n"
    orin = facts_from(text.format(name="Orin (nvgpu)"), tables=tables)
    desktop = facts_from(text.format(name="NVIDIA GeForce RTX 3090"), tables=tables)
    assert seen(orin, {"os.machine": "aarch64"}) == {"os.machine": "aarch64"}
    assert isinstance(orin.place.jetpack, str)
    assert isinstance(desktop.place.jetpack, Unknown)


def test_nothing_follows_from_nothing(tables: Tables) -> None:
    assert derived({}, tables) == {}


def test_what_was_read_is_never_overruled(tables: Tables) -> None:
    gpu = Gpu(vendor="nvidia", name="NVIDIA GeForce RTX 3090")
    values: Values = {"os.distribution": "Ubuntu 22.04", "os.libc": None, "place.jetpack": "6.0", "place.l4t": "36.4.3"}
    found = derived(values, tables, gpu)
    assert (found["os.libc"], found["place.jetpack"]) == ("None", "6.0")


def test_prints_of_one_torch_are_joined_and_of_another_left_out(tables: Tables) -> None:
    same = facts_from("torch==2.9.1\n", ">>> torch.__version__\n'2.9.1+cpu'\n", tables=tables)
    assert seen(same, {"torch.full": "2.9.1+cpu", "torch.build": "cpu", "torch.origin": "pypi"}) == {
        "torch.full": "2.9.1+cpu",
        "torch.build": "cpu",
        "torch.origin": "pypi",
    }
    other = facts_from("torch==2.9.1\n", ">>> torch.__version__\n'2.4.1+cpu'\n", tables=tables)
    assert seen(other, {"torch.full": "2.9.1", "torch.build": "?"}) == {"torch.full": "2.9.1", "torch.build": "?"}
