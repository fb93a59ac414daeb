"""What each tool is told: its lines are held against the grammar that the tool documents."""

from __future__ import annotations

import re
import shlex
import sys
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet

from torchdoctor.errors import UsageError
from torchdoctor.facts import Facts, Place, Python, Unknown
from torchdoctor.prescribe.choices import TOOLS
from torchdoctor.prescribe.choose import choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import describe
from torchdoctor.prescribe.host import Host, Installed, with_named, with_oldest
from torchdoctor.prescribe.install import Install, install_of
from torchdoctor.prescribe.writers import choose_for
from torchdoctor.prescribe.writing import ASK_AGAIN, Writing, writing_for
from torchdoctor.readers.project_pixi import kept_by_pixi
from torchdoctor.readers.project_torch import kept_in
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import CudaVersion

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

WHL = "https://download.pytorch.org/whl"
LINUX: dict[str, Any] = {"os": "linux", "machine": "x86_64", "python": "3.12", "libc": "glibc-2.35", "torch": None}
HOSTS: dict[str, dict[str, Any]] = {
    "cpu": {**LINUX, "gpus": []},
    "cuda": {**LINUX, "driver": "550.54.15", "gpus": ["sm_86"]},
    "new driver": {**LINUX, "driver": "595.45", "gpus": ["sm_120"]},
    "rocm": {**LINUX, "gpus": ["gfx1100"]},
    "xpu": {**LINUX, "gpus": ["Intel Arc B580"]},
    "windows": {**LINUX, "os": "windows", "libc": None, "driver": "551.61", "gpus": ["sm_86"]},
    "macos": {**LINUX, "os": "macos", "machine": "arm64", "libc": None, "os_version": "15.1", "gpus": []},
    "jetson": {
        **LINUX,
        "machine": "aarch64",
        "python": "3.10",
        "jetpack": "6.2",
        "driver": "540.4.0",
        "gpus": ["sm_87"],
    },
}
BACKENDS = {"xpu": "xpu"}


def told(tables: Tables, tool: str, host: str, *, shell: str = "", base: str = "", **asked: Any) -> Install:
    wish = Wish(**{"backend": BACKENDS.get(host, "auto"), "companions": ("torchvision",), **asked})
    writing = Writing(tool=tool, shell=shell, asked=True, index_base=base)
    choice, writing, known = choose_for(
        writing, tables, lambda known: choose(describe(HOSTS[host], known), wish, known)
    )
    assert choice.runs, choice.refusal
    return install_of(choice, wish, writing, known)


def toml(install: Install) -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads("\n".join(install.lines))
    return table


OF_WHEELS = [tool for tool in TOOLS if tool not in {"conda", "mamba", "pixi"}]
ON_INDEX = ["cpu", "cuda", "rocm"]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("host", HOSTS)
def test_every_tool_answers_for_every_host_or_says_what_to_type(tables: Tables, tool: str, host: str) -> None:
    try:
        install = told(tables, tool, host)
    except (UsageError, AssertionError) as error:
        assert "--tool pip" in str(error) or "exists for" in str(error) or "is for" in str(error)  # noqa: PT017
        assert (tool, host) in REFUSED
        return
    assert (tool, host) not in REFUSED
    assert install.tool == tool
    assert install.commands or install.lines
    for line in (*install.commands, *install.lines):
        assert "\n" not in line
        assert "None" not in line


REFUSED = {
    *(((tool, host)) for tool in ("conda", "mamba", "pixi") for host in ("rocm", "xpu", "jetson")),
    ("hatch", "jetson"),
}


@pytest.mark.parametrize("host", ON_INDEX)
def test_uv_project_binds_torch_and_its_helpers_to_an_explicit_index(tables: Tables, host: str) -> None:
    install = told(tables, "uv-project", host, torch=None)
    build = install.build
    table = toml(install)["tool"]["uv"]
    assert table["index"] == [{"name": f"pytorch-{build}", "url": f"{WHL}/{build}", "explicit": True}]
    assert {source["index"] for source in table["sources"].values()} == {f"pytorch-{build}"}
    assert {source["marker"] for source in table["sources"].values()} == {"sys_platform == 'linux'"}
    words = shlex.split(install.commands[0])
    assert words[:2] == ["uv", "add"]
    assert {re.split(r"==|;", word)[0] for word in words[2:]} == set(table["sources"])
    assert f"torch=={install.torch}" in words
    assert any(word == "triton-rocm; sys_platform == 'linux'" for word in words) is (host == "rocm")


def test_uv_project_on_pypi_needs_no_index(tables: Tables) -> None:
    install = told(tables, "uv-project", "macos")
    assert install.file == ""
    assert re.fullmatch(rf"uv add torch=={install.torch} torchvision==[\d.]+", install.commands[0])


@pytest.mark.parametrize(("host", "platform"), [("windows", "win32"), ("cuda", "linux")])
def test_uv_project_marks_the_system_of_the_host(tables: Tables, host: str, platform: str) -> None:
    sources = toml(told(tables, "uv-project", host))["tool"]["uv"]["sources"]
    assert sources["torch"]["marker"] == f"sys_platform == '{platform}'"


