"""What the proofs share: the real tools and the index, made once a session. A proof names this as a plugin."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback_index import LoopbackIndex
from proof_cells import VERSIONS, Cell
from proof_hosts import Environment
from proof_projects import Project
from proof_runs import Proofs
from proof_tools import VARIABLE, Tools, ToolsMissingError, tools_in
from table_wheels import nightly_pages, wheels_of_tables

from torchdoctor.tables import Tables


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Tools:
    given = os.environ.get(VARIABLE)
    try:
        return tools_in(Path(given) if given else tmp_path_factory.mktemp("tools"))
    except ToolsMissingError as error:
        pytest.skip(f"the install tools cannot be had from a package index: {error}")


@pytest.fixture(scope="session")
def index(tables: Tables) -> Iterator[LoopbackIndex]:
    with LoopbackIndex(wheels_of_tables(tables, VERSIONS) | nightly_pages()) as served:
        yield served


@pytest.fixture
def environment(tmp_path: Path, tools: Tools, index: LoopbackIndex) -> Environment:
    """A project folder whose environment is yet to be made."""
    return Environment(tmp_path / "project", tools, index)


@pytest.fixture(scope="session")
def proofs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, tools: Tools, index: LoopbackIndex
) -> Iterator[Proofs]:
    asked = [getattr(item, "callspec", None) for item in request.session.items]
    cells = [cell for spec in asked if spec and isinstance(cell := spec.params.get("cell"), (Cell, Project))]
    begun = Proofs(cells, tmp_path_factory.mktemp("proofs"), tools, index)
    yield begun
    begun.end()
