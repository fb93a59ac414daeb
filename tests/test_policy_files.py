"""Where a policy stands and what is said of a bad one: discovery, precedence, --show-config, usage errors."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import DATA, ROOT, Run
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdoctor.cli import run
from torchdoctor.commands.policy import known_ids
from torchdoctor.errors import UsageError
from torchdoctor.policy.asked import requirements_of, variables_of
from torchdoctor.policy.parse import policy_of
from torchdoctor.policy.policy import Policy
from torchdoctor.policy.schema import KEYS, documentation
from torchdoctor.policy.show import lines, written

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

GOOD = str(DATA / "recordings" / "bare-rtx4090-driver580.json")
Here = Callable[..., tuple[int, str, str]]


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Here:
    """Run the product within this process, in an empty folder: status, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("TORCHDOCTOR_")]:
        monkeypatch.delenv(name)

    def answer(*arguments: str) -> tuple[int, str, str]:
        status = run(arguments)
        return (status, *capsys.readouterr())

    return answer


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('drivr = ">=550"', ("key 'drivr' is not known; did you mean: require.driver?", "(its value: '>=550')")),
        ('driver = ">=550"', ("did you mean: require.driver?",)),
        ("memory-gb = 8", ("did you mean: require.gpus.memory-gb?",)),
        ('require.drivr = ">=550"', ("key 'require.drivr' is not known; did you mean: require.driver?",)),
        ("require.gpus.memory_gb = 8", ("key 'require.gpus.memory_gb'", "did you mean: require.gpus.memory-gb?")),
        ("require.gpus.count = 8", ("known here: min, name, memory-gb", "(its value: 8)")),
        ('requires.driver = ">=550"', ("key 'requires' is not known; did you mean: require?",)),
        ("bench.bf16-tflops = 1", ("did you mean: bench.bf16-tflops-min?",)),
        ("fail_on = 1", ("key 'fail_on' is not known; did you mean: fail-on?",)),
        ("whatever = 1", ("key 'whatever' is not known; known here: require, bench,",)),
        ('index_base = "https://me:s3cret@x"', ("did you mean: index-base?", "<secret>@x")),
        ('[[ignore-until]]\nid = "no-gpu"\nuntill = 1', ("'ignore-until.untill' is not known; did you mean: until?",)),
        ('[[ignore-until]]\nid = "no-gpu"\nuntil = 2027-01-01', ("ignore-until = ", "expected tables of id, until")),
        ('[[ignore-until]]\nid = "no-gpu"\nuntil = "soon"\nreason = "a"', ("expected tables of id, until",)),
        ('[[ignore-until]]\nid = "no-gpu"\nuntil = 2027-01-01T10:00:00\nreason = "a"', ("expected tables of id",)),
        ("ignore-until = 3", ("ignore-until = 3: expected tables",)),
        ("ignore-until = [3]", ("ignore-until = [3]: expected tables",)),
        ('fail-on = "warnings"', ("fail-on = 'warnings': expected one of error, warning", "did you mean: warning?")),
        ("fail-on = []", ("fail-on = []: expected one of",)),
        ('ignore = ["drivr-too-old"]', ("no such finding; did you mean: driver-too-old?",)),
        ('ignore = ["zzz*"]', ("ignore = 'zzz*': no such finding",)),
        ("ignore = [1]", ("ignore = [1]: expected a list of ids",)),
        ('select = ["no-gpus"]', ("select = 'no-gpus': no such finding; did you mean: no-gpu?",)),
        ("require = 3", ("require = 3: expected a table (of gpu, python,",)),
        ("require.gpus = 2", ("require.gpus = 2: expected a table (of min, name, memory-gb)",)),
        ("require.gpus.min = true", ("require.gpus.min = True: expected a whole number",)),
        ("require.gpus.min = 0", ("expected a whole number from 1",)),
        ("require.gpus.memory-gb = nan", ("expected a number above 0",)),
        ("require.shm-gb = inf", ("expected a number above 0",)),
        ('require.gpus.name = "("', ("require.gpus.name = '(': expected a regular expression",)),
        ('require.gpus.name = "!=T4"', ("with no sign before it",)),
        ('require.gpus.name = ">=A100"', ("with no sign before it",)),
        ("require.python = 3.11", ("require.python = 3.11: expected a range of versions in quotes",)),
        ('require.python = "3.11"', ("expected a range of versions in quotes",)),
        ('require.torch = ">=two"', ("require.torch = '>=two': expected a range of versions",)),
        ('require.torch = ""', ("expected a range of versions",)),
        (f'require.torch = ">={"9" * 300}"', ("expected a range of versions",)),
        ('require.driver = "550"', ("expected a range of driver versions",)),
        ('require.driver = ">=550.*"', ("expected a range of driver versions",)),
        ('require.compute-capability = ">=80"', ('expected a range in quotes, as ">=8.0"',)),
        ('require.build = "cu-126"', ("require.build = 'cu-126': expected names of builds",)),
        ("require.build = []", ("expected names of builds",)),
        ('require.backend = "cuda12"', ("expected one or more of cuda", "did you mean: cuda?")),
        ("require.packages = []", ("require.packages = []: expected a table",)),
        ("require.packages.numpy = 2", ("require.packages.numpy = 2: expected a range",)),
        ('require.gpu = "yes"', ("require.gpu = 'yes': expected true or false",)),
        ("index-base = 3", ("index-base = 3: expected a text in quotes",)),
        ("bench.bf16-tflops-min = -1", ("expected a number above 0",)),
        ('"" = 1', ("expected a table",)),
        ("a = [", ("policy.toml: ",)),
    ],
)
@pytest.mark.parametrize("table", ["", "tool.torchdoctor"])
def test_what_is_wrong_is_one_line_with_file_key_and_value(
    here: Here, tmp_path: Path, text: str, words: tuple[str, ...], table: str
) -> None:
    name = "policy.toml"
    if table:
        name = "pyproject.toml"
        text = f"[{table}]\n{text.replace('[[', f'[[{table}.')}"
    (tmp_path / name).write_text(text)
    status, out, said = here("diagnose", GOOD, "--config", name)
    assert (status, out) == (2, "")
    assert said.startswith(name)
    assert said.count("\n") == 1
    assert "s3cret" not in said
    for word in words:
        assert word.replace("policy.toml", name) in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("drivr>=550", "--require 'drivr>=550': key 'drivr' is not known; did you mean: driver?"),
        ("memory_gb=40", "key 'memory_gb' is not known; did you mean: gpus.memory-gb?"),
        ("gpus=8", "key 'gpus' is not known; known here: gpus.min, gpus.name, gpus.memory-gb"),
        ("packages=numpy", "key 'packages' is not known; known here: packages.NAME"),
        ("whatever=1", "key 'whatever' is not known; known here: python, torch, build,"),
        ("driver", "--require 'driver': expected a key and what it has to be"),
        ("", "--require '': expected a key"),
        ("driver=550", "--require 'driver=550': require.driver = '=550': expected a range of driver versions"),
        ("gpus.min>=many", "require.gpus.min = 'many': expected a whole number"),
        ("gpu=1", "gpu is not asked for in this way: write --require-gpu, or set TORCHDOCTOR_REQUIRE_GPU"),
        ("fail-on=error", "fail-on is not asked for in this way: write --fail-on, or set TORCHDOCTOR_FAIL_ON"),
        ("bench.baseline=a", "bench.baseline is not asked for in this way: write bench --baseline FILE"),
        ("ignore-until=a", "ignore-until is not asked for in this way: it stands in a file"),
        ("build>=cu121", "--require 'build>=cu121': build takes = or == and no >="),
        ("backend!=cpu", "backend takes = or == and no !="),
        ("gpus.name!=T4", "gpus.name takes = and no !="),
        ("gpus.name>=A100", "gpus.name takes = and no >="),
        ("gpus.name=~A100", "gpus.name takes = and no =~"),
        ("gpus.min<8", "gpus.min takes = or >= and no <"),
        ("gpus.memory-gb==80", "gpus.memory-gb takes = or >= and no =="),
        ("shm-gb<=8", "shm-gb takes = or >= and no <="),
        ("bench.bf16-tflops-min!=500", "bench.bf16-tflops-min takes = or >= and no !="),
        ("backend=cude", "in quotes; did you mean: cuda?"),
    ],
)
def test_an_option_that_asks_for_nothing(here: Here, text: str, words: str) -> None:
    status, out, said = here("diagnose", GOOD, "--require", text)
    assert (status, out, said.count("\n")) == (2, "", 1)
    assert words in said


