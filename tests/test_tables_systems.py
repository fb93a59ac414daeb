"""Look-ups over Jetsons, Linux distributions and limits between packages."""

from __future__ import annotations

import pytest

from torchdoctor.tables import Tables
from torchdoctor.values import Libc, Version


@pytest.mark.parametrize(
    ("lookup", "text", "l4t"),
    [
        ("by_l4t", "36.4.3", "36.4.3"),
        ("by_l4t", "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic", "36.4.3"),
        ("by_l4t", "R35.4.1", "35.4.1"),
        ("by_l4t", "36.4.9", "36.4.7"),
        ("by_l4t", "37.1", None),
        ("by_l4t", "", None),
        ("by_jetpack", "6.2", "36.4.3"),
        ("by_jetpack", "6", "36.5.0"),
        ("by_jetpack", "5.1.2", "35.4.1"),
        ("by_jetpack", "7", "39.2.1"),
        ("by_jetpack", "7.0", "38.2.2"),
        ("by_jetpack", "3.3", None),
        ("by_jetpack", "six", None),
        ("by_driver", "540.4.0", "36.4.7"),
        ("by_driver", "540.04.00", "36.4.7"),
        ("by_driver", "580.00", "38.4.0"),
        ("by_driver", "595.78", "39.2.0"),
        ("by_driver", "580.65.06", None),
        ("by_driver", "550.54.15", None),
        ("by_driver", "none", None),
    ],
)
def test_jetsons(tables: Tables, lookup: str, text: str, l4t: str | None) -> None:
    row = getattr(tables.jetpacks, lookup)(text)
    assert (row.l4t if row else None) == l4t


def test_how_a_jetson_gets_torch(tables: Tables) -> None:
    orin, thor, spark = (tables.jetpacks.by_l4t("36.4.3"), tables.jetpacks.by_l4t("38.2.0"), tables.jetpacks.rows[0])
    assert len(tables.jetpacks.rows) == 36
    assert orin is not None
    assert thor is not None
    assert (orin.cuda_stack, orin.index_path, orin.official_wheels, str(orin.cuda)) == (
        "Tegra",
        "jp6/cu126",
        False,
        "12.6",
    )
    assert (thor.cuda_stack, thor.index_path, thor.official_wheels) == ("SBSA", "sbsa/cu130", True)
    assert (spark.l4t, spark.jetpack, spark.official_wheels) == ("dgx-os", "", True)


@pytest.mark.parametrize(
    ("distribution", "libc"),
    [
        ("Ubuntu 22.04.4 LTS", "glibc-2.35"),
        ("Ubuntu 18.04.6 LTS (x86_64)", "glibc-2.27"),
        ("Debian GNU/Linux 12 (bookworm)", "glibc-2.36"),
        ("CentOS Linux 7 (Core)", "glibc-2.17"),
        ("CentOS Linux release 7.9.2009 (Core)", "glibc-2.17"),
        ("CentOS Stream 9", "glibc-2.34"),
        ("Red Hat Enterprise Linux 8.8 (Ootpa)", "glibc-2.28"),
        ("Rocky Linux 9.4 (Blue Onyx)", "glibc-2.34"),
        ("AlmaLinux 8.10 (Cerulean Leopard)", "glibc-2.28"),
        ("Amazon Linux 2", "glibc-2.26"),
        ("Amazon Linux 2023.4.20240401", "glibc-2.34"),
        ("Alpine Linux v3.19", "musl"),
        ("openSUSE Leap 15.5", "glibc-2.31"),
        ("Fedora Linux 41 (Workstation Edition)", "glibc-2.40"),
        ("Linux Mint 21.3", "glibc-2.35"),
        ("Ubuntu 99.04", None),
        ("Arch Linux", None),
        ("Microsoft Windows 11 Pro", None),
        ("", None),
    ],
)
def test_the_c_library_of_a_distribution(tables: Tables, distribution: str, libc: str | None) -> None:
    assert tables.os_releases.libc(distribution) == (Libc.parse(libc) if libc else None)


@pytest.mark.parametrize(
    ("torch", "numpy", "broken"),
    [("2.2.2", "2.0.1", True), ("2.2.2", "1.26.4", False), ("2.3.0", "2.0.1", False), ("2.1.0", "2.1", True)],
)
def test_old_torch_and_numpy_2(tables: Tables, torch: str, numpy: str, broken: bool) -> None:
    row = tables.torch_requirements.broken("torch", Version.parse(torch), "numpy", Version.parse(numpy))
    assert (row is not None) is broken
