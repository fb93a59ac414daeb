"""The smoke tests in a real torch: they pass on a healthy one, notice sabotage, and survive whatever a probe does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fake_torch
import pytest
from conftest import ROOT
from host_faults import small_file_system

from torchdoctor.checks.answers import finding_of
from torchdoctor.cli import run as command
from torchdoctor.facts import Probe
from torchdoctor.tables import Tables
from torchdoctor.target import smoke, smoke_folder, smoke_init, smoke_list, smoke_numerics, smoke_repro
from torchdoctor.target.smoke_devices import LACKS, LIBRARIES, Device
from torchdoctor.target.smoke_run import Job, Skip, Wrong, error_text, finite, run_probe, verdict

PYTHON = os.environ.get("TORCHDOCTOR_TEST_PYTHON") or sys.executable
QUICK = [
    "import", "init", "allocate", "elementwise", "matmul-fp32", "matmul-fp16", "matmul-bf16", "conv", "checkpoint",
    "train",
]  # fmt: skip
SLOW = {"all-reduce-processes", "compile", "dataloader", "export", "onnx", "torchvision-nms"}
HEAD = f"""
import json, os, sys
sys.path.append({str(ROOT)!r})
from torchdoctor.target import smoke
def tell(kind, fields):
    print("@" + json.dumps([kind, fields], allow_nan=False), flush=True)