@pytest.mark.parametrize(
    ("texts", "key", "value"),
    [
        (("driver>=560", "driver<600"), "require.driver", ">=560,<600"),
        (("driver>=560", "require.driver>=560"), "require.driver", ">=560"),
        (("python>=3.11", "python<3.14", "python!=3.12.1"), "require.python", ">=3.11,<3.14,!=3.12.1"),
        (("compute-capability>=8.0", "compute-capability<10.0"), "require.compute-capability", ">=8.0,<10.0"),
        (("packages.numpy=*", "packages.numpy<3"), "require.packages.numpy", "<3"),
        (("packages.numpy<3", "packages.numpy=*"), "require.packages.numpy", "<3"),
        (("gpus.min=8", "gpus.min>=8"), "require.gpus.min", 8),
        (("build=cpu", "build==cpu"), "require.build", ("cpu",)),
    ],
)
def test_what_is_required_twice_holds_twice(texts: tuple[str, ...], key: str, value: Any) -> None:
    asked = requirements_of(texts, "--require")
    assert {path: entry.value for path, entry in asked.entries.items()} == {key: value}
    joined = variables_of({"TORCHDOCTOR_REQUIRE": "; ".join(texts)}, known_ids())
    assert {path: entry.value for path, entry in joined.entries.items()} == {key: value}


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("gpus.min=8", "gpus.min=4", "--require 'gpus.min=4': gpus.min is required to be 8 already: give it once"),
        ("gpus.name=H100", "gpus.name=A100", "gpus.name is required to be H100 already: give it once"),
        ("build=cpu", "build=cu126", "build is required to be cpu already: name all of them at once, with commas"),
        ("bench.bf16-tflops-min=5", "bench.bf16-tflops-min=6", "required to be 5 already"),
        ("driver>=5" + "0" * 150, "driver<6" + "0" * 150, "expected a range of driver versions"),
    ],
)
def test_what_cannot_hold_twice_is_said(here: Here, first: str, second: str, words: str) -> None:
    status, out, said = here("diagnose", GOOD, "--require", first, "--require", second)
    assert (status, out, said.count("\n")) == (2, "", 1)
    assert words in said


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--static", "--repro"), "--static does not run it"),
        (("--all-envs", "--repro"), "--all-envs=static does not run it"),
        (("--static", "--level", "long"), "--static runs none"),
        (("--static", "--level", "quick"), "--static runs none"),
        (("--all-envs", "--level", "long"), "--all-envs=static runs none"),
        (("--no-smoke", "--level", "standard"), "--no-smoke runs none"),
        (("--static", "--all-envs=run"), "--static does not"),
        (("--show-config", "--format", "json"), "leave --format out"),
        (("--show-config", "--for", "driver=550 gpu=T4"), "leave --for out"),
        (("--show-config", "--record", "x.json"), "leave --record out"),
        (("--show-config", "--all-envs"), "leave --all-envs out"),
        (("--show-config", "--wait", "5"), "leave --wait out"),
    ],
)
def test_an_option_that_would_do_nothing_is_an_error(
    here: Here, tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    status, out, said = here("check", *arguments)
    assert (status, out, said.count("\n")) == (2, "", 1)
    assert words in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        '[tool.torchdoctor]\nfail-on = "info"\n',
        '[ tool . "torchdoctor" ]\nfail-on = "info"\n',
        '[tool]\ntorchdoctor = { fail-on = "info" }\n',
        'tool.torchdoctor.fail-on = "info"\n',
    ],
)
def test_a_table_counts_however_it_is_written(here: Here, tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    status, out, _ = here("check", "--show-config")
    assert (status, 'fail-on = "info"  # pyproject.toml' in out) == (0, True)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ('[tool]\ntorchdoctor = "x"\n', 2),
        ("[tool.torchdoctor\n", 2),
        ('[project]\ndependencies = ["torchdoctor"]\n', 0),
        ('[project]\ndependencies = ["torchdoctor"\n', 0),
        ('tool = "torchdoctor"\n', 0),
    ],
)
def test_a_project_that_means_us_is_heard_and_no_other(here: Here, tmp_path: Path, text: str, status: int) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    done, _, said = here("check", "--show-config")
    assert (done, "pyproject.toml" in said) == (status, status == 2)


