"""``check --wait``: until the driver is up. Its library is the stand-in of tests/stubs, put in place by a daemon."""

from __future__ import annotations

import re
import sys
import threading
import time
from pathlib import Path

import pytest
from broken_hosts import Host, Stubs, compile_all

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-ins are of Linux")
REFUSED = {"STUB_NVML_CODE": "9"}  # NVML_ERROR_DRIVER_NOT_LOADED


@pytest.fixture(scope="module")
def stubs(tmp_path_factory: pytest.TempPathFactory) -> Stubs:
    return compile_all(tmp_path_factory.mktemp("stubs"))


@pytest.fixture
def host(tmp_path: Path) -> Host:
    if Path("/dev/nvidiactl").exists() or Path("/dev/kfd").exists() or Path("/dev/dxg").exists():
        pytest.skip("a driver is up on this machine")
    made = Host(tmp_path)
    made.env["LD_LIBRARY_PATH"] = str(tmp_path / "lib")
    return made


def test_it_goes_on_as_soon_as_the_driver_is_up(host: Host, stubs: Stubs) -> None:
    daemon = threading.Timer(1.5, (host.folder / "lib" / "libnvidia-ml.so.1").symlink_to, [stubs.libnvml])
    begun = time.monotonic()
    daemon.start()
    answer = host.check("--static", "--wait", "60")
    assert 1.5 < time.monotonic() - begun < 30
    first, second = answer.stderr.splitlines()
    assert first.startswith("waiting up to 60 s for a GPU driver: no device of a GPU driver")
    assert re.fullmatch(r"the GPU driver came up after \d+ s", second)
    assert answer.report["facts"]["gpus"][0]["name"].startswith("NVIDIA H100")


def test_a_driver_that_is_up_is_not_waited_for(host: Host, stubs: Stubs) -> None:
    host.library("libnvidia-ml.so.1", stubs.libnvml)
    answer = host.check("--static", "--wait", "60")
    assert answer.stderr == ""
    assert answer.seconds < 30


@pytest.mark.parametrize(
    ("variables", "said"),
    [
        (None, "no device of a GPU driver"),
        (REFUSED, "NVML says NVML_ERROR_DRIVER_NOT_LOADED"),
        ({"STUB_NVML_GPUS": "0"}, "NVML says that it has no GPU"),
        ({"STUB_NVML_FAULT": "abort"}, "NVML says ended with status"),
        ({"STUB_NVML_FAULT": "hang"}, "NVML says no answer in"),
    ],
)
def test_then_it_says_so_and_the_check_goes_on(
    host: Host, stubs: Stubs, variables: dict[str, str] | None, said: str
) -> None:
    if variables:
        host.library("libnvidia-ml.so.1", stubs.libnvml, **variables)
    begun = time.monotonic()
    done = host.run("check", "--static", "--wait", "2", "-q", "--timeout", "2", "--python", host.python)
    assert time.monotonic() - begun > 2
    assert done.returncode in (0, 1)
    assert done.stdout.startswith(("fail: ", "ok: "))
    first, last = done.stderr.splitlines()
    assert first.startswith("waiting up to 2 s for a GPU driver: ")
    assert last.startswith("no GPU driver came up in 2 s: ")
    assert said in last


def test_another_host_is_not_waited_for(host: Host) -> None:
    done = host.run("check", "--wait", "5", "--python", "ssh node7 python3")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("--wait looks at this host")


@pytest.mark.parametrize("value", ["0", "-1", "soon", "nan", ""])
def test_what_is_no_number_of_seconds(host: Host, value: str) -> None:
    done = host.run("check", f"--wait={value}")
    assert done.returncode == 2
    assert "is not a number of seconds above 0" in done.stderr
