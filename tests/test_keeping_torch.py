"""Where only what lies beside torch is wrong, torch stays: whatever GPU is here; and whose python a remedy names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "checks"))
from install_hosts import RTX_4090, WINDOWS, healthy, host, packages, torch

from torchdoctor.facts import Facts, Gpu, Os, Place, Python
from torchdoctor.prescribe.prescribe import keeping, prescribe
from torchdoctor.prescribe.remedy_pip import lines_of
from torchdoctor.prescribe.writing import Writing
from torchdoctor.records import replace
from torchdoctor.run_checks import run_checks
from torchdoctor.tables import Tables
from torchdoctor.values import PythonTag

CU126, CPU_INDEX = torch("2.9.1+cu126", "cu126"), "/cpu"
BESIDE = [
    # what lies beside torch 2.9.1+cu126, the pins of the first line
    (("torchvision==0.23.0+cu126",), ["torchvision==0.24.1+cu126"]),
    (("torchvision==0.24.1+cu126", "torchaudio==2.8.0+cu126"), ["torchaudio==2.9.1+cu126"]),
]


@pytest.mark.parametrize("gpus", [(), (RTX_4090,)], ids=["no GPU", "a GPU"])
@pytest.mark.parametrize(("beside", "pins"), BESIDE)
def test_a_companion_is_fitted_to_the_torch_that_is_there(
    beside: tuple[str, ...], pins: list[str], gpus: tuple[Gpu, ...], tables: Tables
) -> None:
    facts = replace(host(CU126, RTX_4090, installed=packages(*beside)), gpus=gpus)
    found, _ = run_checks(facts, tables)
    assert "torch-companion-mismatch" in [finding.id for finding in found]
    install = prescribe(facts, found, Writing(), tables).install
    assert install is not None
    assert install.needed
    assert (install.torch, install.build) == ("2.9.1", "cu126")
    assert [word for word in install.commands[0].split() if "==" in word] == pins
    again = keeping(facts, found, Writing(), tables)
    assert again is not None
    assert again.install == install


def test_a_build_that_does_not_serve_the_gpu_does_not_stay(tables: Tables) -> None:
    """Beside a companion of another torch, the build itself is in question."""
    facts = host(torch("2.9.1+cpu", "cpu"), RTX_4090, installed=packages("torchvision==0.23.0+cpu"))
    found, _ = run_checks(facts, tables)
    assert {"torch-companion-mismatch", "torch-cpu-build"} <= {finding.id for finding in found}
    assert keeping(facts, found, Writing(), tables) is None
    install = prescribe(facts, found, Writing(), tables).install
    assert install is not None
    assert str(install.build).startswith("cu")


def test_nothing_is_kept_where_nothing_asks_for_an_install(tables: Tables) -> None:
    facts = healthy()
    assert keeping(facts, run_checks(facts, tables)[0], Writing(), tables) is None


NCCL = "python -m pip install nvidia-nccl-cu12==2.27.5"
AGAIN = "python -m pip install --force-reinstall --no-deps torchvision==0.24.1 --index-url https://x/cu126"
NUMPY, OUT = 'python -m pip install "numpy<2"', "python -m pip uninstall -y torch"
SHOW = 'python -c "import sys, torch; print(sys.executable)"'
MADE = Python(command="/v/bin/python", executable="/v/bin/python", tag=PythonTag(3, 12), has_pip=True)
WITHOUT = replace(MADE, has_pip=False)
MANAGED = replace(
    MADE, command="/usr/bin/python3", executable="/usr/bin/python3", environment="system", externally_managed=True
)
ENTERED = Python(command="docker\nexec\nweb\npython", executable="/usr/bin/python", tag=PythonTag(3, 12), has_pip=True)
HIDDEN = replace(MADE, command="/home/<user>/v/bin/python")
LINUX = Os(name="linux", machine="x86_64")
LINES = [
    (NCCL, Facts(os=LINUX), (NCCL,)),  # pasted: nobody knows which one
    (NUMPY, Facts(os=LINUX), (NUMPY,)),
    (NUMPY, Facts(os=WINDOWS), ("python -m pip install 'numpy<2'",)),
    (NCCL, Facts(os=LINUX, python=MADE), ("/v/bin/python -m pip install nvidia-nccl-cu12==2.27.5",)),
    (NUMPY, Facts(os=LINUX, python=MADE), ("/v/bin/python -m pip install 'numpy<2'",)),
    (SHOW, Facts(os=LINUX, python=MADE), ("/v/bin/python -c 'import sys, torch; print(sys.executable)'",)),
    (
        AGAIN,
        Facts(os=LINUX, python=WITHOUT),
        (
            "uv pip install --python /v/bin/python --reinstall --no-deps torchvision==0.24.1 --index-url https://x/cu126",
        ),
    ),
    (OUT, Facts(os=LINUX, python=WITHOUT), ("uv pip uninstall --python /v/bin/python torch",)),
    ("python -m pip config list", Facts(os=LINUX, python=WITHOUT), ()),  # uv has nothing of the kind
    ("python -m pip list", Facts(os=LINUX, python=WITHOUT), ("uv pip list --python /v/bin/python",)),
    (OUT, Facts(os=LINUX, python=ENTERED), ("docker exec web python -m pip uninstall -y torch",)),
    (
        OUT,
        Facts(os=LINUX, python=replace(ENTERED, has_pip=False)),
        ("docker exec web python -m ensurepip --upgrade", "docker exec web python -m pip uninstall -y torch"),
    ),
    ("python -m pip list", Facts(os=LINUX, python=replace(ENTERED, has_pip=False)), ()),
    (OUT, Facts(os=LINUX, python=MANAGED), ("/usr/bin/python3 -m pip uninstall --break-system-packages -y torch",)),
    ("python -m pip list", Facts(os=LINUX, python=MANAGED), ("/usr/bin/python3 -m pip list",)),
    (NCCL, Facts(os=LINUX, python=HIDDEN), (NCCL,)),  # a report leaves the name out
    (
        OUT,
        Facts(os=LINUX, python=WITHOUT, place=Place(project="uv-project", project_folder="/p")),
        ("uv pip uninstall --python /v/bin/python torch",),
    ),
    ("python -m pip list | grep torch", Facts(os=LINUX, python=MADE), ("/v/bin/python -m pip list | grep torch",)),
    (r"python -m venv C:\venv", Facts(os=WINDOWS, python=MADE), (r"/v/bin/python -m venv C:\venv",)),
]


@pytest.mark.parametrize(("command", "facts", "lines"), LINES)
def test_a_line_is_for_the_interpreter_that_was_examined(command: str, facts: Facts, lines: tuple[str, ...]) -> None:
    assert lines_of(command, facts, Writing()) == lines