def shown(torchdoctor: Run, *arguments: str, env: dict[str, str] | None = None) -> dict[str, tuple[Any, str]]:
    """What --show-config says: the value of each key, and where it comes from."""
    done = torchdoctor("check", "--show-config", *arguments, env=env)
    assert (done.returncode, done.stderr) == (0, "")
    tomllib.loads(done.stdout)
    told = [line.partition(" = ") for line in done.stdout.splitlines() if not line.startswith("# ")]
    return {key: (tomllib.loads(f"x = {rest}")["x"], rest.rpartition("  # ")[2]) for key, _, rest in told}


def test_options_count_before_variables_before_the_file_before_the_default(torchdoctor: Run, tmp_path: Path) -> None:
    assert shown(torchdoctor) == {"fail-on": ("error", "default")}
    (tmp_path / "torchdoctor.toml").write_text(
        'fail-on = "warning"\nignore = ["no-gpu"]\n[require]\ndriver = ">=1"\ntorch = ">=2"\n'.replace(">=1", ">=470")
    )
    of_file = "torchdoctor.toml"
    assert shown(torchdoctor) == {
        "fail-on": ("warning", of_file),
        "ignore": (["no-gpu"], of_file),
        "require.driver": (">=470", of_file),
        "require.torch": (">=2", of_file),
    }
    variables = {
        "TORCHDOCTOR_FAIL_ON": "info",
        "TORCHDOCTOR_REQUIRE": "driver>=535; gpus.min=2",
        "TORCHDOCTOR_IGNORE": "slow-gpu, driver-*",
        "TORCHDOCTOR_REQUIRE_GPU": "1",
    }
    both = shown(torchdoctor, env=variables)
    assert both["fail-on"] == ("info", "TORCHDOCTOR_FAIL_ON")
    assert both["require.driver"] == (">=535", "TORCHDOCTOR_REQUIRE")
    assert both["require.gpus.min"] == (2, "TORCHDOCTOR_REQUIRE")
    assert both["require.torch"] == (">=2", of_file)
    assert both["require.gpu"] == (True, "TORCHDOCTOR_REQUIRE_GPU")
    assert both["ignore"] == (["slow-gpu", "driver-*", "no-gpu"], f"TORCHDOCTOR_IGNORE, {of_file}")
    options = ("--fail-on", "never", "--require", "driver>=550", "--ignore", "gpu-hidden,no-gpu", "--select", "no-*")
    all_three = shown(torchdoctor, *options, env=variables)
    assert all_three["fail-on"] == ("never", "--fail-on")
    assert all_three["require.driver"] == (">=550", "--require")
    assert all_three["select"] == (["no-*"], "--select")
    assert all_three["ignore"][0][:2] == ["gpu-hidden", "no-gpu"]
    assert shown(torchdoctor, "--no-config", "--require-gpu") == {
        "fail-on": ("error", "default"),
        "require.gpu": (True, "--require-gpu"),
    }