@pytest.mark.parametrize("host", ON_INDEX)
def test_poetry_adds_an_explicit_source_first(tables: Tables, host: str) -> None:
    install = told(tables, "poetry", host)
    name = f"pytorch-{install.build}"
    assert shlex.split(install.commands[0]) == [
        "poetry", "source", "add", "--priority=explicit", name, f"{WHL}/{install.build}",
    ]  # fmt: skip
    words = shlex.split(install.commands[1])
    assert words[:4] == ["poetry", "add", "--source", name]
    assert f"torch=={install.torch}+{install.build}" in words
    assert install.file == ""


@pytest.mark.parametrize("host", ON_INDEX)
def test_pdm_keeps_its_source_to_torch_alone(tables: Tables, host: str) -> None:
    install = told(tables, "pdm", host)
    table = toml(install)["tool"]["pdm"]
    assert [source["url"] for source in table["source"]] == [f"{WHL}/{install.build}"]
    assert {"torch", "torchvision"} <= set(table["source"][0]["include_packages"])
    assert table["resolution"] == {"respect-source-order": True}
    assert f"torch=={install.torch}+{install.build}" in shlex.split(install.commands[0])


@pytest.mark.parametrize("host", ON_INDEX)
def test_hatch_pins_the_label_beside_an_extra_index(tables: Tables, host: str) -> None:
    table = toml(install := told(tables, "hatch", host))["tool"]["hatch"]["envs"]["default"]
    assert f"torch=={install.torch}+{install.build}" in table["extra-dependencies"]
    assert table["env-vars"]["PIP_EXTRA_INDEX_URL"] == table["env-vars"]["UV_INDEX"] == f"{WHL}/{install.build}"


@pytest.mark.parametrize("host", ON_INDEX)
def test_requirements_pin_the_label_so_that_the_extra_index_wins(tables: Tables, host: str) -> None:
    install = told(tables, "requirements", host, torch=SpecifierSet("==2.9.1"))
    assert install.file == "requirements.txt"
    assert install.lines[0] == f"--extra-index-url {WHL}/{install.build}"
    assert [line.partition("+")[2] for line in install.lines[1:]] == [install.build, install.build]
    assert install.commands == ("python -m pip install -r requirements.txt",)


def test_requirements_without_a_label_meet_no_other_index(tables: Tables) -> None:
    install = told(tables, "requirements", "cuda", torch=SpecifierSet("==2.14.1"))
    assert install.file == "requirements-torch.txt"
    assert install.lines[0] == f"--index-url {WHL}/{install.build}"
    assert install.lines[1:] == (f"torch==2.14.1+{install.build}", "torchvision==0.29.1")
    assert install.commands == ("python -m pip install -r requirements-torch.txt",)


def test_requirements_of_a_jetson_stand_in_a_file_of_their_own(tables: Tables) -> None:
    install = told(tables, "requirements", "jetson")
    assert install.file == "requirements-torch.txt"
    assert install.lines[0].startswith("--index-url ")


@pytest.mark.parametrize("host", ["cpu", "cuda", "rocm", "xpu", "macos"])
def test_dockerfile_names_the_build_and_detects_nothing(tables: Tables, host: str) -> None:
    install = told(tables, "dockerfile", host)
    assert install.file == "Dockerfile"
    assert all(line.startswith("RUN python -m pip install --no-cache-dir ") for line in install.lines)
    assert "auto" not in " ".join(install.lines)


# conda's documented form of a match specification on the command line: name, name=version; here always exact.
SPEC = re.compile(r"[a-z0-9][a-z0-9_.-]*(=\d+(\.\d+)*)?")


@pytest.mark.parametrize("tool", ["conda", "mamba"])
@pytest.mark.parametrize("host", ["cpu", "cuda", "windows", "macos"])
def test_conda_takes_conda_forge_alone_and_pins_its_cuda(tables: Tables, tool: str, host: str) -> None:
    install = told(tables, tool, host)
    words = shlex.split(install.commands[0])
    assert words[:6] == [tool, "install", "--yes", "--override-channels", "--channel", "conda-forge"]
    specs = words[6:]
    assert all(SPEC.fullmatch(spec) for spec in specs), specs
    kind = {"cpu": "pytorch-cpu", "macos": "pytorch"}.get(host, "pytorch-gpu")
    assert specs[0] == f"{kind}={install.torch}"
    assert any(spec.startswith("cuda-version=") for spec in specs) is (kind == "pytorch-gpu")
    rattler = pytest.importorskip("rattler", reason="py-rattler, which reads match specifications, is not installed")
    for spec in specs:
        assert str(rattler.MatchSpec(spec).name.normalized) == spec.partition("=")[0]


