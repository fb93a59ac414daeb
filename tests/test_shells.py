"""Words that a shell would read as more than words: each arrives as one, or is refused."""

from __future__ import annotations

import os
import re
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchdoctor.errors import UsageError
from torchdoctor.prescribe.shells import join

LOW, LEFT, RIGHT, HIGH = "\N{SINGLE LOW-9 QUOTATION MARK}", "\u2018", "\u2019", "\u201b"


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("~/envs/a$(id)b", '"$env:USERPROFILE\\envs\\a`$(id)b"'),
        ("~/a`b", '"$env:USERPROFILE\\a``b"'),
        ('~/a"; calc #', '"$env:USERPROFILE\\a`"; calc #"'),
        ("~/a\u201c; calc #\u201d\u201e", '"$env:USERPROFILE\\a`\u201c; calc #`\u201d`\u201e"'),
        ("~/it's", '"$env:USERPROFILE\\it\'s"'),
        ("~", '"$env:USERPROFILE"'),
        ("~/my envs", '"$env:USERPROFILE\\my envs"'),
        ("~\\envs\\ml", '"$env:USERPROFILE\\envs\\ml"'),
        ("/w'; calc #/a", "'/w''; calc #/a'"),
        (f"/w{RIGHT}; calc #/a", f"'/w{RIGHT}{RIGHT}; calc #/a'"),
        (f"/w{LEFT}{LOW}{HIGH}", f"'/w{LEFT}{LEFT}{LOW}{LOW}{HIGH}{HIGH}'"),
        ("a$(id)`b", "'a$(id)`b'"),
        ("a\u201c;b", "'a\u201c;b'"),
        ("@a", "'@a'"),
    ],
)
def test_powershell_expands_nothing_but_the_home(word: str, line: str) -> None:
    assert join(["x", word], "powershell") == f"x {line}"
    assert join([word, "x"], "powershell") == f"& {line} x"


@pytest.mark.parametrize("word", ["https://m.example/%TEMP%/whl", "w%PATH%/python", "~/100%", 'a"b', "a\nb", "a\r"])
def test_what_no_quotes_keep_from_cmd_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match="needs --shell powershell"):
        join(["python", word], "cmd")
    assert join(["python", word], "powershell")
    assert join(["python", word], "posix")


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("~/my envs/a&b", '"%USERPROFILE%\\my envs\\a&b"'),
        ("~/envs/ml", '"%USERPROFILE%\\envs\\ml"'),
        ("~\\envs\\ml\\", '"%USERPROFILE%\\envs\\ml\\\\"'),
        ("C:/envs/~ml", "C:/envs/~ml"),
        ("~ml", "~ml"),
        ("~", '"%USERPROFILE%"'),
        ("~/ml/", '"%USERPROFILE%\\ml\\\\"'),
        ("torch==2.9.1+cu126", "torch==2.9.1+cu126"),
        ("torch>=2.6", '"torch>=2.6"'),
        ("C:\\a b\\", '"C:\\a b\\\\"'),
        ("a^b|c", '"a^b|c"'),
    ],
)
def test_cmd_reads_one_word(word: str, line: str) -> None:
    assert join(["x", word], "cmd") == f"x {line}"


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("posix", "x 'https://[::1]:8080/whl' https://m.example/+simple"),
        ("cmd", 'x "https://[::1]:8080/whl" https://m.example/+simple'),
        ("powershell", "x 'https://[::1]:8080/whl' https://m.example/+simple"),
    ],
)
def test_brackets_are_no_pattern(shell: str, line: str) -> None:
    """A shell would take them for a set of letters, and put the names of files there."""
    assert join(["x", "https://[::1]:8080/whl", "https://m.example/+simple"], shell) == line


@given(st.text(alphabet="ab$`;&|()~/'\"\\%^ \n\u2018\u201d", max_size=12).filter(lambda word: word[:2] != "~/"))
def test_posix_reads_one_word(word: str) -> None:
    assert shlex.split(join([word], "posix")) == [word]


@pytest.mark.skipif(os.name != "posix", reason="there is no posix shell")
@pytest.mark.parametrize("word", ["~", "~/", "~/my envs/ml", "~/it's", "~ml/x", "~/$(id)"])
def test_posix_leaves_only_the_own_home_to_be_expanded(word: str) -> None:
    home = "/home/ann b"
    line = join(["printf", "%s", word], "posix")
    told = subprocess.run(["sh", "-c", line], env={"HOME": home}, capture_output=True, text=True, check=True).stdout
    assert told == (home + word[1:] if word[:2] in {"~", "~/"} else word)


@given(st.text(alphabet="ab$`;&|()~/'\"\\^ \u2018\u201d", max_size=12))
def test_one_quoted_word_of_powershell_ends_where_it_should(word: str) -> None:
    line = join(["x", f"~/{word}"], "powershell")
    assert re.fullmatch(r'x "\$env:USERPROFILE(?:`.|[^$`"\u201c-\u201e])*"', line)