"""
Event = tuple[str, dict[str, Any]]


def run(program: str, *arguments: str, **env: str) -> list[Event]:
    """The events that a program tells in the examined interpreter."""
    child = subprocess.run(
        [PYTHON, "-c", HEAD + textwrap.dedent(program), *arguments],
        capture_output=True, text=True, check=False, timeout=300, env={**os.environ, **env},
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    return [tuple(json.loads(line[1:])) for line in child.stdout.splitlines() if line.startswith("@")]


def ask(**request: Any) -> list[Event]:
    return run("smoke.main(tell, json.loads(sys.argv[1]))", json.dumps(request))


def told(events: list[Event], kind: str) -> list[dict[str, Any]]:
    return [fields for name, fields in events if name == kind]


def has_torch() -> bool:
    program = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
    return subprocess.run([PYTHON, "-c", program], check=False).returncode == 0


@pytest.fixture(scope="session")
def _torch() -> None:
    if not has_torch():
        pytest.skip("no torch in TORCHDOCTOR_TEST_PYTHON or in this interpreter")


# ------------------------------------------------------------------------------------------------- a healthy torch


@pytest.fixture(scope="session")
def quick(_torch: None) -> list[Event]:
    return ask(level="quick", repro=True)


@pytest.mark.torch
def test_quick_runs_its_probes_in_order_on_the_cpu(quick: list[Event]) -> None:
    probes = [probe for probe in told(quick, "probe") if probe["device"] == "cpu" or probe["id"] == "init"]
    assert [probe["id"] for probe in probes] == QUICK
    assert {probe["id"]: probe["error"] for probe in probes if probe["outcome"] == "failed"} == {}
    skipped = {probe["id"] for probe in probes if probe["outcome"] == "skipped"}
    assert skipped <= {"init", "matmul-fp16"}  # older versions have no half precision on a CPU
    assert quick[-1] == ("done", {})


@pytest.mark.torch
def test_every_step_is_announced_before_it_can_crash(quick: list[Event]) -> None:
    stage: dict[str, Any] = {}
    for kind, fields in quick:
        if kind == "stage":
            stage = fields
        elif kind == "probe":
            assert (stage["id"], stage["device"]) == (fields["id"], fields["device"])


@pytest.mark.torch
def test_what_torch_says_of_itself(quick: list[Event]) -> None:
    first, last = told(quick, "imported")
    assert first["available"] is None
    assert {**first, "available": last["available"], "warnings": last["warnings"]} == last
    assert isinstance(last["available"], bool)
    assert last["version"][0].isdigit()
    assert last["seconds"] > 0
    assert last["threads"] >= 1
    assert Path(last["file"]).name == "__init__.py"
    assert last["backend"] in LIBRARIES


@pytest.mark.torch
def test_errors_lie_below_their_bounds_and_are_not_made_up(quick: list[Event]) -> None:
    values = {probe["id"]: probe["values"] for probe in told(quick, "probe") if probe["device"] == "cpu"}
    assert values["matmul-fp32"]["bound"] < values["matmul-bf16"]["bound"]
    for name in ("elementwise", "matmul-fp32", "matmul-bf16", "conv"):
        assert 0 < values[name]["error"] <= values[name]["bound"], name
    assert values["train"]["last"] < values["train"]["first"]


@pytest.mark.torch
def test_the_folder_is_told_and_gone(quick: list[Event]) -> None:
    (folder,) = told(quick, "folder")
    assert folder["path"]
    assert not Path(folder["path"]).exists()


@pytest.mark.torch
def test_repro_tells_flags_and_repeats(quick: list[Event]) -> None:
    (repro,) = told(quick, "repro")
    assert repro["seeded_runs_equal"] is True
    assert all(device == "cpu" or device[:4] in ("cuda", "xpu:", "mps") for device in repro["devices"])
    assert repro["device"] in repro["devices"]
    assert repro["worker_seeds_differ"] in ((True,) if sys.platform == "linux" else (True, None))
    assert repro["deterministic_algorithms"] is False
    assert repro["float32_matmul_precision"] == "highest"


@pytest.mark.torch
@pytest.mark.slow
@pytest.mark.usefixtures("_torch")
def test_standard_passes_or_says_why_and_leaves_torch_as_it_was() -> None:
    """Compilers and workers are left out here: they take their own half minute (``smoke --level standard``)."""
    events = run(
        """
        import torch
        from torchdoctor.target import smoke_numerics
        def state():
            flags = [setting[1:] for setting in smoke_numerics.state(torch)]
            return str((flags, torch.get_float32_matmul_precision(), torch.get_num_threads(), torch.get_default_dtype(),
                        hash(torch.get_rng_state().numpy().tobytes()),
                        sorted(name for name in os.environ if name.startswith(("TORCHINDUCTOR", "TRITON", "NCCL")))))
        before = state()
        smoke.main(tell, json.loads(sys.argv[1]))
        tell("state", {"before": before, "after": state()})
        """,
        json.dumps({"only": [probe.id for probe in smoke_list.PROBES if probe.id not in SLOW], "devices": ["cpu"]}),
    )
    (state,) = told(events, "state")
    assert state["before"] == state["after"]
    outcomes = {probe["id"]: probe for probe in told(events, "probe")}
    assert len(outcomes) == len(smoke_list.PROBES) - len(SLOW) + 2
    assert {
        name: probe["error"] for name, probe in outcomes.items() if probe["outcome"] == "failed" and name != "init"
    } == {}
    assert all(probe["reason"] for probe in outcomes.values() if probe["outcome"] == "skipped")
    assert outcomes["all-reduce-gloo"]["outcome"] == "passed"
    assert outcomes["matmul-fp64"]["values"] == {"error": 0.0, "bound": 0.0}


@pytest.mark.torch
@pytest.mark.usefixtures("_torch")
def test_the_benchmark_shares_the_import() -> None:
    events = run(
        """
        import types
        bench = types.ModuleType("torchdoctor.target.bench")
        def main(tell, request, devices):
            names = [device.name for device in devices]
            tell("bench", {"torch": "torch" in sys.modules, "request": request, "devices": names})
        bench.main = main
        sys.modules[bench.__name__] = bench
        smoke.main(tell, {"only": ["allocate"], "devices": ["cpu"], "bench": {"seconds": 1}})
        """
    )
    assert told(events, "bench") == [{"torch": True, "request": {"seconds": 1}, "devices": ["cpu"]}]
    assert [kind for kind, _ in events[-2:]] == ["bench", "done"]


@pytest.mark.torch
@pytest.mark.usefixtures("_torch")
def test_workers_that_do_not_fork_are_not_sent_for_our_program() -> None:
    """Started from standard input, the main program claims a file named <stdin>, which such workers would run."""
    program = HEAD + textwrap.dedent(
        """
        import multiprocessing
        multiprocessing.set_start_method("spawn")
        smoke.main(tell, {"only": ["dataloader"], "devices": ["cpu"]})
        """
    )
    child = subprocess.run([PYTHON, "-"], input=program, capture_output=True, text=True, check=False, timeout=300)
    events: list[Event] = [tuple(json.loads(line[1:])) for line in child.stdout.splitlines() if line.startswith("@")]
    (probe,) = [probe for probe in told(events, "probe") if probe["id"] == "dataloader"]
    assert (probe["outcome"], probe["values"].get("start_method")) == ("passed", "spawn"), probe["error"]


# ------------------------------------------------------------------------------------------------------- sabotage

# Faults put into a real torch: the probe that must notice, what is replaced, by what (``real`` is what was there), and
# words of what the probe must say. ``off`` is a thousandth more in float32 alone, so that references stay right.
MATMUL = "torch.Tensor.__matmul__"
SABOTAGE = {
    "allocate": ("torch.Tensor.fill_", "lambda self, value: self.zero_()", "sums to 0"),
    "copy": ("torch.Tensor.clone", "lambda self: real(self) + (self.numel() > 65536)", "values differ"),
    "elementwise": ("torch.exp", "lambda x: off(real(x))", "exp"),
    # Inputs rounded to TF32: the very error that a wrong flag makes must not pass for float32.
    "matmul-fp32": (MATMUL, "lambda a, b: real(tf32(a), tf32(b))", "is off by"),
    "matmul-fp64": (MATMUL, "lambda a, b: real(a, b) + (a.dtype == torch.float64)", "is off by"),
    "matmul-bf16": (MATMUL, "lambda a, b: real(a, b) * float('nan')", "off by nan"),
    "conv": ("F.conv2d", "lambda x, w, **k: real(x + (tf32(x.detach()) - x.detach()), w, **k)", "of a convolution"),
    "lstm": ("torch.nn.LSTM.forward", "lambda self, x: (off(real(self, x)[0]),)", "an LSTM"),
    "ctc": ("F.ctc_loss", "lambda *a: off(real(*a))", "a CTC loss is off"),
    "fft": ("torch.fft.rfft", "lambda x: off(real(x))", "Fourier"),
    "solve": ("torch.linalg.solve", "lambda a, b: off(real(a, b))", "the solution"),
    "svd": ("torch.linalg.svd", "lambda a, **k: real(off(a), **k)", "singular values"),
    "cholesky": ("torch.linalg.cholesky", "lambda a: off(real(a))", "the factor"),
    "sparse": ("torch.sparse.mm", "lambda a, b: off(real(a, b))", "sparse product"),
    "rng": ("torch.randn", "lambda *a, **k: real(*a, **k).abs()", "mean of normal"),
    "sdpa-math": ("F.scaled_dot_product_attention", "lambda q, k, v, is_causal: real(q, k, v)", "attention is off"),
    "autograd": ("torch.autograd.grad", "lambda *a, **k: tuple(off(g) for g in real(*a, **k))", "derivative"),
    "all-reduce-gloo": ("D.ProcessGroupGloo.allreduce", "lambda self, t: real(self, [t[0] + 1])", "the sum over"),
    "checkpoint": ("torch.load", "lambda *a, **k: wrong_checkpoint(real(*a, **k))", "from a checkpoint"),
    "int8": ("torch._int_mm", "lambda a, b: real(a, b) + 1", "values differ"),
    "train": ("F.cross_entropy", "lambda x, y: real(x, y) * float('inf')", "not a finite number"),
}


@pytest.fixture(scope="session")
def sabotaged(_torch: None, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The event of each probe after its fault was put in; one import serves all."""
    events = run(
        """
        import torch
        import torch.nn.functional as F
        import torch.distributed as D
        from torchdoctor.target.smoke_devices import Device
        from torchdoctor.target.smoke_list import PROBES
        from torchdoctor.target.smoke_run import Job, run_probe
        def tf32(x):
            return ((x.view(torch.int32) + 4096) & -8192).view(torch.float32) if x.dtype == torch.float32 else x
        def off(x):
            return x * 1.001 if x.dtype in (torch.float32, torch.complex64) else x
        def wrong_checkpoint(saved):
            return dict(saved, model={name: tensor + 1 for name, tensor in saved["model"].items()})
        device = Device(torch, "cpu", None)
        job = Job(torch, device, [device], "standard", sys.argv[1])
        faults = json.loads(sys.argv[2])
        for probe in [probe for probe in PROBES if probe.id in faults]:
            place, fault = faults[probe.id][:2]
            owner, name = place.rsplit(".", 1)
            event = run_probe(probe, job)
            if event["outcome"] != "passed":
                tell("probe", event)
                continue
            real = getattr(eval(owner), name)
            exec(place + " = " + fault)
            try:
                event = run_probe(probe, job)
            finally:
                setattr(eval(owner), name, real)
            tell("probe", dict(event, again=run_probe(probe, job)["outcome"]))
        """,
        str(tmp_path_factory.mktemp("sabotage")),
        json.dumps(SABOTAGE),
    )
    return {probe["id"]: probe for probe in told(events, "probe")}


