from __future__ import annotations

import pytest
from reading import facts_from, seen

from torchdoctor.tables import Tables

MISMATCH = """RuntimeError:
The detected CUDA version (10.1) mismatches the version that was used to compile
PyTorch (11.7). Please make sure to use the same CUDA versions.
"""
GNU = (
    "/usr/local/cuda/include/crt/host_config.h:143:2: error: #error -- unsupported GNU version! "
    "gcc versions later than 12 are not supported!"
)
UNKNOWN = "?"

ROWS = [
    (MISMATCH, {"tools.compiling": "True", "tools.nvcc": "10.1", "torch.cuda": "11.7"}),
    (MISMATCH.replace("compile\n", "compile "), {"tools.nvcc": "10.1", "torch.cuda": "11.7"}),
    ("The detected CUDA version (12.8) mismatches the version that was used to compile", {"torch.cuda": UNKNOWN}),
    ("The detected CUDA version is odd", {"tools.compiling": UNKNOWN}),
    (GNU, {"tools.compiling": "True", "tools.nvcc": UNKNOWN}),
    (
        "OSError: CUDA_HOME environment variable is not set. Please set it.",
        {"tools.compiling": "True", "tools.nvcc": "None"},
    ),
    (
        "FileNotFoundError: [Errno 2] No such file or directory: '/usr/local/cuda/bin/nvcc'",
        {"tools.compiling": "True", "tools.nvcc": "None"},
    ),
    ("OSError: [Errno 2] No such file or directory: '/usr/local/cuda/version.txt'", {"tools.compiling": UNKNOWN}),
    ("$ nvcc --version\nnvcc: command not found", {"tools.compiling": UNKNOWN}),
    (
        "RuntimeError: Cannot find a working triton installation.",
        {"tools.torch_compile": "True", "tools.compiling": UNKNOWN},
    ),
    (
        "RuntimeError: Failed to find C compiler. Please specify via CC",
        {"tools.torch_compile": "True", "tools.gcc": "None"},
    ),
    ("WARNING: Failed to find MSVC.", {"tools.torch_compile": "True", "tools.msvc": "None"}),
]


@pytest.mark.parametrize(("text", "expected"), ROWS)
def test_what_a_build_shows(text: str, expected: dict[str, str], tables: Tables) -> None:
    assert seen(facts_from(text, tables=tables), expected) == expected


@pytest.mark.parametrize("text", [MISMATCH, GNU])
def test_the_complaint_stays_among_the_messages(text: str, tables: Tables) -> None:
    assert facts_from(text, tables=tables).quoted.errors, "readers of logs must see it too"
