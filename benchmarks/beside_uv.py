"""Which torch build for the hard hosts: torchdoctor beside ``uv pip install torch --torch-backend=auto``.

usage: python benchmarks/beside_uv.py --uv PATH [--rounds 5] [--pages unkept|kept] [--round-trip MS] [--format json]

Every host of tests/data/decision_hosts.jsonl is described to both, to uv by its own variables and options. Both answer
as whole processes, in turns. uv's cache is warm; the pages of the official index may be cached for ten minutes as those
of PyPI (kept) or must be asked for each time (unkept). That index stands on loopback, generated from compat_tables;
openssl makes the certificate. A choice of uv is right where the tables say that the build runs on the host and serves
its GPU. Run it with the interpreter of an environment in which torchdoctor is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from loopback_index import LoopbackIndex, Wheel  # noqa: E402 - found by the line above
from loopback_tls import OfficialProxy  # noqa: E402
from packaging.specifiers import SpecifierSet  # noqa: E402
from table_wheels import wheels_of_tables  # noqa: E402

from torchdoctor.prescribe.choose import choose  # noqa: E402
from torchdoctor.prescribe.conditions import Wish  # noqa: E402
from torchdoctor.prescribe.described import describe  # noqa: E402
from torchdoctor.tables import Tables  # noqa: E402
from torchdoctor.values import Version  # noqa: E402

SYSTEMS = [("linux", "x86_64"), ("linux", "aarch64"), ("windows", "x86_64"), ("macos", "arm64"), ("macos", "x86_64")]
OPTIONS = ("os", "machine", "libc", "os_version", "jetpack", "driver")


class Seconds(NamedTuple):
    """Of one run."""

    clock: float
    processor: float


class Answer(NamedTuple):
    """What one of the two chose (empty: it refused), and the seconds of each run."""

    torch: str
    build: str
    seconds: list[Seconds]

    def __str__(self) -> str:
        return f"{self.torch}+{self.build}" if self.torch else f"of {self.build}" if self.build else "refused"


def official_pages(tables: Tables) -> dict[str, list[Wheel]]:
    """Every torch of the tables for every system, on the pages of the official index and of PyPI."""
    versions = [str(version) for version in tables.torch_builds.versions()]
    pages: dict[str, list[Wheel]] = {}
    for system, machine in SYSTEMS:
        for name, wheels in _wheels(tables, versions, system, machine).items():
            known = {wheel.file for wheel in pages.setdefault(name, [])}
            pages[name] += [wheel for wheel in wheels if wheel.file not in known]
    return pages


def _wheels(tables: Tables, versions: Sequence[str], system: str, machine: str) -> dict[str, list[Wheel]]:
    return wheels_of_tables(tables, versions, os=system, machine=machine, every_library=True)


def our_words(host: Mapping[str, Any]) -> list[str]:
    """The options of install-cmd that describe a host."""
    words = ["--python-version", host["python"]]
    for key in OPTIONS:
        if key in host:
            words += [f"--{key.replace('_', '-')}", host[key] or "none"]
    words += ["--gpu", ",".join(host["gpus"]) or "none"]
    return [*words, *(["--wsl"] if host.get("wsl") else [])]


def uv_words(host: Mapping[str, Any]) -> list[str]:
    """The options of uv that describe a host's system and Python."""
    machine = host["machine"].replace("arm64", "aarch64")
    libc = host.get("libc", "")
    if host["os"] == "linux":
        glibc = libc.removeprefix("glibc-").replace(".", "_")
        platform = f"{machine}-unknown-linux-musl" if libc == "musl" else f"{machine}-manylinux_{glibc}"
    else:
        platform = {"windows": f"{machine}-pc-windows-msvc", "macos": f"{machine}-apple-darwin"}[host["os"]]
    return ["--python-version", host["python"], "--python-platform", platform]


def uv_variables(host: Mapping[str, Any]) -> dict[str, str]:
    """How uv is told of a GPU, a driver by its version or an AMD GPU by its architecture, and of a macOS."""
    gfx = [name for name in host["gpus"] if name.startswith("gfx")]
    driver = host["driver"] and host["gpus"]
    return {
        **({"UV_CUDA_DRIVER_VERSION": host["driver"]} if driver else {}),
        **({"UV_AMD_GPU_ARCHITECTURE": gfx[0]} if gfx else {}),
        **({"MACOSX_DEPLOYMENT_TARGET": host["os_version"]} if host["os"] == "macos" else {}),
    }


def chosen_by_uv(text: str, host: Mapping[str, Any], tables: Tables) -> tuple[str, str]:
    """The version and the build in uv's plan; a version without a label is PyPI's."""
    found = re.search(r"^ \+ torch==(\S+)$", text, re.MULTILINE)
    if not found:
        return "", ""
    torch, _, label = found[1].partition("+")
    row = tables.torch_builds.pypi_default(Version.parse(torch), host["os"], host["machine"])
    return torch, label or (str(row.build) if row else "?")


def is_expected(answer: Answer, expected: Mapping[str, Any]) -> bool:
    """Whether ours is the one build that the rule gives, a Jetson's own index, or a refusal."""
    wanted = "Jetson" if expected.get("commands") else expected["build"] or ""
    return (answer.torch, answer.build) == (expected["torch"] or "", wanted)


