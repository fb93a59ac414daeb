"""Which package a trace shows loading a library: torch itself, or something beside it that wants a CUDA of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping

from torchdoctor.patterns import lazily

_FAR = 1500  # characters above the error, white space collapsed
_NEAR = 400  # between the last frame and the error: lines of code
_FRAME = lazily(r'File "([^"]{1,300})", line \d{1,7}(?:, in \S{1,80})?')
_THROUGH = lazily(r"[\\/]ctypes[\\/]|[\\/]torch[\\/]_(?:ops|classes)\.py$")  # these load what another asks for
_PACKAGE = lazily(r"[\\/](?:site|dist)-packages[\\/](\w{2,40})[\\/]")
_IMPORT = lazily(r"\s*(?:import|from) (\w{2,40})\b")
_PROMPT = lazily(r">>> (?:import|from) (\w{2,40})\b[^>]{0,160}$")
_NATIVE = lazily(r"Could not load (\w{2,40}) native library: $")
_BARE = lazily(  # of a trace nobody pasted more than its end
    r"(?:^|[ >])(?:import|from) (\w{2,40})(?: as \w{1,40})?(?: import [\w, ]{1,80})?"
    r"(?: Traceback \(most recent call last\):)? (?:ImportError|OSError): $"
)
_ANOTHER = lazily(r"\w(?:Error|Exception): .{0,400}\w(?:Error|Exception): ")
_OURS = frozenset({"torch", "functorch", "torchgen", "nvidia"})
_SIGN = "cannot open shared object file"


def loader(match: re.Match[str]) -> Mapping[str, str]:
    """The value ``loader`` of an error about a library that is not found; none where torch or nobody known loads it."""
    if _SIGN not in match[0]:
        return {}
    name = loader_of(match.string[max(0, match.start() - _FAR) : match.start()])
    return {"loader": name} if name and name not in _OURS else {}


def loader_of(before: str) -> str:
    """The package of the last frame above an error, or what the last line of the reader's own program imports."""
    if native := _NATIVE.search(before):
        return native[1]
    frames = [frame for frame in _FRAME.finditer(before) if not _THROUGH.search(frame[1])]
    if not frames:
        bare = _BARE.search(before)
        return bare[1] if bare else ""
    last, code = frames[-1], before[frames[-1].end() :]
    if len(code) > _NEAR or _ANOTHER.search(code):
        return ""
    if package := _PACKAGE.search(last[1]):
        return package[1]
    found = _PROMPT.search(before[: last.start()]) if last[1].startswith("<") else None
    found = _IMPORT.match(code) or found
    return found[1] if found else ""
