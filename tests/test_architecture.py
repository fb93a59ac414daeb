"""The rules of the house, held by reading the code."""

from __future__ import annotations

import ast
import re
import statistics
from pathlib import Path

import pytest
from conftest import CASES, ROOT

from torchdoctor.checks import TOPICS, all_checks
from torchdoctor.checks.registry import told_by_a_text
from torchdoctor.fleet.findings import IDS as FLEET_IDS
from torchdoctor.lint.rules import all_rules
from torchdoctor.lint.run import BROKEN
from torchdoctor.net.verdict import IDS as NET_IDS

PACKAGE = ROOT / "torchdoctor"
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "__pycache__" not in path.parts)
PAGES = PACKAGE / "pages" / "en"
HEADINGS = ["## How it is found", "## Why it happens", "## What to do", "## What not to believe", "## Sources"]

# From left to right; a module imports only from its own layer or from one to its left.
LAYERS = [
    ["values", "errors", "records", "known", "patterns", "toml", "addresses", "__init__"],
    ["findings", "facts", "inside", "intent", "recording"],
    ["tables"],
    [
        *(
            "index",
            "redact",
            "settings",
            "which_python",
            "environments",
            "starting",
            "ending",
            "nvml",
            "trial",
            "asked",
        ),
        *("proof", "xray", "live", "target", "policy"),
    ],
    ["readers", "benchmark"],
    ["reading"],
    ["checks", "code_view"],
    ["run_checks"],
    ["prescribe"],
    ["report"],
    ["pipeline", "lint"],
    ["predict"],
    ["diff", "manual", "fleet"],
    ["render"],
    ["commands", "api", "each", "net", "streams", "signals", "bundle"],
    ["cli"],
    ["__main__"],
]
PURE = (
    "checks",
    "readers",
    "prescribe",
    "predict",
    "run_checks.py",
    "facts.py",
    "findings.py",
    "values.py",
    "report.py",
    "redact.py",
    "policy",
    "intent.py",
    "benchmark",
    "diff",
    "manual",
)
IMPURE_IMPORTS = {
    "os",
    "subprocess",
    "platform",
    "pathlib",
    "socket",
    "shutil",
    "ctypes",
    "psutil",
    "pynvml",
    "urllib",
    "tempfile",
    "time",
    "random",
}


