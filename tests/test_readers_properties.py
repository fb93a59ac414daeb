"""Properties of the readers: nothing crashes them, nothing slows them down, no loss becomes an absence."""

from __future__ import annotations

import re
import time
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

import pytest
from conftest import DATA
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from reading import facts_from, stored

from torchdoctor import readers
from torchdoctor.facts import Facts, Unknown
from torchdoctor.patterns import lazily
from torchdoctor.readers.assemble import PATHS
from torchdoctor.readers.pasted import read_pasted
from torchdoctor.readers.texts import clean
from torchdoctor.recording import Recording
from torchdoctor.tables import Tables

TABLES = Tables()
NAMES = sorted(f"{folder}/{path.name}" for folder in ("nvidia_smi", "pasted") for path in (DATA / folder).iterdir())
SAMPLES = st.sampled_from(NAMES)
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])

# Beginnings of everything we recognise: arbitrary text built of them goes deeper than arbitrary characters do.
PIECES = st.sampled_from(
    [
        "PyTorch version: ", "CUDA used to build PyTorch: ", "Nvidia driver version: ",
        "GPU models and configuration: ", "[pip3] torch==", "[conda] torch ", "OS: ", "Python version: ",
        "Python platform: Linux-", "Libc version: ", "| NVIDIA-SMI 535.54.03 Driver Version: ", "|   0  NVIDIA ",
        " Off | 00000000:01:00.0 ", "GPU 0: ", "(UUID: GPU-", "MIG 1g.5gb Device 0:", "<nvidia_smi_log>", '<gpu id="',
        "NVSMI LOG", "name, driver_version", "Package Version", "----- -----", "torch 2.", "torch==",
        "# packages in environment", "CUDA_VISIBLE_DEVICES=", "export ", "lspci ",
        "01:00.0 3D controller: NVIDIA Corporation ", "NVRM: ", "/dev/nvidia", "libcuda.so.1 (", "torch.__version__",
        "torch.cuda.get_arch_list()", ">>> ", "> ", "$ ", "\n", "\n", "\n", ": ", "=", "N/A", "None", "No CUDA",
        "550.54.15", "12.4", "ERR!", "...", "[", "]", "(", ")", "\t", "   ", "x86_64",
        "FROM a:b", "docker run ", "image: ", "(from versions: ", "hint: You", "[rank0]: ",
        "RUN pip install torch", "Name: gfx", "WSL2", "Ubuntu 22.04", "Windows 11", "JetPack 6.2", "Flags: ",
        "driver: ", "gpu: ", "os: ", "\u2026", "\uff1a",
    ]
)  # fmt: skip


def read(text: str) -> Facts:
    return facts_from(text, tables=TABLES)


@cache
def whole(name: str) -> Facts:
    return read(stored(name))


def value(facts: Facts, path: str) -> object:
    group, name = path.split(".")
    return getattr(getattr(facts, group), name)


def lost(before: Facts, after: Facts) -> list[str]:
    """The facts that had a value and are now said to be absent."""
    paths = [path for path in sorted(PATHS) if value(after, path) is None and value(before, path) is not None]
    paths = [path for path in paths if not isinstance(value(before, path), Unknown)]
    had_gpus = isinstance(before.gpus, tuple) and len(before.gpus) > 0
    return [*paths, "gpus"] if had_gpus and after.gpus == () else paths


@QUICK
@given(st.text(max_size=400))
@example("\x00")
@example("\n" * 50)
def test_arbitrary_text_is_read_without_a_crash(text: str) -> None:
    read(text)


@QUICK
@given(st.lists(PIECES | st.text(max_size=12), max_size=40))
def test_text_made_of_known_beginnings_is_read_without_a_crash(pieces: list[str]) -> None:
    read("".join(pieces))


