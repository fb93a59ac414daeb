"""The report's page in a real Chromium: the verdict of the JSON, a copied command, axe, hostile text, no request.

Needs node, Chromium (``$CHROMIUM`` or /usr/bin/chromium) and, in the folder ``$TORCHDOCTOR_NODE_MODULES``, the packages
playwright-core and axe-core. ``$TORCHDOCTOR_SHOTS`` names a folder for pictures to look at.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from report_objects import everything, hostile, recording_of, told_of

from torchdoctor.render.html.page import page
from torchdoctor.tables import Tables

SCRIPT = Path(__file__).with_name("report.mjs")
CHROMIUM = os.environ.get("CHROMIUM") or "/usr/bin/chromium"
MODULES = os.environ.get("TORCHDOCTOR_NODE_MODULES", "")
MISSING = [
    name
    for name, is_there in (
        ("node", shutil.which("node")),
        (CHROMIUM, Path(CHROMIUM).exists()),
        ("$TORCHDOCTOR_NODE_MODULES/playwright-core", MODULES and (Path(MODULES) / "playwright-core").is_dir()),
        ("$TORCHDOCTOR_NODE_MODULES/axe-core", MODULES and (Path(MODULES) / "axe-core").is_dir()),
    )
    if not is_there
]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not here: {', '.join(MISSING)}")

PAGES = ("everything", "driver", "hostile")
Seen = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, Any]]:
    tables = Tables()
    return {
        "everything": everything(tables),
        "driver": told_of(recording_of("r570-under-cuda-13-build"), tables),
        "hostile": hostile(),
    }


@pytest.fixture(scope="module")
def seen(told: dict[str, dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What the browser saw of each page, in one run of it."""
    folder, tables = tmp_path_factory.mktemp("pages"), Tables()
    pages = {name: folder / f"{name}.html" for name in PAGES}
    for name, path in pages.items():
        path.write_text(page(told[name], tables), encoding="utf-8")
    job = {"pages": {name: str(path) for name, path in pages.items()}, "shots": shots(pages)}
    done = subprocess.run(
        ["node", str(SCRIPT), MODULES], input=json.dumps(job), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answer: Seen = json.loads(done.stdout)
    return answer


def shots(pages: dict[str, Path]) -> dict[str, dict[str, Any]]:
    folder = os.environ.get("TORCHDOCTOR_SHOTS", "")
    if not folder:
        return {}
    looks: dict[str, dict[str, Any]] = {"light": {}, "dark": {"dark": True}, "narrow": {"width": 360}}
    return {
        f"{name}-{look}": {
            "page": str(path),
            "path": f"{folder}/report-{name}-{look}.png",
            **({"print": f"{folder}/report-{name}.pdf"} if look == "light" else {}),
            **options,
        }
        for name, path in pages.items()
        for look, options in looks.items()
    }


@pytest.mark.parametrize("name", PAGES)
def test_it_shows_the_verdict_of_the_json_with_and_without_script(
    name: str, seen: Seen, told: dict[str, dict[str, Any]]
) -> None:
    said = " ".join(told[name]["verdict"].split()).replace(": ", " ", 1)
    assert " ".join(seen[name]["verdict"].split()) == said
    assert seen[name]["still"]["verdict"] == seen[name]["verdict"]
    assert seen[name]["still"]["commands"] == seen[name]["commands"]
    for finding in told[name]["findings"]:
        assert " ".join(finding["summary"].split()) in " ".join(seen[name]["text"].split())


@pytest.mark.parametrize("name", PAGES)
def test_it_asks_nothing_and_runs_nothing_but_its_own_script(name: str, seen: Seen) -> None:
    assert (seen[name]["requests"], seen[name]["errors"]) == ([], [])
    assert (seen[name]["scripts"], seen[name]["images"], seen[name]["evil"]) == (1, 0, "undefined")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("look", ["light", "dark", "narrow"])
def test_axe_finds_nothing(name: str, look: str, seen: Seen) -> None:
    assert seen[name][look] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_command_is_copied_by_the_keyboard_as_it_stands(name: str, seen: Seen) -> None:
    assert seen[name]["buttons"] == len(seen[name]["commands"])
    assert seen[name]["copied"] == seen[name]["commands"][0]
    assert seen[name]["told"] == "The command is copied."
    assert seen[name]["first"] == "skip"
    assert seen[name]["opened"]


def test_the_copied_command_is_that_of_the_json(seen: Seen, told: dict[str, dict[str, Any]]) -> None:
    assert seen["driver"]["copied"] == told["driver"]["install"]["commands"][0]


@pytest.mark.parametrize("name", PAGES)
def test_it_fits_a_narrow_screen_and_prints_without_buttons(name: str, seen: Seen) -> None:
    assert seen[name]["over"] <= 0
    assert seen[name]["printed"] == 0


def test_pasted_text_stays_text(seen: Seen) -> None:
    assert "<script>window.evil = 1</script><img src=x onerror=" in seen["hostile"]["text"]
