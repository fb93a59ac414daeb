"""The X-ray beside NVIDIA's cuobjdump: the same counts for every library with device code, and the time of both.

    python benchmarks/xray_beside_cuobjdump.py CUOBJDUMP FOLDER_OF_PACKAGES [NAME...]

CUOBJDUMP is the program of the PyPI package nvidia-cuda-cuobjdump (that of CUDA 13 reads all). It prints code for a
family (sm_120f) as sm_120, so the letter is left out of the comparison of native code, and it does not list the PTX of
relocatable code, so that is subtracted. Exit status 1: a count differs.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from torchdoctor.target import paths
from torchdoctor.target.code_of import code_of
from torchdoctor.target.want_code import want_code

LINE = re.compile(r"^(?:ELF|PTX) file +\d+: .*\.((?:sm|compute)_\d+[af]?)\.(?:cubin|ptx)$", re.MULTILINE)
FOREVER = 3600.0


def told(cuobjdump: str, library: Path) -> tuple[Counter[str], Counter[str], str]:
    """What the vendor's tool counts: native code, PTX; and why it gave up, if it did."""
    counts, fatal = [], ""
    for option in ("--list-elf", "--list-ptx"):
        done = subprocess.run([cuobjdump, option, str(library)], capture_output=True, text=True, check=False)
        counts.append(Counter(LINE.findall(done.stdout)))
        fatal = fatal or next((line for line in done.stderr.splitlines() if "fatal" in line), "")
    return counts[0], counts[1], fatal


def plain(counts: dict[str, int], prefix: str) -> Counter[str]:
    """Our counts as the vendor's tool prints them."""
    found: Counter[str] = Counter()
    for name, count in counts.items():
        found[name.removesuffix("f") if prefix == "sm_" else name.replace("compute_", "sm_")] += count
    return found


def linked_anew(found: dict[str, Any]) -> Counter[str]:
    """The PTX of relocatable code that we count: that which every object has."""
    inner = found.get("relocatable", {"fatbins": 0, "ptx": {}})
    return plain({name: count for name, count in inner["ptx"].items() if count >= inner["fatbins"]}, "compute_")


def compared(cuobjdump: str, folder: Path, files: list[dict[str, Any]]) -> Iterator[str]:
    """One line a library; whether the counts are equal, or that the vendor's tool cannot read it."""
    print(f"{'library':58} {'SASS':>6} {'PTX':>5} {'X-ray s':>8} {'cuobjdump s':>12}")
    for row in files:
        library = folder / row["library"]
        start = time.perf_counter()
        found = code_of(str(library)) or {}
        ours = time.perf_counter() - start
        start = time.perf_counter()
        sass, ptx, fatal = told(cuobjdump, library)
        theirs = time.perf_counter() - start
        same = (plain(found["sass"], "sm_"), plain(found["ptx"], "compute_") - linked_anew(found)) == (sass, ptx)
        outcome = "refused" if fatal else "equal" if same else "DIFFERENT"
        print(f"{row['library']:58} {sass.total():6} {ptx.total():5} {ours:8.3f} {theirs:12.2f} {outcome}")
        if outcome != "equal":
            print(f"  X-ray {found['sass']} {found['ptx']}\n  cuobjdump {dict(sass)} {dict(ptx)} {fatal}")
        yield outcome


def main(cuobjdump: str, folder: str, names: list[str]) -> int:
    """Find the libraries, compare each."""
    paths.PATH[:] = [folder]
    start = time.perf_counter()
    read = want_code(tuple(names), FOREVER)
    print(
        f"{len(read['files'])} libraries with device code of {read['read']} read in {time.perf_counter() - start:.2f} s"
    )
    results = list(compared(cuobjdump, Path(folder), [row for row in read["files"] if "sass" in row]))
    print(f"{len(results)} libraries: {dict(Counter(results))}")
    return int(not results or "DIFFERENT" in results)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
