"""``torchdoctor completion``: made of the parser, run by the shells that are at hand; and the manual page."""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from conftest import ROOT, Run

from torchdoctor.checks import all_checks
from torchdoctor.cli import COMMANDS, build_parser
from torchdoctor.commands.completion import SHELLS, manual_here, text_of
from torchdoctor.manual.bash import completion as for_bash
from torchdoctor.manual.man import ENVIRONMENT, page
from torchdoctor.manual.model import Argument, Words, manual_of
from torchdoctor.render.formats import FORMATS

MANUAL = manual_here(build_parser)


def flags_of(command: str) -> set[str]:
    """Every flag of a command, from the text that --help prints."""
    parser = build_parser((command,))
    (sub,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]  # noqa: SLF001 - argparse tells it in no other way
    printed = sub.choices[command].format_help()
    first, second = r"(?m)^  (--?[a-z][a-z0-9-]*)", r"(?m)^  -\w, (--[a-z][a-z0-9-]*)"
    return {*re.findall(first, printed), *re.findall(second, printed)}


def option(command: str, flag: str) -> Argument:
    (found,) = [item for item in MANUAL.commands if item.name == command]
    return next(item for item in found.options if flag in item.flags)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_manual_knows_every_option_that_help_prints(command: str) -> None:
    (found,) = [item for item in MANUAL.commands if item.name == command]
    known = {flag for item in found.options for flag in item.flags}
    assert flags_of(command) <= known
    assert {"-h", "--help"} <= known


@pytest.mark.parametrize(
    ("command", "flag", "kind", "some"),
    [
        ("check", "--level", "words", {"quick", "long"}),
        ("check", "--static", "none", set()),
        ("check", "--record", "files", set()),
        ("check", "--python", "files", set()),
        ("check", "--tables", "folders", set()),
        ("check", "--timeout", "text", set()),
        ("check", "--format", "words", set(FORMATS)),
        ("check", "--ignore", "words", {"driver-too-old", "no-gpu"}),
        ("tables", "--format", "words", {"text", "json"}),
        ("install-cmd", "--tool", "words", {"uv", "conda"}),
    ],
)
def test_what_may_follow_an_option(command: str, flag: str, kind: str, some: set[str]) -> None:
    if flag not in flags_of(command):
        pytest.skip(f"torchdoctor {command} has no {flag}")
    found = option(command, flag)
    assert found.kind == kind
    assert some <= set(found.words)
    assert bool(some) == bool(found.words)


def test_every_id_is_offered_to_explain() -> None:
    (explain,) = [item for item in MANUAL.commands if item.name == "explain"]
    assert {item.id for item in all_checks()} | {"cuda", "xid"} <= set(explain.positionals[0].words)


@pytest.mark.parametrize("shell", SHELLS)
def test_each_script_holds_every_command_and_every_option(torchdoctor: Run, shell: str) -> None:
    done = torchdoctor("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == text_of(shell, build_parser)
    for command in COMMANDS:
        assert command in done.stdout
        for flag in flags_of(command):
            as_fish = f" -l {flag[2:]} " if flag.startswith("--") else f" -s {flag[1:]} "
            assert (as_fish if shell == "fish" else flag) in done.stdout, (command, flag)


def test_another_shell_is_refused(torchdoctor: Run) -> None:
    done = torchdoctor("completion", "tcsh")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)


# ----------------------------------------------------------------------------------------------------- by real shells

