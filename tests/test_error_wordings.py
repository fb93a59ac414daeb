"""One kind of fault in several wordings and on several hosts: what each proves, and what proves nothing."""

from __future__ import annotations

import pytest

from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import PastedText, Recording
from torchdoctor.tables import Tables

TABLES = Tables()
MIXED = "/libcudnn_cnn_infer.so.8: undefined symbol: _ZN11nvrtcHelper4loadEb, version libcudnn_ops_infer.so.8"
SYSTEM = "RuntimeError: NCCL Error 2: unhandled system error"
HANDLE = "RuntimeError: CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`"
SHM = "$ df -h /dev/shm\nFilesystem Size Used Avail Use% Mounted on\n"


def loud(text: str) -> list[tuple[str, str, str | None]]:
    """The findings above info: id, severity, and which one explains it."""
    report = examine(Recording(texts=(PastedText("text", text),)), TABLES, Request(), Writing())
    return [(one.id, str(one.severity), one.explained_by) for one in report.findings if one.severity != "info"]


@pytest.mark.parametrize(
    "text",
    [
        "With NCCL_P2P_DISABLE=1 everything runs.",
        "All works if NCCL_P2P_DISABLE=1 is set.",
        "The tests pass only with NCCL_P2P_DISABLE=1.",
        "NCCL_P2P_DISABLE=1: runs without hanging",
        "export NCCL_P2P_DISABLE=1 and everything trained",
        "The job completes when NCCL_P2P_DISABLE=1.",
    ],
)
def test_what_works_without_peer_to_peer(text: str) -> None:
    assert loud(f"Two GPUs hang in all_reduce. {text}") == [
        ("p2p-broken", "error", None),
        ("nccl-failure", "error", "p2p-broken"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "NCCL_P2P_DISABLE=1 does not help, it still hangs",
        "I tried NCCL_P2P_DISABLE=1 but it hangs without any error",
        "With NCCL_P2P_DISABLE=1 it runs for ten steps and hangs",
        "With NCCL_P2P_DISABLE=1 it trains, then hangs",
        "With NCCL_P2P_DISABLE=1 it runs into the same timeout",
        "NCCL_P2P_DISABLE=1, doesn't train",
    ],
)
def test_what_does_not_work_without_it_either(text: str) -> None:
    assert loud(f"Two GPUs hang in all_reduce. {text}") == []


@pytest.mark.parametrize(
    "text",
    [
        "FlashAttention only supports Ampere GPUs or newer.",
        "FlashAttention only supports Hopper GPUs or newer.",
        "FlashAttention only supports AMD MI200 GPUs or newer.",
        "FlashAttention backward for head dim > 192 requires A100/A800 or H100/H800",
    ],
)
def test_an_attention_library_without_kernels_for_the_gpu(text: str) -> None:
    assert loud(f"RuntimeError: {text}") == [("companion-arch-missing", "warning", None)]


@pytest.mark.parametrize(
    ("text", "echo"),
    [
        (f"Could not load library libcudnn_cnn_infer.so.8. Error: /usr/lib{MIXED}", "cudnn-failure"),
        ("Could not load symbol cudnnGetLibConfig. Error: /usr/lib/libcudnn_graph.so.9", "cudnn-failure"),
        (f">>> import torch\nOSError: /usr/lib{MIXED}", "torch-import-fails"),
    ],
)
def test_a_cudnn_of_two_versions_fails_when_it_is_used_or_when_it_is_imported(text: str, echo: str) -> None:
    assert loud(text) == [("library-path-shadowing", "error", None), (echo, "error", "library-path-shadowing")]


@pytest.mark.parametrize(("size", "cause"), [("64M", "shm-too-small"), ("32M", "shm-too-small"), ("16G", ""), ("", "")])
def test_nccl_and_the_size_of_the_shared_memory(size: str, cause: str) -> None:
    row = f"{SHM}shm {size} 0 {size} 0% /dev/shm\n" if size else ""
    expected = [("shm-too-small", "error", None), ("nccl-failure", "error", "shm-too-small")]
    assert loud(row + SYSTEM) == (expected if cause else [("nccl-failure", "error", None)])