def test_conda_base_is_left_alone(tables: Tables) -> None:
    host = describe(HOSTS["cuda"], tables)
    writing = Writing(tool="conda", asked=True, apart=True)
    choice, writing, known = choose_for(writing, tables, lambda known: choose(host, Wish(), known))
    install = install_of(choice, Wish(), writing, known)
    command = install.commands[0]
    new = f"conda create --name torch-{install.torch}-{install.build}"
    assert command.startswith(f"{new} --override-channels --channel conda-forge python=3.12 ")


def test_conda_in_an_image_build_is_told_of_the_driver(tables: Tables) -> None:
    host = describe(HOSTS["cuda"], tables)
    writing = Writing(tool="conda", asked=True, image_build=True)
    choice, writing, known = choose_for(writing, tables, lambda known: choose(host, Wish(), known))
    command = install_of(choice, Wish(), writing, known).commands[0]
    assert re.match(r"env CONDA_OVERRIDE_CUDA=\d+\.\d+ conda install ", command)


@pytest.mark.parametrize("host", ["cpu", "cuda", "windows", "macos"])
def test_pixi_declares_the_driver_on_the_platform(tables: Tables, host: str) -> None:
    table = toml(install := told(tables, "pixi", host))
    platform = table["workspace"]["platforms"][0]
    assert table["workspace"]["channels"] == ["conda-forge"]
    if host in {"cuda", "windows"}:
        assert re.fullmatch(r"\d+\.0", platform["cuda"])
        assert table["dependencies"]["pytorch-gpu"] == f"=={install.torch}"
        assert re.fullmatch(r"\d+\.\d+\.\*", table["dependencies"]["cuda-version"])
    else:
        assert platform in {"linux-64", "osx-arm64"}
        assert "cuda-version" not in table["dependencies"]


def test_conda_serves_an_old_gpu_that_the_newest_wheels_left(tables: Tables) -> None:
    host = {**HOSTS["cuda"], "gpus": ["sm_61"], "driver": "580.65.06"}
    wish = Wish(companions=())
    writing = Writing(tool="conda", asked=True)
    choice, _, _ = choose_for(writing, tables, lambda known: choose(describe(host, known), wish, known))
    assert choice.row is not None
    assert (str(choice.row.torch), choice.row.build.name) == ("2.13.0", "cu129")


def test_a_tool_of_conda_that_nobody_asked_for_gives_way_to_pip(tables: Tables) -> None:
    host = describe(HOSTS["rocm"], tables)
    _, writing, known = choose_for(Writing(tool="conda"), tables, lambda known: choose(host, Wish(), known))
    assert writing.tool == "pip"
    assert known is tables


@pytest.mark.parametrize("tool", ["pip", "uv", "poetry", "pdm", "uv-project", "requirements", "dockerfile"])
@pytest.mark.parametrize("host", ["cpu", "new driver", "rocm", "xpu"])
def test_nightly_takes_the_nightly_index_and_pre_releases(tables: Tables, tool: str, host: str) -> None:
    install = told(tables, tool, host, nightly=True, companions=(), allow_inferred=True)
    text = " ".join((*install.commands, *install.lines))
    assert f"{WHL}/nightly/{install.build}" in text
    assert re.search(r"--pre\b|--prerelease|--allow-prereleases|torch>=0\.dev0", text)
    assert install.torch is None


SHELLS = ("posix", "cmd", "powershell")


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("tool", OF_WHEELS)
def test_a_path_with_blanks_is_quoted_for_the_shell(tables: Tables, tool: str, shell: str) -> None:
    host = replace(describe(HOSTS["cuda"], tables), torch="2.9.1+cpu")
    writing = Writing(tool=tool, shell=shell, asked=True, python=("/opt/my env/bin/python",))
    install = install_of(choose(host, Wish(), tables), Wish(), writing, tables)
    lines = [line for line in install.commands if "my env" in line]
    quoted = '"/opt/my env/bin/python"' if shell == "cmd" else "'/opt/my env/bin/python'"
    assert all(quoted in line for line in lines)
    if tool in {"pip", "uv", "requirements"}:
        assert lines
        if shell == "powershell" and tool != "uv":
            assert lines[0].startswith("& ")


def test_a_mirror_takes_the_place_of_the_official_index_in_every_tool(tables: Tables) -> None:
    base = "https://mirror.example/pytorch/whl"
    for tool in OF_WHEELS:
        install = told(tables, tool, "cuda", base=base)
        text = "\n".join((*install.commands, *install.lines))
        assert f"{base}/{install.build}" in text
        assert WHL not in text


def test_an_unknown_fact_of_the_host_is_no_python_version(tables: Tables) -> None:
    host = Host(os="linux", machine="x86_64", gpus=(), torch=None)
    assert isinstance(host.python, Unknown)
    install = install_of(choose(host, Wish(), tables), Wish(), Writing(tool="pip"), tables)
    assert "Unknown" not in " ".join(install.commands)


