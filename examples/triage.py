"""Sort the bug reports of a folder by what they need: the Python interface, and nothing else of torchdoctor.

usage: python examples/triage.py FOLDER
"""

from __future__ import annotations

import sys
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from torchdoctor.api import triage


def label(answer: dict[str, Any]) -> str:
    """What a maintainer would put on the issue."""
    if "error" in answer:
        return "unreadable"
    loud = [finding for finding in answer["report"]["findings"] if finding["severity"] != "info"]
    return loud[0]["id"] if loud else f"status {answer['report']['status']}"


def main(folder: Path) -> None:
    """Print each label with the reports that bear it."""
    items = [{"id": path.name, "text": path.read_bytes()} for path in sorted(folder.iterdir()) if path.is_file()]
    labels: dict[str, list[str]] = defaultdict(list)
    with ProcessPoolExecutor() as pool:
        for answer in pool.map(triage, items, chunksize=8):
            labels[label(answer)].append(answer["id"])
    for name, reports in sorted(labels.items()):
        print(f"{name}: {', '.join(reports)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
