"""Proof by the real Poetry: as test_proof_projects.py does for the other tools."""

from __future__ import annotations

import pytest
from project_cells import ALL_CELLS
from proof_projects import Project
from proof_runs import Proofs

pytest_plugins = ("proof_fixtures",)
pytestmark = pytest.mark.slow

CELLS = [cell for cell in ALL_CELLS if cell.tool == "poetry"]


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_project(cell: Project, proofs: Proofs) -> None:
    proofs.wait_for(cell)
