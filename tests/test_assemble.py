"""Statements to facts: who wins, how lists merge, and how several views of the GPUs become one."""

from __future__ import annotations

import pytest

from torchdoctor.facts import ErrorText, Facts, Gpu, Package, Packages, Quoted, Request, Unknown, Variables
from torchdoctor.readers.assemble import PATHS, assemble
from torchdoctor.readers.gpu_views import merge_views
from torchdoctor.readers.statement import Said
from torchdoctor.records import fields
from torchdoctor.values import DriverVersion, GpuArch

A10 = Gpu(vendor="nvidia", name="NVIDIA A10", driver_sees=True, pci_address="0000:01:00.0")
T4 = Gpu(vendor="nvidia", name="Tesla T4", driver_sees=True, pci_address="0000:02:00.0")
BUS_A10 = Gpu(vendor="nvidia", pci_id="2236", pci_address="0000:01:00.0", kernel_driver="nvidia")
BUS_T4 = Gpu(vendor="nvidia", pci_id="1EB8", pci_address="0000:02:00.0", kernel_driver="nvidia")
BUS_AMD = Gpu(vendor="amd", pci_id="73DF", pci_address="0000:0a:00.0", kernel_driver="amdgpu")


def gpus_of(*views: tuple[Gpu, ...], **driver: object) -> object:
    said = [Said(f"driver.{name}", value, "x") for name, value in driver.items()]
    return assemble([*said, *(Said("gpus", view, f"file line {place}") for place, view in enumerate(views))]).gpus


