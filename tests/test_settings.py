"""Settings of a site or a project: where index-base may be set, what outranks what, and what a bad one says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import DATA, Run

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.writing import ASK_AGAIN
from torchdoctor.settings import INDEX_BASE, index_base, nearest_table

HOST = ("--os", "linux", "--machine", "x86_64", "--python-version", "3.12", "--libc", "glibc-2.35")
CUDA = (*HOST, "--driver", "550.54.15", "--gpu", "sm_89", "--torch", "2.9.1", "--backend", "cu126")
OURS, PYPROJECT = (
    'index-base = "https://{}.example/whl"\n',
    '[tool.torchdoctor]\nindex-base = "https://{}.example/whl"\n',
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, two below the one that a test may write into as well."""
    folder = tmp_path / "site" / "project"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    monkeypatch.delenv(INDEX_BASE, raising=False)
    return folder


@pytest.mark.parametrize(
    ("files", "variable", "expected"),
    [
        ({}, "", None),
        ({"torchdoctor.toml": OURS.format("ours")}, "", "https://ours.example/whl"),
        ({"pyproject.toml": PYPROJECT.format("py")}, "", "https://py.example/whl"),
        ({"pyproject.toml": '[project]\nname = "a"\n'}, "", None),
        ({"pyproject.toml": '[tool.torchdoctor-x]\nindex-base = "https://x.example"\n'}, "", None),
        ({"pyproject.toml": "not TOML at all ["}, "", None),
        ({"pyproject.toml": b"\xff\xfe"}, "", None),
        (
            {"torchdoctor.toml": OURS.format("ours"), "pyproject.toml": PYPROJECT.format("py")},
            "",
            "https://ours.example/whl",
        ),
        ({"torchdoctor.toml": OURS.format("ours")}, "https://env.example/whl", "https://env.example/whl"),
        ({"torchdoctor.toml": OURS.format("ours")}, "  ", "https://ours.example/whl"),
        ({"../torchdoctor.toml": OURS.format("site")}, "", "https://site.example/whl"),
        ({"../pyproject.toml": PYPROJECT.format("site")}, "", "https://site.example/whl"),
        (
            {"../torchdoctor.toml": OURS.format("site"), "pyproject.toml": PYPROJECT.format("py")},
            "",
            "https://py.example/whl",
        ),
        (
            {"../torchdoctor.toml": OURS.format("site"), "pyproject.toml": "[project]\n# torchdoctor\n"},
            "",
            "https://site.example/whl",
        ),
        ({"../torchdoctor.toml": OURS.format("site"), "torchdoctor.toml": ""}, "", None),
        ({"torchdoctor.toml": "\N{ZERO WIDTH NO-BREAK SPACE}" + OURS.format("bom")}, "", "https://bom.example/whl"),
    ],
)
def test_the_nearest_setting_counts_and_the_variable_before_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str | bytes], variable: str, expected: str | None
) -> None:
    for name, text in files.items():
        (project / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    monkeypatch.setenv(INDEX_BASE, variable)
    setting = index_base()
    assert (setting.value if setting else None) == expected


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("torchdoctor.toml", "index-base = 3\n", "index-base 3 is not a text in quotes"),
        ("torchdoctor.toml", "index-base = [\n", "torchdoctor.toml: "),
        ("torchdoctor.toml", b"\xff\xfe\n", "not UTF-8"),
        ("torchdoctor.toml", "#" * 1_000_001, "longer than 1000000 bytes"),
        ("torchdoctor.toml", "index-base = " + "9" * 5000, "torchdoctor.toml: "),
        ("torchdoctor.toml", "index-base = " + "[" * 100_000, "nested too deeply"),
        ("pyproject.toml", "[tool.torchdoctor]\nindex-base = {}\n", "index-base {} is not a text in quotes"),
        ("pyproject.toml", "[tool.torchdoctor]\nindex-base\n", "pyproject.toml: "),
        ("pyproject.toml", "[[tool.torchdoctor]]\n", "tool.torchdoctor is not a table"),
    ],
)
def test_a_setting_that_cannot_be_read_names_the_file(project: Path, name: str, text: str | bytes, words: str) -> None:
    (project / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(UsageError) as told:
        index_base()
    assert str(project / name) in str(told.value)
    assert words in str(told.value)


def test_what_is_no_file_is_passed_over(project: Path) -> None:
    (project / "torchdoctor.toml").mkdir()
    (project / "pyproject.toml").write_text("#" * 1_000_001)
    assert index_base() is None


@pytest.mark.skipif(os.name != "posix", reason="other systems keep the current folder")
def test_a_current_folder_that_is_gone_has_no_settings(project: Path) -> None:
    project.rmdir()
    assert nearest_table(Path()) == ("", {})


def test_the_option_counts_most(torchdoctor: Run, tmp_path: Path) -> None:
    (tmp_path / "torchdoctor.toml").write_text(OURS.format("ours"))
    set_by = {INDEX_BASE: "https://env.example/whl/"}
    told = [
        torchdoctor("install-cmd", *CUDA, "--index-base", "https://option.example/whl", env=set_by).stdout,
        torchdoctor("install-cmd", *CUDA, env=set_by).stdout,
        torchdoctor("install-cmd", *CUDA).stdout,
    ]
    assert [line.split()[-1] for line in told] == [
        f"https://{name}.example/whl/cu126" for name in ("option", "env", "ours")
    ]


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("index_base", "index-base"),
        ("Index-Base", "index-base"),
        ("indexbase", "index-base"),
        ("index-bases", "index-base"),
        ("index", ""),
        ("timeout", ""),
    ],
)
@pytest.mark.parametrize("name", ["torchdoctor.toml", "pyproject.toml"])
def test_a_key_that_is_nearly_ours_is_refused_and_any_other_is_left(
    project: Path, name: str, key: str, near: str
) -> None:
    head = "[tool.torchdoctor]\n" if name == "pyproject.toml" else ""
    (project / name).write_text(f'{head}{key} = "https://x.example/whl"\n')
    if not near:
        assert index_base() is None
        return
    with pytest.raises(UsageError, match=f"key '{key}' is not known; did you mean: {near}"):
        index_base()


