"""Settings of pip and uv that would bring another build: the line wins over them, says so, or is refused."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from conftest import Run
from install_states import TABLES, Live
from packaging.specifiers import SpecifierSet

from torchdoctor.errors import UsageError
from torchdoctor.facts import Variables
from torchdoctor.prescribe.choose import choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.host import host_of
from torchdoctor.prescribe.install import Install, install_of
from torchdoctor.prescribe.writing import Writing, writing_for
from torchdoctor.readers.installer_settings import WANTS, InstallerSettings, settings_of
from torchdoctor.recording import Answer, Recording
from torchdoctor.records import replace

NONE = InstallerSettings()
BASE = "https://m.example/whl"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("uv.toml", "torch-backend = 'cpu'\n", InstallerSettings(uv_backend="uv.toml")),
        ("../pyproject.toml", '[tool.uv.pip]\n"torch-backend"="cpu"\n', NONE._replace(uv_backend="../pyproject.toml")),
        ("~/.config/uv/uv.toml", "index-strategy = 'x'\n", NONE._replace(uv_strategy="~/.config/uv/uv.toml")),
        ("/etc/uv/uv.toml", "find-links = ['x']\n", NONE._replace(uv_links="/etc/uv/uv.toml")),
        ("/etc/pip.conf", "[global]\nextra-index-url =\n  https://x\n", NONE._replace(pip_further="/etc/pip.conf")),
        ("~/.pip/pip.conf", "find_links: /w\n", NONE._replace(pip_further="~/.pip/pip.conf")),
        ("@prefix/pip.conf", "find-links = /w\n", NONE._replace(pip_further="the environment's pip.conf")),
        ("uv.toml", "# torch-backend = 'cpu'\n", NONE),
        ("uv.toml", "[[index]]\nurl = 'https://x'\n", NONE),
        ("/etc/pip.conf", "[global]\nindex-url = https://x\n", NONE),
        ("/etc/pip.conf", ";extra-index-url = https://x\n", NONE),
    ],
)
def test_which_file_sets_what(path: str, text: str, expected: InstallerSettings) -> None:
    answers = {want.key: Answer(text) if want.args[0] == path else Answer(absent=True) for want in WANTS}
    assert settings_of(Recording(answers)) == expected


LINKS, FURTHER = "find-links = ['x']\n", "[global]\nextra-index-url = https://x\n"
OF_OTHERS = "[download]\nextra-index-url = https://x\n[list]\nfind-links = y\n"


@pytest.mark.parametrize(
    ("variables", "files", "uv_links", "pip_further"),
    [
        ("", {"uv.toml": LINKS, "/etc/pip.conf": FURTHER}, "uv.toml", "/etc/pip.conf"),
        ("PIP_CONFIG_FILE=/p", {"$PIP_CONFIG_FILE": FURTHER}, "", "/p (PIP_CONFIG_FILE)"),
        # It is read last; of the others the user's alone is left out for it, and none where it is not there.
        ("PIP_CONFIG_FILE=/p", {"$PIP_CONFIG_FILE": "", "~/.config/pip/pip.conf": FURTHER}, "", ""),
        ("PIP_CONFIG_FILE=/p", {"~/.config/pip/pip.conf": FURTHER}, "", "~/.config/pip/pip.conf"),
        ("PIP_CONFIG_FILE=/p", {"$PIP_CONFIG_FILE": "", "/etc/pip.conf": FURTHER}, "", "/etc/pip.conf"),
        ("PIP_CONFIG_FILE=/dev/null", {"$PIP_CONFIG_FILE": "", "@prefix/pip.conf": FURTHER}, "", ""),
        ("", {"@prefix/pip.conf": FURTHER, "/etc/pip.conf": FURTHER}, "", "the environment's pip.conf"),
        ("", {"/etc/pip.conf": OF_OTHERS}, "", ""),
        ("", {"/etc/pip.conf": OF_OTHERS + "[install]\nfind-links = y\n"}, "", "/etc/pip.conf"),
        ("XDG_CONFIG_HOME=/x", {"~/.config/pip/pip.conf": FURTHER, "~/.config/uv/uv.toml": LINKS}, "", ""),
        ("XDG_CONFIG_HOME=/x", {"$XDG_CONFIG_HOME/pip/pip.conf": FURTHER}, "", "$XDG_CONFIG_HOME/pip/pip.conf"),
        ("XDG_CONFIG_DIRS=/x", {"/etc/xdg/pip/pip.conf": FURTHER, "/etc/xdg/uv/uv.toml": LINKS}, "", ""),
        ("UV_CONFIG_FILE=/u", {"$UV_CONFIG_FILE": LINKS, "uv.toml": LINKS}, "/u (UV_CONFIG_FILE)", ""),
        ("UV_CONFIG_FILE=/u", {"$UV_CONFIG_FILE": "", "uv.toml": LINKS}, "", ""),
        ("UV_NO_CONFIG=1", {"uv.toml": LINKS, "/etc/uv/uv.toml": LINKS}, "", ""),
        ("UV_NO_CONFIG=false", {"uv.toml": LINKS}, "uv.toml", ""),
        # The nearest file of the project counts, a uv.toml before a table beside it; the user's fills in.
        ("", {"uv.toml": "", "../uv.toml": LINKS, "pyproject.toml": f"[tool.uv]\n{LINKS}"}, "", ""),
        ("", {"uv.toml": "", "~/.config/uv/uv.toml": LINKS}, "~/.config/uv/uv.toml", ""),
        ("", {"pyproject.toml": "[project]\n", "../uv.toml": LINKS}, "../uv.toml", ""),
        ("", {"pyproject.toml": f"[tool.uv]\n[tool.other]\n{LINKS}"}, "", ""),
        ("", {"pyproject.toml": f"[tool.other]\n[tool.uv.pip] # of it\n{LINKS}"}, "pyproject.toml", ""),
    ],
)
def test_which_of_several_files_counts(variables: str, files: dict[str, str], uv_links: str, pip_further: str) -> None:
    given = dict([variables.split("=")]) if variables else {}
    answers = {
        want.key: Answer(files[want.args[0]]) if want.args[0] in files else Answer(absent=True) for want in WANTS
    }
    told = settings_of(Recording({**answers, WANTS[0].key: Answer(given)}))
    assert told == NONE._replace(uv_links=uv_links, pip_further=pip_further)


@pytest.mark.skipif(os.name != "posix", reason="the interpreter lies elsewhere on Windows")
@pytest.mark.parametrize("has_variable", [True, False])
def test_the_file_of_a_variable_is_read_on_a_live_host(tmp_path: Path, torchdoctor: Run, *, has_variable: bool) -> None:
    file = tmp_path / "mine.conf"
    file.write_text(FURTHER)
    variables = {"PIP_CONFIG_FILE": str(file)} if has_variable else {"PIP_CONFIG_FILE": os.devnull}
    host = ("--driver", "none", "--gpu", "none", "--torch", NEW, "--with", "torchvision", "--tool", "pip")
    done = torchdoctor("install-cmd", "--python", sys.executable, *host, env=variables)
    assert done.returncode == 0, done.stderr
    assert ("mine.conf (PIP_CONFIG_FILE) names a further index" in done.stderr) is has_variable


def asked(
    tool: str,
    torch: str,
    set_names: str = "",
    settings: InstallerSettings = NONE,
    *,
    shell: str = "posix",
    base: str = "",
) -> Install:
    """What is printed for that torch for the CPU with its torchvision, which from 2.14 on has no label."""
    live = Live(driver=None).facts
    facts = replace(live, env=Variables(dict.fromkeys(set_names.split(), "x"), complete=True))
    writing = writing_for(facts, Writing(tool=tool, shell=shell, index_base=base, asked=True))
    wish = Wish(backend="cpu", torch=SpecifierSet(f"=={torch}"), companions=("torchvision",))
    choice = choose(host_of(facts, TABLES), wish, TABLES)
    return install_of(choice, wish, writing._replace(settings=settings), TABLES)


OLD, NEW = "2.9.1", "2.14.1"
UV_FILE = InstallerSettings(uv_backend="uv.toml")
FIRST = "--index-strategy first-index"


@pytest.mark.parametrize(
    ("tool", "torch", "set_names", "settings", "shell", "begins", "ends"),
    [
        ("pip", NEW, "", NONE, "posix", "/w/app", "whl/cpu"),
        ("pip", NEW, "PIP_EXTRA_INDEX_URL", NONE, "posix", "env -u PIP_EXTRA_INDEX_URL /w/app/", "whl/cpu"),
        (
            "requirements", NEW, "PIP_FIND_LINKS PIP_EXTRA_INDEX_URL", NONE, "posix",
            "env -u PIP_EXTRA_INDEX_URL -u PIP_FIND_LINKS /w/app/", "requirements-torch.txt",
        ),
        ("pip", NEW, "PIP_FIND_LINKS", NONE, "powershell", "/w/app/.venv/bin/python -m pip install --isolated ", "cpu"),
        ("pip", OLD, "PIP_EXTRA_INDEX_URL PIP_FIND_LINKS", NONE, "posix", "/w/app", "whl/cpu"),
        ("pip", NEW, "UV_FIND_LINKS UV_TORCH_BACKEND UV_INDEX_STRATEGY", NONE, "posix", "/w/app", "whl/cpu"),
        ("uv", NEW, "PIP_EXTRA_INDEX_URL PIP_FIND_LINKS", NONE, "posix", "uv pip", "whl/cpu"),
        ("uv", NEW, "UV_FIND_LINKS", NONE, "posix", "env -u UV_FIND_LINKS uv pip", "whl/cpu"),
        ("uv", OLD, "UV_FIND_LINKS UV_INDEX_STRATEGY", NONE, "posix", "uv pip", "whl/cpu"),
        ("uv", NEW, "UV_INDEX_STRATEGY", NONE, "cmd", "uv pip", FIRST),
        ("uv", NEW, "", NONE._replace(uv_strategy="uv.toml"), "posix", "uv pip", FIRST),
        ("uv", OLD, "UV_TORCH_BACKEND", NONE, "posix", "env -u UV_TORCH_BACKEND uv pip", "whl/cpu"),
        ("uv", OLD, "UV_TORCH_BACKEND", NONE, "powershell", "uv pip", "--torch-backend cpu"),
        ("uv", OLD, "", UV_FILE, "posix", "uv pip", "--torch-backend cpu"),
        ("uv", OLD, "UV_TORCH_BACKEND", UV_FILE, "posix", "uv pip", "--torch-backend cpu"),
        ("pip", OLD, "", UV_FILE, "posix", "/w/app", "whl/cpu"),
    ],
)  # fmt: skip
def test_the_line_wins(
    tool: str, torch: str, set_names: str, settings: InstallerSettings, shell: str, begins: str, ends: str
) -> None:
    install = asked(tool, torch, set_names, settings, shell=shell)
    (line,) = install.commands
    assert line.startswith(begins)
    assert line.endswith(ends)
    assert install.warnings == asked(tool, torch, shell=shell).warnings


@pytest.mark.parametrize(
    ("tool", "torch", "set_names", "settings", "shell", "base", "name"),
    [
        ("pip", NEW, "", NONE._replace(pip_further="pip.conf"), "posix", "", "pip.conf names a further index"),
        ("requirements", NEW, "", NONE._replace(pip_further="pip.conf"), "posix", "", "pip.conf names a further index"),
        ("uv", NEW, "", NONE._replace(uv_links="uv.toml"), "posix", "", "uv.toml names a further index"),
        ("uv", NEW, "UV_FIND_LINKS", NONE, "cmd", "", "UV_FIND_LINKS names a further index"),
        ("uv", OLD, "UV_TORCH_BACKEND", NONE, "cmd", BASE, "UV_TORCH_BACKEND is set here"),
        ("pip", OLD, "", NONE._replace(pip_further="pip.conf"), "posix", "", ""),
        ("pip", NEW, "", NONE._replace(uv_links="uv.toml"), "posix", "", ""),
        ("uv", NEW, "", NONE._replace(pip_further="pip.conf"), "posix", "", ""),
        ("uv", OLD, "UV_TORCH_BACKEND", NONE, "posix", BASE, ""),
    ],
)
def test_what_the_line_does_not_win_over_is_said(
    tool: str, torch: str, set_names: str, settings: InstallerSettings, shell: str, base: str, name: str
) -> None:
    plain = asked(tool, torch, shell=shell, base=base).warnings
    more = [str(item) for item in asked(tool, torch, set_names, settings, shell=shell, base=base).warnings]
    new = [item for item in more if item not in map(str, plain)]
    assert len(new) == bool(name)
    assert "".join(new).startswith(name)


def test_a_backend_of_uv_that_is_another_index_is_refused() -> None:
    with pytest.raises(UsageError, match=r"uv\.toml sets torch-backend, .*/whl/cpu: take that line out, or use --tool"):
        asked("uv", OLD, settings=UV_FILE, base=BASE)
    assert asked("pip", OLD, settings=UV_FILE, base=BASE).commands
