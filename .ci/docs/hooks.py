# noqa: INP001 - a script of the build, in no package
"""What MkDocs is told beside docs/: the pages of the findings, the tables, and the answers of docs/select/.

Nothing of it is written into docs/. Links that lead out of docs/ (``../torchdoctor/pages/en/...``) are right in a
checkout; here they are turned to where the same file stands in the site.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import select_data
from mkdocs.structure.files import File, Files

from torchdoctor.checks import all_checks
from torchdoctor.commands.explain import PAGES, meanings
from torchdoctor.fleet.findings import IDS as FLEET
from torchdoctor.lint.rules import all_rules
from torchdoctor.net.verdict import IDS as NET

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
_PLACES = {"torchdoctor/pages/en": "findings", "compat_tables/README.md": "tables.md"}
_COPIED = ("action.yml", ".pre-commit-hooks.yaml", "examples/triage.py")  # what a page links to, as it is
_COG = re.compile(r"<!-- \[\[\[.*?\]\]\] -->\n", re.DOTALL)
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
_FAMILIES = {
    "build": "The torch build", "install": "Installing", "driver": "Driver and GPU", "toolkit": "Compilers, toolkits",
    "runtime": "Libraries and the loader", "host": "Place and system", "code": "The program itself",
    "hygiene": "The environment", "policy": "The policy (`--require`)", "predict": "Other hosts (`--for`)",
    "lint": "Files of a project (`lint`)", "fleet": "Many hosts (`fleet`)", "net": "The ranks of a job (`net`)",
}  # fmt: skip


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add what is made from the code and the tables."""
    made: dict[str, dict[str, str]] = {
        "findings/index.md": {"content": findings_list()},
        "tables.md": {"abs_src_path": str(ROOT / "compat_tables" / "README.md")},
        "select/data.js": {"content": f"const SELECT_DATA = {_compact(select_data.data())};\n"},
    }
    made |= {f"findings/{path.name}": {"abs_src_path": str(path)} for path in sorted(PAGES.glob("*.md"))}
    made |= {f"files/{name.lstrip('.')}": {"abs_src_path": str(ROOT / name)} for name in _COPIED}
    for uri, source in made.items():
        files.append(File.generated(config, uri, **source))  # type: ignore[arg-type]
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Leave the generator's own comments out, and turn links that lead out of docs/."""
    where = "docs/" + page.file.src_uri
    if page.file.src_uri.startswith("findings/"):
        where = "torchdoctor/pages/en/" + page.file.name + ".md"
    return _LINK.sub(lambda found: _turned(found[0], where, page.file.src_uri), _COG.sub("", markdown))


def on_page_content(html: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Let the keyboard scroll what is wider than the page."""
    return html.replace("<pre>", '<pre tabindex="0">')


def _turned(link: str, where: str, uri: str) -> str:
    """A link of the file ``where`` in the checkout as a link of the page ``uri`` in the site."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(where), link))
    if target.startswith("docs/") or not link.startswith(".."):
        return link
    folder, name = posixpath.split(target)
    copied = f"files/{target.lstrip('.')}"
    target = f"{_PLACES[folder]}/{name}" if folder in _PLACES else _PLACES.get(target, copied)
    return posixpath.relpath(target, posixpath.dirname(uri) or ".")


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def findings_list() -> str:
    """Every finding with its page, by what it is about."""
    lines = [
        "# Findings",
        "",
        "What torchdoctor can find, each with its page: the same that `torchdoctor explain ID` prints.",
        "",
    ]
    for family, rows in _by_family().items():
        lines += [f"## {_FAMILIES[family]}", "", "| finding | usual severity | meaning |", "|---|---|---|"]
        lines += [f"| [{name}]({name}.md) | {severity} | {meaning} |" for name, severity, meaning in rows]
        lines.append("")
    return "\n".join(lines)


def _by_family() -> dict[str, list[tuple[str, str, str]]]:
    found: dict[str, dict[str, tuple[str, str, str]]] = {}
    for check in all_checks():
        found.setdefault(check.family, {})[check.id] = (check.id, check.severity, check.meaning)
    known = {name for rows in found.values() for name in rows}
    for rule in all_rules():
        if rule.id not in known:
            found.setdefault("lint", {}).setdefault(rule.id, (rule.id, rule.severity, rule.meaning))
    for family, ids in (("fleet", FLEET), ("net", NET)):
        found[family] = {name: (name, "", meanings()[name]) for name in ids}
    return {family: list(found[family].values()) for family in sorted(found, key=list(_FAMILIES).index)}
