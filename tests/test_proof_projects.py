"""Proof by the real project tools: lines put into the file and commands run, then lock, environment and sync agree."""

from __future__ import annotations

import pytest
from project_cells import ALL_CELLS
from proof_projects import Project, merged
from proof_runs import Proofs

pytest_plugins = ("proof_fixtures",)
pytestmark = pytest.mark.slow

CELLS = [cell for cell in ALL_CELLS if cell.tool != "poetry"]  # whose own are the slowest: another file holds them


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_project(cell: Project, proofs: Proofs) -> None:
    proofs.wait_for(cell)


def test_lines_go_where_a_person_would_put_them() -> None:
    before = '[project]\nname = "a"\n\n[tool.x]\nkeep = 1\ntorch = 1\n\n[tool.y]\nz = 1\n'
    after = merged(before, ["[[tool.i]]", 'name = "n"', "", "[tool.x]", "torch = 2"])
    assert after == (
        '[project]\nname = "a"\n\n[tool.x]\ntorch = 2\nkeep = 1\n\n[tool.y]\nz = 1\n\n[[tool.i]]\nname = "n"\n'
    )
    assert merged(after, ["[[tool.i]]", 'name = "n"']) == after