@QUICK
@given(SAMPLES, st.lists(st.tuples(st.integers(0, 10**6), PIECES | st.text(max_size=4)), max_size=6))
def test_damaged_samples_are_read_without_a_crash(name: str, changes: list[tuple[int, str]]) -> None:
    text = stored(name)
    for number, piece in changes:
        place = number % len(text)
        text = text[:place] + piece + text[place + len(piece) // 2 + 1 :] or "x"
    read(text)


@QUICK
@given(SAMPLES, st.floats(0, 1))
def test_a_cut_text_never_shows_an_absence_that_the_whole_does_not(name: str, share: float) -> None:
    text = stored(name)
    gone = lost(whole(name), read(text[: int(len(text) * share)]))
    # A version cut right before its label reads as one without: nothing in the text tells.
    assert [path for path in gone if path != "torch.cuda"] == []


@QUICK
@given(SAMPLES, st.data())
def test_leaving_lines_out_never_shows_an_absence_that_the_whole_does_not(name: str, data: st.DataObject) -> None:
    lines = stored(name).split("\n")
    gone = data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=len(lines) // 2))
    kept = [line for place, line in enumerate(lines) if place not in gone]
    assert lost(whole(name), read("\n".join(kept))) == []


def test_the_property_can_fail() -> None:
    assert lost(
        read("Driver: 572.83"), read("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver")
    ) == ["driver.version"]


@QUICK
@given(SAMPLES, SAMPLES)
def test_the_order_of_files_does_not_decide_what_is_known(one: str, other: str) -> None:
    """Two samples describe two hosts, so values may differ with the order; what is known of the driver must not."""
    texts = stored(one), stored(other)
    forth, back = facts_from(*texts, tables=TABLES), facts_from(*reversed(texts), tables=TABLES)
    for path in ("driver.version", "driver.cuda_shown", "os.name"):
        assert isinstance(value(forth, path), Unknown) == isinstance(value(back, path), Unknown), path


def test_a_recording_without_texts_says_nothing() -> None:
    assert list(read_pasted(Recording(), TABLES)) == []


HOSTILE = {
    "one long line": "a" * 300_000,
    "blanks": " " * 300_000 + "x",
    "newlines": "x" + "\n" * 300_000,
    "bars": "| 0 " * 75_000,
    "commas": "NVIDIA A100, " * 25_000,
    "prompts": ("$ " * 400 + "\n") * 400,
    "brackets": "(" * 100_000 + ")" * 100_000,
    "escapes": "\x1b[" * 100_000 + "\x1b]" * 50_000,
    "quotes": "> " * 4_000 + "\n" + ">" * 4_000,
    "versions": "1." * 100_000,
    "keys": ("CUDA_" + "A" * 60 + "=" + "x" * 100 + "\n") * 1_500,
    "rows": "torch  2.1.0\n" * 20_000,
    "labels": "PyTorch version: 2.1.0\n" * 12_000,
    "tables": "| NVIDIA-SMI 535.54.03 Driver Version: 535.54.03 CUDA Version: 12.2 |\n" * 4_000,
    "lists": "GPU 0: NVIDIA A100 (UUID: GPU-1)\n" * 8_000,
    "sessions": ">>> torch.cuda.is_available()\n" * 8_000,
    "traces": '  File "/home/u/lib/python3.12/site-packages/torch/x.py", line 1\n' * 4_000,
    "kernel log": "NVRM: Xid (PCI:0000:01:00): 79\n" * 8_000,
    "bus": "01:00.0 3D controller: NVIDIA Corporation [x] [y]\n" * 5_000,
    "tags": "<nvidia_smi_log>" + "<a>" * 80_000,
    "listed": "[pip3] torch==2.1.0\n" * 12_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_takes_no_longer_than_ordinary_text(name: str) -> None:
    text = clean(HOSTILE[name])
    start = time.process_time()
    read(text)
    assert time.process_time() - start < 3, "300 kB take a few hundred milliseconds at most"


def test_every_pattern_that_is_compiled_late_can_be_compiled() -> None:
    modules = [import_module(f"torchdoctor.readers.{found.name}") for found in iter_modules(readers.__path__)]
    late = [value for module in modules for value in vars(module).values() if isinstance(value, type(lazily("")))]
    assert len(late) > 100
    assert all(re.compile(pattern.pattern, pattern.flags) for pattern in late)
