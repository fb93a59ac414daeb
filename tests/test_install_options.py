"""Options of install-cmd: what makes no sense is refused in one line, and nothing of it reaches a shell."""

from __future__ import annotations

import shlex
from argparse import ArgumentParser, Namespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from torchdoctor.addresses import address
from torchdoctor.commands import install_cmd
from torchdoctor.commands.install_wish import refuse_contradictions, wish_of
from torchdoctor.errors import UsageError
from torchdoctor.prescribe.choose import choose
from torchdoctor.prescribe.conditions import Wish
from torchdoctor.prescribe.described import DescriptionError, describe
from torchdoctor.prescribe.host import Host
from torchdoctor.prescribe.install import install_of
from torchdoctor.prescribe.writers import choose_for
from torchdoctor.prescribe.writing import Writing
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.tables.torch_builds import TorchBuilds
from torchdoctor.values import Build, PythonTag, Version

TABLES = Tables()
SPECIAL = set("$`;&|<>(){}[]!*?'\"\\%^\n\r\t #")


def options(*argv: str) -> Namespace:
    parser = ArgumentParser()
    install_cmd.arguments(parser)
    return parser.parse_args(argv)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["--torch", "===2.9.1$(id)"], "not a version or range"),
        (["--torch", "2.9.1; id"], "not a version or range"),
        (["--torch", ">=2.6 %PATH%"], "not a version or range"),
        (["--max-cuda", "twelve"], "not a CUDA version"),
        (["--max-cuda", "12.8;id"], "not a CUDA version"),
        (["--with", "torchvision;id"], "not a companion"),
        (["--backend", "cu126;id"], "not a backend"),
        (["--nightly", "--torch", "2.9.1"], "leave --torch out"),
    ],
)
def test_what_makes_no_sense_is_refused(argv: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        wish_of(options(*argv), TABLES)


LINUX = ["--os", "linux", "--machine", "x86_64"]


@pytest.mark.parametrize(
    ("argv", "words", "without"),
    [
        (["--batch", "f", "--python", "/usr/bin/python3"], "leave --python out", ["--batch", "f"]),
        (["--batch", "f", "--online"], "leave --online out", ["--batch", "f"]),
        (["--batch", "f", "--explain"], "leave --explain out", ["--batch", "f"]),
        (["--batch", "f", "--timeout", "3"], "leave --timeout out", ["--batch", "f"]),
        ([*LINUX, "--python", "/usr/bin/python3"], "leave --python out", ["--python", "/usr/bin/python3"]),
        (["--require-gpu", "--backend", "cpu"], "--backend cpu has no GPU support", ["--require-gpu"]),
        (["--max-cuda", "12.4", "--os", "macos"], "--os macos has none", ["--max-cuda", "12.4", *LINUX]),
        (["--max-cuda", "12.4", "--backend", "rocm6.4"], "--backend rocm6.4 has none", ["--max-cuda", "12.4"]),
    ],
)
def test_what_another_option_makes_meaningless_is_refused(argv: list[str], words: str, without: list[str]) -> None:
    with pytest.raises(UsageError, match=words):
        refuse_contradictions(options(*argv))
    refuse_contradictions(options(*without))


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ({"os": "windows", "wsl": True}, "wsl True is of Linux"),
        ({"os": "windows", "jetpack": "6.2"}, "jetpack '6.2' is of Linux"),
        ({"os": "linux", "machine": "x86_64", "jetpack": "6.2"}, "of machine aarch64"),
        ({"os": "macos", "libc": "glibc-2.35"}, "libc 'glibc-2.35' is of Linux"),
        ({"os": "windows", "libc": "musl"}, "libc 'musl' is of Linux"),
        ({"os": "macos", "driver": "580.65.06"}, "driver '580.65.06' is NVIDIA's"),
        ({"os": "macos", "machine": "x86_64", "gpus": ["gfx1030", "Tesla T4"]}, "gpu 'Tesla T4' is NVIDIA's"),
        ({"os": "macos", "libc": None, "driver": None, "gpus": [], "wsl": False, "jetpack": None}, ""),
        ({"os": "macos", "machine": "x86_64", "gpus": ["gfx1030"]}, ""),
        ({"os": "windows", "driver": "580.65", "gpus": ["sm_86"], "libc": None}, ""),
        ({"driver": "580.65", "libc": "musl"}, ""),
        ({"os": "linux", "machine": "aarch64", "jetpack": "6.2", "libc": "glibc-2.35"}, ""),
        ({"jetpack": "6.2"}, ""),
    ],
)
def test_what_a_host_cannot_have_is_refused(host: dict[str, object], words: str) -> None:
    if not words:
        assert describe(host, TABLES).os == host.get("os", Host().os)
        return
    with pytest.raises(DescriptionError, match=words):
        describe(host, TABLES)


