"""``diagnose --here``: a text that cannot be of this host is not joined to it."""

from __future__ import annotations

import pytest

from torchdoctor.facts import Facts, Gpu, Os, Torch
from torchdoctor.readers.same_host import contradiction

A100 = Gpu(vendor="nvidia", name="NVIDIA A100-SXM4-80GB")
T4 = Gpu(vendor="nvidia", name="Tesla T4")
HERE = Facts(os=Os(name="linux", machine="x86_64"), gpus=())
WITH_GPU = Facts(os=Os(name="linux", machine="x86_64"), gpus=(A100,))


@pytest.mark.parametrize(
    ("pasted", "here", "said"),
    [
        (Facts(), HERE, ""),
        (Facts(os=Os(name="linux")), HERE, ""),
        (Facts(os=Os(name="windows")), HERE, "windows"),
        (Facts(os=Os(machine="aarch64")), HERE, "aarch64"),
        (Facts(gpus=(T4,)), HERE, "Tesla T4"),
        (Facts(torch=Torch(cuda_available=True)), HERE, "a GPU"),
        (Facts(torch=Torch(cuda_available=False)), HERE, ""),
        (Facts(gpus=(T4,)), WITH_GPU, "Tesla T4"),
        (Facts(gpus=(A100,)), WITH_GPU, ""),
        (Facts(gpus=(Gpu(vendor="nvidia", name="A100"),)), WITH_GPU, ""),
        (Facts(gpus=(Gpu(vendor="nvidia"),)), WITH_GPU, ""),
        (Facts(torch=Torch(cuda_available=True)), WITH_GPU, ""),
    ],
)
def test_what_contradicts(pasted: Facts, here: Facts, said: str) -> None:
    found = contradiction(pasted, here)
    assert said in found if said else found == ""
