"""A torch that imports and starts its devices as the real one does, and computes nothing: for hosts without torch.

``install`` writes the package and its metadata into a site folder. The CUDA part asks a stand-in for libcudart, and so
whatever libcuda.so.1 the loader finds, and says what torch says: the sentences were compared with those of a real
build (tests/test_stub_driver.py does it again where one is named). Whatever else is asked of it is "not implemented
for 'fake'", which is how torch says that an operation was left out of a build.
"""

from __future__ import annotations

from pathlib import Path

CPU, CUDA = "2.13.0+cpu", "2.14.1+cu130"
MISSING_LIBRARY = "libtorch_cpu.so: cannot open shared object file: No such file or directory"

_VERSION = """\
from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = {version!r}
debug = False
cuda: Optional[str] = {cuda!r}
git_version = '0000000000000000000000000000000000000000'
hip: Optional[str] = None
rocm: Optional[str] = None
xpu: Optional[str] = None
"""

_INIT = """\
from . import cuda, version
from .version import __version__

{at_import}

class Unwritten:
    def __init__(self, name):
        self.name = name

    def __call__(self, *args, **kwargs):
        raise NotImplementedError('"%s" not implemented for \\'fake\\'' % self.name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Unwritten(self.name + "." + name)


class Tensor:
    pass


class _C:
    @staticmethod
    def _cuda_getArchFlags():
        return "sm_75 sm_80 sm_86 sm_90 sm_100 sm_120 compute_120" if version.cuda else None


def get_num_threads():
    return 1


def set_num_threads(count):
    pass


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return Unwritten(name)
"""

_CUDA = '''\
import ctypes
import os
import warnings

from . import version

UNEXPECTED = (
    "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling NumCudaDevices() "
    "that might have already set an error? Error %d: %s"
)
TEXTS = {
    1: "invalid argument",
    46: "CUDA-capable device(s) is/are busy or unavailable",
    101: "invalid device ordinal",
    802: "system not yet initialized",
    803: "system has unsupported display driver / cuda driver combination",
    804: "forward compatibility was attempted on non supported HW",
}
NO_DRIVER = (
    "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a driver from "
    "http://www.nvidia.com/Download/index.aspx"
)
OLD_DRIVER = (
    "The NVIDIA driver on your system is too old (found version %d). Please update your GPU driver by downloading and "
    "installing a new version from the URL: http://www.nvidia.com/Download/index.aspx Alternatively, go to: "
    "https://pytorch.org to install a PyTorch version that has been compiled with your version of the CUDA driver."
)
NOT_STARTED = "CUDA driver initialization failed, you might not have a CUDA gpu."
UNKNOWN = (
    "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable "
    "CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero."
)
PLACE = " (Triggered internally at /pytorch/c10/cuda/CUDAFunctions.cpp:119.)"


def _ask():
    """The number of devices, and what torch says where it cannot be told."""
    runtime = ctypes.CDLL(os.path.join(os.path.dirname(__file__), "lib", "libcudart.so.13"))
    count, driver = ctypes.c_int(), ctypes.c_int()
    code = runtime.cudaGetDeviceCount(ctypes.byref(count))
    runtime.cudaDriverGetVersion(ctypes.byref(driver))
    said = {
        0: "",
        3: NOT_STARTED,
        35: OLD_DRIVER % driver.value if driver.value else NO_DRIVER,
        100: "",
        999: UNKNOWN,
    }
    return count.value, said[code] if code in said else UNEXPECTED % (code, TEXTS[code])


def is_available():
    if not version.cuda:
        return False
    count, error = _ask()
    if error:
        warnings.warn("CUDA initialization: " + error + PLACE)
    return count > 0


def init():
    if not version.cuda:
        raise AssertionError("Torch not compiled with CUDA enabled")
    count, error = _ask()
    if error:
        raise RuntimeError(error)
    if not count:
        raise RuntimeError("No CUDA GPUs are available")


def device_count():
    return _ask()[0] if version.cuda else 0
'''


def install(
    site: Path, version: str = CPU, *, at_import: str = "", after: str = "", runtime: Path | None = None
) -> Path:
    """Install it into a site folder: ``at_import`` is run first and ``after`` last; ``runtime`` is a libcudart."""
    label = version.partition("+")[2]
    cuda = f"{label[2:-1]}.{label[-1]}" if label.startswith("cu") else None
    torch = site / "torch"
    torch.mkdir(parents=True)
    (torch / "version.py").write_text(_VERSION.format(version=version, cuda=cuda))
    (torch / "__init__.py").write_text(_INIT.replace("{at_import}", at_import) + after)
    (torch / "cuda.py").write_text(_CUDA)
    if runtime:
        (torch / "lib").mkdir()
        (torch / "lib" / "libcudart.so.13").symlink_to(runtime)
    describe(site, "torch", version if version != CUDA else version.partition("+")[0])
    return torch


def describe(site: Path, name: str, version: str, tag: str = "py3-none-any") -> None:
    """Write what pip leaves beside a package that it has installed."""
    info = site / f"{name}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n\n")
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n")
    (info / "INSTALLER").write_text("pip\n")
