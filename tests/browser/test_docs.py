"""The built documentation; docs/select in a real browser: what it offers is answered as ``install-cmd`` answers it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Run

from torchdoctor.__main__ import main
from torchdoctor.cli import COMMANDS
from torchdoctor.commands.explain import meanings
from torchdoctor.prescribe.described import gpu_named
from torchdoctor.render.formats import FORMATS
from torchdoctor.tables import Tables
from torchdoctor.toml import loads

pytest.importorskip("mkdocs", reason="mkdocs, which builds the documentation, is not installed")
NODE, CHROMIUM = shutil.which("node"), os.environ.get("CHROMIUM") or shutil.which("chromium")
MODULES = os.environ.get("TORCHDOCTOR_NODE_MODULES", "")
TOOLS = ("pip", "uv", "uv-project", "poetry", "conda")
EXPLAINED = ("more", "not", "upgrade")
SCRIPT = Path(__file__).with_name("docs.mjs")
Seen = dict[str, Any]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The documentation as it is built: a warning would end the build."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False, env=_with_root())
    assert (built.returncode, built.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def seen(site: Path) -> Seen:
    """What the browser saw of the pages."""
    if not (NODE and CHROMIUM and Path(MODULES or "-", "playwright-core").is_dir()):
        pytest.skip("no chromium, no node, or no playwright-core and axe-core in $TORCHDOCTOR_NODE_MODULES")
    done = subprocess.run(
        [NODE, SCRIPT, (site / "select" / "index.html").as_uri(), CHROMIUM], capture_output=True, text=True,
        encoding="utf-8", check=False, timeout=120, env={**os.environ, "NODE_PATH": MODULES},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: Seen = json.loads(done.stdout)
    return found


def _with_root() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_every_link_of_every_page_leads_somewhere_within_the_site(site: Path) -> None:
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    links = [(page, link) for page, text in pages.items() for link in re.findall(r'(?:href|src)="([^"]*)"', text)]
    assert len(links) > 1000
    for page, link in links:
        assert not re.match("[a-z]+:", link) or "<a " in pages[page].split(f'href="{link}"')[0][-60:], (page, link)
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" not in link:
            assert target.is_file(), (page, link)
            assert not anchor or f'id="{anchor}"' in pages[target], (page, link)


def test_every_finding_has_its_page_and_stands_in_the_list(site: Path) -> None:
    listed = (site / "findings" / "index.html").read_text(encoding="utf-8")
    for name in meanings():
        page = (site / "findings" / f"{name}.html").read_text(encoding="utf-8")
        assert re.findall("<h1[^>]*>(.*)</h1>", page) == [name]
        assert len(re.findall("<h2", page)) == 5
        assert listed.count(f'href="{name}.html"') == 1


def test_every_command_format_and_table_stands_in_the_reference(site: Path) -> None:
    reference = (site / "reference.html").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f">torchdoctor {name}</h3>" not in reference] == []
    assert [name for name in FORMATS if not re.search(f"<td>(<code>)?{name}(</code>)?</td>", reference)] == []
    tables = (site / "tables.html").read_text(encoding="utf-8")
    names = [path.name for path in (ROOT / "compat_tables").glob("*.csv")]
    assert [name for name in names if f">{name}</h2>" not in tables] == []
    assert "[[[" not in reference + tables


def test_no_page_takes_a_part_of_it_from_elsewhere(site: Path) -> None:
    for page in (*site.rglob("*.html"), *site.rglob("*.css")):
        loaded = re.findall(
            r'<(?:script|link|img|iframe)[^>]*"([a-z]+:)?//|@import|url\(', page.read_text(encoding="utf-8")
        )
        assert loaded == [], page


def line_of(item: Seen, number: int, hosts: Seen) -> Seen:
    """A combination as a line of ``install-cmd --batch``."""
    none: Seen = {"driver": None, "gpus": []}
    given = {"driver": item["driver"], "gpus": [item["gpu"]]}
    found = {key: none[key] if value in ("none", ["none"]) else value for key, value in given.items()}
    return {"id": number, **hosts[item["system"]], "python": item["python"], **found}


def words(answer: Seen) -> Seen:
    """An answer of the page in the words of a batch."""
    reasons = [*answer.get("reason", []), *([answer["change"]] if "change" in answer else [])]
    asked = {"file": answer["file"], "lines": answer["lines"]} if "file" in answer else {}
    found = {"torch": answer.get("torch"), "build": answer.get("build"), "commands": answer.get("commands", [])}
    return {**found, **asked, "reason": "; ".join(reasons)}


@pytest.fixture(scope="module")
def told(seen: Seen) -> dict[str, list[Seen]]:
    """What ``install-cmd --batch`` says to the combinations of each tool."""
    with ThreadPoolExecutor() as pool:
        return dict(
            zip(TOOLS, pool.map(lambda tool: answered(items_of(tool, seen), seen["hosts"]), TOOLS), strict=True)
        )


def items_of(tool: str, seen: Seen) -> list[Seen]:
    return [item for item in seen["answers"] if item["tool"] == tool]


def answered(items: list[Seen], hosts: Seen) -> list[Seen]:
    lines = [line_of(item, number, hosts) for number, item in enumerate(items)]
    command = [sys.executable, "-m", "torchdoctor", "install-cmd", "--batch", "-", "--tool", items[0]["tool"]]
    done = subprocess.run(
        command, input="\n".join(map(json.dumps, lines)), cwd=SCRIPT.parent, env=_with_root(), capture_output=True,
        text=True, encoding="utf-8", check=True,
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("tool", TOOLS)
def test_every_combination_is_answered_as_install_cmd_answers_it(
    tool: str, seen: Seen, told: dict[str, list[Seen]]
) -> None:
    items = items_of(tool, seen)
    assert len(items) > 1000
    assert len(told[tool]) == len(items)
    for item, answer in zip(items, told[tool], strict=True):
        batch = {key: value for key, value in answer.items() if key not in {"id", "error"}}
        batch["reason"] = re.sub(r"^line \d+: ", "", batch["reason"])
        assert words(item["answer"]) == batch, item


def test_what_is_explained_is_what_install_cmd_explains(seen: Seen, capsys: pytest.CaptureFixture[str]) -> None:
    """Of each answer that differs in these: the reasons, what was passed over, what a newer driver allows."""
    different = {
        json.dumps([item["answer"], item["tool"]]): item for item in seen["answers"] if "torch" in item["answer"]
    }
    different = {json.dumps([item["answer"].get(key) for key in EXPLAINED]): item for item in different.values()}
    assert len(different) > 20
    for item in different.values():
        assert main([*shlex.split(item["same"])[1:], "--explain"]) == 0
        lines = capsys.readouterr().err.splitlines()
        answer = item["answer"]
        upgrade = [f"with driver {answer['upgrade']}"] if "upgrade" in answer else []
        why = [f"why: {reason}" for reason in (*answer.get("reason", []), *answer.get("more", []))]
        passed_over = [f"not {build}" for build in answer.get("not", [])]
        assert [line for line in lines if line.startswith(("why: ", "not ", "with driver "))] == [
            *why,
            *upgrade,
            *passed_over,
        ]


def test_no_tool_is_left_uncompared(seen: Seen) -> None:
    assert {item["tool"] for item in seen["answers"]} == set(TOOLS)
    assert seen["not_offered"] is True


def test_what_is_shown_is_what_the_shown_command_prints(seen: Seen, torchdoctor: Run) -> None:
    """The page as it is used: one chosen by keyboard, a refusal, a tool that keeps a file, a Mac, one found by name."""
    for shown in (*seen["shown"], seen["found"]):
        done = torchdoctor(*shlex.split(shown["same"])[1:], "--explain")
        assert shown["refused"] is bool(done.returncode)
        if shown["refused"]:
            assert shown["title"] == "Nothing to install"
            assert shown["blocks"] == [shown["same"]]
        else:
            assert done.stdout.rstrip("\n") == shown["blocks"][0]
    assert {shown["refused"] for shown in seen["shown"]} == {True, False}
    assert len({shown["same"] for shown in seen["shown"]}) == len(seen["shown"])


def test_the_newest_supported_driver_is_offered(tables: Tables) -> None:
    systems = loads((ROOT / "docs" / "select" / "offered.toml").read_text(encoding="utf-8"))["system"]
    branches = [row for row in tables.driver_branches.rows if row.kind in {"LTS", "production"}]
    newest = {False: branches[-1].branch, True: max(row.windows_from or 0 for row in branches)}
    for system in systems:
        if "drivers" in system:
            of_windows = system["host"]["os"] == "windows" or system["host"].get("wsl", False)
            assert system["drivers"][-1] == str(newest[of_windows]), system["id"]


def test_the_keyboard_is_enough(seen: Seen) -> None:
    assert seen["presses"] <= 6
    assert seen["shown"][0]["choice"]["gpu"] == "sm_90"  # the one below what the page begins with
    assert seen["disabled"] == ["gpu", "driver"]  # a Mac has no choice of them


def test_a_gpu_is_found_by_the_name_that_people_know(seen: Seen) -> None:
    assert seen["found"]["choice"]["gpu"] == "sm_86"
    assert seen["found_note"] == "chosen: sm_86"
    assert 'install-cmd --gpu "GPU of nobody"' in seen["unknown_note"]


def test_every_name_leads_where_install_cmd_leads_it(seen: Seen, tables: Tables) -> None:
    assert len(seen["models"]) > 300
    for name, gpu in seen["models"].items():
        assert gpu_named(name, tables).target == gpu_named(gpu, tables).target, name


def test_a_command_is_copied(seen: Seen) -> None:
    assert seen["copied"] == seen["shown"][-1]["blocks"][0] + "\n"


def test_nothing_is_asked_of_a_network_and_nothing_goes_wrong(seen: Seen) -> None:
    assert [address for address in seen["requests"] if not address.startswith("file://")] == []
    assert len(seen["requests"]) > 3
    assert seen["console"] == []


def test_axe_finds_nothing_serious(seen: Seen) -> None:
    assert {name: found for name, found in seen["axe"].items() if found} == {}
    assert len(seen["axe"]) == 8
