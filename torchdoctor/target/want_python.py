"""What the examined interpreter says of itself and of its host."""

import os
import sys

from torchdoctor.target.paths import PATH, SMALL, exists, here, read, real, walk

MYPY = False
if MYPY:
    from typing import Any

PLATFORM = sys.platform
LIBRARY = os.path.dirname(os.__file__)


def want_python(args: "tuple[str, ...]", keep: "tuple[str, ...]") -> "dict[str, Any]":
    """All of it in one answer. Home, user, host and mark are for the asker alone and not recorded."""
    return dict(interpreter(), **dict(folders(), **dict(host(), **identity())))


def interpreter() -> "dict[str, Any]":
    """Version, ABI and architecture."""
    suffix = extension_suffix()
    return {
        "version": "%d.%d.%d" % sys.version_info[:3],
        "level": sys.version_info[3],
        "implementation": sys.implementation.name,
        "free_threaded": "t-" in suffix or "t" in getattr(sys, "abiflags", ""),
        "suffix": suffix,
        "bits": 64 if sys.maxsize > 2**32 else 32,
        "machine": own_machine(),
        "executable": sys.executable,
        "headers": headers(),
    }


def folders() -> "dict[str, Any]":
    """Where it looks for packages, and what kind of environment that is."""
    site = sys.modules.get("site")
    packages = [entry for entry in PATH if "-packages" in entry]
    user = getattr(site, "USER_SITE", None)
    return {
        "prefix": sys.prefix,
        "base_prefix": getattr(sys, "base_prefix", sys.prefix),
        "path": PATH,
        "site_packages": packages,
        "site_length": len(packages[0]) if packages else 0,
        "user_site": user if user in packages else None,
        "user_site_enabled": bool(getattr(site, "ENABLE_USER_SITE", False)),
        "externally_managed": exists(os.path.join(LIBRARY, "EXTERNALLY-MANAGED")),
        "conda": os.path.isdir(real(os.path.join(sys.prefix, "conda-meta"))),
        "conda_base": exists(os.path.join(sys.prefix, "condabin")),
        "venv": settings(os.path.join(sys.prefix, "pyvenv.cfg")),
        "pip": any(exists(os.path.join(entry, "pip", "__init__.py")) for entry in packages),
        "cwd": here(),
    }


def host() -> "dict[str, Any]":
    """The operating system as the interpreter sees it."""
    windows = getattr(sys, "getwindowsversion", None)
    return {
        "platform": sys.platform,
        "uname": uname(),
        "libc": libc(),
        "windows": list(windows())[:3] if windows else None,
        "macos": macos_version(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
    }


def identity() -> "dict[str, str]":
    """What has to be taken out of the answers, and a mark: two processes that share it share kernel and root folder."""
    home = os.path.expanduser("~")
    names = [os.environ.get(name, "") for name in ("USER", "USERNAME", "LOGNAME")]
    return {
        "home": home if os.path.isabs(home) else "",
        "home_real": os.path.realpath(home) if os.path.isabs(home) else "",
        "user": next(filter(None, names), ""),
        "host": os.uname()[1] if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", ""),
        "mark": mark(),
    }


def mark() -> str:
    """The boot of the kernel and the root folder; empty where the system tells neither."""
    try:
        root = os.stat("/")
        return "%s %d %d" % (read("/proc/sys/kernel/random/boot_id", SMALL).strip(), root.st_dev, root.st_ino)
    except OSError:
        return ""


def uname() -> "dict[str, str]":
    """System, release, version and machine, without the host's name."""
    if hasattr(os, "uname"):
        system, _, release, version, machine = os.uname()
        return {"system": system, "release": release, "version": version, "machine": machine}
    outer = os.environ.get("PROCESSOR_ARCHITEW6432") or os.environ.get("PROCESSOR_ARCHITECTURE", "")
    arm = "ARM" in os.environ.get("PROCESSOR_IDENTIFIER", "")
    return {"system": "Windows", "machine": "ARM64" if arm else outer}


def own_machine() -> str:
    """What this interpreter was built for; an x86-64 one may be running on Arm."""
    if PLATFORM == "win32":
        return "ARM64" if "(ARM64)" in sys.version else "AMD64" if "(AMD64)" in sys.version else "x86"
    triplet = getattr(sys.implementation, "_multiarch", "")
    return triplet.split("-")[0] if "-linux" in triplet else os.uname()[4]


def extension_suffix() -> str:
    """The ending of compiled modules, which names the ABI: ``.cpython-313t-x86_64-linux-gnu.so``."""
    try:
        import _imp

        return str(_imp.extension_suffixes()[0])
    except (ImportError, AttributeError, IndexError):
        return ""


def headers() -> bool:
    """Whether Python.h is there to compile an extension against."""
    name = "python%d.%d%s" % (sys.version_info[0], sys.version_info[1], getattr(sys, "abiflags", ""))
    include = os.path.join(getattr(sys, "base_prefix", sys.prefix), "include")
    return any(exists(os.path.join(include, folder, "Python.h")) for folder in (name, "", "Include"))


def libc() -> "str | None":
    """``glibc 2.36`` or ``musl``; None where there is neither."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        text = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):
        text = None
    musl = not text and (walk("/lib/ld-musl-*") or walk("/usr/lib/ld-musl-*"))
    return "musl" if musl else text


def macos_version() -> "str | None":
    """The product version of macOS, else None."""
    if PLATFORM != "darwin":
        return None
    text = read("/System/Library/CoreServices/SystemVersion.plist", SMALL)
    return text.partition("<key>ProductVersion</key>")[2].partition("<string>")[2].partition("</string>")[0]


def settings(path: str) -> "dict[str, str] | None":
    """The ``name = value`` lines of a file; None without the file."""
    try:
        lines = read(path, SMALL).splitlines()
    except OSError:
        return None
    pairs = [line.partition("=") for line in lines if "=" in line]
    return {name.strip().lower(): value.strip() for name, _, value in pairs}
