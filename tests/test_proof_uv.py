"""Proof by the real uv, in environments without a pip: what is printed, run line by line, gives what was promised."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from proof_cells import HOSTS, Cell, states_for
from proof_runs import Proofs

pytest_plugins = ("proof_fixtures",)
pytestmark = pytest.mark.slow


def cells() -> Iterator[Cell]:
    """Every state to two targets, some to the others, of which cu128 is PyPI's own build."""
    for target in HOSTS:
        for state in states_for(target):
            if target in {"cpu", "cu126"} or state.name in {"nothing", "from-pypi", "another-cuda"}:
                yield Cell("uv", state, target)


@pytest.mark.parametrize("cell", list(cells()), ids=str)
def test_uv(cell: Cell, proofs: Proofs) -> None:
    proofs.wait_for(cell)