def test_the_file_is_named_or_the_nearest(torchdoctor: Run, tmp_path: Path) -> None:
    for number, name in enumerate(("torchdoctor.toml", "other.toml", "third.toml")):
        (tmp_path / name).write_text(f"require.gpus.min = {number + 1}\n")
    variable = {"TORCHDOCTOR_CONFIG": "third.toml"}
    told = [
        shown(torchdoctor),
        shown(torchdoctor, env=variable),
        shown(torchdoctor, "--config", "other.toml", env=variable),
        shown(torchdoctor, "--no-config", env=variable),
    ]
    key = "require.gpus.min"
    assert [item.get(key) for item in told] == [(1, "torchdoctor.toml"), (3, "third.toml"), (2, "other.toml"), None]


@pytest.mark.parametrize(
    ("arguments", "env", "words"),
    [
        (("--config", "none.toml"), {}, "cannot read none.toml"),
        ((), {"TORCHDOCTOR_CONFIG": "none.toml"}, "cannot read none.toml"),
        (("--config", "."), {}, "cannot read ."),
        (("--config", "pyproject.toml"), {}, "pyproject.toml: there is no table tool.torchdoctor in it"),
        (("--config", "a.toml", "--no-config"), {}, "not allowed with argument"),
        ((), {"TORCHDOCTOR_FAIL_ON": "never mind"}, "TORCHDOCTOR_FAIL_ON: fail-on = 'never mind'"),
        ((), {"TORCHDOCTOR_IGNORE": "no-gpus"}, "TORCHDOCTOR_IGNORE: ignore = 'no-gpus': no such finding"),
        ((), {"TORCHDOCTOR_REQUIRE_GPU": "maybe"}, "TORCHDOCTOR_REQUIRE_GPU: require.gpu = 'maybe'"),
        ((), {"TORCHDOCTOR_REQUIRE": "drivr>=550"}, "TORCHDOCTOR_REQUIRE 'drivr>=550': key 'drivr'"),
        (("--ignore", "no-gpus"), {}, "--ignore: ignore = 'no-gpus'"),
    ],
)
def test_a_source_that_says_nothing_usable(
    torchdoctor: Run, tmp_path: Path, arguments: tuple[str, ...], env: dict[str, str], words: str
) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "a"\n')
    done = torchdoctor("check", "--show-config", *arguments, env=env)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr


