"""The whole ``check`` on hosts that are broken in one way each: the right finding, in time, with the right exit status.

Most hosts have the torch of tests/fake_torch.py, which imports and starts its devices as the real one does and computes
nothing (so the benchmark is left out), so that these tests need neither torch nor a GPU. The same faults with a real
torch follow at the end, where there is one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import host_faults as faults
import pytest
from broken_hosts import MARGIN, SCHEMA, TIMEOUT, Answer, Host, Stubs, compile_all, is_running, real_torch
from fake_torch import CPU
from jsonschema import validate

from torchdoctor.tables import Tables

pytestmark = [
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the driver's libraries and /proc are of Linux"),
    pytest.mark.skipif(Path("/proc/driver/nvidia").exists(), reason="the driver of this host would answer too"),
    pytest.mark.slow,
]
OnHost = Callable[[Host], object]
OnDriver = Callable[[Host, Stubs], object]

CUDA = "TORCHDOCTOR_CUDA_PYTHON"  # names a Python with a CUDA build of torch
HEALTHY = ("",)
NOT_LOADED = ("driver-not-loaded", "driver-missing", "container-without-gpu")
NO_DRIVER_NEEDED = ("", *NOT_LOADED)  # no GPU is on the bus of most machines that run this
DRIVER = ("gpu-init-failed", "driver-library-mismatch", "gpu-lost", "driver-not-loaded", "uvm-not-loaded")


class Fault(NamedTuple):
    """What is broken, by ``on_host`` or (with stand-ins made by a C compiler) ``on_driver``, and what is to be said.

    The first loud finding is one of ``ids`` ("" is none); its summary, reason or evidence says all of ``says``.
    """

    ids: tuple[str, ...]
    status: int
    on_host: OnHost | None = None
    on_driver: OnDriver | None = None
    says: tuple[str, ...] = ()
    waits: int = 0  # how many deadlines have to pass
    arguments: tuple[str, ...] = ("--no-bench",)


def imports(at_import: str) -> OnHost:
    """A torch that does this when it is imported."""
    return partial(faults.cpu_torch, at_import=at_import)


def smi(sample: str, status: int, seconds: float = 0) -> OnDriver:
    """An nvidia-smi that replays a sample."""
    return partial(faults.nvidia_smi, sample=sample, status=status, seconds=seconds)


def driver(code: int, *, cuda: int = 13000, version: str = "580.95.05", **stub: str | int) -> OnDriver:
    """A GPU whose driver answers with this number."""
    return lambda host, stubs: faults.driver(host, stubs, code, cuda=cuda, version=version, stub=stub)


def asked(action: str) -> OnHost:
    """A torch that does this when it is asked something after its import."""
    return partial(faults.cpu_torch, after=f"import os, time\ndef get_num_threads(): {action}\n")


FAILS, UNTESTED = ("torch-import-fails",), ("smoke-test-failed",)
# The 21 hosts of the matrix.
MATRIX = {
    "torch missing": Fault(("torch-missing",), 1, on_host=lambda host: host),
    "libtorch_cpu.so removed": Fault(
        FAILS, 1, on_host=faults.missing_library, says=("trial.stage: import", "trial.library: libtorch_cpu.so")
    ),
    "import segfaults": Fault(
        FAILS, 1, on_host=imports(faults.SEGFAULT), says=("trial.stage: import", "trial.signal: SIGSEGV")
    ),
    "import hangs": Fault(
        FAILS,
        1,
        on_host=imports(faults.HANG),
        says=("does not end", "trial.stage: import", "torch/__init__.py", "trial.library: "),
        waits=2,
    ),
    "import prints to stdout": Fault(HEALTHY, 0, on_host=imports(faults.NOISE)),
    "nvidia-smi hangs": Fault(NO_DRIVER_NEEDED, 0, on_driver=faults.nvidia_smi_hangs, waits=1),
    "nvidia-smi exits 9": Fault(NO_DRIVER_NEEDED, 0, on_driver=smi("fail_rc09_no_driver.txt", 9)),
    "nvidia-smi exits 18": Fault(
        ("driver-library-mismatch",),
        1,
        on_driver=smi("fail_rc18_version_mismatch.txt", 18),
        says=("driver.smi: version-mismatch",),
    ),
    "nvidia-smi exits 255": Fault(
        ("driver-permission",), 1, on_driver=smi("fail_rc255_unknown.txt", 255), says=("driver.smi: unknown-error",)
    ),
    "driver 3": Fault(("gpu-init-failed",), 1, on_driver=driver(3), says=("trial.init_code: 3",)),
    "driver 35": Fault(
        ("driver-too-old",), 1, on_driver=driver(35, cuda=12020, version="535.104.05"), says=("535.104.05", "580")
    ),
    "driver 100": Fault(HEALTHY, 0, on_driver=partial(faults.driver_without_gpu, code=100)),
    "driver 802": Fault(("fabric-manager-down",), 1, on_driver=driver(802), says=("802",)),
    "driver 803": Fault(
        ("compat-library-problem", "driver-library-mismatch"), 1, on_driver=driver(803), says=("trial.init_code: 803",)
    ),
    "driver 804": Fault(("compat-library-problem",), 1, on_driver=driver(804), says=("trial.init_code: 804",)),
    "driver 999": Fault(("uvm-not-loaded",), 1, on_driver=driver(999), says=("trial.init_code: 999",)),
    "HOME missing": Fault(HEALTHY, 0, on_host=faults.without_home),
    "read-only file system": Fault(HEALTHY, 0, on_host=faults.read_only),
    "noisy sitecustomize": Fault(HEALTHY, 0, on_host=faults.noisy_start),
    "folder named torch": Fault(("duplicate-torch",), 1, on_host=faults.torch_in_current_folder, says=("work/torch",)),
    "numpy 2, torch for numpy 1": Fault(("numpy-abi-mismatch",), 0, on_host=faults.numpy_2, says=("2.2.2", "2.1.0")),
}
# Further hosts of the same kinds.
MORE = {
    "driver in order": Fault(HEALTHY, 0, on_driver=driver(0), arguments=("--no-smoke",)),
    "driver 46": Fault(("gpu-lost", "gpu-hidden"), 1, on_driver=driver(46), says=("46",)),
    "driver 101": Fault(("gpu-hidden",), 1, on_driver=driver(101), says=("101",)),
    "driver 100 beside a GPU": Fault((*DRIVER, "gpu-hidden", "compat-library-problem"), 1, on_driver=driver(100)),
    "driver 802, fabric in progress": Fault(
        ("fabric-manager-down",), 1, on_driver=driver(802, STUB_NVML_FABRIC=2), says=("In Progress",)
    ),
    "driver hangs": Fault(DRIVER, 1, on_driver=driver(0, STUB_CUDA_FAULT="hang"), says=("init", "libcuda"), waits=1),
    "driver aborts": Fault(
        DRIVER, 1, on_driver=driver(0, STUB_CUDA_FAULT="abort"), says=("init", "SIGABRT", "libcuda")
    ),
    "NVML hangs": Fault(HEALTHY, 0, on_driver=driver(100, STUB_NVML_FAULT="hang"), waits=1),
    "NVML aborts": Fault(HEALTHY, 0, on_driver=driver(100, STUB_NVML_FAULT="abort")),
    "crash named by its place": Fault(FAILS, 1, on_host=imports(faults.SEGFAULT), says=("torch/__init__.py",)),
    "hang that keeps the lock": Fault(
        FAILS, 1, on_host=imports(faults.HANG_IN_C), says=("does not end", "torch/__init__.py"), waits=2
    ),
    "hang in a library": Fault(
        FAILS,
        1,
        on_driver=partial(faults.import_hangs, in_library=True),
        says=("does not end", "trial.stage: import", "torch/__init__.py", "trial.library: liblast.so.1"),
        waits=2,
    ),
    "hang in Python after a library": Fault(
        FAILS,
        1,
        on_driver=partial(faults.import_hangs, in_library=False),
        says=("does not end", "trial.stage: import", "torch/__init__.py", "trial.library: liblast.so.1"),
        waits=2,
    ),
    "crash where nothing can be written": Fault(
        FAILS,
        1,
        on_host=partial(faults.read_only, at_import=faults.SEGFAULT),
        says=("trial.signal: SIGSEGV", "trial.library: unknown"),
    ),
    "import killed for memory": Fault(
        (*FAILS, "host-memory-exhausted"), 1, on_host=imports(faults.by_signal("SIGKILL")), says=("SIGKILL",)
    ),
    "illegal instruction": Fault(("cpu-instructions-missing",), 1, on_host=imports(faults.by_signal("SIGILL"))),
    "import leaves": Fault(
        FAILS, 1, on_host=imports("import os; os._exit(3)"), says=("exit status 3", "No exception was raised")
    ),
    "import is interrupted by nobody": Fault(
        FAILS, 1, on_host=imports("raise KeyboardInterrupt('of its own')"), says=("KeyboardInterrupt: of its own",)
    ),
    "import closes every descriptor": Fault(
        FAILS, 1, on_host=imports("import os, time; os.closerange(3, 1000); time.sleep(60)"), says=("was closed",)
    ),
    "import needs more memory than there is": Fault(
        ("host-memory-exhausted",), 1, on_host=imports("bytearray(1 << 60)"), says=("trial.error: MemoryError",)
    ),
    "OpenBLAS gives up": Fault(
        ("host-memory-exhausted",),
        1,
        on_host=imports(f"import os; os.write(2, b'{faults.OPENBLAS}'); os._exit(1)"),
        says=(f"exit status 1: {faults.OPENBLAS}",),
    ),
    "every start leaves a process": Fault(HEALTHY, 0, on_host=faults.start_leaves_a_process),
    "import takes the streams away": Fault(HEALTHY, 0, on_host=imports("import sys; sys.stdout = sys.stderr = None")),
    "import closes the streams": Fault(HEALTHY, 0, on_host=imports("import sys; sys.stdout.close()")),
    "import leaves a fork that holds the output": Fault(HEALTHY, 0, on_host=imports(faults.FORK_HOLDS_THE_OUTPUT)),
    "torch leaves when asked": Fault(
        UNTESTED, 1, on_host=asked("os._exit(9)"), says=("describe on cpu: exit status 9", "torch what it can do")
    ),
    "torch aborts when asked": Fault(
        UNTESTED, 1, on_host=asked("os.abort()"), says=("describe on cpu: ended by SIGABRT",)
    ),
    "torch hangs when asked": Fault(
        UNTESTED, 1, on_host=asked("time.sleep(600)"), says=("describe on cpu: no answer in 3",), waits=1
    ),
    "driver aborts when a GPU is described": Fault(
        ("gpu-init-failed",), 1, on_driver=faults.describing_aborts, says=("describe", "SIGABRT", "libcuda")
    ),
    "import leaves politely": Fault(FAILS, 1, on_host=imports("import sys; sys.exit(0)")),
    "error that cannot be printed": Fault(FAILS, 1, on_host=imports(faults.UNPRINTABLE)),
    "import floods both outputs": Fault(HEALTHY, 0, on_host=imports(faults.FLOOD)),
    "HOME and TMPDIR gone": Fault(HEALTHY, 0, on_host=faults.home_that_is_gone),
    "current folder gone": Fault(HEALTHY, 0, on_host=faults.current_folder_is_gone),
    "script named torch.py": Fault(("duplicate-torch",), 1, on_host=faults.file_in_current_folder, says=("torch.py",)),
    "empty folder named torch": Fault(("torch-missing",), 1, on_host=faults.empty_folder_named_torch),
    "nvidia-smi prints garbage": Fault(HEALTHY, 0, on_driver=faults.nvidia_smi_is_garbage),
    "nvidia-smi is slow": Fault(
        ("driver-library-mismatch",), 1, on_driver=smi("fail_rc18_version_mismatch.txt", 18, seconds=1)
    ),
}


@pytest.fixture(scope="session")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    return compile_all(tmp_path_factory.mktemp("stubs"))


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def first_loud(answer: Answer) -> dict[str, Any]:
    """The first loud finding. A container without device nodes is one more fault, if these tests run in one."""
    in_container = answer.report["facts"]["place"]["container"] is not None
    loud = [finding for finding in answer.loud if not (in_container and finding["id"] == "container-without-gpu")]
    return loud[0] if loud else {"id": "", "summary": "", "evidence": []}


def judged(host: Host, fault: Fault, answer: Answer) -> None:
    first = first_loud(answer)
    assert first["id"] in fault.ids, answer.ids
    assert answer.status == fault.status
    told = [first["summary"], first.get("why", ""), *(f"{item['fact']}: {item['value']}" for item in first["evidence"])]
    assert [words for words in fault.says if not any(words in line for line in told)] == [], told
    assert answer.seconds < fault.waits * TIMEOUT + MARGIN
    assert str(host.folder / "home") not in json.dumps(answer.report)


@contextmanager
def never_skipped(name: str) -> Iterator[None]:
    """Where a CUDA build is named, as for the run by hand, nothing of the matrix is left out in silence."""
    try:
        yield
    except pytest.skip.Exception as reason:
        if os.environ.get(CUDA):
            pytest.fail(f"{name} would be skipped: {reason}")
        raise


def broken(host: Host, fault: Fault, request: pytest.FixtureRequest) -> None:
    if fault.on_host:
        fault.on_host(host)
    if fault.on_driver:
        fault.on_driver(host, request.getfixturevalue("stubs"))


@pytest.mark.parametrize("name", MATRIX)
def test_matrix(name: str, host: Host, request: pytest.FixtureRequest) -> None:
    with never_skipped(name):
        broken(host, MATRIX[name], request)
    judged(host, MATRIX[name], host.check(*MATRIX[name].arguments))


@pytest.mark.parametrize("name", MORE)
def test_more(name: str, host: Host, request: pytest.FixtureRequest) -> None:
    broken(host, MORE[name], request)
    judged(host, MORE[name], host.check(*MORE[name].arguments))


def test_the_matrix_is_whole() -> None:
    assert list(MATRIX) == [
        "torch missing", "libtorch_cpu.so removed", "import segfaults", "import hangs", "import prints to stdout",
        *(f"nvidia-smi {how}" for how in ("hangs", "exits 9", "exits 18", "exits 255")),
        *(f"driver {code}" for code in (3, 35, 100, 802, 803, 804, 999)),
        "HOME missing", "read-only file system", "noisy sitecustomize", "folder named torch",
        "numpy 2, torch for numpy 1",
    ]  # fmt: skip
    assert len(MATRIX) == 21


@pytest.mark.parametrize(
    ("named", "outcome"), [("", pytest.skip.Exception), ("/some/python", pytest.fail.Exception)], ids=["else", "named"]
)
def test_where_a_cuda_build_is_named_no_row_may_be_skipped(
    named: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(CUDA, named)
    with pytest.raises(outcome, match="no compiler"), never_skipped("row"):
        pytest.skip("no compiler")


@pytest.mark.parametrize("name", ["import prints to stdout", "noisy sitecustomize", "read-only file system"])
def test_a_disturbed_host_is_read_like_a_quiet_one(name: str, host: Host, tmp_path: Path) -> None:
    quiet = Host(tmp_path / "quiet")
    faults.cpu_torch(quiet)
    on_host = MATRIX[name].on_host
    assert on_host is not None
    on_host(host)
    expected, disturbed = (one.check("--no-smoke").report for one in (quiet, host))
    assert disturbed["facts"]["torch"]["full"] == CPU
    assert disturbed["facts"]["trial"]["imported"] is True
    assert [item["id"] for item in disturbed["findings"]] == [item["id"] for item in expected["findings"]]
    assert set(disturbed["unknown"]) == set(expected["unknown"])


# ---------------------------------------------------------------------------------------------------------- nvidia-smi


FAILURES = {
    "fail_rc04_permission.txt": 4,
    "fail_rc09_no_driver.txt": 9,
    "fail_rc12_no_nvml.txt": 12,
    "fail_rc15_gpu_lost.txt": 15,
    "fail_rc17_blocked.txt": 17,
    "fail_rc18_version_mismatch.txt": 18,
    "fail_rc255_no_supported_gpus_r580.txt": 255,
    "fail_rc255_unknown.txt": 255,
    "fail_no_devices_were_found.txt": 6,
    "fail_gpu_lost_handle.txt": 255,
}


@pytest.mark.parametrize("sample", FAILURES)
def test_failures_of_nvidia_smi_are_read_live_as_the_table_says(sample: str, host: Host, tables: Tables) -> None:
    host.nvidia_smi(sample, FAILURES[sample])
    text = (host.folder / "bin" / "nvidia-smi").read_text().partition("cat '")[2].partition("'")[0]
    expected = tables.smi_outcomes.classify(Path(text).read_text(encoding="utf-8"), FAILURES[sample])
    assert expected
    assert host.check("--static").report["facts"]["driver"]["smi"] == expected


def test_a_gpu_on_the_bus_whose_driver_is_not_loaded(host: Host, stubs: Stubs) -> None:
    faults.gpu_on_the_bus(host)
    faults.nvidia_smi(host, stubs, "fail_rc09_no_driver.txt", 9)
    answer = host.check("--no-bench")
    assert answer.status == 1
    assert answer.loud[0]["id"] in NOT_LOADED, answer.ids
    if answer.report["facts"]["place"]["container"] is None:
        assert answer.loud[0]["id"] == "driver-not-loaded"


def test_a_stuck_nvidia_smi_costs_its_deadline_once(host: Host, stubs: Stubs) -> None:
    faults.nvidia_smi_hangs(host, stubs)
    answer = host.check("--static", timeout=2)
    assert answer.report["facts"]["driver"]["smi"] == "timed-out"
    assert answer.seconds < 2 + 4


def test_a_process_that_nvidia_smi_leaves_behind_is_not_waited_for(host: Host, stubs: Stubs) -> None:
    host.env["PIDS"] = str(host.folder / "pids")
    faults.nvidia_smi_leaves_a_child(host, stubs)
    answer = host.check("--static", timeout=30)
    for pid in (host.folder / "pids").read_text().split():
        os.kill(int(pid), signal.SIGKILL)  # made by this test
    assert answer.report["facts"]["driver"]["smi"] == "version-mismatch"
    assert answer.seconds < 10


# --------------------------------------------------------------------------------------------------- hangs and Ctrl-C


def gone(pids: str) -> bool:
    """Whether these processes end within a moment."""
    for _ in range(50):
        if not any(is_running(int(pid)) for pid in pids.split()):
            return True
        time.sleep(0.1)
    return False


def test_a_stubborn_import_is_ended_with_what_it_started(host: Host) -> None:
    host.env["PIDS"] = str(host.folder / "pids")
    faults.cpu_torch(host, faults.HANG_STUBBORNLY)
    judged(host, MATRIX["import hangs"], host.check())
    assert gone((host.folder / "pids").read_text())


def test_ctrl_c_ends_the_children_and_prints_what_there_is(host: Host) -> None:
    host.env["PIDS"] = str(host.folder / "pids")
    faults.cpu_torch(host, faults.HANG_STUBBORNLY)
    command = [sys.executable, "-m", "torchdoctor", "check", "--format", "json", "--python", host.python]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=host.work, env=host.env
    )
    for _ in range(200):
        if (host.folder / "pids").exists() and (host.folder / "pids").read_text():
            break
        time.sleep(0.1)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (child.returncode, "Traceback" in err) == (130, False), err
    report = json.loads(out)
    validate(report, SCHEMA)
    assert report["facts"]["torch"]["full"] == CPU
    assert gone((host.folder / "pids").read_text())


# ---------------------------------------------------------------------------------------------------- told elsewhere


@pytest.mark.parametrize("name", ["import segfaults", "driver 803", "numpy 2, torch for numpy 1"])
def test_a_recording_gives_the_same_report_elsewhere(name: str, host: Host, request: pytest.FixtureRequest) -> None:
    broken(host, MATRIX[name], request)
    saved = host.folder / "recording.json"
    live = host.check(*MATRIX[name].arguments, "--record", str(saved))
    done = host.run("diagnose", "--format", "json", str(saved))
    assert (done.returncode, done.stderr) == (MATRIX[name].status, "")
    assert json.loads(done.stdout) == live.report


# ---------------------------------------------------------------------------------------------------------- real torch


@pytest.mark.torch
def test_a_real_torch_without_one_of_its_libraries(host: Host) -> None:
    faults.link_real_torch(host, real_torch(), without="libtorch_cpu.so")
    # The files of the wheel tell it before the import does.
    fault = MATRIX["libtorch_cpu.so removed"]._replace(ids=("torn-package",), says=("torch/lib/libtorch_cpu.so",))
    judged(host, fault, host.check(timeout=60))


@pytest.mark.torch
def test_a_real_torch_in_a_noisy_read_only_homeless_place(host: Host) -> None:
    """The whole check, smoke tests and benchmark included, with every disturbance at once."""
    faults.link_real_torch(host, real_torch())
    (host.site / "sitecustomize.py").write_text(faults.NOISE)
    del host.env["HOME"]
    host.start = faults.read_only_start(host)
    answer = host.check(timeout=60)
    assert [finding["id"] for finding in answer.loud] == []
    assert answer.status == 0
    assert answer.report["bench"] is not None
    outcomes = {probe["id"]: probe["outcome"] for probe in answer.report["smoke"]}
    assert "failed" not in outcomes.values(), outcomes
    assert outcomes["train"] == "passed"


@pytest.mark.torch
@pytest.mark.parametrize("name", [name for name in MATRIX if name.startswith("driver ")])
def test_a_real_cuda_build_on_a_broken_driver(name: str, host: Host, stubs: Stubs) -> None:
    """Run by hand: TORCHDOCTOR_CUDA_PYTHON names a Python with such a build (5 GB), which needs no GPU for this."""
    on_driver = MATRIX[name].on_driver
    assert on_driver is not None
    on_driver(host, stubs)
    with never_skipped(name):
        host.python = real_torch(CUDA)
    answer = host.check("--no-smoke", timeout=60)
    first = first_loud(answer)
    said = f"exit {answer.status}, {first['id'] or 'nothing loud'}: {first['summary']} ({answer.seconds:.1f} s)"
    print(f"{name}: {said}")  # noqa: T201 - for the note of a run by hand
    judged(host, MATRIX[name]._replace(waits=20), answer)
