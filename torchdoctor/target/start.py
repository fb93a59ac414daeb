"""The head of every program handed to the examined interpreter: keeps foreign files out, then takes up the parts."""

import sys

PATH = list(sys.path)  # as the examined programs see it; the first entry is the current folder
# A file named json.py or os.py in the current folder or on PYTHONPATH must not be taken for the library's own.
sys.path[:] = [entry for entry in sys.path if entry and "-packages" not in entry]
import os  # noqa: E402 - only now is it surely the library's

OWN = (os.path.dirname(os.__file__), getattr(sys, "base_exec_prefix", sys.exec_prefix) + os.sep + "DLLs")
sys.path[:] = [entry for entry in sys.path if entry.startswith(OWN)] or sys.path

MYPY = False
if MYPY:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType


class Parts:
    """Finds modules among texts or compiled texts; each is run when it is first imported. A package has none."""

    def __init__(self, parts: "dict[str, str | CodeType]") -> None:
        self.parts = parts

    def find_spec(self, name: str, path: object = None, target: object = None) -> "ModuleSpec | None":
        """What the import system asks every finder."""
        spec = type(sys.__spec__)
        if name not in self.parts:
            return None
        return spec(name, self, is_package=not self.parts[name])  # type: ignore[arg-type]

    def create_module(self, spec: "ModuleSpec") -> "ModuleType | None":
        """Leave it to the import system."""
        return None

    def exec_module(self, module: "ModuleType") -> None:
        """Run a part in its module."""
        exec(self.parts[module.__name__], module.__dict__)


def run(packed: str) -> None:
    """Unpack the parts and what to do with them."""
    import binascii
    import marshal
    import zlib

    parts, entry, nonce, request = marshal.loads(zlib.decompress(binascii.a2b_base64(packed)))
    sys.meta_path.insert(0, Parts(parts))
    name = "torchdoctor.target." + entry
    __import__(name)
    sys.modules[name].main(nonce, PATH, request)