def is_right(answer: Answer, entry: Mapping[str, Any], tables: Tables) -> bool:
    """Whether the build runs on the host and serves its GPU, or nothing does and that was said."""
    expected, host = entry["expect"], describe(entry["host"], tables)
    if not expected["torch"] or not answer.torch:
        return not expected["torch"] and not answer.torch
    wish = Wish(torch=SpecifierSet(f"=={answer.torch}"), backend=answer.build, allow_inferred=True)
    served = [chosen.row.build.backend for chosen in (choose(host, wish, tables),) if chosen.runs and chosen.row]
    best = choose(host, Wish(), tables).row
    return bool(served) and best is not None and served[0] == best.build.backend


def timed(command: Sequence[str | Path], variables: Mapping[str, str]) -> tuple[str, Seconds]:
    """Run a command; return all that it printed, the seconds by the clock and those of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return done.stdout + done.stderr, Seconds(clock, processor)


def answers(
    entry: Mapping[str, Any], uv: Path, environment: Mapping[str, str], rounds: int, tables: Tables
) -> tuple[Answer, Answer]:
    """Both answers for a host, asked in turns; uv once before, so that its cache is warm."""
    host, python = entry["host"], environment["PROJECT_PYTHON"]
    install = ("pip", "install", "--dry-run", "torch", "--torch-backend=auto", "--python", python)
    theirs = [str(uv), *install, *uv_words(host)]
    ours = [sys.executable, "-m", "torchdoctor", "install-cmd", *our_words(host)]
    with_driver = {**environment, **uv_variables(host)}
    timed(theirs, with_driver)
    runs = [(timed(ours, environment), timed(theirs, with_driver)) for _ in range(rounds)]
    text, _ = timed([*ours, "--format", "json"], environment)
    promised = json.JSONDecoder().raw_decode(text)[0]  # notes may follow it
    mine = (promised["torch"] or "", promised["build"] or "") if promised else ("", "")
    if promised and not promised["torch"]:
        mine = ("", "Jetson")
    return (
        Answer(*mine, [run[0][1] for run in runs]),
        Answer(*chosen_by_uv(runs[0][1][0], host, tables), [run[1][1] for run in runs]),
    )


def compare(uv: Path, rounds: int, *, kept: bool, delay: float) -> Iterator[dict[str, Any]]:
    """One row for each host: both choices, whether they are right, and the medians of the seconds."""
    tables = Tables()
    hosts = (ROOT / "tests" / "data" / "decision_hosts.jsonl").read_text(encoding="utf-8").splitlines()
    with (
        tempfile.TemporaryDirectory() as name,
        LoopbackIndex(official_pages(tables), unkept="-" if kept else "whl", delay=delay) as index,
        OfficialProxy(index, "download.pytorch.org", Path(name)) as proxy,
    ):
        subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, f"{name}/venv"], check=True)
        environment = {
            "PATH": os.defpath,
            "HOME": name,
            "XDG_CONFIG_DIRS": name,
            "PYTHONPATH": str(ROOT),
            "PROJECT_PYTHON": f"{name}/venv/bin/python",
            "UV_CACHE_DIR": f"{name}/cache",
            "UV_PYTHON_DOWNLOADS": "never",
            "UV_HTTP_RETRIES": "0",
            "UV_DEFAULT_INDEX": f"{index.url}/simple",
            **proxy.variables,
        }
        for entry in map(json.loads, hosts):
            ours, theirs = answers(entry, uv, environment, rounds, tables)
            yield {
                "host": entry["title"],
                "ours": str(ours),
                "ours_right": is_expected(ours, entry["expect"]),
                "uv": str(theirs),
                "uv_right": is_right(theirs, entry, tables),
                "ours_seconds": _medians(ours.seconds),
                "uv_seconds": _medians(theirs.seconds),
            }


def _medians(runs: Sequence[Seconds]) -> Seconds:
    return Seconds(*map(statistics.median, zip(*runs, strict=True)))


def main() -> None:
    """Print the table and its last line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--uv", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", choices=("unkept", "kept"), default="unkept")
    parser.add_argument("--round-trip", type=float, default=0, metavar="MS", help="added to every request")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = parser.parse_args()
    rows = []
    delay = options.round_trip / 1000
    for row in compare(options.uv.absolute(), options.rounds, kept=options.pages == "kept", delay=delay):
        rows.append(row)
        if options.format == "text":
            print(line(row), flush=True)
    if options.format == "json":
        print(json.dumps(rows, indent=1))
        return
    right = [sum(row[key] for row in rows) for key in ("ours_right", "uv_right")]
    ours, theirs = (_medians([row[key] for row in rows]) for key in ("ours_seconds", "uv_seconds"))
    print(f"of {len(rows)} hosts right: ours {right[0]}, uv {right[1]}")
    print(f"median by the clock: ours {ours.clock * 1000:.0f} ms, uv {theirs.clock * 1000:.0f} ms")
    print(f"median of processor: ours {ours.processor * 1000:.0f} ms, uv {theirs.processor * 1000:.0f} ms")


def line(row: Mapping[str, Any]) -> str:
    """One row of the table."""
    marks = ["right" if row[key] else "WRONG" for key in ("ours_right", "uv_right")]
    clock = [f"{row[key].clock * 1000:5.0f}" for key in ("ours_seconds", "uv_seconds")]
    return f"{row['host'][:58]:58} {row['ours']:13} {marks[0]:6} {row['uv']:14} {marks[1]:6} {' '.join(clock)} ms"


if __name__ == "__main__":
    main()