LINES = [
    (["torchdoctor", "ch"], {"check"}),
    (["torchdoctor", ""], {*COMMANDS, "-h", "--help", "-V", "--version"}),
    (["torchdoctor", "check", "--sta"], {"--static"}),
    (["torchdoctor", "check", "--level", ""], {"quick", "standard", "long"}),
    (["torchdoctor", "check", "--level", "q"], {"quick"}),
    (["torchdoctor", "check", "--all-envs", "r"], {"run"}),
    (["torchdoctor", "check", "--format", "js"], {"json"}),
    (["torchdoctor", "check", "-q", "--fail-on", "w"], {"warning"}),
    (["torchdoctor", "explain", "driver-too"], {"driver-too-old"}),
    (["torchdoctor", "diff", "a b"], {"a b.json"}),
    (["torchdoctor", "check", "--timeout", ""], set()),
]
BY_EQUALS = [
    (["torchdoctor", "check", "--level", "=", "st"], {"standard"}),
    (["torchdoctor", "check", "--level", "="], {"quick", "standard", "long"}),
    (["torchdoctor", "check", "--format", "json", "=", "a b"], {"a b.json"}),
]


def typed(value: object) -> str | None:
    """The id of a case: the words of its line."""
    return " ".join(value) if isinstance(value, list) else "it"


def shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"no {name} here")
    return found


@pytest.mark.parametrize(("line", "expected"), [*LINES, *BY_EQUALS], ids=typed)
def test_bash_completes(tmp_path: Path, line: Sequence[str], expected: set[str]) -> None:
    (tmp_path / "a b.json").write_text("")
    (tmp_path / "script").write_text(for_bash(MANUAL))
    code = (
        'source ./script; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _torchdoctor; '
        '[ ${#COMPREPLY[@]} -eq 0 ] || printf "%s\\n" "${COMPREPLY[@]}"; complete -p torchdoctor >&2'
    )
    command = [shell("bash"), "--norc", "-u", "-c", code, "bash", *line]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert set(done.stdout.splitlines()) == expected
    assert done.stderr == "complete -F _torchdoctor torchdoctor\n"


@pytest.mark.parametrize("name", ["bash", "zsh", "fish"])
def test_shells_read_their_script(tmp_path: Path, name: str) -> None:
    script = tmp_path / "script"
    script.write_text(text_of(name, build_parser))
    done = subprocess.run([shell(name), "-n", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("torchdoctor ", {*COMMANDS}),
        ("torchdoctor ch", {"check"}),
        ("torchdoctor check --sta", {"--static"}),
        ("torchdoctor check --level ", {"quick", "standard", "long"}),
        ("torchdoctor check --all-envs=r", {"--all-envs=run"}),
        ("torchdoctor check -q --fail-on w", {"warning"}),
        ("torchdoctor explain driver-too", {"driver-too-old"}),
        ("torchdoctor diff a.j", {"a.json"}),
    ],
)
def test_fish_completes(tmp_path: Path, line: str, expected: set[str]) -> None:
    (tmp_path / "a.json").write_text("")
    (tmp_path / "script").write_text(text_of("fish", build_parser))
    command = [shell("fish"), "--no-config", "-c", "source script; complete -C $argv[1]", line]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {words.split("\t")[0] for words in done.stdout.splitlines()} == expected


_ZSH = """\
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PS1='>'; autoload -Uz compinit; compinit -u -D; source ./script; bindkey '^I' complete-word"
sleep 1
for line in "$@"; do zpty -n -w inner "$line"$'\\t'; sleep 0.7; zpty -n -w inner $'\\C-u'; done
sleep 0.5
while zpty -r -t inner text; do print -r -- "$text"; done
"""


def test_zsh_completes(tmp_path: Path) -> None:
    """Typed into a terminal, as zsh completes nowhere else."""
    (tmp_path / "a.json").write_text("")
    (tmp_path / "script").write_text(text_of("zsh", build_parser))
    lines = ("torchdoctor comp", "torchdoctor check --stat", "torchdoctor check --level=q", "torchdoctor diff a.j")
    command = [shell("zsh"), "-f", "-c", _ZSH, "zsh", *lines, "torchdoctor explain driver-too"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=60)
    shown = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout)
    for word in ("completion ", "--static ", "--level=quick ", "diff a.json ", "explain driver-too-old "):
        assert f" {word}" in shown