WORDS = st.sampled_from(sorted({word for key in KEYS for word in key.path.split(".")} | {"x", "", "id", "until"}))
ATOMS = st.one_of(
    st.none().map(lambda _: ""), st.booleans(), st.integers(), st.floats(), st.dates(), st.datetimes(), st.times(),
    st.text(max_size=20), st.sampled_from([">=550", ">=3.11", "*", "H100|A100", "cu126", "cuda", "error", "no-gpu"]),
)  # fmt: skip
TREES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=400, deadline=None)
@given(table=st.dictionaries(WORDS, TREES, max_size=5))
def test_no_table_leads_to_anything_but_a_policy_or_one_line(table: dict[str, Any]) -> None:
    try:
        policy = policy_of("policy.toml", table, known_ids())
    except UsageError as error:
        assert str(error).startswith("policy.toml: ")  # noqa: PT017 - a policy is as right
        return
    policy.request(today="2026-11-30")
    again = policy_of("policy.toml", tomllib.loads("\n".join(lines(policy))), known_ids())
    for path, entry in policy.entries.items():
        if "@" not in str(entry.value):
            assert again.entries[path].value == entry.value


@settings(max_examples=300, deadline=None)
@given(
    key=st.sampled_from([key.path.removeprefix("require.") for key in KEYS]) | st.text(max_size=12),
    sign=st.sampled_from(["", "=", "==", ">=", "<", "!=", "~=", "=>"]),
    value=st.sampled_from(["550", "3.11", "8.0", "*", "cu126", "H100|A100", "1e9", "("]) | st.text(max_size=12),
)
def test_no_option_leads_to_anything_but_a_policy_or_one_line(key: str, sign: str, value: str) -> None:
    text = f"{key}{sign}{value}"
    for said in (said_of(lambda: requirements_of([text], "--require")), said_of(lambda: in_a_variable(text))):
        assert isinstance(said, Policy) or "require" in said.lower()


def said_of(read: Callable[[], Policy]) -> Policy | str:
    try:
        return read()
    except UsageError as error:
        return str(error)


def in_a_variable(text: str) -> Policy:
    return variables_of({"TORCHDOCTOR_REQUIRE": text}, known_ids())


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_a_text_is_written_as_it_is_read(text: str) -> None:
    assert "@" in text or tomllib.loads(f"x = {written(text)}")["x"] == text


def test_the_documentation_names_every_key() -> None:
    rows = list(documentation())[2:]
    assert [row.split("`")[1] for row in rows] == [key.path for key in KEYS]
    assert {row.replace("\\|", "").count("|") for row in rows} == {5}
    reference = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert "from torchdoctor.policy.schema import documentation" in reference


def test_without_a_policy_nothing_of_policies_is_loaded(tmp_path: Path) -> None:
    code = "import sys\nfrom torchdoctor.cli import run\nrun(['check', '--static'])\nprint(*sys.modules)"
    loaded = modules_after(tmp_path, code)
    assert not {name for name in loaded if name.startswith("torchdoctor.policy") or name in {"tomllib", "tomli"}}
    (tmp_path / "torchdoctor.toml").write_text('fail-on = "error"\n')
    assert "torchdoctor.policy.parse" in modules_after(tmp_path, code)


def modules_after(folder: Path, code: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(ROOT), "HOME": str(folder), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    return done.stdout.splitlines()[-1].split()


LINES = st.lists(
    st.sampled_from(
        [*(f"{key.path} = 1" for key in KEYS), "[require]", "[[ignore-until]]", 'fail-on = "info"', 'ignore = ["no-*"]',
         'driver = ">=550"', "[bench", "= 3", '"', "\x00", "a = 1979-05-27T07:32:00Z", "[require.packages]"]
    )
    | st.text(max_size=15),
    max_size=6,
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(content=LINES.map("\n".join).map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=40))
def test_no_file_leads_to_a_traceback(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("policy") / "torchdoctor.toml"
    file.write_bytes(content)
    said, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
        status = run(["check", "--show-config", "--config", str(file)])
    assert status in {0, 2}
    assert told.getvalue().count("\n") == (status == 2)
    assert bool(said.getvalue()) == (status == 0)


def test_lint_heeds_what_the_project_sets_aside(here: Here, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("torch==2.9.1+cu128\ntorchvision==0.24.1+cu126\n")
    (tmp_path / "pyproject.toml").write_text('[tool.torchdoctor]\nfail-on = "warning"\n')
    status, out, _ = here("lint", "requirements.txt")
    assert (status, "warning mixed-build-labels" in out) == (1, True)
    with (tmp_path / "pyproject.toml").open("a") as stream:
        stream.write('ignore = ["mixed-*"]\n')
    status, out, _ = here("lint", "requirements.txt")
    assert (status, "set aside: mixed-build-labels" in out) == (0, True)
    assert here("lint", "requirements.txt", "--no-config", "--fail-on", "warning")[0] == 1
