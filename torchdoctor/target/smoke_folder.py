"""A folder for what compilers and checkpoints write; the program goes on without one on a read-only file system."""

import os
import shutil
import tempfile

CACHES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}


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
        try:
            if place:
                return tempfile.mkdtemp(prefix="torchdoctor-", dir=place)
        except OSError:
            continue
    return None