@pytest.mark.parametrize(
    ("beside", "expected"),
    [
        ("", [("cublas-failure", "error", None)]),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 MiB.",
            [("out-of-memory", "warning", None)],
        ),
    ],
)
def test_what_stands_beside_a_cublas_that_does_not_start(
    beside: str, expected: list[tuple[str, str, str | None]]
) -> None:
    assert loud(f"{HANDLE}\n{beside}") == expected


@pytest.mark.parametrize(
    "text",
    [
        "slurmstepd: error: Detected 2 oom_kill events in StepId=771.batch.",
        "srun: error: gpu03: task 0: Out Of Memory",
        "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.",
        "=>> PBS: job killed: mem 67109888kb exceeded limit 67108864kb",
    ],
)
def test_a_job_that_the_scheduler_killed_for_its_memory(text: str) -> None:
    assert loud(text) == [("host-memory-exhausted", "error", None)]


def test_a_counter_of_kills_at_zero_says_nothing() -> None:
    assert loud("$ cat memory.events\nlow 0\noom 0\noom_kill 0") == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gcc: /tmp/tmp_itxw3hv/main.c:1:10: fatal error: cuda.h: No such file or directory", "compile-stack-missing"),
        (
            "gcc: /tmp/tmpab12/cuda_utils.c:1:10: fatal error: cuda.h: No such file or directory",
            "compile-stack-missing",
        ),
        ("csrc/ops.cu:3:10: fatal error: cuda_runtime.h: No such file or directory", "toolkit-missing"),
        ("include/ATen/cuda/CUDAContext.h:8:10: fatal error: cusolverDn.h: No such file", "toolkit-missing"),
        ("fatal error C1083: Cannot open include file: 'cuda_runtime.h': No such file", "toolkit-missing"),
    ],
)
def test_who_misses_the_cuda_headers(line: str, expected: str) -> None:
    assert loud(line) == [(expected, "warning", None)]


JOB = "#SBATCH --job-name=a\n#SBATCH --partition=gpu\n#SBATCH --mem=8G\n"
ASKING = JOB + "#SBATCH --gres=gpu:1\n"


@pytest.mark.parametrize(
    "error",
    [
        "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU",
        "RuntimeError: No CUDA GPUs are available",
        "RuntimeError: cuda runtime error (100) : no CUDA-capable device is detected",
    ],
)
def test_what_torch_says_in_a_job_without_a_gpu(error: str) -> None:
    assert loud(f"{JOB}python t.py\n{error}")[0] == ("scheduler-no-gpu", "error", None)
    assert "scheduler-no-gpu" not in [one for one, _, _ in loud(f"{ASKING}python t.py\n{error}")]


@pytest.mark.parametrize("code", [803, 804])
def test_a_driver_renewed_without_a_restart_stands_before_what_cuda_says(code: int) -> None:
    said = {803: "system has unsupported display driver / cuda driver combination"}
    text = f"RuntimeError: Error {code}: {said.get(code, 'forward compatibility was attempted on non supported HW')}"
    smi = "$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\n"
    assert loud(smi + text)[0] == ("driver-library-mismatch", "error", None)
    assert loud(text)[0][0] == "compat-library-problem"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("HW Slowdown                    : Active", ["slow-gpu"]),
        ("HW Thermal Slowdown            : Active", ["slow-gpu"]),
        ("SW Thermal Slowdown            : Active", ["slow-gpu"]),
        ("SW Power Cap                   : Active", []),
        ("HW Slowdown                    : Not Active", []),
        ("HW Thermal Slowdown            : 0 us", []),
    ],
)
def test_a_clock_that_is_held_down(line: str, expected: list[str]) -> None:
    assert [one for one, _, _ in loud(f"    Clocks Event Reasons\n        {line}")] == expected


SMI = """\
| NVIDIA-SMI 550.54.14              Driver Version: 550.54.14      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
"""
ROW = """\
|   {index}  NVIDIA A100-SXM4-40GB          On  |   00000000:0{index}:04.0 Off |                    0 |
| N/A   34C    P0             43W /  400W | {used:>8}MiB /  40960MiB |      0%      Default |
+-----------------------------------------+------------------------+----------------------+
"""


