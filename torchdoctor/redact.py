"""Takes out of a recording what names a person, a machine or a secret; equal things stay equal, versions stay whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from torchdoctor.patterns import lazily

Rule = tuple[
    tuple[str, ...], re.Pattern[str], str | Callable[[re.Match[str]], str]
]  # hints (one is in every match), pattern, replacement

# Names that identify nobody and may stand for something else: replacing them would spoil paths and texts.
_COMMON = {
    "admin", "administrator", "amd", "apple", "app", "amazon", "build", "buildkitsandbox", "conda", "container",
    "cuda", "data", "debian", "default", "desktop", "dev", "docker", "driver", "ec2-user", "fedora", "generic",
    "google", "gpu", "guest", "home", "host", "intel", "jenkins", "jetson", "jovyan", "kernel", "laptop", "lib",
    "linux", "local", "localhost", "mambauser", "memory", "microsoft", "node", "nvidia", "opt", "orin", "podman",
    "public", "python", "pytorch", "root", "runner", "server", "share", "shared", "system", "test", "torch", "ubuntu",
    "user", "users", "usr", "vagrant", "version", "vscode", "windows", "work", "worker", "workspace",
}  # fmt: skip
# Hosts that everybody asks: that a program asked one says nothing of whose it is.
_PUBLIC = lazily(
    r"(?:[\w-]+\.)*(?:pytorch\.org|github(?:usercontent)?\.com|gitlab\.com|huggingface\.co|hf\.co|nvidia\.com|nvcr\.io"
    r"|docker\.(?:io|com)|anaconda\.(?:org|com))|pypi\.[a-z]{2,3}",
    re.IGNORECASE,
)
_ROUNDS = 6
_SURE = 5  # a name of this many letters that is not a common word is taken out wherever it stands as a word

_UUID = lazily(r"(?i)\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_GPU = lazily(r"\b(GPU|MIG)-([0-9a-f]{4,8})(?:-[0-9a-f]{1,12}){0,4}(?![0-9a-zA-Z])")
_SERIAL = lazily(r"(?i)(\bserial(?:[ _-]?(?:number|no))?\s*[=:]\s*)(?!N/A|\[|<)(\w[\w-]*)")
_MAC = lazily(r"(?i)(?<![0-9a-f:])(?:[0-9a-f]{2}:){5}[0-9a-f]{2}(?![0-9a-f:])")
_SID = lazily(r"S-1-5-21(?:-\d+){3,4}")
_EMAIL = lazily(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_IPV6 = lazily(r"(?i)(?<![\w:])(?:fe80|fd[0-9a-f]{2}|2[0-9a-f]{3})(?::[0-9a-f]{0,4}){3,7}(?![\w:])")
_IP = r"(?:\d{1,3}\.){3}\d{1,3}"
# An address only where no version can stand: 10.3.9.90 alone is the version of a package.
_ADDRESSES = (
    lazily(rf"(?i)(//|@|\binet |\b(?:ip|addr|address|host|server|peer|gateway)[=:] ?)({_IP})(?![\w.])"),
    lazily(rf"(?<![\w.=-])()({_IP})(?=\]?:\d{{2,5}}\b|, \d{{2,5}}\)|/(?:8|1\d|2\d|3[0-2])\b)"),
    lazily(rf"(\b[Cc]onnect(?:ed|ing|ion)? (?:to|from) )({_IP})(?![\w.])"),
    lazily(r"(?<![\w.=-])()((?:192\.168|172\.(?:1[6-9]|2\d|3[01]))(?:\.\d{1,3}){2})(?![\w.])"),
)
_HOMES = lazily(
    r"(/home/|/Users/)(?!Shared\b|<)[^/\\\s:;,\"'<>|]+"
    r"|(\b[A-Za-z]:\\Users\\)(?!Public\b|Default\b|<)(?:[^/\\:*?\"<>|\n]{1,40}(?=\\)|[^/\\\s:;,\"'<>|]+)"
)

_NUMBERED = lazily(r"\b(GPU|MIG)-<(\d{1,6})>|<([a-z]{2,6})-(\d{1,6})>")  # as the rules below write them

# A host wherever it stands, and a short one (tux) only where a log or a prompt names its machine.
_SURE_HOST = r"(?<![\w.<-])(?:NAME)(?![\w-])"
_SHORT_HOST = r"(?:(?<=\w@)|(?<=\d\d:\d\d:\d\d )|(?<=\[)(?=\w+:\d+\])|\b(?=\w+:\d+:\d+ \[))(?:NAME)(?![\w-])"

_NAMED = (
    r"(?:[a-z0-9]{1,40}[_-]){0,6}(?:token|password|passwd|passphrase|secret|api[_-]?key|access[_-]?key|private[_-]?key)"
)
_SECRET_KEY = lazily(_NAMED)
_SHAPES = (
    r"gh[opusr]_\w{20,}", r"github_pat_\w{20,}", r"hf_\w{20,}", r"glpat-[\w-]{16,}", r"pypi-[\w-]{32,}",
    r"sk-[\w-]{20,}", r"A[KS]IA[0-9A-Z]{16}", r"xox[abprs]-[\w-]{10,}", r"eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*",
    r"AIza[\w-]{30,}", r"nvapi-[\w-]{20,}",
)  # fmt: skip
_SECRETS: tuple[Rule, ...] = (
    (("://",), lazily(r"(://)(?:[^/\s:@]{0,400}:[^\s\"'<>]{1,400}|[^/\s]{1,400})@"), r"\1<secret>@"),
    (
        ("=", ":"),
        lazily(rf"(?i)(?<![a-z0-9])({_NAMED}[\"']?\s*[=:](?!=)\s*[\"']?)[^\s\"'&,;<]+"),
        r"\1<secret>",
    ),
    (("earer ", "asic "), lazily(r"(?i)\b(bearer|authorization:\s*basic)\s+[\w.~+/=-]{8,}"), r"\1 <secret>"),
    (
        ("gh", "hf_", "glpat-", "pypi-", "sk-", "AKIA", "ASIA", "xox", "eyJ", "AIza", "nvapi-"),
        lazily(rf"(?<!\w)(?:{'|'.join(_SHAPES)})"),
        "<secret>",
    ),
)


class Identity(NamedTuple):
    """Who is to be taken out: home folders, user and host of the one who runs the examined Python.

    ``hosts`` and ``users`` are names that a pasted text gives away: several machines may speak in one log.
    """

    homes: tuple[str, ...] = ()
    user: str = ""
    host: str = ""
    hosts: tuple[str, ...] = ()
    users: tuple[str, ...] = ()


class Redactor:
    """Redacts texts and JSON values; numbers things in the order in which it meets them."""

    def __init__(self, identity: Identity) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._done: dict[str, str] = {}
        self._taken: dict[str, int] = {}
        self._rules: tuple[Rule, ...] = (
            *_SECRETS,
            *self._others(identity),
            *self._machines(),
            *_people(identity),
        )

    def value(self, value: Any, key: str = "") -> Any:
        """Redact a JSON value, its keys included."""
        if isinstance(value, str):
            return self._by_key(key, value) or self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self.value(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self.value(item, key) for item in value]
        return value

    def spare(self, text: str) -> None:
        """Take no number that a text holds already: what was redacted elsewhere stays another thing."""
        for match in _NUMBERED.finditer(text):
            kind, number = (match[1], match[2]) if match[1] else (match[3], match[4])
            self._taken[kind] = max(self._taken.get(kind, 0), int(number))

    def text(self, text: str) -> str:
        """Redact a text."""
        if text not in self._done:
            self._done[text] = self._redacted(text)
        return self._done[text]

    def _redacted(self, text: str) -> str:
        """Apply the rules until nothing changes: what one takes out may bring to light what another looks for."""
        for _ in range(_ROUNDS):
            before = text
            for hints, pattern, replacement in self._rules:
                for hint in hints:
                    if hint in text:
                        text = pattern.sub(replacement, text)
                        break
            if text == before:
                break
        return text

    def _by_key(self, key: str, value: str) -> str:
        """What a value becomes because of the name it stands under; empty when its name says nothing."""
        lowered = key.lower()
        if value and _SECRET_KEY.fullmatch(lowered):
            return "<secret>"
        if "serial" in lowered and value.strip("0[]N/A "):
            return self._number("serial", value)
        if lowered.endswith(("addr", "address", "host")) and re.fullmatch(_IP, value):
            return self._ip(value)
        return ""

    def _number(self, kind: str, name: str) -> str:
        """``<kind-1>`` for the first thing of a kind, the same again for the same thing."""
        if re.fullmatch(r"<[a-z]+-\d+>", name):
            return name
        return f"<{kind}-{self._order(kind, name)}>"

    def _order(self, kind: str, name: str) -> int:
        following = self._taken.get(kind, 0) + sum(other == kind for other, _ in self._numbers) + 1
        return self._numbers.setdefault((kind, name), following)

    def _ip(self, address: str) -> str:
        octets = [int(part) for part in address.split(".")]
        if max(octets) > 255 or octets[0] in (0, 127, 255):  # noqa: PLR2004 - no address, or one that every host has
            return address
        return self._number("ip", address)

    def _others(self, identity: Identity) -> Iterator[Rule]:
        """Hosts of a log to ``<host-1>``, the same with and without its domain; the longest name first."""
        own = [host for host in identity.hosts if not _PUBLIC.fullmatch(host)]
        names = {name for host in own for name in (host, host.partition(".")[0]) if _is_telling(name)}
        for names_of, form in ((filter(_is_sure, names), _SURE_HOST), (names, _SHORT_HOST)):
            any_name = "|".join(map(re.escape, sorted(names_of, key=len, reverse=True)))
            if any_name:
                yield ("",), re.compile(form.replace("NAME", any_name)), self._host
        for user in filter(_is_telling, identity.users):
            yield (user,), _user_pattern(user), "<user>"

    def _host(self, match: re.Match[str]) -> str:
        return self._number("host", match[0].partition(".")[0])

    def _machines(self) -> Iterator[Rule]:
        """Numbers that tell one machine or device from all others."""
        yield ("GPU-", "MIG-"), _GPU, lambda match: f"{match[1]}-<{self._order(match[1], match[2])}>"
        yield ("-",), _UUID, lambda match: self._number("uuid", match[0].lower())
        yield ("erial", "ERIAL"), _SERIAL, lambda match: match[1] + self._number("serial", match[2])
        yield (":",), _MAC, lambda match: self._number("mac", match[0].lower())
        yield ("S-1-5-21-",), _SID, lambda match: self._number("sid", match[0])
        yield ("@",), _EMAIL, lambda match: self._number("email", match[0])
        for pattern in _ADDRESSES:
            yield (".",), pattern, lambda match: match[1] + self._ip(match[2])
        yield (":",), _IPV6, lambda match: self._number("ip", match[0].lower())


def _people(identity: Identity) -> Iterator[Rule]:
    """Own home to ``~``, which can still be typed; names of people and of the host to a word in angle brackets."""
    for home in sorted({home.rstrip("/\\") for home in identity.homes if _is_home(home)}, key=len, reverse=True):
        yield (home,), re.compile(rf"(?<![\w.~-]){re.escape(home)}(?![\w.-])"), "~"
    yield ("/home/", "/Users/", "\\Users\\"), _HOMES, lambda match: (match[1] or match[2]) + "<user>"
    if _is_telling(identity.user):
        yield (identity.user,), _user_pattern(identity.user), "<user>"
    for host in {identity.host: 0, identity.host.partition(".")[0]: 0}:
        if _is_telling(host) and _is_sure(host):
            yield (host,), re.compile(rf"(?<![\w.<-]){re.escape(host)}(?![\w-])"), "<host>"


def _user_pattern(user: str) -> re.Pattern[str]:
    """A user's name as a part of a path; a long one anywhere, a short one (max, ada) only where a name must stand."""
    name = re.escape(user)
    if len(user) >= _SURE:
        return re.compile(rf"(?<![\w<.-]){name}(?![\w-])")
    return re.compile(rf"(?<=[/\\]){name}(?![\w.-])|\b{name}(?=@)|(?<=user[=: ]){name}\b|(?<=\(){name}(?=\))")


def _is_sure(host: str) -> bool:
    """Whether a host's name is hardly a word of the language, so that it can go wherever it stands."""
    return len(host) > _SURE or re.search(r"[\d-]", host) is not None


def _is_home(home: str) -> bool:
    return len(home.strip("/\\.~")) > 2 and home[:1] != "~"  # noqa: PLR2004 - "/", "C:\" and "~" are nobody's


def _is_telling(name: str) -> bool:
    """Whether a name of a user or a host says who or which it is."""
    return len(name) > 2 and name.lower() not in _COMMON and re.search(r"[A-Za-z]", name) is not None  # noqa: PLR2004 - too short


def redact(value: Any, identity: Identity) -> Any:
    """Redact one JSON value on its own."""
    return Redactor(identity).value(value)
