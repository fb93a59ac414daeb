"""Which finding a failed smoke test is, by what failed and by the words of its error."""

from __future__ import annotations

import pytest

from torchdoctor.checks.answers import UNEXPLAINED, finding_of
from torchdoctor.facts import Probe
from torchdoctor.tables import Tables

NVRTC = "RuntimeError: Kernel compilation failed:\nnvrtc: error: invalid value for --gpu-architecture (-arch)\n"
MEMORY = "host-memory-exhausted"
MAP = "failed to map segment from shared object"
FILE = "unable to allocate shared memory(shm) for file </torch_14688_1411732693_0>"


@pytest.mark.parametrize(
    ("probe", "library", "error", "finding"),
    [
        ("dataloader", "libtorch_cuda", f"RuntimeError: {FILE}: No space left on device (28)", "shm-too-small"),
        ("dataloader", "libtorch_cuda", f"RuntimeError: {FILE}: Success (0)", "shm-too-small"),
        ("dataloader", "libtorch_cpu", "DataLoader worker (pid 7) is killed by signal: Bus error. ", "shm-too-small"),
        ("dataloader", "", "ended by SIGBUS", "shm-too-small"),
        ("dataloader", "libtorch_cpu", "DataLoader worker (pid 7) is killed by signal: Killed. ", MEMORY),
        ("data-2", "", "RuntimeError: DataLoader worker (pid 7) is killed by signal: Killed. ", MEMORY),
        ("dataloader", "libtorch_cpu", "OSError: [Errno 12] Cannot allocate memory", MEMORY),
        ("fft", "libcufft", "MemoryError: ", MEMORY),
        ("fft", "", "libx.so: failed to map segment from shared object: Cannot allocate memory", MEMORY),
        ("fft", "", f"libx.so: {MAP}", MEMORY),
        ("compile", "inductor", f"ImportError: /tmp/x.so: {MAP}: Operation not permitted", UNEXPLAINED),
        ("compile", "inductor", "OSError: [Errno 122] Disk quota exceeded: '/home/x'", "disk-full"),
        ("fft", "", "libgomp.so.1: cannot allocate memory in static TLS block", UNEXPLAINED),
        ("matmul-fp32", "libcublas", "ended by SIGABRT, std::bad_alloc", MEMORY),
        ("compile", "inductor", "MemoryError", MEMORY),
        ("train", "libtorch_cpu", "RuntimeError: [enforce fail] DefaultCPUAllocator: can't allocate memory", MEMORY),
        ("dataloader", "libtorch_cpu", "two workers gave batches [], not [1]", UNEXPLAINED),
        ("dataloader", "libtorch_cpu", "", UNEXPLAINED),
        ("checkpoint", "libtorch_cpu", "OSError: [Errno 28] No space left on device", "disk-full"),
        ("elementwise", "libtorch_cpu", "ended by SIGBUS", UNEXPLAINED),
        ("runtime-compile", "libnvrtc", NVRTC, "torch-arch-missing"),
        ("runtime-compile", "", NVRTC, "torch-arch-missing"),
        ("fft", "libnvrtc.so", NVRTC, "torch-arch-missing"),
        ("runtime-compile", "libnvrtc", "RuntimeError: Kernel compilation failed:\nout of memory", UNEXPLAINED),
        ("runtime-compile", "libhiprtc", "HIPRTC_ERROR_COMPILATION", UNEXPLAINED),
        ("matmul-fp32", "libcublas", "is off by 3", "cublas-failure"),
        ("matmul-fp32", "libcublas.so", "is off by 3", "cublas-failure"),
        ("compile", "inductor", "InvalidCxxCompiler", "compile-stack-missing"),
        ("peer", "libnccl", "wrong", "p2p-broken"),
    ],
)  # fmt: skip
def test_the_finding_of_a_failed_smoke_test(probe: str, library: str, error: str, finding: str, tables: Tables) -> None:
    failed = Probe(id=probe, device="cuda:0", library=library, outcome="failed", error=error)
    assert finding_of(failed, tables) == finding


def test_a_row_with_words_that_fit_outranks_one_without() -> None:
    from torchdoctor.tables.smoke_findings import SmokeFinding, SmokeFindings

    def row(kind: str, name: str, text: str, finding: str) -> SmokeFinding:
        return SmokeFinding(kind=kind, name=name, text=text, finding=finding, source="", checked="")

    table = SmokeFindings([
        row("library", "libx", "full", "c"), row("library", "libx", "", "d"), row("probe", "a", "", "b"),
        row("probe", "a", "full", "a"),
    ])  # fmt: skip
    assert [table.of(*asked) for asked in (
        ("a", "libx", "it is FULL"), ("a", "libx", "no"), ("z", "libx.so", "full"), ("z", "libx", "no"), ("z", "y", ""),
    )] == ["a", "b", "c", "d", ""]  # fmt: skip
