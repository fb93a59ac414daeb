"""The proofs of one session, run beside each other."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from loopback_index import LoopbackIndex
from proof_cells import Cell
from proof_hosts import Environment
from proof_projects import Project
from proof_tools import Tools


class Proofs:
    """Every cell that a session was asked for, proved on all cores at once; a test waits for its own.

    Where the tests themselves are spread over the cores (pytest-xdist), each proves its own when its turn comes.
    """

    def __init__(self, cells: list[Cell | Project], folder: Path, tools: Tools, index: LoopbackIndex) -> None:
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1)
        self._begun: dict[Cell | Project, Future[None]] = {}
        self._places = {
            cell: Environment(folder / str(number) / cell.folder, tools, index, cell.more)
            for number, cell in enumerate(cells)
        }
        if "PYTEST_XDIST_WORKER" not in os.environ:
            self._begun = {cell: self._pool.submit(cell.prove, place) for cell, place in self._places.items()}

    def wait_for(self, cell: Cell | Project) -> None:
        """Raise what the proof of the cell raised."""
        if cell in self._begun:
            self._begun[cell].result()
        else:
            cell.prove(self._places[cell])

    def end(self) -> None:
        """Leave what is not begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)
