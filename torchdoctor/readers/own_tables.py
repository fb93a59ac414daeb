"""The tables that torch carries in its own source: which code serves which device, which build holds which code.

The source is parsed, never imported; an entry of another form than today's is left out, the rest is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchdoctor.inside import OwnTable
from torchdoctor.readers.answers import Answers
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want

_SERVES, _BUILDS = "DEVICE_REQUIREMENT", "PYTORCH_RELEASES_CODE_CC"
SOURCE = Want(
    "assignments", ("@path/torch/cuda/__init__.py", _SERVES, _BUILDS), name="torch's own table of device code"
)
WANTS = (SOURCE,)
_INTERVAL, _SET = "_CompatInterval", "_CompatSet"
_ANY = ""  # machine

Serves = tuple[str, str, str, tuple[str, ...]]


def read(recording: Recording) -> Iterator[Said]:
    """The tables of the torch that import would take; None where its source has none, as before they were added."""
    answers = Answers(recording)
    text = answers.text(SOURCE)
    if text:
        yield Said("inside.own_table", own_table(text), "torch/cuda/__init__.py")


def own_table(text: str) -> OwnTable | None:
    """Read both tables in the source of ``torch/cuda/__init__.py``; None where it has neither or is no Python."""
    import ast  # takes time to load, and few recordings hold such a source

    try:
        module = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = {}
    for node in module.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            if isinstance(target, ast.Name):
                found[target.id] = node.value
    serves, builds = tuple(_served(found.get(_SERVES))), tuple(_built(found.get(_BUILDS)))
    return OwnTable(serves=serves, builds=builds) if serves or builds else None


def _items(node: object) -> Iterator[tuple[object, object]]:
    """The keys, as they stand, and the nodes of the values of a dictionary."""
    import ast

    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield key.value, value


def _numbers(node: object) -> list[int]:
    """The whole numbers of a set, a list or a tuple."""
    import ast

    items = node.elts if isinstance(node, (ast.Set, ast.List, ast.Tuple)) else []
    return [item.value for item in items if isinstance(item, ast.Constant) and type(item.value) is int]


def _served(table: object) -> Iterator[Serves]:
    """One entry a code and range of devices: a range goes up to the end of its major version."""
    import ast

    for code, value in _items(table):
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Name) or type(code) is not int:
            continue
        named = {item.arg: item.value for item in value.keywords}
        first = value.args[0] if value.args else named.get("start") or named.get("values")
        if value.func.id == _INTERVAL and isinstance(first, ast.Constant) and type(first.value) is int:
            below = (first.value // 10 + 1) * 10
            yield _dotted(code), _dotted(first.value), _dotted(below), _all(_numbers(named.get("exclude")))
        elif value.func.id == _SET:
            for device in _numbers(first):
                yield _dotted(code), _dotted(device), _dotted(device + 1), ()


def _built(table: object) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """One entry a CUDA version and machine; the first releases with the table told no machines apart."""
    for cuda, value in _items(table):
        machines = dict(_items(value)) or {_ANY: value}
        for machine, codes in machines.items():
            archs = _numbers(codes)
            if isinstance(cuda, str) and isinstance(machine, str) and archs:
                yield cuda, machine, _all(archs)


def _dotted(number: int) -> str:
    """90 is 9.0."""
    return f"{number // 10}.{number % 10}"


def _all(numbers: list[int]) -> tuple[str, ...]:
    return tuple(map(_dotted, sorted(numbers)))