@given(st.text(max_size=60))
def test_an_address_needs_no_quotes_in_any_shell_or_is_refused(text: str) -> None:
    try:
        given_ = address(f"https://{text}")
    except UsageError as error:
        assert "not an http(s) address" in str(error)  # noqa: PT017 - both outcomes are right
        return
    assert not set(given_) & (SPECIAL - {"%"})
    assert shlex.split(given_) == [given_]


ODD = st.text(alphabet="0123456789.,<>=~!*+$`;&|%^'\"\\ abcu\n", max_size=30)


@given(st.builds("{}{}".format, st.sampled_from(["", ">=2,!=", ">=2.6,<", "2.9.1", "!="]), ODD))
@example(">=2.6,<2.10")
@example(">=2,!=2.9.1")
def test_a_range_never_reaches_the_shell_unquoted(text: str) -> None:
    try:
        wish = wish_of(options(f"--torch={text}"), TABLES)
    except UsageError:
        return
    jetson = {"os": "linux", "machine": "aarch64", "python": "3.10", "jetpack": "6.2", "gpus": ["sm_87"], "torch": None}
    choice = choose(describe(jetson, TABLES), wish, TABLES)
    if not choice.runs:
        assert "is known for JetPack" in str(choice.refusal)
        return
    commands = install_of(choice, wish, Writing(), TABLES).commands
    words = shlex.split(commands[-1])
    assert words[:4] == ["python", "-m", "pip", "install"]
    assert words[4].startswith("torch")
    assert len(words) == 7
    assert not set(words[4]) & set("$`;&|%^'\"\\\n")


HOST = {"os": "linux", "machine": "x86_64", "python": "3.12", "libc": "glibc-2.35", "gpus": ["sm_86"]}


@pytest.mark.parametrize(
    ("max_cuda", "build"), [("12.6", "cu126"), ("12.8", "cu126"), ("13.0", "cu130"), (None, "cu132")]
)
def test_max_cuda_keeps_newer_builds_out(max_cuda: str | None, build: str) -> None:
    host = {**HOST, "driver": "595.45"}
    wish = wish_of(options(*(["--max-cuda", max_cuda] if max_cuda else [])), TABLES)
    row = choose(describe(host, TABLES), wish, TABLES).row
    assert row is not None
    assert row.build.name == build


def test_native_is_preferred_before_newest_only_when_asked() -> None:
    host = {**HOST, "driver": "535.183"}
    newest = choose(describe(host, TABLES), wish_of(options(), TABLES), TABLES).row
    native = choose(describe(host, TABLES), wish_of(options("--prefer", "native"), TABLES), TABLES).row
    assert newest is not None
    assert native is not None
    assert newest.torch > native.torch
    assert native.cuda is not None
    assert str(native.cuda) <= "12.2"


@pytest.mark.parametrize(
    ("tool", "argv", "words"),
    [
        ("uv-project", [], "pyproject.toml, then: uv "),
        ("requirements", [], "requirements.txt, then: "),
        ("dockerfile", [], "Dockerfile"),
        ("pixi", ["--format", "json"], "pixi.toml, then: "),
        ("pip", [], ""),
    ],
)
def test_lines_of_a_file_are_not_taken_for_commands(
    tool: str, argv: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    described = "--os linux --machine x86_64 --python-version 3.12 --libc glibc-2.35 --driver 550.54.15 --gpu sm_86"
    asked = options(*described.split(), "--tool", tool, "--backend", "cuda", *argv)
    assert install_cmd.run(asked) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "lines of a file" in line]
    these = "these are" if argv else "stdout holds"
    start = f"{these} lines of a file and no commands: they belong into {words}"
    assert [line[: len(start)] for line in told] == ([start] if words else [])