@pytest.mark.parametrize(
    ("used", "cause"),
    [
        ([40321], "out-of-memory"),
        ([5], ""),
        ([40321, 5], ""),  # which of them the program used is not shown
    ],
)
@pytest.mark.parametrize(
    ("error", "otherwise"),
    [(HANDLE, "cublas-failure"), ("RuntimeError: cuDNN error: CUDNN_STATUS_NOT_INITIALIZED", "cudnn-failure")],
)
def test_libraries_that_do_not_start_on_a_full_gpu(used: list[int], cause: str, error: str, otherwise: str) -> None:
    rows = "".join(ROW.format(index=index, used=number) for index, number in enumerate(used))
    assert loud(f"{SMI}{rows}\n{error}")[0][0] == (cause or otherwise)


TORCH_LIB = "~\\Anaconda3\\lib\\site-packages\\torch\\__init__.py in <module>\n---> 81         ctypes.CDLL(dll)"
NO_HEADER = "/usr/include/bits/local_lim.h: fatal error: stddef.h: No such file or directory"
INDUCTOR = "torch._dynamo.exc.BackendCompilerFailed: backend='inductor' raised:"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Tried to allocate 20.00 MiB (GPU 0; 1.96 GiB total capacity; 1.24 GiB already allocated)", "out-of-memory"),
        ("misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node1<57557>", "nccl-failure"),
        ("include/socket.h:385 NCCL WARN Net : Connection closed by remote peer", "nccl-failure"),
        ("failed to get device remapped rows: ERROR_GPU_IS_LOST", "gpu-lost"),
        ("*** RuntimeError: \"add\" not implemented for 'torch.HalfTensor'", "dtype-unsupported"),
        ("RuntimeError: Unsupported dtype torch.float16", "dtype-unsupported"),
        (f"{TORCH_LIB}\nOSError: [WinError 126] Das angegebene Modul wurde nicht gefunden", "torch-import-fails"),
        (f"{NO_HEADER}\n{INDUCTOR}", "compile-stack-missing"),
    ],
)
def test_further_words_of_common_faults(text: str, cause: str) -> None:
    assert [one for one, _, by in loud(text) if by is None] == [cause]


@pytest.mark.parametrize(
    "text",
    [
        "proxy.cc:1519 NCCL INFO Connection closed by remote peer",
        "OSError: [WinError 126] The specified module could not be found: 'my_plugin.dll'",
        "main.c:3:10: fatal error: stddef.h: No such file or directory",
        "The batch tried to allocate too many rows (GPU 0 is fine)",
    ],
)
def test_words_like_those_of_common_faults(text: str) -> None:
    assert loud(text) == []


PINS = "    return tensor.pin_memory()\nRuntimeError: CUDA error: out of memory"
FLOAT8 = "Trying to convert Float8_e4m3fn to the MPS backend but it does not have support for that dtype."
SHADOWS = "cannot import name 'App' from partially initialized module 'chain' (most likely due to a circular import)"
IOMMU = 'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!'
NO_LIBRARY = "load library failed: libnvidia-ml.so.1"


@pytest.mark.parametrize(
    "page",
    [
        f"If you see this error, set `pin_memory=False`:\n\n```\n{PINS}\n```\n\nMake sure that memory is free.",
        f"If you get this error, use another file:\n\n```\nTypeError: {FLOAT8}\n```\n\nYou should check the file.",
        f"### {NO_LIBRARY}\n\nIf you encounter\n\n```\n{NO_LIBRARY}: no such file\n```\n\nmake sure to remove it.",
        "* If torch sees the GPU only with sudo, add the user to the group video.\n* You should check the driver.",
        f"When training hangs and you see `{IOMMU}`, add iommu=pt. Make sure to restart, which you should do anyway.",
        "If the build fails with `no space left on device`, make sure that the disk has 20 GB free.",
        f"If you see `ImportError: {SHADOWS} (/home/me/chain.py)`, rename your file. You should delete the cache.",
        "If you get `Unable to open /dev/kfd read-write: No such file or directory`, you should pass the device.",
    ],
)
def test_a_page_that_tells_of_these_faults_is_quiet(page: str) -> None:
    assert loud(f"# Troubleshooting\n\n{page}\n") == []