@pytest.mark.torch
@pytest.mark.parametrize("name", SABOTAGE)
def test_a_probe_notices_what_it_is_for(sabotaged: dict[str, dict[str, Any]], name: str) -> None:
    probe = sabotaged[name]
    if probe["outcome"] == "skipped":
        pytest.skip(probe["reason"])
    assert probe["outcome"] == "failed", probe
    assert SABOTAGE[name][2] in probe["error"]
    assert probe["again"] == "passed"  # with the fault taken out


@pytest.mark.torch
@pytest.mark.usefixtures("_torch")
def test_an_unexpected_exception_is_a_failed_probe_and_the_run_goes_on() -> None:
    events = run(
        """
        import torch
        def broken(*a, **k):
            raise ZeroDivisionError("out of the blue")
        torch.nn.functional.conv2d = broken
        smoke.main(tell, {"only": ["conv", "checkpoint"], "devices": ["cpu"]})
        """
    )
    conv, checkpoint = told(events, "probe")[-2:]
    assert (conv["outcome"], conv["error"]) == ("failed", "ZeroDivisionError: out of the blue")
    assert checkpoint["outcome"] == "passed"


@pytest.mark.torch
@pytest.mark.usefixtures("_torch")
def test_a_quantised_product_is_measured_against_float64() -> None:
    """Integers that are multiplied rightly and were rounded wrongly: the exact comparison alone cannot see it."""
    right, wrong = told(
        run(
            """
            import torch
            request = {"only": ["int8"], "devices": ["cpu"]}
            smoke.main(tell, request)
            real = torch.Tensor.round
            torch.Tensor.round = lambda self: real(self * 0.9)
            smoke.main(tell, request)
            """
        ),
        "probe",
    )[2::3]
    assert right["outcome"] == "passed", right
    assert 0 < right["values"]["error"] <= right["values"]["bound"] < 1
    assert (wrong["outcome"], wrong["error"].split(" is off")[0]) == ("failed", "a quantised product"), wrong