def listed(*views: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    merged = merge_views(views)
    assert isinstance(merged, tuple)
    return merged


def test_the_first_value_holds_and_keeps_its_source() -> None:
    facts = assemble([Said("os.name", "linux", "a"), Said("os.name", "windows", "b")])
    assert (facts.os.name, facts.source("os.name")) == ("linux", "a")


def test_none_holds_only_when_nobody_says_a_value() -> None:
    version = DriverVersion.parse("550.54.15")
    facts = assemble([Said("driver.version", None, "a"), Said("driver.version", version, "b")])
    assert (facts.driver.version, facts.source("driver.version")) == (version, "b")
    assert assemble([Said("driver.version", None, "a")]).driver.version is None
    assert isinstance(assemble([]).driver.version, Unknown)


def test_torch_seen_anywhere_is_installed() -> None:
    facts = assemble([Said("torch.installed", False, "a"), Said("torch.installed", True, "b")])
    assert facts.torch.installed is True


@pytest.mark.parametrize("path", ["driver.versoin", "nothing", "gpus.name", "os", "request.require_gpu", ""])
def test_a_statement_about_no_fact_is_our_mistake(path: str) -> None:
    with pytest.raises(ValueError, match="no fact"):
        assemble([Said(path, "x", "here")])


def test_every_fact_can_be_said() -> None:
    groups = {field.name for field in fields(Facts)} - {"gpus", "packages", "env", "quoted", "request", "sources"}
    assert {path.split(".")[0] for path in PATHS} == groups
    for path in PATHS:
        assert assemble([Said(path, None, "here")]).source(path) == "here"


def test_the_request_is_handed_on() -> None:
    assert assemble([], Request(require_gpu=True)).request.require_gpu


def test_quoted_errors_and_kernel_lines_are_joined() -> None:
    one, two = ErrorText("a", "A", "x line 1"), ErrorText("b", "B", "y line 1")
    facts = assemble(
        [
            Said("quoted", Quoted((one,), "A"), "x"),
            Said("quoted", Quoted((two, one), "B"), "y"),
            Said("driver.kernel_log", ("NVRM: 1",), "x"),
            Said("driver.kernel_log", ("NVRM: 2",), "y"),
        ]
    )
    assert facts.quoted == Quoted((one, two), "B")
    assert facts.driver.kernel_log == ("NVRM: 1", "NVRM: 2")


def test_variables_are_merged_and_the_first_value_holds() -> None:
    facts = assemble(
        [
            Said("env", Variables({"CUDA_VISIBLE_DEVICES": "0"}), "a"),
            Said("env", Variables({"CUDA_VISIBLE_DEVICES": "1", "CUDA_HOME": "/x"}, complete=True), "b"),
        ]
    )
    assert facts.env == Variables({"CUDA_VISIBLE_DEVICES": "0", "CUDA_HOME": "/x"}, complete=True)


def test_packages_are_merged() -> None:
    from_pip = Packages((Package(name="torch", version="2.1.0"), Package(name="numpy", version="1.26.4")))
    from_conda = Packages(
        (
            Package(name="numpy", version="1.26.4", owner="conda", build="py310_0"),
            Package(name="torch", version="2.2.0", owner="pip"),
        ),
        complete=True,
    )
    merged = assemble([Said("packages", from_pip, "a"), Said("packages", from_conda, "b")]).packages
    assert merged.complete
    assert [(item.name, item.version) for item in merged.items] == [
        ("torch", "2.1.0"),
        ("numpy", "1.26.4"),
        ("torch", "2.2.0"),
    ]
    assert (merged.items[1].owner, merged.items[1].build) == ("conda", "py310_0")


def test_one_package_in_two_places_stays_twice() -> None:
    places = [Packages((Package(name="torch", version="2.1.0", location=place),)) for place in ("/a", "/b", "/a")]
    assert len(assemble([Said("packages", item, "x") for item in places]).packages.items) == 2


def test_views_are_joined_by_their_address() -> None:
    merged = gpus_of((A10, T4), (BUS_T4, BUS_A10))
    assert isinstance(merged, tuple)
    assert [(gpu.name, gpu.pci_id, gpu.driver_sees) for gpu in merged] == [
        ("NVIDIA A10", "2236", True),
        ("Tesla T4", "1EB8", True),
    ]


def test_a_gpu_of_the_bus_that_the_driver_does_not_list_is_not_seen() -> None:
    merged = gpus_of((A10,), (BUS_A10, BUS_T4, BUS_AMD))
    assert isinstance(merged, tuple)
    assert [(gpu.pci_id, gpu.driver_sees) for gpu in merged[:2]] == [("2236", True), ("1EB8", False)]
    assert isinstance(merged[2].driver_sees, Unknown), "NVIDIA's driver says nothing of an AMD GPU"


@pytest.mark.parametrize(
    ("views", "driver", "seen"),
    [
        (((BUS_T4,),), {}, "?"),  # no view of the driver is known
        (((), (BUS_T4,)), {}, False),  # an empty list beside the bus is the driver's
        (((BUS_T4,),), {"version": None}, False),  # no driver is loaded
        (((), (BUS_T4,)), {"smi": "blocked"}, "?"),  # it could not answer
    ],
)
def test_when_a_gpu_of_the_bus_counts_as_unseen(
    views: tuple[tuple[Gpu, ...], ...], driver: dict[str, object], seen: object
) -> None:
    merged = gpus_of(*views, **driver)
    assert isinstance(merged, tuple)
    found = merged[0].driver_sees
    assert ("?" if isinstance(found, Unknown) else found) == seen


@pytest.mark.parametrize(
    ("views", "driver", "expected"),
    [
        ((), {}, "?"),
        (((),), {}, ()),
        (((),), {"smi": "no-devices"}, ()),
        (((),), {"smi": "no-driver", "version": None}, "?"),  # an empty list proves nothing when nobody could list
        (((),), {"smi": "unknown-error"}, "?"),
    ],
)
def test_when_there_is_no_gpu_at_all(
    views: tuple[tuple[Gpu, ...], ...], driver: dict[str, object], expected: object
) -> None:
    merged = gpus_of(*views, **driver)
    assert ("?" if isinstance(merged, Unknown) else merged) == expected


def test_an_empty_bus_of_a_live_host_is_certain() -> None:
    said = [Said("driver.smi", "no-driver", "nvidia-smi"), Said("gpus", (), "/sys/bus/pci")]
    assert assemble(said).gpus == ()


def test_names_fill_in_what_they_know_and_add_no_second_gpu() -> None:
    cut = Gpu(vendor="nvidia", driver_sees=True, pci_address="0000:01:00.0", memory=1)
    named = Gpu(vendor="nvidia", name="RTX 4060 Ti 16GB", compute_capability=GpuArch(8, 9))
    (merged,) = listed((cut,), (named,))
    assert (merged.name, merged.compute_capability, merged.memory) == ("RTX 4060 Ti 16GB", GpuArch(8, 9), 1)
    assert len(listed((A10, T4), (named,))) == 2
    assert len(listed((BUS_AMD,), (named,))) == 2, "another vendor's GPU is another GPU"


def test_gpus_that_cannot_be_one_are_never_joined() -> None:
    one = Gpu(vendor="nvidia", compute_capability=GpuArch(8, 6), driver_sees=True)
    other = Gpu(vendor="nvidia", compute_capability=GpuArch(7, 5), driver_sees=True)
    assert len(listed((one,), (other,))) == 2


def test_two_equal_gpus_stay_two() -> None:
    twin = Gpu(vendor="nvidia", name="Tesla T4", driver_sees=True)
    assert len(listed((twin, twin))) == 2
    assert len(listed((twin, twin), (twin,))) == 2
    assert len(listed((twin, twin), (twin, twin))) == 2


@pytest.mark.parametrize(
    ("views", "source"),
    [
        ([((), "nvidia-smi"), ((), "/sys/bus/pci")], "/sys/bus/pci"),
        ([((), "nvidia-smi")], "nvidia-smi"),
        ([((Gpu(vendor="nvidia", name="A"),), "nvidia-smi"), ((), "/sys/bus/pci")], "nvidia-smi"),
    ],
)
def test_an_empty_bus_counts_most_among_empty_lists(views: list[tuple[object, str]], source: str) -> None:
    assert assemble([Said("gpus", value, at) for value, at in views]).source("gpus") == source
