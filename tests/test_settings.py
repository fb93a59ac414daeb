"""Settings of a site or a project: where index-base may be set, what outranks what, and what a bad one says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import DATA, Run
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdoctor.addresses import address, without_password
from torchdoctor.errors import UsageError
from torchdoctor.index.client import checked_base, shown
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
        ("torchdoctor.toml", "index-base = 3\n", "index-base = 3: expected a text in quotes"),
        ("torchdoctor.toml", "index-base = [\n", "torchdoctor.toml: "),
        ("torchdoctor.toml", b"\xff\xfe\n", "not UTF-8"),
        ("torchdoctor.toml", "#" * 1_000_001, "longer than 1000000 bytes"),
        ("torchdoctor.toml", "index-base = " + "9" * 5000, "torchdoctor.toml: "),
        ("torchdoctor.toml", "index-base = " + "[" * 100_000, "nested too deeply"),
        ("pyproject.toml", "[tool.torchdoctor]\nindex-base = {}\n", "index-base = {}: expected a text in quotes"),
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
    assert nearest_table() == ("", {}, ())


@pytest.mark.parametrize(
    ("top", "at", "is_found"),
    [
        ("", "../..", True),
        (".git/", "../..", False),
        (".hg/", "../..", False),
        (".git", "../..", False),  # a file, in a work tree or a submodule
        (".git/", ".", True),
        (".git/", "..", False),
        ("../.git/", "..", True),
        ("../.git/", "../..", False),
        (".github/", "..", True),
    ],
)
def test_the_search_ends_at_the_top_of_a_repository(project: Path, top: str, at: str, *, is_found: bool) -> None:
    if top.endswith("/"):
        (project / top).mkdir()
    elif top:
        (project / top).write_text("gitdir: elsewhere\n")
    (project / at / "torchdoctor.toml").write_text(OURS.format("there"))
    found = nearest_table()
    assert (found.path, found.left_out) == (str((project / at).resolve() / "torchdoctor.toml") * is_found, ())
    assert nearest_table(project) == found


@pytest.mark.parametrize(("home", "is_found"), [(".", False), ("..", False), ("../..", True), ("/nowhere", True)])
def test_the_search_ends_at_the_home_folder(
    project: Path, monkeypatch: pytest.MonkeyPatch, home: str, *, is_found: bool
) -> None:
    monkeypatch.setenv("HOME", str(project / home))
    monkeypatch.setenv("USERPROFILE", str(project / home))
    (project / "../../pyproject.toml").write_text(PYPROJECT.format("there"))
    assert bool(nearest_table().path) is is_found


STRANGER = 54321
AS_ROOT = pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can give a file to another user")


@AS_ROOT
@pytest.mark.parametrize(
    ("name", "text", "owner", "folder", "left_out"),
    [
        ("torchdoctor.toml", OURS, STRANGER, (0, 0o1777), True),
        ("torchdoctor.toml", OURS, STRANGER, (0, 0o755), True),
        ("torchdoctor.toml", OURS, STRANGER, (STRANGER, 0o777), True),
        ("torchdoctor.toml", OURS, STRANGER, (STRANGER, 0o755), False),
        ("torchdoctor.toml", OURS, STRANGER, (STRANGER + 1, 0o775), True),
        ("torchdoctor.toml", OURS, 0, (STRANGER, 0o1777), False),
        ("torchdoctor.toml", "not TOML [", STRANGER, (0, 0o1777), True),
        ("pyproject.toml", PYPROJECT, STRANGER, (0, 0o1777), True),
        ("pyproject.toml", "[project]\n", STRANGER, (0, 0o1777), None),
    ],
)
def test_what_another_user_put_into_a_shared_folder_is_left_out(
    project: Path, name: str, text: str, owner: int, folder: tuple[int, int], *, left_out: bool | None
) -> None:
    shared, told = project.parent, list[str]()
    (shared / name).write_text(text.format("evil"))
    os.chown(shared / name, owner, -1)
    os.chown(shared, folder[0], -1)
    shared.chmod(folder[1])
    (shared.parent / "torchdoctor.toml").write_text(OURS.format("site"))
    setting = index_base(told.append)
    assert setting
    assert setting.value == f"https://{'evil' if left_out is False else 'site'}.example/whl"
    assert told == [f"{shared / name} is left out: another user put it there"] * bool(left_out)


@AS_ROOT
def test_a_link_of_another_user_is_his_choice(project: Path) -> None:
    (project / "mine").write_text(OURS.format("mine"))
    link = project.parent / "torchdoctor.toml"
    link.symlink_to(project / "mine")
    assert nearest_table().path == str(link)
    os.chown(link, STRANGER, -1, follow_symlinks=False)
    assert nearest_table() == ("", {}, (str(link),))


@AS_ROOT
def test_sudo_acts_for_its_caller(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = project / "torchdoctor.toml"
    path.write_text(OURS.format("mine"))
    os.chown(path, STRANGER, -1)
    assert nearest_table().left_out == (str(path),)
    monkeypatch.setenv("SUDO_UID", str(STRANGER))
    assert nearest_table().path == str(path)
    monkeypatch.setenv("SUDO_UID", "nobody")
    assert nearest_table().left_out == (str(path),)


@AS_ROOT
def test_a_setting_that_was_left_out_is_told(torchdoctor: Run, tmp_path: Path) -> None:
    path = tmp_path / "torchdoctor.toml"
    path.write_text(OURS.format("evil"))
    os.chown(path, STRANGER, -1)
    recording = str(DATA / "recordings" / "vm-mi300x-rocm.json")
    done = torchdoctor("diagnose", recording, "--here", "--format", "text")
    assert f"note: {path} is left out: another user put it there" in done.stderr
    assert "evil.example" not in done.stdout + done.stderr


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
        ("index", "index-base"),
        ("timeout", ""),
    ],
)
@pytest.mark.parametrize("name", ["torchdoctor.toml", "pyproject.toml"])
def test_a_key_that_is_none_of_ours_is_refused(project: Path, name: str, key: str, near: str) -> None:
    head = "[tool.torchdoctor]\n" if name == "pyproject.toml" else ""
    (project / name).write_text(f'{head}{key} = "https://x.example/whl"\n')
    hint = f"did you mean: {near}" if near else "known here: "
    with pytest.raises(UsageError, match=f"key '{key}' is not known; {hint}"):
        index_base()


def test_install_cmd_reads_the_file_it_is_told(torchdoctor: Run, tmp_path: Path) -> None:
    for name in ("torchdoctor", "other"):
        (tmp_path / f"{name}.toml").write_text(OURS.format(name))
    told = [
        torchdoctor("install-cmd", *CUDA, *options, env=env).stdout.split()[-1]
        for options, env in (
            ((), {}),
            (("--config", "other.toml"), {}),
            ((), {"TORCHDOCTOR_CONFIG": "other.toml"}),
            (("--no-config",), {"TORCHDOCTOR_CONFIG": "other.toml"}),
        )
    ]
    assert [line.partition(".example")[0].rpartition("/")[2] for line in told[:3]] == ["torchdoctor", "other", "other"]
    assert "example" not in told[3]


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
    ("text", "expected"),
    [
        ("https://[::1]:8080/whl", "https://[::1]:8080/whl"),
        ("http://me:pw@[2001:DB8::7]/whl/", "http://me:pw@[2001:DB8::7]/whl"),
        ("https://[::ffff:192.0.2.1]/whl", "https://[::ffff:192.0.2.1]/whl"),
        ("HTTPS://M.example/Whl/", "https://M.example/Whl"),
        ("Http://m.example", "http://m.example"),
        ("https://m.example/root/pypi/+simple/", "https://m.example/root/pypi/+simple"),
        ("", ""),
    ],
)
def test_an_address_that_no_shell_expands_is_taken(text: str, expected: str) -> None:
    assert address(text) == expected


@pytest.mark.parametrize("tool", ["pip", "uv", "uv-project", "poetry", "pdm", "hatch", "requirements", "dockerfile"])
@pytest.mark.parametrize("base", ["HTTPS://[::1]:8080/whl/", "https://m.example/root/pypi/+simple"])
def test_every_tool_is_told_the_whole_address(torchdoctor: Run, tool: str, base: str) -> None:
    done = torchdoctor("install-cmd", *CUDA, "--tool", tool, "--index-base", base)
    expected = f"{address(base)}/cu126"
    words = [word.strip("\"'") for line in done.stdout.splitlines() for word in line.split()]
    assert (done.returncode, expected in words) == (0, True)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("https://[::1/whl", "not an http(s) address"),
        ("https://[::1::2]/whl", "not an http(s) address"),
        ("https://[a-z]/whl", "not an http(s) address"),
        ("https://[::1]x/whl", "not an http(s) address"),
        ("https://[::1%25eth0]/whl", "not an http(s) address"),
        ("https://m[1].example/whl", "not an http(s) address"),
        ("https://m.example/[a]", "not an http(s) address"),
        ("https://m.example/a+b&id", "not an http(s) address"),
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
        ("https://me:s3/cret@x.example/whl", "not an http(s) address"),
        ("https://me:123/cret@x.example/whl", "not an http(s) address"),
        ("me:cret@x.example/whl", "not an http(s) address"),
        ("https:/me:cret@x.example/whl", "not an http(s) address"),
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
    assert "cret@" not in done.stderr.replace("<secret>@", "")


@pytest.mark.parametrize("tool", ["pip", "uv", "uv-project", "poetry", "pdm", "requirements", "dockerfile"])
@pytest.mark.parametrize(
    ("companions", "names"),
    [("torchvision", ""), ("torchvision,torchcodec", "torchcodec"), ("torchdata,torchcodec", "torchdata, torchcodec")],
)
def test_what_does_not_come_from_the_mirror_is_named(torchdoctor: Run, tool: str, companions: str, names: str) -> None:
    words = "from the installer's default index and not from the index base: "
    gpu = ("--driver", "550.54.15", "--gpu", "sm_89", "--backend", "cu126")
    asked = ("install-cmd", *HOST, *gpu, "--with", companions, "--tool", tool)
    told = torchdoctor(*asked, env={INDEX_BASE: "https://m.example/whl"})
    assert [line.partition(words)[2] for line in told.stderr.splitlines() if words in line] == [names][: bool(names)]
    assert words not in torchdoctor(*asked).stderr


NOISE = st.text(alphabet="ab1:/@#?%\\ \n'\"[]{}", max_size=6)
TAILS = st.sampled_from(["m.example/whl", "m.example", "m.example:80/whl?a=b", "m example", "", "/", "m.example/a%20b"])


@settings(max_examples=300, deadline=None)
@given(scheme=st.sampled_from(["https", "http", "ftp", "HTTPS", ""]), before=NOISE, after=NOISE, tail=TAILS)
def test_no_password_is_shown_however_an_address_is_written(scheme: str, before: str, after: str, tail: str) -> None:
    text = f"{scheme}://{before}s3cret{after}@{tail}"
    try:
        said = without_password(address(text))
    except UsageError as error:
        said = str(error)
    assert "s3cret" not in said
    assert "s3cret" not in without_password(f"note: {text} was said")
    try:
        said = shown(checked_base(text))
    except ValueError as error:
        said = str(error)
    assert "s3cret" not in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--index-base", "https://me:s3/cret@m.example"),
        ("install-cmd", *CUDA, "--index-bas=https://me:s3/cret@m.example"),
        ("install-cmd", *CUDA, "--index-base", "https://me:s3/cret@m.example/whl"),
        ("install-cmd", *CUDA, "--index-base", "https://me:s3 cret@m.example/whl"),
        ("tables", "refresh", "--from", "https://me:s3/cret@m.example"),
        ("tables", "refresh", "--from", "https://me:12/cret@m.example"),
    ],
)
def test_no_error_shows_what_may_be_a_password(torchdoctor: Run, arguments: tuple[str, ...]) -> None:
    done = torchdoctor(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert not any(word in done.stderr for word in ("me:", "s3", "12/", "cret@m"))


def test_a_setting_of_the_wrong_kind_shows_no_password(torchdoctor: Run, tmp_path: Path) -> None:
    (tmp_path / "torchdoctor.toml").write_text('index-base = ["https://me:s3/cret@m.example"]\n')
    done = torchdoctor("install-cmd", *CUDA)
    assert (done.returncode, "s3" in done.stderr, "expected a text in quotes" in done.stderr) == (2, False, True)


@pytest.mark.parametrize("tool", ["pip", "uv", "uv-project", "poetry", "pdm", "hatch", "requirements", "dockerfile"])
def test_no_note_of_any_tool_shows_the_password(torchdoctor: Run, tool: str) -> None:
    done = torchdoctor("install-cmd", *CUDA, "--tool", tool, "--explain", "--index-base", WITH_LOGIN)
    assert done.returncode == 0
    assert "s3cret" in done.stdout
    assert "s3cret" not in done.stderr
