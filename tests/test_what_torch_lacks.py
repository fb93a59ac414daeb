"""A torch whose CUDA packages are missing, or of another major, is not right: the line that brings them is printed."""

from __future__ import annotations

import pytest
from install_states import TABLES, Live
from packaging.specifiers import SpecifierSet

from torchdoctor.facts import Inside
from torchdoctor.inside import Linked
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.decide import Decision, decide
from torchdoctor.prescribe.host import host_of
from torchdoctor.prescribe.writing import Writing, writing_for
from torchdoctor.records import replace

CU126 = "torch==2.9.1+cu126 torchvision==0.24.1+cu126"
ASKS = ("filelock", 'nvidia-nccl-cu12==2.27.5; platform_system == "Linux"', "nvidia-cudnn-cu12==9.10.2.21")
NCCL, CUDNN = "nvidia-nccl-cu12==2.27.5", "nvidia-cudnn-cu12==9.10.2.21"
AGAIN = "/w/app/.venv/bin/python -m pip install torch==2.9.1+cu126 --index-url https://download.pytorch.org/whl/cu126"
OF_NCCL = "of another major version: nvidia-nccl-cu12"


def decided(live: Live, *, wish: Wish | None = None, linked: tuple[Linked, ...] = (), tool: str = "pip") -> Decision:
    facts = live.facts
    facts = replace(facts, torch=replace(facts.torch, requires=ASKS))
    if linked:
        facts = replace(facts, inside=Inside(linked=linked))
    return decide(host_of(facts, TABLES), wish or Wish(), writing_for(facts, Writing(tool=tool)), TABLES)


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        (f"{NCCL} {CUDNN}", ""),
        (f"nvidia-nccl-cu12==2.28.3 {CUDNN}", ""),  # a newer one serves as well
        (f"nvidia-nccl-cu12==2.21.5 {CUDNN}", ""),  # as the check has it: a warning
        (CUDNN, OF_NCCL),
        (f"nvidia-nccl-cu12==1.9.0 {CUDNN}", OF_NCCL),
        ("", f"{OF_NCCL}, nvidia-cudnn-cu12"),
    ],
)
@pytest.mark.parametrize("wish", [Wish(), Wish(torch=SpecifierSet("==2.9.1"), backend="cu126")])
def test_torch_is_right_with_what_it_loads(beside: str, said: str, wish: Wish) -> None:
    install = decided(Live(f"{CU126} {beside}"), wish=wish).install(explain=False)
    assert (install.torch, install.build, install.needed) == ("2.9.1", "cu126", bool(said))
    told = [str(item) for item in install.warnings if "these are missing" in str(item)]
    assert [line.endswith(said) for line in told] == [True] * bool(said)
    assert (install.commands == (AGAIN,)) is bool(said)


OTHERS = [
    Live(CU126, os="windows"),  # whose wheels hold all of it
    Live("torch==2.9.1+cpu", driver=None),
    Live(conda="pytorch==2.9.1", build="cu126", environment="conda"),
]


@pytest.mark.parametrize("live", OTHERS, ids=lambda live: live.packages or live.conda)
def test_whose_torch_loads_something_else_is_left_alone(live: Live) -> None:
    facts = live.facts
    facts = replace(facts, torch=replace(facts.torch, requires=ASKS if live.os != "windows" else ASKS[1:2]))
    assert host_of(facts, TABLES).lacking == ()


@pytest.mark.parametrize(("version", "is_judged"), [("2.9.0a0+145a3a7bda.nv25.10", False), ("2.9.1+cu126", True)])
def test_the_torch_of_an_image_of_nvidia_is_left_alone(version: str, *, is_judged: bool) -> None:
    facts = Live(CU126).facts
    told = replace(facts.torch, requires=ASKS, full=version, version=version.partition("+")[0])
    assert bool(host_of(replace(facts, torch=told), TABLES).lacking) is is_judged


def test_libraries_that_are_found_elsewhere_serve() -> None:
    """Somebody looked, and the loader finds all of them."""
    found = Linked(soname="libnccl.so.2", path="/usr/lib/libnccl.so.2", how="cache", for_torch=True)
    assert not decided(Live(f"{CU126} {CUDNN}"), linked=(found,)).install(explain=False).needed


def test_nothing_of_another_major_is_taken_out_beside_a_torch_that_stays() -> None:
    """Both unpack into one folder: what is right there would go with it, and nothing would bring it back."""
    install = decided(Live(f"{CU126} {CUDNN} nvidia-cudnn-cu13==9.13.0.50*")).install(explain=False)
    assert install.commands == (AGAIN,)


def test_one_that_the_tables_do_not_hold_makes_room_for_one_that_they_do() -> None:
    live = Live("torch==99.1.0+cu126")
    assert decided(Live(f"{live.packages} {NCCL} {CUDNN}")).stays is not None
    decision = decided(live)
    assert decision.stays is None
    assert decision.install(explain=False).needed