@pytest.mark.parametrize("tool", OF_WHEELS)
def test_the_index_is_named_also_where_the_build_is_pypis_own(tables: Tables, tool: str) -> None:
    """A file of the tool or of the project may name another index, which a plain version would be taken from."""
    install = told(tables, tool, "new driver", backend="auto")
    row = next(
        row for row in tables.torch_builds.rows if (str(row.torch), row.build.name) == (install.torch, install.build)
    )
    assert row.on_pypi
    text = " ".join((*install.commands, *install.lines))
    assert f"{WHL}/{install.build}" in text
    assert f"torch=={install.torch}+{install.build}" in text or tool == "uv-project"  # which binds it by its source


@pytest.mark.parametrize("tool", OF_WHEELS)
def test_no_index_is_named_where_pypi_has_the_one_build_there_is(tables: Tables, tool: str) -> None:
    install = told(tables, tool, "macos")
    assert WHL not in " ".join((*install.commands, *install.lines))
    assert install.index_url == ""


@pytest.mark.parametrize(
    ("tool", "host", "nightly", "expected"),
    [
        ("poetry", "cpu", True, "torch@latest torchvision@latest"),
        ("poetry", "jetson", False, " torch@latest"),
        ("uv-project", "cpu", True, "'torch>=0.dev0' 'torchvision>=0.dev0'"),
        ("uv-project", "jetson", False, " 'torch>=0'"),
    ],
)
def test_what_no_version_pins_takes_the_place_of_a_pin_of_the_project(
    tables: Tables, tool: str, host: str, nightly: bool, expected: str
) -> None:
    assert told(tables, tool, host, nightly=nightly).commands[-1].endswith(expected)


@pytest.mark.parametrize(("companions", "first"), [(("torchvision",), "hatch env remove default"), ((), "hatch run ")])
def test_hatch_makes_its_environment_anew_where_another_build_would_pass(
    tables: Tables, companions: tuple[str, ...], first: str
) -> None:
    install = told(tables, "hatch", "new driver", torch=SpecifierSet("==2.14.1"), companions=companions)
    assert install.commands[0].startswith(first)


def test_an_image_starts_empty_whatever_the_host_holds(tables: Tables) -> None:
    host = {**HOSTS["cuda"], "torch": "2.9.1+cu126"}
    choice = choose(describe(host, tables), Wish(companions=("torchvision",)), tables)
    assert choice.row is not None
    there = replace(choice.host, torch=f"{choice.row.torch}+{choice.row.build}", libraries=("nvidia-cublas-cu12",))
    written = [
        install_of(replace(choice, host=held), Wish(companions=("torchvision",)), Writing(tool="dockerfile"), tables)
        for held in (there, replace(choice.host, torch=None))
    ]
    assert written[0].needed
    assert written[0].lines == written[1].lines
    assert "uninstall" not in " ".join(written[0].lines)
    assert f" torch=={choice.row.torch}+{choice.row.build} torchvision==" in written[0].lines[0]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"nightly": True}, "no nightlies are known for JetPack 6.2"),
        ({"max_cuda": CudaVersion(12, 4)}, "are for CUDA 12.6, and none newer than 12.4 is wanted"),
        ({"torch": "==2.99"}, "no torch ==2.99 is known for JetPack 6.2"),
        ({"torch": "==2.9.1+cu126"}, "no torch ==2.9.1+cu126 is known for JetPack 6.2"),
        ({"torch": "==2.9.1"}, ""),
        ({"max_cuda": CudaVersion(12, 6)}, ""),
    ],
)
def test_a_jetson_refuses_what_its_index_cannot_give(tables: Tables, asked: dict[str, Any], said: str) -> None:
    if "torch" in asked:
        asked = {"torch": SpecifierSet(asked["torch"])}
    refusal = choose(describe(HOSTS["jetson"], tables), Wish(**asked), tables).refusal
    assert said in str(refusal or "")
    assert bool(refusal) is bool(said)


@pytest.mark.parametrize(
    ("tool", "host", "is_past"),
    [("pip", "jetson", True), ("conda", "cpu", True), ("pixi", "cpu", True), ("pip", "cpu", False)],
)
def test_that_a_mirror_is_not_used_is_said(tables: Tables, tool: str, host: str, is_past: bool) -> None:
    install = told(tables, tool, host, base="https://m.example/whl")
    assert any("is a mirror of the PyTorch index" in str(text) for text in install.warnings) is is_past
    assert ("m.example" in " ".join(install.commands)) is not is_past


def test_a_nightly_takes_along_only_companions_that_exist(tables: Tables) -> None:
    installed = (Installed("torchtext", "0.18.0"), Installed("torchvision", "0.18.1+cu121"))
    host = replace(describe(HOSTS["new driver"], tables), torch="2.3.1+cu121", installed=installed)
    wish = Wish(nightly=True)
    commands = install_of(choose(host, wish, tables), wish, Writing(tool="pip"), tables).commands
    assert commands[0] == "python -m pip uninstall -y torch torchvision"
    assert "torchtext" not in " ".join(commands)


