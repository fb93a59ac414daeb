"""Models handed to other programs: torch.export and ONNX."""

import importlib.util
import os

from torchdoctor.target.smoke_numerics import compare
from torchdoctor.target.smoke_run import Skip, Wrong

MYPY = False
if MYPY:
    from typing import Any

    from torchdoctor.target.smoke_run import Job


def model(job: "Job") -> "tuple[Any, Any]":
    """A small network and an input."""
    torch = job.torch
    with torch.random.fork_rng(devices=[]):
        net = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)).eval()
    return net, job.random(8, 16)


def export(job: "Job") -> "dict[str, Any]":
    """An exported program computes what the network computes."""
    if not hasattr(job.torch, "export") or not hasattr(job.torch.export, "export"):
        raise Skip("this torch has no torch.export")
    job.need_folder()  # torch's compiler, imported for this, wants one
    net, x = model(job)
    program = job.torch.export.export(net, (x,))
    with job.torch.no_grad():
        return compare("an exported network", program.module()(x), net(x), 1e-5)


def onnx(job: "Job") -> "dict[str, Any]":
    """A file in ONNX's format, checked by the onnx package."""
    for name in ("onnx", "onnxscript"):
        if importlib.util.find_spec(name) is None:
            raise Skip("%s is not installed" % name)
    import onnx  # type: ignore[import-not-found, unused-ignore]

    net, x = model(job)
    path = os.path.join(job.need_folder(), "model.onnx")
    try:
        job.torch.onnx.export(net, (x,), path, dynamo=True, verbose=False)
    except TypeError:
        raise Skip("this torch exports to ONNX by tracing only")
    onnx.checker.check_model(path)
    operations = [node.op_type for node in onnx.load(path).graph.node]
    if not any(name in ("Gemm", "MatMul") for name in operations):
        raise Wrong("the ONNX file holds no product of matrices: %s" % ", ".join(operations[:20]))
    return {"operations": len(operations)}