def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def relative(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def layer_of(dotted: str) -> int:
    top = dotted.split(".")[1] if "." in dotted else "__init__"
    return next(
        index for index, names in enumerate(LAYERS) if any(top == name or top.startswith(f"{name}_") for name in names)
    )


def imports_of(path: Path) -> list[str]:
    """Every module imported anywhere in the file, except under ``if TYPE_CHECKING``."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.append(node.module)
    return found


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(tree(path)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_imports_go_only_rightward(path: Path) -> None:
    own = layer_of("torchdoctor." + relative(path).split("/")[0].removesuffix(".py"))
    for name in imports_of(path):
        if name.split(".")[0] == "torchdoctor":
            assert layer_of(name) <= own, f"{relative(path)} imports {name}, which lies to its right"


@pytest.mark.parametrize("path", [path for path in MODULES if relative(path).startswith(PURE)], ids=relative)
def test_everything_right_of_the_recording_is_pure(path: Path) -> None:
    allowed = {"pathlib"} if relative(path) == "readers/texts.py" else set()
    assert sorted({name.split(".")[0] for name in imports_of(path)} & IMPURE_IMPORTS - allowed) == []
    calls = {
        node.func.id for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert sorted(calls & {"print", "open", "input", "exec", "eval", "exit"}) == []


def test_torch_is_never_imported_by_us() -> None:
    assert [
        relative(path)
        for path in MODULES
        if "target" not in path.parts and any(name.split(".")[0] == "torch" for name in imports_of(path))
    ] == []


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_modules_and_functions_stay_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in functions(path)
        if node.end_lineno and node.end_lineno - node.lineno >= 60
    }
    assert long == {}


def test_sizes_overall() -> None:
    lengths = [node.end_lineno - node.lineno + 1 for path in MODULES for node in functions(path) if node.end_lineno]
    assert statistics.median(lengths) <= 12
    assert sorted(lengths)[int(len(lengths) * 0.9)] <= 40
    assert len((PACKAGE / "pipeline.py").read_text(encoding="utf-8").splitlines()) < 80


LITERAL = re.compile(
    r"(?<![\w.])(sm_\d{2,3}|cu1\d\d|rocm\d|gfx\d{3,4}|(?:4[5-9]|5\d|6[0-2])\d\.\d{2,3}|2\.\d{1,2}\.\d)(?![\w])"
)


def docstring_lines(module: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(module):
        body = getattr(node, "body", None)
        if (
            isinstance(body, list)
            and body
            and isinstance(body[0], ast.Expr)
            and isinstance(body[0].value, ast.Constant)
            and isinstance(body[0].value.value, str)
        ):
            lines |= set(range(body[0].lineno, (body[0].end_lineno or 0) + 1))
    return lines


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_no_version_driver_build_or_architecture_in_code(path: Path) -> None:
    """Examples in help and error texts are allowed where they follow "as" or "such as", or stand in a metavar."""
    skip = docstring_lines(tree(path))
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.lineno not in skip:
            text = re.sub(r"\(?\b(such )?as \S+( or \S+)?", "", node.value)
            if relative(path).startswith("commands/") or relative(path) == "prescribe/described.py":
                continue
            assert not LITERAL.search(text), f"{relative(path)}:{node.lineno}: {node.value!r}"


def test_every_check_file_is_listed_and_holds_at_most_six_ids() -> None:
    on_disk = {
        ".".join(path.relative_to(PACKAGE / "checks").with_suffix("").parts)
        for path in (PACKAGE / "checks").glob("*/*.py")
        if path.stem != "__init__"
    }
    assert on_disk == set(TOPICS)
    per_file: dict[str, int] = {}
    for item in (item for item in all_checks() if item.rule is not told_by_a_text):
        per_file[item.rule.__module__] = per_file.get(item.rule.__module__, 0) + 1
    assert {name: count for name, count in per_file.items() if count > 6} == {}


FILE_IDS = {item.id for item in all_rules()} | {
    BROKEN,
    *FLEET_IDS,
    *NET_IDS,
}  # found in files, not by a check of a host


@pytest.mark.parametrize("check_id", sorted({item.id for item in all_checks()} | FILE_IDS))
def test_every_id_has_a_page_in_one_form(check_id: str) -> None:
    lines = (PAGES / f"{check_id}.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == f"# {check_id}"
    assert [line for line in lines if line.startswith("## ")] == HEADINGS
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", check_id)


def test_no_page_without_a_check() -> None:
    ids = {item.id for item in all_checks()} | FILE_IDS
    assert sorted({path.stem for path in PAGES.glob("*.md")} - ids) == []


def test_after_and_parent_name_findings_that_exist_or_will() -> None:
    ids = {item.id for item in all_checks()}
    dangling = {cause for item in all_checks() for cause in item.after if cause not in ids}
    assert sorted(dangling) == []


def test_tables_hold_no_code_and_addresses_stand_once() -> None:
    assert list((ROOT / "compat_tables").glob("*.py")) == []
    for path in (ROOT / "compat_tables").iterdir():
        if path.name not in {"indexes.csv", "known_errors.toml"}:  # of which tests/test_known_errors.py takes care
            assert "download.pytorch.org/whl" not in path.read_text(encoding="utf-8"), path.name
    for path in MODULES:
        assert "download.pytorch.org" not in path.read_text(encoding="utf-8"), relative(path)


BANNED = re.compile(
    "|".join(
        [
            "python" + "hosted",
            "pypi" + r"\.org",
            "registry" + r"\.npmjs",
            "deb" + r"\.debian",
            "/wo" + "rk/main",
            "shared/(cases|facts|design)",
        ]
    )
)


def test_no_registry_host_and_no_path_of_one_machine() -> None:
    for folder in (PACKAGE, ROOT / "compat_tables", ROOT / "tests", ROOT / "docs", ROOT / "benchmarks"):
        for path in folder.rglob("*"):
            if (
                path.is_file()
                and path.suffix in {".py", ".md", ".csv", ".toml", ".json", ".txt", ".jsonl"}
                and path != Path(__file__)
            ):
                assert not BANNED.search(path.read_text(encoding="utf-8", errors="replace")), path


def summaries(path: Path) -> list[ast.Call]:
    """Every ``Text(...)`` inside a ``summary=`` of a finding."""
    keywords = [node for node in ast.walk(tree(path)) if isinstance(node, ast.keyword) and node.arg == "summary"]
    calls = [node for keyword in keywords for node in ast.walk(keyword.value) if isinstance(node, ast.Call)]
    return [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Text"]


def test_summaries_are_short_constant_templates() -> None:
    """Under 15 words, no blame, no plea, no exclamation mark."""
    places = (*(PACKAGE / "checks").rglob("*.py"), *(PACKAGE / "lint").rglob("*.py"))
    found = [(path.name, call) for path in places for call in summaries(path)]
    assert len(found) > 30  # the search itself works
    for name, call in found:
        template = call.args[0]
        assert isinstance(template, ast.Constant), f"{name}:{call.lineno}: a template must be a constant"
        words = str(template.value)
        assert len(words.split()) < 15, words
        assert "!" not in words, words
        assert "please" not in words.lower(), words


def test_every_case_folder_is_complete() -> None:
    for folder in CASES.iterdir():
        assert (folder / "case.toml").is_file(), folder.name