@pytest.mark.torch
@pytest.mark.usefixtures("_torch")
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("name", "finding"), [("SIGBUS", "shm-too-small"), ("SIGKILL", "host-memory-exhausted")])
def test_how_a_worker_ended_is_told_with_its_loss(name: str, finding: str, tables: Tables) -> None:
    """Torch tells of the lost worker, and of the signal that ended it in the cause of that error alone."""
    events = run(
        f"""
        import signal, torch
        class Full(torch.utils.data.TensorDataset):
            def __getitem__(self, index):
                os.kill(os.getpid(), signal.{name})
        torch.utils.data.TensorDataset = Full
        smoke.main(tell, {{"only": ["dataloader"], "devices": ["cpu"]}})
        """
    )
    (probe,) = [probe for probe in told(events, "probe") if probe["id"] == "dataloader"]
    assert probe["outcome"] == "failed"
    failed = Probe(id="dataloader", device="cpu", library="libtorch_cpu", outcome="failed", error=probe["error"])
    assert finding_of(failed, tables) == finding


def test_a_long_error_keeps_its_end_within_what_is_read() -> None:
    text = error_text(RuntimeError("frame\n" * 1000 + "No space left on device"))
    assert len(text) <= 1000  # readers keep no more
    assert text.startswith("RuntimeError: frame")
    assert text.endswith("No space left on device")