@pytest.mark.parametrize(
    ("argv", "moves", "gives_way"),
    [
        ("--tool uv-project", True, True),
        ("--tool uv-project --with torchvision", False, True),
        ("--tool poetry", True, False),
        ("--tool pixi", False, True),
        ("--tool pip", False, False),
    ],
)
def test_what_a_project_holds_already_is_spoken_of(
    argv: str, moves: bool, gives_way: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    described = "--os linux --machine x86_64 --python-version 3.12 --libc glibc-2.35 --driver 550.54.15 --gpu sm_86"
    assert install_cmd.run(options(*described.split(), *argv.split())) == 0
    said = capsys.readouterr().err
    assert ("they move with torch: ask again --with them" in said) is moves
    assert ("gives way to them" in said) is gives_way


MAC: dict[str, object] = {
    "os": "macos",
    "machine": "arm64",
    "python": "3.12",
    "libc": None,
    "os_version": "14.5",
    "gpus": [],
}


@pytest.mark.parametrize(
    ("version", "torch"),
    [("14", "2.15.0"), ("14.0", "2.15.0"), ("15", "2.15.0"), ("13", "2.8.0"), ("13.6", "2.8.0")],
)
def test_a_macos_without_a_minor_number_is_its_first(version: str, torch: str) -> None:
    choice = choose(describe({**MAC, "os_version": version}, TABLES), Wish(), TABLES)
    assert choice.row is not None
    assert str(choice.row.torch) == torch


@pytest.mark.parametrize(
    ("host", "argv", "said", "change"),
    [
        ({}, "--max-cuda 12.8 --backend cu130", "cu130 is for CUDA 13.0, which is above --max-cuda 12.8", "13.0"),
        ({}, "--max-cuda 12.8 --torch 2.15.0", "torch 2.15.0 cu130 is for CUDA 13.0, which is above", "13.0"),
        ({}, "--max-cuda 12.8 --nightly", "torch 2.15.0 cu130 is for CUDA 13.0, which is above", "13.0"),
        ({"gpus": ["sm_120"]}, "--max-cuda 12.6", "cu128 is for CUDA 12.8, which is above --max-cuda 12.6", "12.8"),
        ({"driver": "470.57"}, "--max-cuda 12.8 --torch 2.15.0", "every cuda build asked for is above", ""),
        ({"driver": "470.57"}, "--max-cuda 12.8 --torch 2.14.1+cu126", "needs driver", "update the NVIDIA driver"),
        ({"gpus": ["gfx1100"]}, "--tool conda", "conda-forge has no rocm build for linux x86_64", "use --tool pip"),
        ({}, "--tool conda --backend xpu", "conda-forge has no xpu build for linux x86_64", "use --tool pip"),
        ({}, "--tool conda --nightly", "conda-forge has no nightlies", "use --tool pip"),
        ({}, "--tool pixi --nightly", "conda-forge has no nightlies", "use --tool pip"),
        ({}, "--tool conda --torch 2.99", "conda-forge has no torch ==2.99: of 20", ""),
        ({}, "--tool conda --torch 2.15.0", "conda-forge has no torch ==2.15.0: of 20", "use --tool pip"),
        ({"gpus": ["sm_35"]}, "--tool conda --torch 2.13.0", "no conda-forge build of torch ==2.13.0", ""),
    ],
)
def test_a_refusal_names_what_is_in_the_way(host: dict[str, object], argv: str, said: str, change: str) -> None:
    asked = options(*argv.split())
    described, wish = {**HOST, "driver": "580.65.06", **host}, wish_of(asked, TABLES)
    writing = Writing(tool=asked.tool, asked=asked.tool != "auto") if asked.tool != "auto" else Writing()
    choice, _, _ = choose_for(writing, TABLES, lambda known: choose(describe(described, known), wish, known))
    assert not choice.runs
    assert said in str(choice.refusal)
    assert change in str(choice.change) if change else choice.change is None


def with_newer(build: str, pythons: str = "") -> Tables:
    """The tables after a refresh that saw a newer torch on a page, of which nothing but the name is known."""
    old = TABLES.torch_builds.find(Version.parse("2.15.0"), Build.parse(build), "linux", "x86_64")
    old = old or TABLES.torch_builds.find(Version.parse("2.14.1"), Build.parse(build), "linux", "x86_64")
    assert old is not None
    tags = tuple(map(PythonTag.parse, pythons.split())) or old.pythons
    newer = replace(
        old, torch=Version.parse("2.16.0"), code=(), ptx=(), gfx=(), code_confidence="unknown", on_pypi=None,
        existence="read", emit=True, pythons=tags,
    )  # fmt: skip
    tables = Tables()
    tables.__dict__["torch_builds"] = TorchBuilds((*TABLES.torch_builds.rows, newer))
    return tables


@pytest.mark.parametrize(
    ("host", "argv", "variant", "judged_by"),
    [
        ({}, "", "cu132", "2.15.0 cu132"),
        ({}, "--max-cuda 13.0", "cu130", "2.15.0 cu130"),
        ({"driver": "595.45"}, "--prefer native", "cu132", "2.15.0 cu132"),
        ({}, "--backend cu130", "cu130", "2.15.0 cu130"),
        ({"gpus": [], "driver": None}, "", "cpu", "2.15.0 cpu"),
        ({"gpus": ["gfx1100"], "driver": None}, "", "rocm7.14", "2.15.0 rocm7.14"),
        ({"gpus": [], "driver": None}, "--backend xpu", "xpu", "2.15.0 xpu"),
    ],
)
@pytest.mark.parametrize("newer", ["", "cu132", "cu126", "rocm7.14"])
def test_a_nightly_is_judged_by_the_newest_row_that_is_known(
    host: dict[str, object], argv: str, variant: str, judged_by: str, newer: str
) -> None:
    tables = with_newer(newer) if newer else TABLES
    wish = wish_of(options("--nightly", *argv.split()), tables)
    described = {**HOST, "driver": "580.65.06", "torch": None, **host}
    choice = choose(describe(described, tables), wish, tables)
    install = install_of(choice, wish, Writing(), tables)
    index = f"https://download.pytorch.org/whl/nightly/{variant}"
    assert install.commands == (f"python -m pip install --pre torch --index-url {index}",)
    assert [str(said) for said in install.warnings if "nightly" in str(said)] == [
        f"the nightly was judged by torch {judged_by}"
    ]
    is_inferred = variant.startswith("rocm")
    assert any("only inferred" in str(said) for said in install.warnings) is is_inferred


@pytest.mark.parametrize(
    ("host", "argv", "newer", "said"),
    [
        ({"driver": "550.54.15"}, "", "", "torch 2.15.0 cu132: needs driver 580 or newer"),
        ({"gpus": ["sm_61"]}, "", "", "has code for sm_61"),
        ({"gpus": ["sm_61"]}, "", "cu132", "has code for sm_61"),
        ({"gpus": ["gfx906"], "driver": None}, "", "", "has code for gfx906"),
        ({"gpus": ["gfx906"], "driver": None}, "", "rocm7.14", "has code for gfx906"),
        ({}, "--backend cu126", "", "no nightly of cu126 is known: torch 2.15.0 has no such build"),
        ({"python": "3.10"}, "", "", "no wheel for Python 3.10"),
        ({"python": "3.11"}, "--backend cu132", "cu132", "no wheel for Python 3.11 (it has 3.12 to 3.13)"),
    ],
)
def test_a_nightly_is_refused_where_its_last_release_would_not_run(
    host: dict[str, object], argv: str, newer: str, said: str
) -> None:
    tables = with_newer(newer, "3.12 3.13") if newer else TABLES
    wish = wish_of(options("--nightly", *argv.split()), tables)
    choice = choose(describe({**HOST, "driver": "580.65.06", "torch": None, **host}, tables), wish, tables)
    assert not choice.runs
    assert said in str(choice.refusal)


@pytest.mark.parametrize("tool", ["pip", "uv", "conda"])
def test_a_mac_of_apple_silicon_has_a_build_for_the_cpu(tool: str) -> None:
    wish, writing = wish_of(options("--backend", "cpu"), TABLES), Writing(tool=tool, asked=True)
    choice, writing, known = choose_for(writing, TABLES, lambda known: choose(describe(MAC, known), wish, known))
    install = install_of(choice, wish, writing, known)
    free = choose(describe(MAC, known), Wish(), known)
    assert (choice.row, choice.backend) == (free.row, "cpu")
    assert install.commands == install_of(free, Wish(), writing, known).commands
    assert any("one build, with and without GPU" in str(reason) for reason in install.why)
