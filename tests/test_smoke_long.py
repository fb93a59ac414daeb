"""What only the long level does: sums over processes and above 2 GiB, equal devices, busy ones; and its retries."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from test_bench_target import GIB, gpu
from test_smoke_target import _torch, run, told
from test_trial import Children, outcomes, proved

from torchdoctor.target import smoke_group, smoke_linalg, smoke_many, smoke_matmul, smoke_memory
from torchdoctor.target.smoke_devices import Device
from torchdoctor.target.smoke_run import Job, Skip, Wrong

__all__ = ["_torch"]  # a fixture

# ------------------------------------------------------------------------------------------------ sums over processes

MEMBERS = {
    "right": ("print('noise'); print('sum 3.0 3.0')", None, ""),
    "another sum": ("print('sum 2.0 3.0')", Wrong, "the sum of member 0 over 2 processes is not sum 3.0 3.0: sum 2.0"),
    "no sum": ("", Wrong, "is not sum 3.0 3.0: $"),
    "one fails": (
        "import sys; print('sum 3.0 3.0'); sys.exit('ncclSystemError' if sys.argv[2] == '1' else 0)",
        RuntimeError,
        "member 1 of 2 ended with status 1: sum 3.0 3.0\nncclSystemError",
    ),
    "one never ends": (
        "import sys, time; print('sum 3.0 3.0'); time.sleep(600 * int(sys.argv[2]))",
        RuntimeError,
        "member 1 of 2 ended with status unknown: no answer in 2 s",
    ),
}


def cpu_job(folder: Path | None, level: str = "long") -> Job:
    dist = SimpleNamespace(is_available=lambda: True, ProcessGroupGloo=object)
    torch: Any = SimpleNamespace(distributed=dist, get_num_threads=lambda: 1)
    device = Device(torch, "cpu", None)
    return Job(torch, device, [device], level, str(folder) if folder else None)


@pytest.mark.parametrize("name", MEMBERS)
def test_what_becomes_of_the_processes_of_a_sum(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, error, words = MEMBERS[name]
    monkeypatch.setattr(smoke_group, "MEMBER", program)
    monkeypatch.setattr(smoke_group, "PATIENCE", 2.0 if name == "one never ends" else 60.0)
    if error is None:
        assert smoke_group.all_reduce_processes(cpu_job(tmp_path)) == {"members": 2, "backend": "gloo"}
        return
    with pytest.raises(error, match=words):
        smoke_group.all_reduce_processes(cpu_job(tmp_path))


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.usefixtures("_torch")
def test_two_processes_of_a_real_torch_sum() -> None:
    events = run("smoke.main(tell, {'only': ['all-reduce-processes'], 'devices': ['cpu']})")
    probe = told(events, "probe")[-1]
    assert (probe["outcome"], probe["error"]) == ("passed", None)
    assert probe["values"] == {"members": 2, "backend": "gloo"}


# -------------------------------------------------------------------------------------------------------- above 2 GiB


@pytest.mark.parametrize(
    ("level", "free", "is_tried"),
    [("long", 70 * GIB, True), ("long", 8 * GIB, False), ("long", None, False), ("standard", 70 * GIB, False)],
)
def test_a_large_sum_is_tried_where_there_is_room(level: str, free: int | None, is_tried: bool) -> None:
    device = gpu(free=free or 0)
    device.memory = lambda: (free, free)  # type: ignore[method-assign]
    assert smoke_many.has_room(Job(device.torch, device, [device], level, None), device) is is_tried


@pytest.mark.torch
@pytest.mark.usefixtures("_torch")
def test_a_large_sum_is_compared_in_a_real_torch() -> None:
    """With gloo on the CPU, and a "large" tensor of a mebibyte."""
    right, wrong = told(
        run(
            """
            import torch
            from torchdoctor.target import smoke_many
            from torchdoctor.target.smoke_devices import Device
            from torchdoctor.target.smoke_run import Job
            smoke_many.OVER_2_GIB = 1 << 20
            smoke_many.memory_of = lambda device: (1 << 40, 1 << 40)
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
            device = Device(torch, "cpu", None)
            job = Job(torch, device, [device], "long", None)
            dist = torch.distributed
            tell("sum", smoke_many.group_of_one(job, dist, "gloo"))
            real = dist.all_reduce
            dist.all_reduce = lambda tensor: tensor[-1:].zero_() if tensor.dtype == torch.uint8 else real(tensor)
            try:
                smoke_many.group_of_one(job, dist, "gloo")
            except Exception as error:
                tell("sum", {"error": str(error)})
            """
        ),
        "sum",
    )
    assert right == {"bytes": 1 << 20}
    assert wrong == {"error": "the sum over a group of one above 2 GiB is 0 to 7, not 7"}


# ------------------------------------------------------------------------------------------------------ equal devices


@pytest.mark.torch
@pytest.mark.usefixtures("_torch")
def test_equal_devices_must_give_equal_bits() -> None:
    equal, odd, alone = told(
        run(
            """
            import torch
            from torchdoctor.target import smoke_matmul
            from torchdoctor.target.smoke_devices import Device
            from torchdoctor.target.smoke_list import PROBES
            from torchdoctor.target.smoke_run import Job, run_probe
            (probe,) = [probe for probe in PROBES if probe.id == "equal-gpus"]
            devices = [Device(torch, "cpu", None), Device(torch, "cpu", None)]
            job = Job(torch, devices[0], devices, "long", None)
            tell("probe", run_probe(probe, job))
            real, calls = smoke_matmul.chain, []
            def chain(a, b):
                calls.append(a)
                result = real(a, b)
                if len(calls) == 2:
                    result[3, 5] += 1e-6
                return result
            smoke_matmul.chain = chain
            tell("probe", run_probe(probe, job))
            tell("probe", run_probe(probe, Job(torch, devices[0], devices[:1], "long", None)))
            """
        ),
        "probe",
    )
    assert (equal["outcome"], len(equal["values"]["checksums"])) == ("passed", 1), equal
    assert (odd["outcome"], odd["error"]) == (
        "failed", "a chain of products on cpu and on cpu: 1 of 65536 values differ",
    )  # fmt: skip
    assert (alone["outcome"], alone["reason"]) == ("skipped", "no two devices of this host are of one model")


# ---------------------------------------------------------------------------------------------------- semi-structured


@pytest.mark.parametrize(
    ("device", "known", "reason"),
    [
        (Device(SimpleNamespace(), "cpu", None), True, "a CPU has no products"),
        (Device(SimpleNamespace(), "xpu", 0), True, "torch has no products"),
        (gpu(capability=(8, 0)), False, "this torch has no semi-structured matrices"),
        (gpu(capability=(7, 5)), True, "this GPU has no sparse tensor cores"),
    ],
    ids=["cpu", "xpu", "old torch", "old GPU"],
)
def test_where_there_are_no_semi_structured_products(device: Device, known: bool, reason: str) -> None:
    sparse = SimpleNamespace(to_sparse_semi_structured=lambda x: x) if known else SimpleNamespace()
    device.torch.sparse = sparse
    job: Any = SimpleNamespace(device=device, torch=device.torch)
    with pytest.raises(Skip, match=reason):
        smoke_linalg.sparse_semi_structured(job)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("_sparse_semi_structured_mm: Supported only on GPUs with compute capability 8.x", Skip),
        ("cuSPARSELt not supported on your machine.", Skip),
        ("CUDA error: architecture mismatch when calling `cusparseLtInit`: CUSPARSE_STATUS_ARCH_MISMATCH", Skip),
        ("CUDA error: an illegal memory access was encountered", RuntimeError),
    ],
)
def test_a_gpu_that_the_library_does_not_know_is_no_fault(text: str, error: type[Exception]) -> None:
    def refuse() -> None:
        raise RuntimeError(text)

    with pytest.raises(error, match=text[:40]):
        smoke_linalg.unless_unsupported(refuse)


# ------------------------------------------------------------------------------------------------------- busy devices


@pytest.mark.parametrize(
    ("answers", "known", "force", "reason"),
    [
        ({"processes": [4711, 4712]}, {}, False, "process 4712 uses it; --force"),
        ({"free": 50 * GIB}, {}, False, "29.0 of its 80.0 GiB are in use; --force"),
        ({}, {"cuda:1": "another process computes on it"}, False, "another process computes on it; --force"),
        ({"processes": [4711, 4712]}, {"cuda:1": "another process computes on it"}, True, ""),
        ({}, {}, False, ""),
    ],
    ids=["seen", "memory", "told", "forced", "idle"],
)
@pytest.mark.parametrize("heavy", [smoke_memory.memory, smoke_matmul.repeat], ids=["memory", "repeat"])
def test_a_gpu_that_another_process_uses_is_left_alone_by_heavy_tests(
    heavy: Any, answers: dict[str, Any], known: dict[str, str], force: bool, reason: str
) -> None:
    device = gpu(**answers)
    job = Job(device.torch, device, [device], "long", None)
    job.force, job.busy = force, known
    if reason:
        with pytest.raises(Skip, match=reason):
            heavy(job)
        return
    with pytest.raises(AttributeError):  # it goes on, with a torch that has no tensors
        heavy(job)


# ------------------------------------------------------------------------------------------------------------ retries


@pytest.mark.parametrize(
    ("device", "asked"),
    [
        ("cuda:0", [(["svd", "train"], True), (["cuda-graph", "all-reduce-nccl"], False)]),
        ("cpu", [(["svd", "cuda-graph", "all-reduce-nccl", "train"], False)]),
    ],
)
def test_tests_are_retried_with_each_kernel_by_itself(
    device: str, asked: list[tuple[list[str], bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for those that need several queues or processes at once, which have a child of their own."""
    names = ("fft", "conv", "svd", "cuda-graph", "all-reduce-nccl", "train")
    children = Children(crashes=("conv",), plan=tuple((name, device) for name in names))
    facts = proved(monkeypatch, children, level="long", force=True)
    first, *further = children.asked
    assert first["blocking"] is False
    assert [(request["only"], request["blocking"]) for request in further] == asked
    assert {(request["level"], request["force"]) for request in children.asked} == {("long", True)}
    assert outcomes(facts) == {**dict.fromkeys(names, "passed"), "conv": "failed"}


@pytest.mark.parametrize(
    ("blocking", "before", "after"), [(True, "", "1"), (True, "0", "0"), (False, "", None)], ids=["set", "kept", "not"]
)
def test_each_kernel_by_itself_is_a_variable_of_the_child(blocking: bool, before: str, after: str | None) -> None:
    program = """
    smoke.main(tell, json.loads(sys.argv[1]))
    tell("variable", {"value": os.environ.get("CUDA_LAUNCH_BLOCKING")})
    """
    env = {"CUDA_LAUNCH_BLOCKING": before} if before else {}
    events = run(program, json.dumps({"blocking": blocking, "only": ["import"]}), **env)
    assert told(events, "variable") == [{"value": after}]
