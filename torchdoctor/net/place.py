"""Which rank this process is and where rank 0 is, from the variables of the launcher that started it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from torchdoctor.errors import UsageError

_PORT = 29500
# Rank, world and local rank, as each launcher names them; the first that is whole counts.
_LAUNCHERS = {
    "torchrun": ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
    "Open MPI": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    "PMI": ("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
    "srun": ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
}
_FIRST_NODE = re.compile(r"([^,\[]+)(?:\[(\d+))?")


class Place(NamedTuple):
    """This process among the others; ``has_store``: the launcher keeps the store, and no rank has to."""

    rank: int
    world: int
    local_rank: int
    address: str
    port: int
    launcher: str
    has_store: bool = False
    per_node: int = 0  # ranks of each node where the launcher tells; 0: unknown


def place_of(env: Mapping[str, str]) -> Place:
    """Read the variables; raise ``UsageError`` where no launcher set them, or they make no sense."""
    for launcher, names in _LAUNCHERS.items():
        if names[0] in env and names[1] in env:
            return _place(launcher, names, env)
    known = ", ".join(_LAUNCHERS)
    raise UsageError(
        f"torchdoctor.net: no launcher set RANK and WORLD_SIZE (known: {known}); "
        "start it by: torchrun --nproc-per-node 2 -m torchdoctor.net"
    )


def _place(launcher: str, names: tuple[str, str, str], env: Mapping[str, str]) -> Place:
    rank, world = _number(names[0], env), _number(names[1], env)
    local = _number(names[2], env) if env.get(names[2], "").isdecimal() else 0
    if not 0 <= rank < world:
        raise UsageError(f"torchdoctor.net: {names[0]}={rank} is no rank of {world} ({names[1]})")
    port = env.get("MASTER_PORT", str(_PORT))
    if not port.isdecimal() or not 0 < int(port) < 2**16:
        raise UsageError(f"torchdoctor.net: MASTER_PORT={port[:20]} is no port")
    per_node = next((env[name] for name in ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE") if name in env), "0")
    return Place(
        rank=rank, world=world, local_rank=local, address=_address(world, env), port=int(port), launcher=launcher,
        has_store=env.get("TORCHELASTIC_USE_AGENT_STORE") == "True",
        per_node=int(per_node) if per_node.isdecimal() else 0,
    )  # fmt: skip


def _number(name: str, env: Mapping[str, str]) -> int:
    text = env[name]
    if not text.isdecimal() or len(text) > 7:  # noqa: PLR2004 - no job has ten million ranks
        raise UsageError(f"torchdoctor.net: {name}={text[:20]} is no number")
    return int(text)


def _address(world: int, env: Mapping[str, str]) -> str:
    """Rank 0's host: as it is set, else the first node of Slurm's list; of a single rank this host."""
    if env.get("MASTER_ADDR"):
        return env["MASTER_ADDR"]
    match = _FIRST_NODE.match(env.get("SLURM_STEP_NODELIST") or env.get("SLURM_JOB_NODELIST") or "")
    if match:
        return f"{match[1]}{match[2] or ''}"
    if world == 1:
        return "127.0.0.1"
    raise UsageError("torchdoctor.net: MASTER_ADDR is not set: set it to the host of rank 0")