@pytest.mark.parametrize("tool", ["", "uv"])
def test_an_environment_is_made_with_the_python_as_it_was_typed(tool: str) -> None:
    python = Python(command="/home/bob/py/bin/python", executable="/home/<user>/py/bin/python", externally_managed=True)
    writing = writing_for(Facts(python=python), Writing(python=("/home/bob/py/bin/python",), tool=tool))
    assert "<" not in " ".join(writing.base)


FOLDER = "/w/my app"
IN_FOLDER = {
    "uv-project": "uv add --project '/w/my app' torch==",
    "poetry": "poetry --directory '/w/my app' source add ",
    "pdm": "pdm add --project '/w/my app' torch==",
    "pixi": "pixi install --manifest-path '/w/my app/pixi.toml'",
    "hatch": "cd '/w/my app'",
}


def of_project(tables: Tables, tool: str, folder: str | None, typed: str = "", **asked: Any) -> Install:
    """What is written for an environment inside a project, which is not in the current folder where one is told."""
    executable = f"{folder or '/w'}/.venv/bin/python"
    facts = Facts(
        python=Python(command=executable, executable=executable, environment="venv"),
        place=Place(project=tool, project_folder=folder),
    )
    writing = writing_for(facts, Writing(python=(typed,)) if typed else Writing())
    wish = Wish(companions=("torchvision",), **asked)
    choice, writing, known = choose_for(
        writing, tables, lambda known: choose(describe(HOSTS["cuda"], known), wish, known)
    )
    return install_of(choice, wish, writing, known)


@pytest.mark.parametrize("tool", IN_FOLDER)
def test_a_project_in_another_folder_is_named_to_its_tool(tables: Tables, tool: str) -> None:
    install = of_project(tables, tool, FOLDER)
    assert install.commands[0].startswith(IN_FOLDER[tool])
    assert all("my app" in line for line in install.commands[: 1 if tool == "hatch" else None])
    assert install.file.startswith(f"{FOLDER}/") is (tool != "poetry")
    here = of_project(tables, tool, None)
    text = " ".join((*here.commands, here.file))
    assert not any(word in text for word in ("my app", "--project", "--directory", "--manifest-path", "cd "))


@pytest.mark.parametrize(
    ("folder", "typed", "expected"),
    [
        ("~/app", "", "--directory ~/app "),
        ("~/app", "/home/bob/app/.venv/bin/python", "--directory /home/bob/app "),
        ("/data/<user>/app", "/data/bob/app/.venv/bin/python", "--directory /data/bob/app "),
        ("/data/<user>/app", "../app/.venv/bin/python", "--directory ../app "),
    ],
)
def test_the_folder_is_written_as_it_was_typed(tables: Tables, folder: str, typed: str, expected: str) -> None:
    assert expected in of_project(tables, "poetry", folder, typed).commands[0]


def test_a_folder_that_a_report_hides_is_left_to_the_command_that_prints_it(tables: Tables) -> None:
    assert of_project(tables, "poetry", "/data/<user>/app").commands == (ASK_AGAIN,)
    with pytest.raises(UsageError, match="where the project lies does not show"):
        of_project(tables, "poetry", "/data/<user>/app", "python3")


@pytest.mark.parametrize(("shell", "line"), [("cmd", 'cd /d "/w/my app"'), ("powershell", "cd '/w/my app'")])
def test_hatch_has_the_shell_go_to_the_folder(tables: Tables, shell: str, line: str) -> None:
    choice = choose(describe(HOSTS["cuda"], tables), Wish(), tables)
    assert install_of(choice, Wish(), Writing(tool="hatch", shell=shell, project=FOLDER), tables).commands[0] == line


@pytest.mark.parametrize(
    ("there", "is_anew"),
    [("torchvision 0.29.1+cpu", True), ("torchvision 0.29.1", True), ("torchvision 0.24.1+cpu", False), ("", False)],
)
def test_pdm_puts_in_anew_what_passes_for_a_pin_without_a_label(tables: Tables, there: str, is_anew: bool) -> None:
    installed = (Installed(*there.split()),) if there else ()
    host = replace(describe(HOSTS["cuda"], tables), torch="2.14.1+cpu", installed=installed)
    wish = Wish(torch=SpecifierSet("==2.14.1"), companions=("torchvision",))
    commands = install_of(choose(host, wish, tables), wish, Writing(tool="pdm"), tables).commands
    assert commands[1:] == (("pdm sync --reinstall",) if is_anew else ())


def test_poetry_loosens_first_what_its_second_addition_pins(tables: Tables) -> None:
    spec = SpecifierSet("==2.14.1")
    commands = told(tables, "poetry", "new driver", torch=spec, backend="cu130", companions=("torchaudio",)).commands
    assert commands[0] == "poetry add --lock 'torchaudio>=0'"
    assert commands[-1] == "poetry add torchaudio==2.11.1"
    without = told(tables, "poetry", "new driver", torch=spec, backend="cu130", companions=()).commands
    assert not any("--lock" in line for line in without)


