"""What a result may be off by, and the flags that decide how exactly a device computes."""

import contextlib
import math

from torchdoctor.target.smoke_run import Wrong

MYPY = False
if MYPY:
    from collections.abc import Iterator
    from typing import Any

# Half the distance from 1 to the next number.
UNITS = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
}
TF32_UNIT = 2.0**-11
MARGIN = 4.0


def matmul_bound(largest: float, inner: int, dtype: str, inputs: float = 0.0, sums: str = "float32") -> float:
    """The largest error of a product over ``inner`` terms whose largest value is ``largest``.

    Rounding of the result, of the sums (which grow with the square root of their number), and of the inputs where the
    device rounds those inside (TF32).
    """
    add = min(UNITS[sums], UNITS[dtype])
    return MARGIN * (UNITS[dtype] * largest + math.sqrt(inner) * add * largest + inputs)


def tf32_inputs(a: "Any", b: "Any", inner: int) -> float:
    """What rounding the inputs to TF32 adds."""
    return TF32_UNIT * math.sqrt(inner) * float(a.abs().mean()) * float(b.abs().mean())


def exact(tensor: "Any") -> "Any":
    """The values in float64 on the CPU."""
    return tensor.detach().cpu().double()


def distance(got: "Any", want: "Any") -> float:
    """The largest difference; not-a-number when there is one in either, since that compares with nothing."""
    return float((exact(got) - exact(want)).abs().max())


def compare(what: str, got: "Any", want: "Any", bound: float) -> "dict[str, Any]":
    """The error and its bound; raises Wrong when it is larger, or when there is anything but a number."""
    if tuple(got.shape) != tuple(want.shape):
        raise Wrong("%s: the shape is %s, not %s" % (what, tuple(got.shape), tuple(want.shape)))
    error = distance(got, want)
    values = {"error": error, "bound": bound}
    if not error <= bound:
        raise Wrong("%s is off by %.3g; at most %.3g is right" % (what, error, bound), values)
    return values


def same(what: str, got: "Any", want: "Any") -> None:
    """Raises Wrong unless two tensors hold the same bits."""
    got, want = got.detach().cpu(), want.detach().cpu()
    if got.dtype != want.dtype or tuple(got.shape) != tuple(want.shape):
        raise Wrong("%s: %s %s, not %s %s" % (what, got.dtype, tuple(got.shape), want.dtype, tuple(want.shape)))
    wrong = int((got != want).sum())
    if wrong:
        raise Wrong("%s: %d of %d values differ" % (what, wrong, want.numel()), {"wrong": wrong, "of": want.numel()})


def settings(torch: "Any") -> "Iterator[tuple[Any, str]]":
    """What decides the precision of float32 and the choice of algorithms, in the order in which it is put back.

    Newer versions know a precision for each library, of which the older yes or no is a view.
    """
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    yield cudnn, "allow_tf32"
    for place in (matmul, getattr(cudnn, "conv", None), getattr(cudnn, "rnn", None)):
        yield place, "fp32_precision"
    yield getattr(getattr(torch.backends, "mkldnn", None), "matmul", None), "fp32_precision"
    yield matmul, "allow_fp16_reduced_precision_reduction"
    yield matmul, "allow_bf16_reduced_precision_reduction"
    yield cudnn, "benchmark"


def state(torch: "Any") -> "list[tuple[Any, str, Any]]":
    """The settings that this torch has, with their values; asked for one it has not, it may raise anything."""
    found = []
    for place, name in settings(torch):
        try:
            found.append((place, name, getattr(place, name)))
        except Exception:
            continue
    return found


@contextlib.contextmanager
def flags(torch: "Any", tf32: bool = False) -> "Iterator[None]":
    """Compute float32 exactly (or with TF32) and accumulate in full, then as it was before.

    Set by the older switches alone: they set the newer ones too, and torch refuses to compute when the two disagree.
    """
    cudnn, precision, before = torch.backends.cudnn, torch.get_float32_matmul_precision(), state(torch)
    try:
        torch.set_float32_matmul_precision("high" if tf32 else "highest")
        cudnn.allow_tf32 = tf32
        cudnn.benchmark = False
        for place, name, _ in before:
            if name.endswith("_reduction"):
                setattr(place, name, False)
        yield
    finally:
        torch.set_float32_matmul_precision(precision)
        for place, name, value in before:
            setattr(place, name, value)


@contextlib.contextmanager
def threads(torch: "Any", count: int) -> "Iterator[None]":
    """Let torch compute with so many threads: on small tensors more of them mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
