"""What torch's own warnings and printed lines say of the torch that printed them."""

from __future__ import annotations

import pytest
from reading import fact, facts_from

from torchdoctor.tables import Tables

WARNED = (
    "NVIDIA GeForce RTX 5060 Ti with CUDA capability sm_120 is not compatible with the current PyTorch installation."
)
CUDA_INIT = "/venv/lib/python3.12/site-packages/torch/cuda/__init__.py:262: UserWarning:"


@pytest.mark.parametrize("text", [WARNED, f"UserWarning: {WARNED}", f"{CUDA_INIT} {WARNED}", f"UserWarning:\n{WARNED}"])
def test_the_gpu_that_torch_warns_of(text: str, tables: Tables) -> None:
    facts = facts_from(text, tables=tables)
    assert fact(facts, "gpus[0].name") == "NVIDIA GeForce RTX 5060 Ti"
    assert fact(facts, "gpus[0].compute_capability") == "12.0"


@pytest.mark.parametrize(
    ("text", "full", "location"),
    [
        ("2.6.0+cpu /opt/app/lib/python3.12/site-packages/torch/__init__.py", "2.6.0+cpu", "site-packages/torch"),
        (r"2.6.0+cu126 D:\app\Lib\site-packages\torch\__init__.py", "2.6.0+cu126", "site-packages"),
        ("2.6.0+cpu /opt/app/lib/python3.12/site-packages/torch/nn/__init__.py", "?", "?"),
        ("3.12.4 /usr/lib/python3.12/__init__.py", "?", "?"),
    ],
)
def test_a_printed_version_with_its_place(text: str, full: str, location: str, tables: Tables) -> None:
    facts = facts_from(text, tables=tables)
    assert fact(facts, "torch.full") == full
    assert location in fact(facts, "torch.locations")
