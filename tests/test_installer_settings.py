"""Settings of pip and uv that would bring another build: the line wins over them, says so, or is refused."""

from __future__ import annotations

import pytest
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
