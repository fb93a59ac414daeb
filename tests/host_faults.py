"""The faults themselves: each function breaks one thing of a ``Host`` (tests/broken_hosts.py)."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import fake_torch
import pytest
from broken_hosts import Host, Stubs

NOISE = """\
import os, sys, warnings
print("INFO: initialising", flush=True)
os.write(1, b'{"schema": "torchdoctor.report/1", "status": "fail"}\\n\\x00\\xff no UTF-8, no end of line')
sys.stderr.write("Traceback (most recent call last):\\n  a line of a log, not of ours\\n")
warnings.warn("something is deprecated")
"""
# 8 MiB without an end of line.
FLOOD = "import os\nfor _ in range(64): os.write(1, b'x' * 65536); os.write(2, b'y' * 65536)"
NUMPY_WARNING = """\
import sys
sys.stderr.write("A module that was compiled using NumPy 1.x cannot be run in NumPy 2.1.0 as it may crash.\\n")
"""
SEGFAULT = "import ctypes; ctypes.string_at(0)"  # reads address 0
HANG = "import time; time.sleep(3600)"
HANG_IN_C = "import ctypes; ctypes.PyDLL(None).sleep(3600)"  # keeps the interpreter's lock, so that no handler runs
HANG_STUBBORNLY = """\
import os, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "3600"])
open(os.environ["PIDS"], "w").write("%d %d" % (os.getpid(), child.pid))
time.sleep(3600)
"""
FORK_HOLDS_THE_OUTPUT = """\
import os, time
if os.fork() == 0:
    time.sleep(60)
    os._exit(0)
"""
OPENBLAS = "OpenBLAS warning: Memory allocation still failed after 10 retries, giving up."
UNPRINTABLE = """\
class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("this error cannot be printed")
raise Unprintable
"""


def by_signal(name: str) -> str:
    """An import that ends by this signal."""
    return f"import os, signal; os.kill(os.getpid(), signal.{name})"


# --------------------------------------------------------------------------------------------------------------- torch


def cpu_torch(host: Host, at_import: str = "", after: str = "") -> None:
    """A CPU build; what it does first and last when it is imported."""
    fake_torch.install(host.site, fake_torch.CPU, at_import=at_import, after=after)


def import_hangs(host: Host, stubs: Stubs, *, in_library: bool) -> None:
    """An import that loads a library and does not end: in the library's own initialisation, or in Python after it."""
    cpu_torch(host, f"import ctypes, time\nctypes.CDLL({str(stubs.liblast)!r})\ntime.sleep(3600)")
    host.env |= {"STUB_STUCK": "1"} if in_library else {}


def cuda_torch(host: Host, stubs: Stubs, after: str = "") -> None:
    """A CUDA build."""
    fake_torch.install(host.site, fake_torch.CUDA, runtime=stubs.libcudart, after=after)


def describing_aborts(host: Host, stubs: Stubs) -> None:
    """A GPU that starts, and whose memory cannot be asked for without a crash."""
    cuda_torch(host, stubs, "cuda.mem_get_info = lambda index: __import__('os').abort()\n")
    host.library("libcuda.so.1", stubs.libcuda, STUB_CUDA_CODE=0, STUB_CUDA_VERSION=13000)


def missing_library(host: Host) -> None:
    """A CPU build without one of its own libraries."""
    cpu_torch(host, f"raise ImportError({fake_torch.MISSING_LIBRARY!r})")


def torch_in_current_folder(host: Host) -> None:
    """A folder of the user's own named torch."""
    cpu_torch(host)
    (host.work / "torch").mkdir()
    (host.work / "torch" / "__init__.py").write_text("")


def file_in_current_folder(host: Host) -> None:
    """A script of the user's own named torch.py."""
    cpu_torch(host)
    (host.work / "torch.py").write_text("print('my first network')\n")


def empty_folder_named_torch(host: Host) -> None:
    """Nothing but a folder: Python imports it without an error when there is no torch."""
    (host.work / "torch").mkdir()


def numpy_2(host: Host) -> None:
    """A torch that was compiled for numpy 1."""
    fake_torch.install(host.site, "2.2.2+cpu", at_import=NUMPY_WARNING)
    fake_torch.describe(host.site, "numpy", "2.1.0")


# -------------------------------------------------------------------------------------------------------------- driver


def driver(host: Host, stubs: Stubs, code: int, *, cuda: int, version: str, stub: Mapping[str, str | int]) -> None:
    """A CUDA build and a GPU whose driver answers with a number when it is started; ``stub`` sets more variables."""
    driver_without_gpu(host, stubs, code, cuda=cuda)
    host.library("libnvidia-ml.so.1", stubs.libnvml, STUB_NVML_DRIVER=version, STUB_NVML_CUDA=cuda, **stub)


def driver_without_gpu(host: Host, stubs: Stubs, code: int, *, cuda: int = 13000) -> None:
    """The same with nothing but libcuda to be found."""
    cuda_torch(host, stubs)
    host.library("libcuda.so.1", stubs.libcuda, STUB_CUDA_CODE=code, STUB_CUDA_VERSION=cuda)


def nvidia_smi(host: Host, stubs: Stubs, sample: str, status: int, *, seconds: float = 0) -> None:
    """A CUDA build beside an nvidia-smi that fails."""
    cuda_torch(host, stubs)
    host.nvidia_smi(sample, status, seconds=seconds)