def test_an_image_is_not_this_host(tables: Tables) -> None:
    writing = Writing(tool="dockerfile", override=True, base=("/usr/bin/python3",))
    lines = install_of(choose(describe(HOSTS["cuda"], tables), Wish(), tables), Wish(), writing, tables).lines
    assert "--break-system-packages" not in " ".join(lines)


@pytest.mark.parametrize(
    ("torch", "named", "pins", "needed"),
    [
        (None, ("torchvision",), "torch==2.9.1 torchvision==0.24.1", True),
        (None, (), "torch==2.9.1", True),
        ("2.9.1+cu126", ("torchvision",), "torch==2.9.1 torchvision==0.24.1", False),  # perhaps of a group left out
    ],
)
def test_what_a_project_names_moves_with_torch(
    tables: Tables, torch: str | None, named: tuple[str, ...], pins: str, needed: bool
) -> None:
    host = with_named(replace(describe(HOSTS["cuda"], tables), torch=torch), named)
    wish = Wish(torch=SpecifierSet("==2.9.1"), backend="cu126")
    install = install_of(choose(host, wish, tables), wish, Writing(tool="uv-project"), tables)
    assert install.commands == (f"uv add {pins}",)
    assert install.needed is needed


def test_a_companion_that_is_named_holds_torch_back_and_says_so(tables: Tables) -> None:
    """An installed one does, too; one that is asked for does without a word."""
    host = describe(HOSTS["cuda"], tables)
    free = choose(host, Wish(), tables).row
    held = with_named(host, ("torchtext",))
    choice = choose(held, Wish(), tables)
    assert free is not None
    assert choice.row is not None
    assert choice.row.torch < free.torch
    warnings = " ".join(map(str, install_of(choice, Wish(), Writing(tool="uv-project"), tables).warnings))
    assert "no torchtext exists for it, which is named by the project" in warnings


def in_project(tables: Tables, tool: str, text: str, host: str = "cuda", **asked: Any) -> Install:
    """What is written for a project with this file."""
    kept = kept_in(tomllib.loads(text), tool)
    wish = Wish(**{"torch": SpecifierSet("==2.9.1"), "companions": ("torchvision",), **asked})
    there = with_oldest(describe(HOSTS[host], tables), kept.oldest)
    choice = choose(there, wish, tables)
    assert choice.runs, f"{choice.refusal} {choice.change}"
    return install_of(choice, wish, Writing(tool=tool, kept=kept), tables)


P = '[project]\nrequires-python = "==3.12.*"\n'
MAIN = P + 'dependencies = ["torch"]\n'
ML = P + '[dependency-groups]\nml = ["torch==2.8.0", "torchvision"]\n'
GPU = P + '[project.optional-dependencies]\ngpu = ["torch==2.8.0"]\n'


@pytest.mark.parametrize(
    ("tool", "text", "words"),
    [
        ("uv-project", P, "uv add torch=="),
        ("uv-project", MAIN, "uv add torch=="),
        ("uv-project", ML, "uv add --group ml torch=="),
        ("uv-project", GPU, "uv add --optional gpu torch=="),
        ("uv-project", P + '[tool.uv]\ndev-dependencies = ["torch"]\n', "uv add --dev torch=="),
        (
            "uv-project",
            P + "dependencies = [\"torch; sys_platform == 'linux'\"]",
            "uv add 'torch==2.9.1; sys_platform ==",
        ),
        (
            "uv-project",
            P + "dependencies = [\"torch<2; sys_platform == 'darwin'\", \"torch==2.8; sys_platform == 'linux'\"]",
            "uv add 'torch==2.9.1; sys_platform ==",
        ),
        ("uv-project", P + '[tool.uv]\noverride-dependencies = ["torch==2.9.1"]\n', "uv add torch=="),
        ("uv-project", P + 'dynamic = ["dependencies"]\n' + ML.removeprefix(P), "uv add --group ml torch=="),
        ("uv-project", P + 'dynamic = ["version"]\n', "uv add torch=="),
        ("poetry", MAIN, "poetry add --source "),
        ("poetry", ML, "poetry add --group ml --source "),
        ("poetry", GPU, "poetry add --optional gpu --source "),
        ("pdm", MAIN, "pdm add torch=="),
        ("pdm", ML, "pdm add --dev --group ml torch=="),
        ("pdm", GPU, "pdm add --group gpu torch=="),
    ],
)
def test_torch_is_added_where_it_stands(tables: Tables, tool: str, text: str, words: str) -> None:
    commands = in_project(tables, tool, text).commands
    assert [line for line in commands if line.startswith(words)], commands
    assert ("poetry install --extras gpu" in commands) is (tool == "poetry" and text == GPU)


TWO = P + '[project.optional-dependencies]\ncpu = ["torch==2.8.0"]\ngpu = ["torch"]\n'
APART = MAIN + '[dependency-groups]\nml = ["torchvision"]\n'
ALIKE = P + '[project.optional-dependencies]\na = ["torch>=2", "numpy"]\nb = ["torch >= 2"]\n'
MARKED = P + "dependencies = [\"torch==2.8.0; sys_platform == 'PLATFORM'\"]\n"