def test_what_a_shell_would_read_is_quoted() -> None:
    """An apostrophe, a bracket, a colon, a dollar sign in a help text must not end or begin anything."""
    about = 'it\'s [not] a: $(reboot) `reboot` \\ "x"'

    def build(argv: Sequence[str]) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(prog="torchdoctor", description="x")
        sub = parser.add_subparsers(dest="command").add_parser("do", description=about)
        if argv:
            sub.add_argument("--odd", metavar="ODD", help=about)
        return parser

    from torchdoctor.manual import fish, man, powershell, zsh

    manual = manual_of(build, Words((), (), ()))
    assert "'(--odd)--odd=[it'\\''s \\[not\\] a\\: $(reboot)" in zsh.completion(manual)
    assert "-d 'it\\'s [not] a: $(reboot) `reboot` \\\\ \"x\"'" in fish.completion(manual)
    assert "'do' = 'it''s [not] a: $(reboot) `reboot` \\ \"x\"'" in powershell.completion(manual)
    assert 'it\\(aqs [not] a: $(reboot) `reboot` \\e "x"' in man.page(manual, "1", "2026-01-01")


# ------------------------------------------------------------------------------------------------------- manual page


def test_the_manual_page_holds_every_command_option_and_exit_status(torchdoctor: Run) -> None:
    done = torchdoctor("completion", "man")
    assert (done.returncode, done.stderr) == (0, "")
    plain = done.stdout.replace("\\-", "-")
    for command in COMMANDS:
        assert f"\n.SS torchdoctor {command}\n" in plain
        assert all(f"\\fB{flag}\\fR" in plain for flag in flags_of(command) - {"-h", "--help"})
    statuses = plain.partition(".SH EXIT STATUS\n")[2].partition(".SH ")[0]
    named = re.findall(r"^\.TP\n\\fB(.*)\\fR\n", statuses, re.MULTILINE)
    assert named == ["0", "1", "2", "3", "130", "128 + n", "--nagios"]
    assert "\n0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN\n" in statuses
    assert re.match(r'\.TH TORCHDOCTOR 1 "\d{4}-\d\d-\d\d" "torchdoctor \d', done.stdout)


def test_the_variables_of_the_manual_page_are_read_by_the_product() -> None:
    others = [path for path in (ROOT / "torchdoctor").rglob("*.py") if "manual" not in path.parts]
    code = "\n".join(path.read_text(encoding="utf-8") for path in others)
    for names, _ in ENVIRONMENT:
        assert all(f'"{name}"' in code for name in names.split(", ")), names
    ours = set(re.findall(r'"(TORCHDOCTOR_[A-Z_]+)"', code))
    assert ours == {name for name, _ in ENVIRONMENT if name.startswith("TORCHDOCTOR_")}
    assert '; gpus.min=8"' in dict(ENVIRONMENT)["TORCHDOCTOR_REQUIRE"]  # how to write more than one


def test_groff_reads_the_page_without_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "torchdoctor.1"
    path.write_text(page(MANUAL, "0.1.0", "2026-11-30"))
    command = [shell("groff"), "-man", "-Tascii", "-ww", "-P-cbou", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert "torchdoctor install-cmd" in done.stdout
    assert "--index-base" in done.stdout


def test_the_wheel_has_page_and_scripts_where_shells_look(tmp_path: Path) -> None:
    """Built as pip builds it; skipped where the build tool is not installed."""
    wheels = pytest.importorskip("hatchling.builders.wheel")
    (built,) = wheels.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    from zipfile import ZipFile

    with ZipFile(built) as wheel:
        held = {name.partition(".data/data/")[2]: name for name in wheel.namelist() if ".data/data/" in name}
        assert set(held) == {
            "share/man/man1/torchdoctor.1",
            "share/bash-completion/completions/torchdoctor",
            "share/zsh/site-functions/_torchdoctor",
            "share/fish/vendor_completions.d/torchdoctor.fish",
        }
        assert wheel.read(held["share/bash-completion/completions/torchdoctor"]).decode() == for_bash(MANUAL)
        assert wheel.read(held["share/man/man1/torchdoctor.1"]).decode() == text_of("man", build_parser)