def nvidia_smi_hangs(host: Host, stubs: Stubs) -> None:
    """One that never returns and heeds no signal that can be heeded."""
    cuda_torch(host, stubs)
    host.program("nvidia-smi", "trap '' TERM INT HUP\nwhile :; do sleep 3600; done")


def nvidia_smi_leaves_a_child(host: Host, stubs: Stubs) -> None:
    """One that ends and leaves a process that holds its output open."""
    nvidia_smi(host, stubs, "fail_rc18_version_mismatch.txt", 18)
    script = host.folder / "bin" / "nvidia-smi"
    script.write_text(script.read_text().replace("\n", '\nsleep 3600 &\necho $! >> "$PIDS"\n', 1))


def nvidia_smi_is_garbage(host: Host, stubs: Stubs) -> None:
    """One that prints without end of anything but sense."""
    cuda_torch(host, stubs)
    host.program("nvidia-smi", "head -c 3000000 /dev/urandom\nexit 0")


# --------------------------------------------------------------------------------------------------------------- place


def without_home(host: Host) -> None:
    """HOME is not set."""
    cpu_torch(host)
    del host.env["HOME"]


def home_that_is_gone(host: Host) -> None:
    """HOME and TMPDIR name folders that are not there."""
    cpu_torch(host)
    host.env |= {"HOME": "/no/such/home", "TMPDIR": "/no/such/folder"}


def current_folder_is_gone(host: Host) -> None:
    """The current folder was removed."""
    cpu_torch(host)
    host.start = ("sh", "-c", f'rmdir "{host.work}"; exec "$@"', "sh")


def noisy_start(host: Host) -> None:
    """A sitecustomize that talks at the start and at the end of every Python of the environment."""
    cpu_torch(host)
    (host.site / "sitecustomize.py").write_text(NOISE + '\nimport atexit\natexit.register(print, "bye")\n')


def start_leaves_a_process(host: Host) -> None:
    """A sitecustomize that starts something which holds every output open."""
    cpu_torch(host)
    (host.site / "sitecustomize.py").write_text("import subprocess\nsubprocess.Popen(['sleep', '60'])\n")


def read_only(host: Host, at_import: str = "") -> None:
    """Every file system that the product could write to is read-only."""
    cpu_torch(host, at_import)
    host.start = read_only_start(host)


_READ_ONLY = """\
mount -o remount,bind,ro / && for folder in "$1" "$2"; do
  [ -w "$folder" ] && mount --bind "$folder" "$folder" && mount -o remount,bind,ro "$folder"
done; [ ! -w "$2" ] || exit 77; shift 2; exec "$@"
"""
_GPU_ON_THE_BUS = """\
mount -t tmpfs none /sys/bus/pci/devices && mkdir /sys/bus/pci/devices/0000:01:00.0 && cd /sys/bus/pci/devices/*/ &&
printf 'PCI_CLASS=30000\\nPCI_ID=10DE:2684\\nPCI_SLOT_NAME=0000:01:00.0\\n' > uevent && cd "$1" && shift && exec "$@"
"""


def read_only_start(host: Host) -> tuple[str, ...]:
    """What starts a command so; skips where that cannot be had."""
    temporary = os.environ.get("TMPDIR") or "/tmp"  # noqa: S108 - what the product would use
    return _own_mounts(_READ_ONLY, temporary, str(host.folder))


def gpu_on_the_bus(host: Host) -> None:
    """An RTX 4090 that nothing drives; skips where it cannot be put there."""
    host.start = _own_mounts(_GPU_ON_THE_BUS, str(host.work))


def small_file_system(folder: Path, size: str) -> tuple[str, ...]:
    """What starts a command with an empty file system of so many bytes at a folder; skips where it cannot be had."""
    return _own_mounts('mount -t tmpfs -o size="$2" none "$1" && shift 2 && exec "$@"', str(folder), size)


def _own_mounts(script: str, *arguments: str) -> tuple[str, ...]:
    """Start a command among mounts of its own, made by the script."""
    unshare = shutil.which("unshare")
    if unshare is None:
        pytest.skip("there is no unshare, which gives a process mounts of its own")
    user = () if os.geteuid() == 0 else ("--map-root-user",)
    start = (unshare, *user, "--mount", "sh", "-c", script, "sh", *arguments)
    tried = subprocess.run([*start, "true"], check=False, capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"no mounts of its own for a process here: {tried.stderr.strip() or tried.returncode}")
    return start


# ---------------------------------------------------------------------------------------------------------- real torch


def link_real_torch(host: Host, python: str, *, without: str = "") -> None:
    """The packages of another Python as links, one of torch's own libraries left out."""
    source = _site_of(python)
    for entry in source.iterdir():
        if entry.name not in {"torch", "__pycache__"}:
            (host.site / entry.name).symlink_to(entry)
    _link(source / "torch", host.site / "torch", "lib")
    _link(source / "torch" / "lib", host.site / "torch" / "lib", without)


def _site_of(python: str) -> Path:
    """The folder of a Python in which its torch lies."""
    code = "import importlib.util as u, os; print(os.path.dirname(os.path.dirname(u.find_spec('torch').origin)))"
    return Path(subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip())


def _link(source: Path, target: Path, left_out: str) -> None:
    target.mkdir()
    for entry in source.iterdir():
        if entry.name != left_out:
            (target / entry.name).symlink_to(entry)
