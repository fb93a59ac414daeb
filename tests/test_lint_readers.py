"""What the readers of ``torchdoctor lint`` make of single lines, and that no text makes one of them fail."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdoctor.findings import Place
from torchdoctor.lint.kinds import kind_of, kind_of_text
from torchdoctor.lint.readers import conda_words, dockerfile, environment, locks, pixi, pyproject, requirements
from torchdoctor.lint.readers.install_lines import installs
from torchdoctor.lint.readers.poetry_tables import as_specifier
from torchdoctor.lint.readers.toml_text import BrokenFileError
from torchdoctor.lint.readers.words import pin_of
from torchdoctor.lint.readers.yaml_lines import lists
from torchdoctor.lint.source import Source
from torchdoctor.lint.torch_indexes import torch_index
from torchdoctor.tables import Tables

_HERE = Place("requirements.txt", 1)
_WHL = "https://download.pytorch.org/whl"
TABLES = Tables()


def source(text: str, name: str = "pyproject.toml") -> Source:
    return Source(name, Path(name), text)


def nothing(_name: str) -> None:
    return None


@pytest.mark.parametrize(
    ("text", "name", "spec", "label", "marker"),
    [
        ("torch", "torch", "", "", ""),
        ("Torch_Vision [extra] >= 0.20 , < 1", "torch-vision", ">= 0.20 , < 1", "", ""),
        ("torch==2.9.1+cu126 ; sys_platform == 'linux'", "torch", "==2.9.1", "cu126", "sys_platform == 'linux'"),
        ("torch (==2.9.1)", "torch", "==2.9.1", "", ""),
        (f"torch @ {_WHL}/cpu/torch-2.9.1%2Bcpu-cp312-cp312-win_amd64.whl", "torch", "==2.9.1", "cpu", ""),
        (
            f"{_WHL}/cpu/torch-2.9.1%2Bcpu-cp312-cp312-win_amd64.whl ; os_name == 'nt'",
            *("torch", "==2.9.1", "cpu", "os_name == 'nt'"),
        ),
        ("flash-attn @ git+https://example.com/flash-attention.git", "flash-attn", "", "", ""),
    ],
)
def test_a_requirement_is_taken_apart(text: str, name: str, spec: str, label: str, marker: str) -> None:
    pin = pin_of(text, _HERE)
    assert pin is not None
    assert (pin.name, pin.spec, pin.label, pin.marker) == (name, spec, label, marker)


@pytest.mark.parametrize("text", ["", "--pre", "-e .", "git+https://example.com/x.git", "torch 2.9", "./folder"])
def test_what_is_no_requirement_is_left_out(text: str) -> None:
    assert pin_of(text, _HERE) is None


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (f"{_WHL}/cu126", ("cu126", True, False, False)),
        (f"{_WHL}/cu126/", ("cu126", True, False, False)),
        ("https://user:secret@download.pytorch.org/whl/cpu?x=1", ("cpu", True, False, False)),
        (f"{_WHL}/nightly/cu130", ("cu130", True, True, False)),
        (f"{_WHL}/torch_stable.html", ("", True, False, False)),
        (f"{_WHL}/cuda12.6", ("", True, False, True)),
        (f"{_WHL}", ("", True, False, False)),
        ("https://mirror.example/pytorch-wheels/cu121", ("cu121", False, False, False)),
        ("https://mirror.example/simple", None),
        ("https://example.com/pytorch/simple", None),
    ],
)
def test_an_address_is_an_index_of_torch_or_not(url: str, expected: tuple[str, bool, bool, bool] | None) -> None:
    found = torch_index(url, TABLES)
    told = (found.build, found.is_official, found.is_preview, found.is_odd) if found else None
    assert told == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("^2.9", ">=2.9,<3"),
        ("^0.24.1", ">=0.24.1,<0.25"),
        ("~2.9.1", ">=2.9.1,<2.10"),
        ("~2", ">=2,<3"),
        ("2.9.1", "==2.9.1"),
        ("2.9.*", "==2.9.*"),
        ("2.9.1+cu126", "==2.9.1+cu126"),
        (">=2.4, <3", ">=2.4,<3"),
        ("*", ""),
        ("^1 || ^2", ""),
    ],
)
def test_poetrys_constraints(text: str, expected: str) -> None:
    assert as_specifier(text) == expected


@pytest.mark.parametrize(
    ("text", "name", "spec", "channel", "asks_gpu"),
    [
        ("pytorch", "torch", "", "", False),
        ("pytorch=2.4", "torch", "==2.4.*", "", False),
        ("pytorch=2.4.1", "torch", "==2.4.1", "", False),
        ("pytorch==2.4.1", "torch", "==2.4.1", "", False),
        ("pytorch 2.4.1", "torch", "==2.4.1", "", False),
        ("pytorch=2.4.1=py3.11_cuda12.1_cudnn9.1.0_0", "torch", "==2.4.1", "", True),
        ("pytorch=*=*cuda*", "torch", "", "", True),
        ("pytorch-gpu", "torch", "", "", True),
        ("conda-forge::pytorch>=2.4,<2.6", "torch", ">=2.4,<2.6", "conda-forge", False),
        ("https://conda.example/pytorch::torchvision=0.19.*", "torchvision", "==0.19.*", "pytorch", False),
        ("pytorch[version='>=2.4']", "torch", "", "", False),
    ],
)
def test_condas_specifications(text: str, name: str, spec: str, channel: str, asks_gpu: bool) -> None:
    pin = conda_words.pin_of(text, _HERE)
    assert pin is not None
    assert (pin.name, pin.spec, pin.channel, pin.asks_gpu) == (name, spec, channel, asks_gpu)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("pip install torch==2.9.1", [("pip", "torch")]),
        ("pip --timeout=300 --no-cache-dir install torch", [("pip", "torch")]),
        ("cd x && /opt/venv/bin/pip3.11 install -q -U torch || exit 1", [("pip", "torch")]),
        ("PIP_NO_CACHE_DIR=1 python3 -m pip install 'torch>=2.4,<3'; echo done", [("pip", "torch")]),
        ("uv pip install --system --python 3.12 torch --index-strategy unsafe-best-match", [("uv", "torch")]),
        ("conda install -y -c conda-forge pytorch", [("conda", "torch")]),
        ("conda run -n env pip install torch", [("pip", "torch")]),
        ('bash -lc "pip install torch && true"', [("pip", "torch")]),
        ("echo 'pip install torch; pip install torch'", []),
        ("pip download torch", []),
        ("apt-get install -y python3-pip", []),
        ("pip install -r requirements.txt -t /opt/torch", [("pip", "")]),
    ],
)
def test_install_commands_of_a_shell_line(line: str, expected: list[tuple[str, str]]) -> None:
    found = [(one.tool, ",".join(pin.name for pin in one.pins)) for one in installs(line)]
    assert found == expected


def test_instructions_keep_their_lines() -> None:
    text = "# a comment\nFROM a\nRUN one \\\n  # inside\n  two\nRUN <<EOF\nthree\nEOF\nCMD x\n"
    found = [(item.word, item.line, " ".join(item.rest.split())) for item in dockerfile.instructions(text)]
    assert found == [("FROM", 2, "a"), ("RUN", 3, "one two"), ("RUN", 6, "three"), ("CMD", 9, "x")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$A-${B}", "1-2"),
        ("${C:-3}${C}", "3${C}"),
        ("${A:+x}${C:+y}", "x${C:+y}"),
        (r"\$A", r"\$A"),
    ],
)
def test_variables_are_substituted(text: str, expected: str) -> None:
    assert dockerfile.substituted(text, {"A": "1", "B": "2"}) == expected


def test_the_shape_of_an_environment_file() -> None:
    head = 'name: x # why\nchannels: [a, "b"]\n'
    text = head + 'dependencies:\n- python=3.12\n- pip:\n  - torch # here\n- "rich"\nprefix: /x\n'
    found = lists(text)
    assert [item.text for item in found["channels"]] == ["a", "b"]
    told = [(item.text, item.line, item.under) for item in found["dependencies"]]
    assert told == [("python=3.12", 4, ""), ("torch", 6, "pip"), ("rich", 7, "")]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("requirements.txt", "requirements"),
        ("requirements-dev.in", "requirements"),
        ("dev-requirements.txt", "requirements"),
        ("requirements/gpu.txt", "requirements"),
        ("constraints.txt", "requirements"),
        ("pyproject.toml", "pyproject"),
        ("environment-gpu.yaml", "conda"),
        ("conda_env.yml", "conda"),
        ("pylock.cu126.toml", "pylock"),
        ("poetry.lock", "lock"),
        ("pixi.toml", "pixi"),
        ("Dockerfile", "dockerfile"),
        ("Dockerfile.gpu", "dockerfile"),
        ("gpu.Dockerfile", "dockerfile"),
        ("Containerfile", "dockerfile"),
        ("docker-compose.yml", ""),
        ("package-lock.json", ""),
        ("notes.txt", ""),
    ],
)
def test_a_file_is_known_by_its_name(name: str, kind: str) -> None:
    assert kind_of(Path(name)) == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# base\nFROM python:3.12\nRUN true\n", "dockerfile"),
        ("name: x\ndependencies:\n  - pytorch\n", "conda"),
        ("[build-system]\nrequires = []\n[project]\nname = 'x'\n", "pyproject"),
        ("--extra-index-url https://x.example\ntorch==2.9.1\nrich\n", "requirements"),
        ("Dear all, the torch is lit.\n", ""),
        ("", ""),
    ],
)
def test_a_file_with_another_name_by_its_text(text: str, kind: str) -> None:
    assert kind_of_text(text) == kind


_PIECES = st.sampled_from(
    [
        *("torch", "torchvision", "==", "2.9.1", "+cu126", ";", " and ", "sys_platform", "'linux'", "[", "]", "{", "}"),
        *("\n", "\\\n", " ", "#", "-r ", "--index-url ", "https://download.pytorch.org/whl/cu126", "=", '"', "'", ":"),
        *("FROM ", "RUN ", "ENV ", "ARG ", "<<EOF", "EOF", "pip install ", "conda install ", "$A", "${A:-", "&&", "|"),
        *(
            "[project]",
            "dependencies",
            "[tool.uv.sources]",
            "[[tool.uv.index]]",
            "url",
            "[[package]]",
            "name",
            "version",
        ),
        *("channels:", "dependencies:", "  - ", "- pip:", "python", ">=3.9", "\t", "é", "\x00", "::", "*", "^", "~"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_PIECES, max_size=60).map("".join))
def test_no_text_makes_a_reader_fail(text: str) -> None:
    requirements.read("requirements.txt", text, nothing)
    dockerfile.read(source(text, "Dockerfile"), nothing)
    for read in (pyproject.read, pixi.read, locks.read):
        with suppress(BrokenFileError):  # what its own tool refuses as well
            read(source(text))
    with suppress(BrokenFileError):
        environment.read(source(text, "environment.yml"), nothing)


_VALUES = st.recursive(
    st.one_of(st.text(max_size=8), st.integers(), st.booleans(), st.sampled_from(["torch==2.9.1", "^2.9", "cu126"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["torch", "index", "source", "version", "url", "extra", "marker", "name", "python"]),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)
_KEYS = (
    *("project.dependencies", "project.optional-dependencies", "project.requires-python", "dependency-groups"),
    *("tool.uv.index", "tool.uv.sources", "tool.uv.conflicts", "tool.poetry.dependencies", "tool.poetry.source"),
    *("tool.poetry.group", "tool.poetry.extras", "tool.pdm.source", "tool.hatch.envs", "tool.pixi.dependencies"),
    *("tool.pixi.environments", "tool.pixi.feature", "tool.pixi.workspace", "package", "packages", "requires-python"),
)


@settings(max_examples=150, deadline=None)
@given(st.dictionaries(st.sampled_from(_KEYS), _VALUES, max_size=4))
def test_no_type_of_value_makes_a_reader_fail(values: dict[str, object]) -> None:
    """A key that should hold a table may hold a number."""
    text = "\n".join(f"{key} = {_toml(value)}" for key, value in values.items())
    for read in (pyproject.read, locks.read, pixi.read):
        with suppress(BrokenFileError):
            read(source(text))


def _toml(value: object) -> str:
    import json

    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)
