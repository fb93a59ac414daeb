"""Proof by the real pip, the oldest and the newest: what is printed, run line by line, gives what was promised."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from proof_cells import HOSTS, TORCH, Cell, State, all_of, states_for
from proof_hosts import Environment, expect
from proof_runs import Proofs

pytest_plugins = ("proof_fixtures",)
pytestmark = pytest.mark.slow

WIDE = ("cpu", "cu126")
HARD = ("nothing", "cpu", "another-cuda", "newer-torch", "torchvision-of-another-build")


def cells() -> Iterator[Cell]:
    """Every state to two targets, some to the others; the hard ones with the oldest pip too; files that pip reads."""
    for target in HOSTS:
        for state in states_for(target):
            if target in WIDE or state.name in {"nothing", "another-cuda"}:
                yield Cell("pip", state, target, "newest")
            if state.name in HARD and (target == "cu126" or (target == "cpu" and state.name == "another-cuda")):
                yield Cell("pip", state, target, "oldest")
    for state in states_for("cu126"):
        if state.name in HARD:
            yield Cell("requirements", state, "cu126", "newest")
    yield Cell("dockerfile", State("nothing"), "cu126", "newest", words=("--with", "torchvision"))


@pytest.mark.parametrize("cell", list(cells()), ids=str)
def test_pip(cell: Cell, proofs: Proofs) -> None:
    proofs.wait_for(cell)


def test_a_command_that_changes_nothing_is_noticed(environment: Environment) -> None:
    """The usual advice over a build that is there: pip is content with what it finds."""
    State("cuda", (all_of("cu126"),)).bring(environment.make("newest"))
    url = f"{environment.served.url}/whl/cpu"
    environment.follow([f".venv/bin/python -m pip install torch=={TORCH} --index-url {url}"])
    with pytest.raises(AssertionError, match="cu126"):
        expect(environment, {"torch": TORCH, "build": "cpu", "index_url": url}, {"torch": TORCH})
