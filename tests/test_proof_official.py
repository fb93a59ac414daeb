"""Proof of the lines as they are printed without a mirror: the official address, answered on loopback."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from loopback_index import LoopbackIndex
from loopback_tls import OfficialProxy
from proof_cells import Cell, State, all_of
from proof_hosts import Environment

pytest_plugins = ("proof_fixtures",)
pytestmark = pytest.mark.slow

CPU, CUDA = State("cpu", (all_of("cpu"),)), State("cuda", (all_of("cu130"),))
CELLS = [
    Cell("pip", CPU, "cu126", "oldest", has_mirror=False),
    Cell("pip", CUDA, "rocm6.4", "newest", has_mirror=False),
    Cell("pip", State("nothing"), "xpu", "newest", has_mirror=False),
    Cell("uv", CPU, "cu126", has_mirror=False),
    Cell("uv", CUDA, "cpu", has_mirror=False),
]


@pytest.fixture(scope="module")
def official(index: LoopbackIndex, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OfficialProxy]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is needed to make a certificate")
    with OfficialProxy(index, "download.pytorch.org", tmp_path_factory.mktemp("certificate")) as proxy:
        yield proxy


@pytest.mark.parametrize("alone", CELLS, ids=str)
def test_official_address(alone: Cell, environment: Environment, official: OfficialProxy) -> None:
    begun = len(official.index.requests)
    alone.prove(environment._replace(more=tuple(official.variables.items())))
    assert any(path.startswith(f"/whl/{alone.target}/torch") for path in official.index.requests[begun:])