@pytest.mark.parametrize(
    ("equal", "worst"),
    [
        ({"cpu": True}, "cpu"),
        ({"cuda:0": True, "cuda:1": False, "cuda:2": None}, "cuda:1"),
        ({"cuda:0": True, "cuda:1": None}, "cuda:1"),
        ({"cuda:0": True, "cuda:1": True}, "cuda:0"),
    ],
)
def test_repeats_are_measured_on_every_gpu(
    monkeypatch: pytest.MonkeyPatch, equal: dict[str, bool | None], worst: str
) -> None:
    monkeypatch.setattr(smoke_repro, "repeats", lambda _torch, device: equal[device.name])
    monkeypatch.setattr(smoke_repro, "seeds", lambda _torch: True)
    devices: list[Any] = [SimpleNamespace(name=name, kind=name.split(":")[0]) for name in {"cpu": None, **equal}]
    stages: list[str] = []
    answer = smoke_repro.measure(lambda _kind, fields: stages.append(fields["device"]), None, devices)
    assert stages == list(equal)
    assert (answer["devices"], answer["device"]) == (equal, worst)
    assert answer["seeded_runs_equal"] is equal[worst]


# ---------------------------------------------------------------------------------------------- torch not importable

BROKEN = {
    "missing library": (
        "raise ImportError('libtorch_cpu.so: cannot open shared object file: No such file or directory')",
        "libtorch_cpu.so: cannot open shared object file",
        "ImportError",
    ),
    "leaves": ("raise SystemExit(3)", "SystemExit: 3", "SystemExit"),
    "not torch": ("x = 1", "what was imported as torch is not torch", "NotTorch"),
    "in two": ("import nothing_of_that_name", "No module named 'nothing_of_that_name'", "ModuleNotFoundError"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_torch_that_cannot_be_imported_is_an_answer(tmp_path: Path, name: str) -> None:
    text, words, kind = BROKEN[name]
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text(text)
    events = run("sys.path.insert(0, sys.argv[1]); smoke.main(tell, {})", str(tmp_path))
    assert [name for name, _ in events] == ["folder", "stage", "probe", "done"]
    (probe,) = told(events, "probe")
    assert (probe["id"], probe["outcome"], probe["values"]["type"]) == ("import", "failed", kind)
    assert words in probe["error"]
    assert str(tmp_path) in probe["values"]["file"]


# ------------------------------------------------------------------------------------------------------------ parts


@pytest.mark.parametrize(
    ("text", "kind", "outcome", "sticky"),
    [
        ("CUDA error: an illegal memory access was encountered", "cuda", "failed", True),
        ("CUDA error: device-side assert triggered", "cuda", "failed", True),
        ("CUDA error: misaligned address", "cuda", "failed", True),
        ("CUDA error: unspecified launch failure", "cuda", "failed", True),
        ("CUDA error: no kernel image is available for execution on the device", "cuda", "failed", False),
        ("CUDA out of memory. Tried to allocate 20.00 MiB", "cuda", "failed", False),
        ("CUBLAS_STATUS_NOT_INITIALIZED when calling cublasCreate", "cuda", "failed", False),
        ("torch._scaled_mm is only supported on CUDA devices with", "cuda", "skipped", False),
        ("No available kernel. Aborting execution.", "cuda", "skipped", False),
        ("\"addmm_impl_cpu_\" not implemented for 'Half'", "cpu", "skipped", False),
        ("fft: ATen not compiled with MKL support", "cpu", "skipped", False),
        ("a word that is illegal", "cpu", "failed", False),
    ],
)  # fmt: skip
def test_how_an_error_is_judged(text: str, kind: str, outcome: str, sticky: bool) -> None:
    answer = verdict(RuntimeError(text), kind, [])
    assert answer["outcome"] == outcome
    assert bool(answer.get("values", {}).get("sticky")) is sticky
    assert text in str(answer.get("error") or answer.get("reason"))


@pytest.mark.parametrize(("kind", "outcome"), [("mps", "skipped"), ("xpu", "skipped"), ("cuda", "failed")])
def test_an_operation_never_written_is_a_fault_only_where_all_are(kind: str, outcome: str) -> None:
    assert verdict(NotImplementedError("Could not run 'torchvision::nms'"), kind, [])["outcome"] == outcome


def test_a_wrong_result_keeps_its_figures_and_a_skip_its_reason() -> None:
    assert verdict(Wrong("off", {"error": 2.0}), "cpu", []) == {
        "outcome": "failed",
        "error": "off",
        "values": {"error": 2.0},
    }
    assert verdict(Skip("none here"), "cpu", []) == {"outcome": "skipped", "reason": "none here"}
    assert finite({"a": float("nan"), "b": float("-inf"), "c": 1.5}) == {"a": "nan", "b": "-inf", "c": 1.5}


class FakeProbe(smoke_list.Probe):
    """A probe that ends as told."""

    def __init__(self, name: str, error: Exception | None) -> None:
        super().__init__(name, "quick", "", "none")
        self.error = error

    def load(self) -> Any:
        def function(_: Job) -> dict[str, Any]:
            if self.error:
                raise self.error
            return {}

        return function


def gpu(name: str) -> Device:
    device = Device(SimpleNamespace(), "cuda", None)
    device.name = name
    return device


def gpu_job(device: Device) -> Job:
    return Job(SimpleNamespace(get_num_threads=lambda: 1), device, [], "quick", None)


def test_after_a_sticky_error_a_device_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other device goes on: the error ended one context."""
    error = RuntimeError("CUDA error: an illegal memory access was encountered")
    probes = [FakeProbe("one", None), FakeProbe("two", error), FakeProbe("three", None)]
    monkeypatch.setattr(smoke, "PROBES", probes)
    torch = SimpleNamespace(get_num_threads=lambda: 1)
    events: list[Event] = []
    first, second = gpu("cuda:0"), gpu("cuda:1")
    for device in (first, second):
        smoke.run_device(
            lambda *event: events.append(event), Job(torch, device, [], "quick", None), [], [first, second]
        )
        probes[1].error = None
    outcomes = [(probe["id"], probe["device"], probe["outcome"]) for probe in told(events, "probe")]
    assert outcomes == [
        ("one", "cuda:0", "passed"), ("two", "cuda:0", "failed"), ("three", "cuda:0", "skipped"),
        ("one", "cuda:1", "passed"), ("two", "cuda:1", "passed"), ("three", "cuda:1", "passed"),
    ]  # fmt: skip
    assert [probe.get("unusable", False) for probe in told(events, "probe")] == [
        False,
        False,
        True,
        False,
        False,
        False,
    ]
    assert {"id": "three", "device": "cuda:0"} not in told(events, "stage")


@pytest.mark.parametrize(
    ("scope", "names"), [("each", ["cpu", "cuda:0", "cuda:1"]), ("first", ["cuda:0"]), ("cpu", ["cpu"])]
)
def test_where_a_probe_runs(scope: str, names: list[str]) -> None:
    devices = [Device(SimpleNamespace(), "cpu", None), gpu("cuda:0"), gpu("cuda:1")]
    probe = smoke_list.Probe("one", "quick", "", "none", scope)
    assert [device.name for device in devices if smoke.runs_on(probe, device, devices)] == names
    assert smoke.runs_on(probe, devices[0], devices[:1])  # without a GPU all run on the CPU


def test_levels_and_names() -> None:
    def ids(level: str, *only: str) -> list[str]:
        return [probe.id for probe in smoke_list.PROBES if smoke_list.wanted(probe, level, list(only))]

    assert ids("quick") == QUICK[2:]
    assert set(ids("standard")) - set(ids("quick"))
    assert sorted(set(ids("long")) - set(ids("standard"))) == [
        "all-reduce-processes", "equal-gpus", "memory", "repeat", "sparse-semi-structured",
    ]  # fmt: skip
    assert ids("quick", "svd", "repeat") == ["svd", "repeat"]
    assert len(set(ids("long"))) == len(smoke_list.PROBES)


@pytest.mark.parametrize("probe", smoke_list.PROBES, ids=lambda probe: str(probe.id))
def test_every_probe_has_its_code_and_names_a_library_on_every_backend(probe: smoke_list.Probe) -> None:
    assert callable(probe.load())
    for backend in LIBRARIES:
        assert Device(SimpleNamespace(), backend, None).library(probe.area)


def test_what_a_kind_of_device_cannot_do_is_skipped_with_its_reason() -> None:
    for (kind, what), reason in LACKS.items():
        with pytest.raises(Skip, match=reason):
            Device(SimpleNamespace(), kind, None).need(what)
    Device(SimpleNamespace(), "rocm", None).need("graph")


def test_a_skip_is_an_event_with_a_reason() -> None:
    event = run_probe(FakeProbe("one", Skip("none here")), gpu_job(gpu("cuda:0")))
    assert (event["outcome"], event["reason"], event["error"]) == ("skipped", "none here", None)
    assert event["library"] == "libtorch_cuda"


@pytest.mark.parametrize(
    ("kind", "text", "outcome", "code"),
    [
        ("cuda", "RuntimeError: Unexpected error from cudaGetDeviceCount(). Error 804: forward", "failed", 804),
        ("cuda", "RuntimeError: The NVIDIA driver on your system is too old (found version 12020).", "failed", None),
        ("cuda", "RuntimeError: Found no NVIDIA driver on your system.", "no-device", None),
        ("cuda", "RuntimeError: No CUDA GPUs are available", "no-device", None),
        ("rocm", "RuntimeError: No HIP GPUs are available", "no-device", None),
        ("xpu", "RuntimeError: No XPU devices are available.", "no-device", None),
        ("mps", "torch.backends.mps.is_available() is False", "no-device", None),
        ("cpu", "", "no-device", None),
    ],
)  # fmt: skip
def test_how_a_failed_start_is_told(kind: str, text: str, outcome: str, code: int | None) -> None:
    answer = smoke_init.failure(kind, text)
    assert (answer["outcome"], answer.get("code")) == (outcome, code)


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells which libraries are loaded")
def test_a_library_in_memory_is_found_and_another_is_not() -> None:
    assert "libc" in (smoke_init.loaded("libc.so") or smoke_init.loaded("libc-") or "")
    assert smoke_init.loaded("libcudart.so.of-nobody") is None


def test_a_product_may_be_off_by_more_when_it_is_larger_longer_or_rounder() -> None:
    bound = smoke_numerics.matmul_bound
    assert bound(1.0, 512, "float32") < bound(2.0, 512, "float32")
    assert bound(1.0, 512, "float32") < bound(1.0, 4096, "float32")
    assert (
        bound(1.0, 512, "float64")
        < bound(1.0, 512, "float32")
        < bound(1.0, 512, "float16")
        < bound(1.0, 512, "bfloat16")
    )
    assert bound(1.0, 512, "float32") == pytest.approx(4 * (2**-24 + 512**0.5 * 2**-24))


def test_the_caches_of_compilers_lie_in_a_folder_that_goes_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("TRITON_CACHE_DIR", "mine")
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    folder = smoke_folder.Folder()
    assert Path(folder.path or "").parent == tmp_path
    assert os.environ["TRITON_CACHE_DIR"].startswith(str(tmp_path))
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"].startswith(str(tmp_path))
    folder.remove()
    assert list(tmp_path.iterdir()) == []
    assert os.environ["TRITON_CACHE_DIR"] == "mine"
    assert "TORCHINDUCTOR_CACHE_DIR" not in os.environ


def test_where_nothing_can_be_written_there_is_no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> str:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    folder = smoke_folder.Folder()
    assert folder.path is None
    folder.remove()
    with pytest.raises(Skip, match="no folder"):
        gpu_job(gpu("cuda:0")).need_folder()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts of Linux")
@pytest.mark.parametrize(("size", "is_used"), [("4k", False), ("1m", False), ("64m", True)])
def test_a_folder_lies_where_there_is_room(size: str, is_used: bool, tmp_path: Path) -> None:
    program = """
    folder = smoke.smoke_folder.Folder()
    tell("folder", {"path": folder.path})
    folder.remove()
    tell("left", {"names": os.listdir(os.environ["TMPDIR"])})
    """
    child = subprocess.run(
        [*small_file_system(tmp_path, size), sys.executable, "-c", HEAD + textwrap.dedent(program)],
        capture_output=True, text=True, check=True, timeout=60, env={**os.environ, "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    (_, folder), (_, left) = (json.loads(line[1:]) for line in child.stdout.splitlines() if line.startswith("@"))
    assert folder["path"] is not None  # the next place
    assert folder["path"].startswith(str(tmp_path)) is is_used
    assert left["names"] == []


# ---------------------------------------------------------------------------------- what was asked for and is not there


@pytest.mark.parametrize("names", ["nosuch", "conv,nosuch"])
def test_a_test_that_does_not_exist_is_an_error_of_usage(names: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["smoke", "--only", names]) == 2
    assert "--only nosuch: not a test (choose from: allocate, " in capsys.readouterr().err


@pytest.mark.parametrize("names", [["cuda:7"], ["cpu", "cuda:7"]])
def test_a_device_that_is_not_there_is_told(names: list[str]) -> None:
    events: list[Event] = []
    torch = SimpleNamespace()
    facts = {"backend": "cpu", "warnings": []}
    _, kept = smoke_init.start(lambda *event: events.append(event), torch, facts, names)
    assert [device.name for device in kept] == [name for name in names if name == "cpu"]
    (absent,) = [fields for fields in told(events, "probe") if fields["values"].get("absent")]
    assert (absent["device"], absent["outcome"]) == ("cuda:7", "skipped")
    assert absent["reason"] == "there is no such device; there are: cpu"


@pytest.mark.parametrize(("names", "status"), [(("cuda:7",), 3), (("cpu", "cuda:7"), 3), (("cpu",), 0)])
def test_a_device_that_is_not_there_leaves_the_answer_open(
    names: tuple[str, ...], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    fake_torch.install(tmp_path, fake_torch.CPU)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    devices = [word for name in names for word in ("--device", name)]
    assert (
        command(["smoke", "--only", "elementwise", "--python", sys.executable, "--fail-on", "never", *devices])
        == status
    )
    noted = "--device cuda:7: there is no such device; there are: cpu" in capsys.readouterr().err
    assert noted is (status == 3)
