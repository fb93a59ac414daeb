"""A folder for what compilers and checkpoints write; the program goes on without one on a read-only file system."""

import os
import shutil
import tempfile

CACHES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}
MIB = 1 << 20
TRIED = 4  # MiB that must fit: checkpoints and kernels need no more


class Folder:
    """A temporary folder, named to the compilers as their cache before torch is imported. Removed at the end."""

    def __init__(self) -> None:
        self.path = make()
        self.before = {name: os.environ.get(name) for name in CACHES}
        if self.path:
            os.environ.update({name: os.path.join(self.path, part) for name, part in CACHES.items()})

    def remove(self) -> None:
        """Take the folder away and give the variables back what they were."""
        if not self.path:
            return
        shutil.rmtree(self.path, ignore_errors=True)
        for name, value in self.before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def make() -> "str | None":
    """A new folder where temporary files belong, never in the current folder; None where nothing can be written."""
    for place in (os.environ.get("TMPDIR"), os.environ.get("TEMP"), "/tmp", "/var/tmp", "/dev/shm"):
        path = attempted(place) if place else None
        if path:
            return path
    return None


def attempted(place: str) -> "str | None":
    """A new folder in this place; None where none can be made, or where some MiB do not fit."""
    path = None
    try:
        path = tempfile.mkdtemp(prefix="torchdoctor-", dir=place)
        trial = os.path.join(path, "trial")
        with open(trial, "wb") as file:
            for _ in range(TRIED):
                file.write(bytes(MIB))
        os.remove(trial)
        return path
    except OSError:
        if path:
            shutil.rmtree(path, ignore_errors=True)
        return None
