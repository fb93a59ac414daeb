"""Every key that a policy may have: one list for reading, "did you mean", ``--show-config`` and the documentation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from torchdoctor.policy import kinds
from torchdoctor.policy.kinds import Kind

PACKAGES = "require.packages"
IGNORE, UNTIL, SELECT, FAIL_ON, BASELINE, INDEX_BASE, REQUIRE_GPU = (
    "ignore", "ignore-until", "select", "fail-on", "bench.baseline", "index-base", "require.gpu"
)  # fmt: skip
REQUIRE_VARIABLE = "TORCHDOCTOR_REQUIRE"


class Key(NamedTuple):
    """A key by its dotted path (``*`` stands for any name), what it takes and means, and how else it can be given."""

    path: str
    kind: Kind
    meaning: str
    option: str = ""
    variable: str = ""
    default: str = ""


def _require(name: str, kind: Kind, meaning: str, sign: str = ">=") -> Key:
    return Key(f"require.{name}", kind, meaning, f"--require '{name.replace('*', 'NAME')}{sign}...'", REQUIRE_VARIABLE)


def _floor(name: str, meaning: str) -> Key:
    return Key(f"bench.{name}-min", kinds.NUMBER, meaning, f"--require 'bench.{name}-min=...'", REQUIRE_VARIABLE)


KEYS: tuple[Key, ...] = (
    Key(REQUIRE_GPU, kinds.FLAG, "there is a GPU that torch can use", "--require-gpu", "TORCHDOCTOR_REQUIRE_GPU"),
    _require("python", kinds.VERSIONS, "version of the examined Python"),
    _require("torch", kinds.VERSIONS, "version of the installed torch", "=="),
    _require("build", kinds.BUILDS, "build of the installed torch: one of these", "="),
    _require("backend", kinds.BACKEND, "what the build is for: one of these", "="),
    _require("driver", kinds.DRIVERS, "version of the NVIDIA driver, compared as far as it is written"),
    _require("compute-capability", kinds.CAPABILITIES, "of every NVIDIA GPU"),
    _require("gpus.min", kinds.COUNT, "so many GPUs (1 where it is left out) that the other keys of gpus fit"),
    _require("gpus.name", kinds.PATTERN, "found anywhere in the name of such a GPU, in any case", "="),
    _require("gpus.memory-gb", kinds.NUMBER, "memory of such a GPU, in 10^9 bytes"),
    _require("shm-gb", kinds.NUMBER, "size of /dev/shm, in 10^9 bytes"),
    _require("packages.*", kinds.PACKAGE, "version of an installed package"),
    _floor("fp32-tflops", "matrix products of fp32, by the slowest GPU"),
    _floor("tf32-tflops", "the same of tf32"),
    _floor("bf16-tflops", "the same of bf16"),
    _floor("fp16-tflops", "the same of fp16"),
    _floor("images-per-s", "throughput of the mini training, in fp32"),
    _floor("memory-gbps", "copies within the memory of the GPU, in 10^9 bytes a second, read and written"),
    _floor("h2d-gbps", "copies from pinned memory of the host to the GPU"),
    _floor("d2h-gbps", "copies from the GPU to pinned memory of the host"),
    Key(BASELINE, kinds.TEXT, "figures saved by bench --save to compare with; from the folder of the policy",
        "bench --baseline FILE"),
    Key(FAIL_ON, kinds.THRESHOLD, "severity from which the exit status is 1", "--fail-on", "TORCHDOCTOR_FAIL_ON",
        "error"),
    Key(IGNORE, kinds.IDS, "findings to set aside, and what they explain; options add to it", "--ignore ID",
        "TORCHDOCTOR_IGNORE"),
    Key(UNTIL, kinds.IGNORES, "findings to set aside up to a day, and why"),
    Key(SELECT, kinds.IDS, "only these findings count; others are set aside", "--select ID", "TORCHDOCTOR_SELECT"),
    Key(INDEX_BASE, kinds.TEXT, "a mirror of the PyTorch index, without the variant", "install-cmd --index-base URL",
        "TORCHDOCTOR_INDEX_BASE"),
)  # fmt: skip


def find(path: str) -> Key | None:
    """The key of a path; a package's is that of all packages."""
    wanted = f"{PACKAGES}.*" if path.startswith(f"{PACKAGES}.") else path
    return next((key for key in KEYS if key.path == wanted), None)


def members(group: str) -> list[str]:
    """The names that stand in a table of the policy; none where there is no such table. "" is the whole."""
    prefix = f"{group}." if group else ""
    names = (key.path[len(prefix) :].partition(".")[0] for key in KEYS if key.path.startswith(prefix))
    return list(dict.fromkeys(names))


def documentation() -> Iterator[str]:
    """The table of all keys, in Markdown."""
    yield "| key | takes | meaning | also as |"
    yield "|---|---|---|---|"
    for key in KEYS:
        also = ", ".join(f"`{word}`" for word in (key.option, key.variable) if word)
        meaning = key.meaning + (f" (default: {key.default})" if key.default else "")
        expects, others = (text.replace("|", "\\|") for text in (key.kind.expects, also))
        yield f"| `{key.path}` | {expects} | {meaning} | {others} |"
