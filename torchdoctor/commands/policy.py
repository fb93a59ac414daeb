"""The options of a policy, and what holds in the end: options before variables before the file before the defaults."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torchdoctor.commands.common import note
from torchdoctor.errors import UsageError
from torchdoctor.settings import config_of

if TYPE_CHECKING:
    from torchdoctor.facts import Request
    from torchdoctor.policy.policy import Policy
    from torchdoctor.report import Report

_VARIABLES = ("FAIL_ON", "IGNORE", "SELECT", "REQUIRE", "REQUIRE_GPU")
_FAIL_ON = "error"
_NO_CONFIG = {  # what nothing is left to do for once the policy is shown
    "format": "--format", "record": "--record", "targets": "--for", "all_envs": "--all-envs", "wait": "--wait",
    "save": "--save",
}  # fmt: skip
_PAGES = Path(__file__).resolve().parent.parent / "pages" / "en"


def add_policy_options(parser: argparse.ArgumentParser, *, shows: bool = True, requires: bool = True) -> None:
    """Options about what is required, what is set aside, and the file that says so."""
    group = parser.add_argument_group("policy")
    if requires:
        group.add_argument(
            "--require",
            action="append",
            metavar="KEY>=VALUE",
            help='what the host has to be, as "driver>=550", "python>=3.11,<3.14", build=cpu, gpus.min=8; repeatable: '
            "all of them hold",
        )
    group.add_argument(
        "--ignore", action="append", metavar="ID", help="set findings aside, by id or a pattern as driver-*; repeatable"
    )
    group.add_argument("--select", action="append", metavar="ID", help="only these findings count; repeatable")
    if shows:
        group.add_argument(
            "--show-config", action="store_true", help="print every key, its value and where it comes from, then end"
        )
    add_config_options(group)


def add_config_options(group: argparse._ActionsContainer) -> None:
    """Options about the file that is read."""
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--config",
        metavar="FILE",
        help="read this torchdoctor.toml or pyproject.toml (default: $TORCHDOCTOR_CONFIG, or the nearest one upwards)",
    )
    which.add_argument("--no-config", action="store_true", help="read no such file")


def request_of(options: argparse.Namespace, *, measures: bool = False, of_text: bool = False) -> Request:
    """What is asked of the report; the threshold is left in the options.

    ``measures``: there may be a benchmark, which a baseline is for. ``of_text``: what is examined may be of any host,
    so that what is required counts only where it was asked for this time.
    """
    require_gpu = getattr(options, "require_gpu", False)
    policy = policy_of(options)
    if policy is None:
        from torchdoctor.facts import Request

        options.fail_on = options.fail_on or _FAIL_ON
        return Request(require_gpu=require_gpu)
    if of_text and not options.config:
        policy = policy.without_requirements(but_of="--require")
    threshold = policy.get("fail-on")
    options.fail_on = threshold.value if threshold else _FAIL_ON
    from time import strftime

    return policy.request(today=strftime("%Y-%m-%d"), baseline=_baseline(policy) if measures else None)


def counted(report: Report, request: Request) -> Report:
    """A report on no host, with what the policy sets aside apart."""
    if not request.ignores and not request.select:
        return report
    from torchdoctor.policy.setting_aside import set_aside
    from torchdoctor.records import replace

    findings, ignored = set_aside(report.findings, request)
    return replace(report, findings=findings, ignored=(*report.ignored, *ignored))


def policy_of(options: argparse.Namespace) -> Policy | None:
    """Everything that is set, or None where nothing is; then nothing of policies is loaded."""
    found = config_of(getattr(options, "config", None), no_config=getattr(options, "no_config", False))
    for line in found.remarks:
        note(f"note: {line}")
    given = _given(options)
    requires = getattr(options, "require", None) or ()
    is_set = any(f"TORCHDOCTOR_{word}" in os.environ for word in _VARIABLES)
    if not (found.path or given or requires or is_set):
        return None
    from torchdoctor.policy import asked
    from torchdoctor.policy.parse import policy_of as of_table

    ids = known_ids()
    said = asked.options_of(given, ids).over(asked.requirements_of(requires, "--require"))
    return said.over(asked.variables_of(os.environ, ids)).over(of_table(_shown(found.path), found.table, ids))


def _shown(path: str) -> str:
    """The path of a file as reports show it: from the current folder, in which nobody's name stands."""
    try:
        return os.path.relpath(path) if Path(path).is_absolute() else path
    except (OSError, ValueError):  # the current folder is gone, or on another drive
        return path


def known_ids() -> frozenset[str]:
    """The ids of all findings: each has a page."""
    return frozenset(page.stem for page in _PAGES.glob("*.md"))


def _given(options: argparse.Namespace) -> dict[str, tuple[str, Any]]:
    """The options that say something, by the key they outrank."""
    by_key = {"fail-on": "fail_on", "ignore": "ignore", "select": "select", "require.gpu": "require_gpu"}
    values = ((key, f"--{name.replace('_', '-')}", getattr(options, name, None)) for key, name in by_key.items())
    return {key: (option, _words(value)) for key, option, value in values if value}


def _words(value: Any) -> Any:
    """Lists may be written with commas too."""
    if not isinstance(value, list):
        return value
    return [word.strip() for item in value for word in item.split(",") if word.strip()]


def show_config(options: argparse.Namespace) -> int:
    """Print every key, its value and where it comes from."""
    for name, option in _NO_CONFIG.items():
        if getattr(options, name, None):
            raise UsageError(f"--show-config examines nothing and prints the policy alone: leave {option} out")
    from torchdoctor.policy.policy import Policy
    from torchdoctor.policy.show import lines
    from torchdoctor.render.output import write

    policy = policy_of(options) or Policy()
    write("".join(f"{line}\n" for line in lines(policy)))
    return 0


def _baseline(policy: Policy) -> object:
    entry = policy.get("bench.baseline")
    if entry is None:
        return None
    from torchdoctor.commands.bench import baseline_of

    return baseline_of(str(Path(entry.source).parent / entry.value), f"{entry.source}: bench.baseline")