@pytest.mark.parametrize("variable", ["x;id", "https://env.example/whl", ""])
@pytest.mark.parametrize("file", ["index-base = [", 'index_base = "x"', OURS.format("ours")])
def test_the_option_leaves_settings_unread(torchdoctor: Run, tmp_path: Path, file: str, variable: str) -> None:
    (tmp_path / "torchdoctor.toml").write_text(file)
    done = torchdoctor("install-cmd", *CUDA, "--index-base", "https://opt.example/whl/", env={INDEX_BASE: variable})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[-1] == "https://opt.example/whl/cu126"


WITH_LOGIN = "https://me:s3cret@m.example/whl"


@pytest.mark.parametrize("place", ["variable", "file"])
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_report_hides_the_password_of_the_mirror(torchdoctor: Run, tmp_path: Path, place: str, form: str) -> None:
    if place == "file":
        (tmp_path / "torchdoctor.toml").write_text(f'index-base = "{WITH_LOGIN}"\n')
    env = {INDEX_BASE: WITH_LOGIN} if place == "variable" else {}
    recording = str(DATA / "recordings" / "vm-mi300x-rocm.json")
    told = torchdoctor("diagnose", recording, "--here", "--format", form, env=env)
    assert "s3cret" not in told.stdout + told.stderr
    assert "sets the index: https://<secret>@m.example/whl" in told.stderr
    if form == "json":
        install = json.loads(told.stdout)["install"]
        assert install["index_url"].startswith("https://<secret>@m.example/whl/")
        assert install["commands"] == [ASK_AGAIN]


def test_what_is_typed_here_holds_the_password_and_the_note_does_not(torchdoctor: Run) -> None:
    done = torchdoctor("install-cmd", *CUDA, env={INDEX_BASE: WITH_LOGIN})
    assert done.stdout.split()[-1] == f"{WITH_LOGIN}/cu126"
    assert "s3cret" not in done.stderr
    refused = torchdoctor("install-cmd", *CUDA, "--index-base", f"{WITH_LOGIN}?a")
    assert (refused.returncode, "s3cret" in refused.stderr) == (2, False)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("https:////", "not an http(s) address"),
        ("https://", "not an http(s) address"),
        ("https://@/whl", "not an http(s) address"),
        ("https://:80/whl", "not an http(s) address"),
        ("https://a@b@x.example", "not an http(s) address"),
        ("ftp://x.example/whl", "not an http(s) address"),
        ("https://x.example/whl?a=b", "not an http(s) address"),
        ("https://x.example/$(id)", "not an http(s) address"),
        ("https://x.example/a;id", "not an http(s) address"),
        ("https://x.example/\nid", "not an http(s) address"),
    ],
)
@pytest.mark.parametrize("place", ["variable", "file"])
def test_an_address_that_a_shell_could_read_is_one_line_and_2(
    torchdoctor: Run, tmp_path: Path, place: str, value: str, words: str
) -> None:
    if place == "file":
        escaped = value.replace("\n", "\\n")
        (tmp_path / "torchdoctor.toml").write_text(f'index-base = "{escaped}"\n')
    done = torchdoctor("install-cmd", *CUDA, env={INDEX_BASE: value} if place == "variable" else {})
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert (INDEX_BASE if place == "variable" else "torchdoctor.toml") in done.stderr
    assert done.stderr.count("\n") == 1
