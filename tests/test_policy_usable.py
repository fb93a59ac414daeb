"""The GPUs that a policy counts: those that CUDA_VISIBLE_DEVICES leaves, where that can be told."""

from __future__ import annotations

import pytest

from torchdoctor.checks.requirements import judged
from torchdoctor.facts import Facts, Gpu, Request, Torch, Variables
from torchdoctor.intent import Requirement
from torchdoctor.policy.write import lines
from torchdoctor.records import replace
from torchdoctor.values import Build

H100 = Gpu(vendor="nvidia", name="NVIDIA H100 80GB HBM3", memory=85 * 10**9)
T4 = Gpu(vendor="nvidia", name="Tesla T4", memory=16 * 10**9)
MI300X = Gpu(vendor="amd", name="AMD Instinct MI300X", memory=206 * 10**9)
BY_BUS = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def host(gpus: tuple[Gpu, ...], mask: str | None, build: str = "cu126", **more: str) -> Facts:
    env = {**more, **({} if mask is None else {"CUDA_VISIBLE_DEVICES": mask})}
    torch = Torch(installed=True, version="2.9.1", build=Build.parse(build))
    return Facts(gpus=gpus, env=Variables(env, complete=True), torch=torch)


def of(facts: Facts, **wanted: str) -> bool | None:
    keys = {"least": "min", "name": "name", "memory": "memory-gb"}
    requires = tuple(Requirement(f"require.gpus.{keys[key]}", text, "file") for key, text in wanted.items())
    (item,) = judged(replace(facts, request=Request(requires=requires)))
    return item.holds


COUNTED = [
    (host((H100, H100), None), {"least": "2"}, True),
    (host((H100, H100), "0,1"), {"least": "2"}, True),
    (host((H100, H100), "0"), {"least": "2"}, False),
    (host((H100, H100), "0"), {"least": "1", "memory": "80"}, True),
    (host((H100, H100), ""), {"least": "1"}, False),
    (host((H100, H100), "-1"), {"least": "1"}, False),
    (host((H100, H100), "GPU-1234"), {"least": "1", "memory": "80"}, True),  # whichever it is, they are alike
    (host((H100, H100), "GPU-1234"), {"least": "2"}, False),
    (host((H100, H100), "MIG-1234"), {"least": "1"}, True),
    (host((H100, H100), "MIG-1234"), {"least": "1", "memory": "80"}, None),  # a part of one
    (host((T4, H100), "0"), {"name": "H100"}, None),  # CUDA may put the fastest one first
    (host((T4, H100), "0", **BY_BUS), {"name": "H100"}, False),
    (host((T4, H100), "1", **BY_BUS), {"name": "H100"}, True),
    (host((T4, H100), "0"), {"name": "A100"}, False),
    (host((T4, H100), "0"), {"least": "1"}, True),
    (host((MI300X, MI300X), "0", "rocm7.2"), {"least": "2"}, True),  # no variable of its own
    (replace(host((H100, H100), ""), env=Variables({"CUDA_VISIBLE_DEVICES": ""})), {"least": "2"}, True),  # or unset
]


@pytest.mark.parametrize(("facts", "wanted", "holds"), COUNTED)
def test_hidden_gpus_do_not_count(facts: Facts, wanted: dict[str, str], holds: bool | None) -> None:
    assert of(facts, **wanted) is holds


def test_a_list_that_torch_itself_made_is_not_masked_again() -> None:
    facts = host((H100,), "3")
    assert of(facts, least="1") is False
    assert of(replace(facts, torch=replace(facts.torch, cuda_available=True)), least="1") is True


def test_what_is_hidden_is_said() -> None:
    requires = (Requirement("require.gpus.min", "2", "file"),)
    (item,) = judged(replace(host((H100, H100), "0"), request=Request(requires=requires)))
    assert item.value == "2 NVIDIA H100 80GB HBM3 (1 hidden by CUDA_VISIBLE_DEVICES)"


@pytest.mark.parametrize(("mask", "least"), [(None, 2), ("0", 1), ("MIG-1234", 1), ("", 0)])
def test_a_policy_made_of_such_a_host_holds_there(mask: str | None, least: int) -> None:
    facts = host((H100, H100), mask)
    written = list(lines(facts, (), {}))
    assert [line for line in written if "gpus.min" in line] == ([f"gpus.min = {least}"] if least else [])
    wanted = {"least": str(least), "name": "H100", **({} if mask == "MIG-1234" else {"memory": "80"})}
    assert not least or of(facts, **wanted) is True
    assert any("memory" in line for line in written) == (mask in {None, "0"})
