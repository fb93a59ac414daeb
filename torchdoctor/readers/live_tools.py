"""What compiling needs, on a live host: CUDA toolkits, the nvcc that wins, host compilers, Python's headers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from torchdoctor.facts import Toolkit
from torchdoctor.patterns import lazily
from torchdoctor.readers.answers import PYTHON, Answers
from torchdoctor.readers.statement import Said
from torchdoctor.recording import Recording, Want
from torchdoctor.values import CudaVersion, Version

NVCC = Want("command", ("nvcc", "--version"), keep=("release ",))
_ROOTS = ("$CUDA_HOME", "$CUDA_PATH", "/usr/local/cuda*", "/opt/cuda", "/usr/lib/cuda")
_WINDOWS_ROOT = "$ProgramFiles/NVIDIA GPU Computing Toolkit/CUDA/v*"
_FILES = ("version.json", "version.txt")
VERSIONS = (
    *(Want("files", (f"{root}/{name}",)) for root in _ROOTS for name in _FILES),
    *(Want("files", (f"{_WINDOWS_ROOT}/{name}",), only="win32") for name in _FILES),
)
NVCCS = (
    *(Want("glob", (f"{root}/bin/nvcc*",)) for root in (*_ROOTS, "@prefix", "@path/nvidia/cu*")),
    Want("glob", (f"{_WINDOWS_ROOT}/bin/nvcc*",), only="win32"),
)
LINKS, ALTERNATIVES = Want("links", ("/usr/local/cuda*",)), Want("links", ("/etc/alternatives/cuda*",))
GCC = Want("command", ("gcc", "-dumpfullversion", "||", "gcc", "-dumpversion"), only="linux")
CLANG, CLANG_FOLDERS = Want("links", ("/usr/bin/clang",)), Want("glob", ("/usr/lib/llvm-*/lib/clang/*",))
WANTS = (PYTHON, NVCC, *VERSIONS, *NVCCS, LINKS, ALTERNATIVES, GCC, CLANG, CLANG_FOLDERS)

_RELEASE = lazily(r"release (\d+\.\d+)")


def read(recording: Recording) -> Iterator[Said]:
    """Toolkits first, since the nvcc that wins may be one of theirs."""
    answers = Answers(recording)
    toolkits = _toolkits(answers)
    yield Said("tools.toolkits", tuple(toolkits.values()), "file system")
    yield from _nvcc(answers, toolkits)
    yield from _compilers(answers)
    yield Said("tools.python_headers", bool(answers.python.get("headers")), "interpreter")


def _toolkits(answers: Answers) -> dict[str, Toolkit]:
    """Toolkits by folder; a link to another one is not a second toolkit."""
    found: dict[str, Toolkit] = {}
    nvccs = {_root(name) for want in NVCCS for name in answers.names(want) if _is_nvcc(name)}
    texts = {path: text for want in VERSIONS for path, text in answers.texts(want).items()}
    named = {_slashes(path).rpartition("/")[0]: _cuda_of(text) for path, text in texts.items()}
    named |= {root: named.get(root) or _cuda_of_folder(root) for root in nvccs}
    for root, cuda in named.items():
        if cuda and root not in answers.texts(LINKS):
            found[root] = Toolkit(cuda=cuda, path=root, has_nvcc=root in nvccs)
    return found


def _cuda_of_folder(root: str) -> CudaVersion | None:
    """``/usr/local/cuda-13.0``: some packages leave the version file out."""
    match = re.search(r"/cuda-(\d+\.\d+)$|/CUDA/v(\d+\.\d+)$", root)
    return CudaVersion.parse(match[1] or match[2]) if match else None


def _cuda_of(text: str) -> CudaVersion | None:
    """The version in version.json (11.1 and later) or version.txt."""
    try:
        data = json.loads(text) if text.lstrip().startswith("{") else {}
        word = str(data.get("cuda", {}).get("version", ""))
    except (ValueError, AttributeError):
        word = ""
    match = re.search(r"\"cuda\"\s*:\s*\{[^}]*\"version\"\s*:\s*\"([\d.]+)\"|CUDA Version ([\d.]+)", text)
    try:
        return CudaVersion.parse(word or (match[1] or match[2] if match else ""))
    except ValueError:
        return None


def _nvcc(answers: Answers, toolkits: dict[str, Toolkit]) -> Iterator[Said]:
    """The nvcc that torch's extension builder takes: CUDA_HOME or CUDA_PATH, then PATH, then /usr/local/cuda."""
    named = [name for want in NVCCS[:2] for name in answers.names(want) if _is_nvcc(name)]
    result = answers.table(NVCC)
    on_path = str(result.get("path", "")) if result.get("rc") == 0 else ""
    local = [name for name in answers.names(NVCCS[2]) if _root(name) == "/usr/local/cuda" and _is_nvcc(name)]
    path = next(iter([*named, *([on_path] if on_path else []), *local]), "")
    if not path:
        if answers.looked(NVCC) and all(answers.looked(want) for want in NVCCS if not want.only):
            yield Said("tools.nvcc", None, "PATH")
        return
    yield Said("tools.nvcc_path", path, "file system")
    match = _RELEASE.search(str(result.get("out", "")))
    target = _resolved(_root(path), answers)
    cuda = (
        toolkits[target].cuda
        if target in toolkits
        else CudaVersion.parse(match[1])
        if match and path == on_path
        else None
    )
    if cuda:
        yield Said("tools.nvcc", cuda, path)


def _resolved(root: str, answers: Answers) -> str:
    """The folder behind /usr/local/cuda, which is a link, or a link to Debian's link."""
    links = {**answers.texts(LINKS), **answers.texts(ALTERNATIVES)}
    for _ in range(3):
        if root in links:
            target = links[root].rstrip("/")
            root = target if target.startswith("/") else f"{root.rpartition('/')[0]}/{target}"
    return root


def _root(path: str) -> str:
    """The toolkit of ``ROOT/bin/nvcc``."""
    return _slashes(path).rpartition("/bin/")[0]


def _slashes(path: str) -> str:
    return path.replace("\\", "/")


def _is_nvcc(path: str) -> bool:
    return path.endswith(("/nvcc", "/nvcc.exe", "\\nvcc.exe"))


def _compilers(answers: Answers) -> Iterator[Said]:
    if answers.os_name != "linux":
        return
    result = answers.table(GCC)
    answer = answers.recording.answer(GCC)
    if result.get("rc") == 0:
        yield from _gcc(str(result.get("out", "")).strip())
    elif answer is not None and answer.absent:
        yield Said("tools.gcc", None, "PATH")
    yield from _clang(answers)


def _gcc(text: str) -> Iterator[Said]:
    try:
        yield Said("tools.gcc", Version.parse(text), "gcc")
    except ValueError:
        return


def _clang(answers: Answers) -> Iterator[Said]:
    """From the folder that /usr/bin/clang points into: starting clang costs more than all other questions together."""
    major = re.search(r"llvm-(\d+)", answers.texts(CLANG).get("/usr/bin/clang", ""))
    if not major:
        return
    folders = [name.rpartition("/")[2] for name in answers.names(CLANG_FOLDERS) if f"/llvm-{major[1]}/" in name]
    whole = sorted((name for name in folders if re.fullmatch(r"\d+(\.\d+)+", name)), key=len)
    yield Said("tools.clang", Version.parse(whole[-1] if whole else major[1]), "/usr/bin/clang")
