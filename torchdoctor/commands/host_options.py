"""The host options: one group, shared by every command that can speak of a host that is not here."""

from __future__ import annotations

import argparse

HOST_KEYS = ("os", "machine", "python_version", "libc", "os_version", "wsl", "jetpack", "driver", "gpu")


def add_host_options(parser: argparse.ArgumentParser) -> None:
    """Describe another host. With --os or --machine nothing is taken from this host; else what is not given is."""
    group = parser.add_argument_group(
        "another host",
        "With --os or --machine of another host, what is not given is unknown; else it is taken from this host.",
    )
    group.add_argument("--os", choices=("linux", "windows", "macos"))
    group.add_argument("--machine", metavar="x86_64|aarch64|arm64")
    group.add_argument("--python-version", metavar="3.12|3.13t")
    group.add_argument("--libc", metavar="glibc-2.35|musl")
    group.add_argument("--os-version", metavar="VERSION", help="macOS 14.5, Windows 10 ...")
    group.add_argument(
        "--wsl", action="store_true", default=None, help="Linux under WSL: the driver number is a Windows one"
    )
    group.add_argument("--jetpack", metavar="VERSION|none")
    group.add_argument("--driver", metavar="VERSION|none", help="NVIDIA driver, as 580.65.06")
    group.add_argument("--gpu", action="append", metavar="NAME|sm_XX|gfxNNNN|none", help="repeat or separate by commas")


def described_keys(options: argparse.Namespace) -> dict[str, object]:
    """The host options that were given, under the names of a batch line."""
    given = {key: getattr(options, key) for key in HOST_KEYS if getattr(options, key, None) is not None}
    if "python_version" in given:
        given["python"] = given.pop("python_version")
    if "gpu" in given:
        names = [name.strip() for value in given.pop("gpu") for name in value.split(",")]
        given["gpus"] = [] if names == ["none"] else names
    for key in ("driver", "jetpack"):
        if given.get(key) == "none":
            given[key] = None
    return given