@pytest.mark.parametrize(
    ("tool", "text", "said"),
    [
        *((tool, TWO, "cpu: torch==2.8.0 | ") for tool in ("uv-project", "poetry", "pdm")),
        *((tool, APART, "[project] dependencies: torch | ") for tool in ("poetry", "pdm")),
        *((tool, ALIKE, "[project.optional-dependencies] a: torch>=2 | ") for tool in ("poetry", "pdm")),
        ("uv-project", ALIKE + "[tool.uv]\nconflicts = [[{extra = 'a'}, {extra = 'b'}]]\n", "in more than one line"),
        ("uv-project", ALIKE + "[tool.uv.sources]\ntorch = [{index = 'c', extra = 'a'}]\n", "in more than one line"),
        ("uv-project", ALIKE.replace("torch >= 2", "torch>=2.1"), "in more than one line"),
        ("uv-project", ALIKE.replace("torch >= 2", "torch>=2; os_name == 'posix'"), "in more than one line"),
        ("uv-project", P + "dependencies = ['torch', 'torch']", "in more than one line"),
        ("uv-project", P + '[tool.uv]\noverride-dependencies = ["torch==2.8.0"]', "set it to torch==2.9.1, or take"),
        ("uv-project", P + '[tool.uv]\nconstraint-dependencies = ["torch<2.9"]', "constraint-dependencies: torch<2.9"),
        ("pdm", P + '[tool.pdm.resolution.overrides]\ntorch = "2.8.0"', "overrides]: torch==2.8.0"),
        ("uv-project", MARKED.replace("PLATFORM", "darwin"), "take the condition out"),
        ("poetry", MARKED.replace("PLATFORM", "linux"), "take the condition out"),
        ("pdm", MARKED.replace("PLATFORM", "linux"), "take the condition out"),
        ("poetry", P + '[tool.poetry.dependencies]\ntorch = [{version="1"}, {version="2"}]', "in more than one line"),
        *(
            (tool, P + 'dynamic = ["dependencies"]\n', "to a program (dynamic")
            for tool in ("uv-project", "poetry", "pdm")
        ),
        ("uv-project", P + "[tool.uv.workspace]\n", "run torchdoctor in the folder of the member"),
    ],
)
def test_what_a_tool_cannot_add_is_refused_with_its_place(tables: Tables, tool: str, text: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        in_project(tables, tool, text)


@pytest.mark.parametrize(
    ("text", "places", "brought"),
    [
        (APART, {"": "torch", "--group ml": "torchvision"}, " --group ml"),
        (ALIKE, {"--optional a": "torch torchvision", "--optional b": "torch"}, " --extra a"),
        (MAIN + ALIKE.removeprefix(P).replace(" >= 2", "").replace(">=2", ""), {"": "torch torchvision",
         "--optional a": "torch", "--optional b": "torch"}, ""),
        (P + "[dependency-groups]\na = ['torchvision']\nb = ['torch']\n", {"--group b": "torch",
         "--group a": "torchvision"}, " --group b --group a"),
        (P + "[tool.uv]\ndev-dependencies = ['torchvision']\n[dependency-groups]\na = ['torch']\n",
         {"--group a": "torch", "--dev": "torchvision"}, " --group a"),
    ],
)  # fmt: skip
def test_places_of_a_uv_project_are_changed_before_it_is_locked(
    tables: Tables, text: str, places: dict[str, str], brought: str
) -> None:
    install = in_project(tables, "uv-project", text)
    pins = {"torch": "torch==2.9.1", "torchvision": "torchvision==0.24.1"}
    adds = [
        " ".join(["uv add --frozen", *([option] if option else []), *(pins[name] for name in names.split())])
        for option, names in places.items()
    ]
    assert install.commands == (*adds, f"uv sync --inexact{brought}")
    told = [str(item) for item in install.warnings if "alike" in str(item)]
    assert len(told) == (sum("torch" in names.split() for names in places.values()) > 1)


@pytest.mark.parametrize(("if_needed", "there"), [(True, "2.9.1+cu126"), (True, "2.8.0+cu126"), (False, "2.9.1+cu126")])
def test_nothing_is_refused_where_nothing_must_change(tables: Tables, if_needed: bool, there: str) -> None:
    host = replace(describe(HOSTS["cuda"], tables), torch=there)
    wish = Wish(torch=SpecifierSet("==2.9.1"), backend="cu126")
    writing = Writing(tool="uv-project", kept=kept_in(tomllib.loads(TWO), "uv-project"), if_needed=if_needed)
    choice = choose(host, wish, tables)
    if if_needed and there.startswith("2.9.1"):
        assert not install_of(choice, wish, writing, tables).needed
        return
    with pytest.raises(UsageError, match="in more than one line or table"):
        install_of(choice, wish, writing, tables)


def test_poetry_loosens_nothing_that_the_project_does_not_name(tables: Tables) -> None:
    commands = in_project(tables, "poetry", MAIN, "new driver", torch=None).commands
    assert commands[0].startswith("poetry source add ")
    assert commands[-1].startswith("poetry add torchvision==")


PY310, PY311 = P.replace("==3.12.*", ">=3.10"), P.replace("==3.12.*", ">=3.11")
EDGE = P.replace("==3.12.*", ">=3.11,!=3.14.1")


@pytest.mark.parametrize(
    ("tool", "text", "newest", "is_held"),
    [
        *((tool, PY310, "2.14.1", True) for tool in ("uv-project", "poetry", "pdm")),
        *((tool, PY311, "2.15.0", False) for tool in ("uv-project", "poetry", "pdm")),
    ],
)
def test_torch_serves_every_python_that_the_project_allows(
    tables: Tables, tool: str, text: str, newest: str, is_held: bool
) -> None:
    install = in_project(tables, tool, text, "new driver", torch=None)
    assert install.torch == newest
    said = " ".join(map(str, install.warnings))
    assert ('but the project allows Python 3.10: requires-python = ">=3.11" makes way' in said) is is_held


def test_a_torch_that_leaves_a_python_of_the_project_is_refused(tables: Tables) -> None:
    with pytest.raises(AssertionError, match=r'Python 3.10, which the project allows.*set requires-python = ">=3.11"'):
        in_project(tables, "uv-project", PY310, "new driver", torch=SpecifierSet("==2.15.0"))


@pytest.mark.parametrize(
    ("tool", "text", "is_left_out"),
    [
        ("poetry", PY311, True),
        ("pdm", PY311, True),
        ("uv-project", PY311, False),  # which looks at lower bounds alone
        ("poetry", EDGE, False),
        ("pdm", EDGE, False),
        ("poetry", P, False),
    ],
)
def test_a_python_that_torchvision_excludes_is_left_out_of_the_lock(
    tables: Tables, tool: str, text: str, is_left_out: bool
) -> None:
    install = in_project(tables, tool, text, "new driver", torch=SpecifierSet("==2.14.1"))
    assert any("3.14.1" in line for line in install.commands) is is_left_out
    marked = text + "dependencies = ['torch; python_full_version != \"3.14.1\"']\n"  # as it stands after that
    again = in_project(tables, tool, marked, "new driver", torch=SpecifierSet("==2.14.1"))
    assert any("--python '!=3.14.1'" in line for line in again.commands) is (is_left_out and tool == "poetry")


@pytest.mark.parametrize("group", ["", "ml"])
@pytest.mark.parametrize("source", ["", "pytorch-cpu"])
def test_poetry_takes_out_a_line_whose_source_would_stay(tables: Tables, source: str, group: str) -> None:
    table = f"[tool.poetry.group.{group}.dependencies]" if group else "[tool.poetry.dependencies]"
    said = f'{{version = "0.29.1", source = "{source}"}}' if source else '"0.29.1"'
    install = in_project(
        tables, "poetry", f'{P}{table}\ntorch = "2.14.1"\ntorchvision = {said}\n', "new driver", torch=None
    )
    words = f" --group {group}" if group else ""
    loose = f"poetry add --lock{words} 'torchvision>=0'"
    assert install.commands[0] == (f"poetry remove --lock{words} torchvision" if source else loose)
    assert re.fullmatch(rf"poetry add{words} torchvision==[\d.]+", install.commands[-1])


OF_PYPI = "# no line for torch in [{}]: conda-forge's takes its place"


@pytest.mark.parametrize(
    ("text", "in_pyproject", "gone"),
    [
        ("", False, None),
        ('[pypi-dependencies]\ntorch = "*"\nscipy = "*"\n', False, "pypi-dependencies"),
        ('[tool.pixi.dependencies]\nscipy = "*"\n', True, None),
        ('[tool.pixi.feature.a.pypi-dependencies]\ntorch = "*"\n', True, "tool.pixi.feature.a.pypi-dependencies"),
    ],
)
def test_pixi_is_told_in_the_file_that_it_reads(
    tables: Tables, text: str, in_pyproject: bool, gone: str | None
) -> None:
    kept = kept_by_pixi(tomllib.loads(text), in_pyproject=in_pyproject)
    writing = Writing(tool="pixi", asked=True, kept=kept)
    choice, writing, known = choose_for(
        writing, tables, lambda known: choose(describe(HOSTS["cuda"], known), Wish(), known)
    )
    install = install_of(choice, Wish(), writing, known)
    assert install.file == ("pyproject.toml" if in_pyproject else "pixi.toml")
    table = toml(install)
    assert {"workspace", "dependencies"} <= set(table["tool"]["pixi"] if in_pyproject else table)
    assert [line for line in install.lines if line.startswith("#")] == ([OF_PYPI.format(gone)] if gone else [])


def test_what_pyproject_takes_from_pypi_for_pixi_goes_too() -> None:
    kept = kept_by_pixi({"project": {"dependencies": ["torch>=2"]}}, in_pyproject=True)
    assert [stand.table for stand in kept.stands] == ["[project] dependencies"]
