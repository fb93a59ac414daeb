"""Importing torch: how long it takes, what it says of itself, and what went wrong."""

import os
import sys
import time
import warnings

from torchdoctor.target.smoke_run import error_text, said

MYPY = False
if MYPY:
    from collections.abc import Callable, Iterable
    from typing import Any

    Tell = Callable[[str, "dict[str, Any]"], None]


# What torch tells of itself may crash as well as its import: a stage without a test.
DESCRIBE = {"id": "describe", "device": "cpu", "library": "libtorch"}


def import_torch(tell: "Tell") -> "tuple[Any, dict[str, Any]]":
    """The module and what it says of itself; None when it cannot be imported (the event of the probe says why)."""
    tell("stage", {"id": "import", "device": "cpu"})
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch, error = attempt()
    seconds = time.perf_counter() - started
    tell("probe", event(seconds, error))
    if error is not None:
        return None, {}
    tell("stage", dict(DESCRIBE))
    facts = dict(describe(torch), seconds=seconds, available=None, warnings=said(caught))
    tell("imported", facts)
    return torch, facts


def attempt() -> "tuple[Any, dict[str, Any] | None]":
    """The module and None, or None and what is wrong with it."""
    try:
        import torch  # type: ignore[import-not-found, unused-ignore]
    except BaseException as error:  # also an interruption that nobody asked for: nothing here is cut short by one
        return None, {"text": error_text(error), "values": blame(error)}
    if not hasattr(torch, "Tensor") or not hasattr(torch, "__version__"):
        places = list(getattr(torch, "__path__", [])) or [getattr(torch, "__file__", None)]
        text = "what was imported as torch is not torch: %s" % ", ".join(map(str, places))
        return None, {"text": text, "values": {"type": "NotTorch", "file": str(places[0])}}
    return torch, None


def blame(error: BaseException) -> "dict[str, Any]":
    """The kind of error, the module that was missing, and the file in which it was raised."""
    trace, files = error.__traceback__, []  # type: Any, list[str]
    while trace is not None:
        files.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    loaded = [getattr(module, "__file__", None) for name, module in list(sys.modules.items()) if "." not in name]
    return {
        "type": type(error).__name__,
        "module": getattr(error, "name", None),
        "path": getattr(error, "path", None),
        "file": files[-1] if files else None,
        "hides": hiding([getattr(error, "path", None)] + files + loaded),
    }


def hiding(paths: "Iterable[Any]") -> "str | None":
    """The first file that is named like a module of the standard library and lies outside of it and of packages."""
    library = os.path.dirname(os.__file__)
    for path in paths:
        path = path if isinstance(path, str) else ""
        folder, name = os.path.split(os.path.dirname(path) if path.endswith("__init__.py") else path)
        inside = path.startswith(library) or "-packages" in path or not path.endswith(".py")
        if not inside and standard(name[:-3] if name.endswith(".py") else name, library):
            return path
    return None


def standard(name: str, library: str) -> bool:
    """Whether the standard library has a module of this name; before Python 3.10 nobody lists them."""
    names = getattr(sys, "stdlib_module_names", None)
    if names is not None:
        return name in names
    return any(os.path.exists(os.path.join(library, name + end)) for end in (".py", "/__init__.py"))


def event(seconds: float, error: "dict[str, Any] | None") -> "dict[str, Any]":
    """The event of the probe named import."""
    return {
        "id": "import",
        "device": "cpu",
        "library": "libtorch",
        "outcome": "failed" if error else "passed",
        "seconds": seconds,
        "error": error["text"] if error else None,
        "reason": None,
        "values": error["values"] if error else {},
        "warnings": [],
    }


def backend(torch: "Any") -> str:
    """What the build was made for: cuda, rocm, xpu, mps or cpu."""
    version = torch.version
    mps = getattr(torch.backends, "mps", None)
    if getattr(version, "hip", None):
        return "rocm"
    if getattr(version, "cuda", None):
        return "cuda"
    if getattr(version, "xpu", None) or attempted(lambda: torch.xpu._is_compiled()):
        return "xpu"
    return "mps" if mps is not None and attempted(mps.is_built) else "cpu"


def describe(torch: "Any") -> "dict[str, Any]":
    """What torch tells without touching a device."""
    kind = backend(torch)
    numpy = sys.modules.get("numpy")
    nccl = attempted(lambda: torch.cuda.nccl.version()) if kind in ("cuda", "rocm") else None
    return {
        "version": str(torch.__version__),
        "cuda": getattr(torch.version, "cuda", None),
        "hip": getattr(torch.version, "hip", None),
        "xpu": getattr(torch.version, "xpu", None),
        "arch_list": attempted(lambda: torch.xpu.get_arch_list() if kind == "xpu" else cuda_archs(torch)) or [],
        "backend": kind,
        "cudnn": attempted(lambda: torch._C._cudnn.getVersionInt()) if kind in ("cuda", "rocm") else None,
        "nccl": ".".join(map(str, nccl)) if isinstance(nccl, tuple) else nccl,
        "threads": attempted(torch.get_num_threads),
        "cpu_capability": attempted(lambda: torch.backends.cpu.get_cpu_capability()),
        "numpy": getattr(numpy, "__version__", None),
        "file": getattr(torch, "__file__", None),
    }


def cuda_archs(torch: "Any") -> "list[str]":
    """The architectures of the build's device code, asked without starting a device."""
    flags = torch._C._cuda_getArchFlags() if hasattr(torch._C, "_cuda_getArchFlags") else None
    return flags.split() if flags else []


def attempted(action: "Callable[[], Any]") -> "Any":
    """What the action gives, None where this torch cannot."""
    try:
        return action()
    except Exception:
        return None
