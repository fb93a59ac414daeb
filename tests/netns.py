"""Two hosts on one machine: network namespaces joined by a virtual cable, each with a name of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import NamedTuple

FIRST, SECOND = "10.201.77.1", "10.201.77.2"
_NUMBERS = count()
_TOOLS = ("ip", "tc", "unshare")


def why_not() -> str:
    """Why no such hosts can be made here; empty where they can."""
    if os.name != "posix" or os.geteuid() != 0:
        return "network namespaces want root"
    missing = [tool for tool in _TOOLS if not shutil.which(tool)]
    if missing:
        return f"{', '.join(missing)} of iproute2 and util-linux not installed"
    name = f"td{os.getpid()}x"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    return f"no network namespace can be made: {made.stderr.strip()}" if made.returncode else ""


class Hosts(NamedTuple):
    """The namespaces' names; the interface is ``eth0`` in both."""

    names: tuple[str, str]

    def start(self, at: int, command: Sequence[str], env: Mapping[str, str], out: Path) -> subprocess.Popen[bytes]:
        """Start a command on one of the hosts, under that host's name."""
        name = self.names[at]
        rename = f'hostname node-{at}; exec "$@"'
        whole = ["ip", "netns", "exec", name, "unshare", "-u", "sh", "-c", rename, "sh", *command]
        with out.open("wb") as stream:
            return subprocess.Popen(
                whole, env={**os.environ, **env}, stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
            )


@contextmanager
def two_hosts(*, slow: str = "") -> Iterator[Hosts]:
    """Make them; ``slow`` is the rate of the cable in both directions, as tc writes it."""
    pair = f"td{os.getpid()}n{next(_NUMBERS)}"
    names = (f"{pair}a", f"{pair}b")
    try:
        for name in names:
            _ip("netns", "add", name)
        _ip("link", "add", "eth0", "netns", names[0], "type", "veth", "peer", "name", "eth0", "netns", names[1])
        for name, address in zip(names, (FIRST, SECOND), strict=True):
            _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            for link in ("lo", "eth0"):
                _ip("-n", name, "link", "set", link, "up")
            folder = Path("/etc/netns", name)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "hosts").write_text(f"127.0.0.1 localhost\n{FIRST} node-0\n{SECOND} node-1\n")
            if slow:
                limit = ["root", "tbf", "rate", slow, "burst", "64kb", "latency", "50ms"]
                _run("tc", "-n", name, "qdisc", "add", "dev", "eth0", *limit)
        yield Hosts(names)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
            shutil.rmtree(Path("/etc/netns", name), ignore_errors=True)


def _ip(*args: str) -> None:
    _run("ip", *args)


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)
