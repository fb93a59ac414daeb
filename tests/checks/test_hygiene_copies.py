from __future__ import annotations

import pytest
from install_hosts import BARE, RTX_4090, WINDOWS, gpu, healthy, host, packages, torch
from one_check import found, is_skipped, only

from torchdoctor.facts import ErrorText, Facts, Package, Packages, Python, Quoted, Torch, Unknown
from torchdoctor.findings import Evidence, setting, unsetting
from torchdoctor.records import replace
from torchdoctor.tables import Tables

UNSEEN = Unknown("place of torch")
VENV = "/home/u/app/.venv/lib/python3.12/site-packages/torch"
USER = "/home/u/.local/lib/python3.12/site-packages/torch"
CONDA_ROW = Package(name="pytorch", version="2.1.0", owner="conda", build="py3.10_cuda12.1_cudnn8.9.2_0")
TWO_OWNERS = Packages((Package(name="torch", version="2.2.0", owner="pip"), CONDA_ROW))
MARKED = Packages((CONDA_ROW, Package(name="torch", version="2.1.0", owner="pip", build="pypi_0")))
ONE_OWNER = Packages((CONDA_ROW, Package(name="torch", version="2.1.0", owner="pip")))
LISTED_TWICE = Packages((Package(name="torch", version="2.6.0"), Package(name="torch", version="2.8.0")))


def python(environment: str, executable: str) -> Python:
    return replace(healthy().python, environment=environment, executable=executable)


@pytest.mark.parametrize(
    "check_id", ["mixed-package-sources", "duplicate-torch", "interpreter-mismatch", "base-environment"]
)
def test_a_healthy_host_has_none_of_them(check_id: str, tables: Tables) -> None:
    assert found(check_id, healthy(), tables) == []


@pytest.mark.parametrize("listed", [TWO_OWNERS, MARKED])
def test_conda_and_pip_both_own_torch(listed: Packages, tables: Tables) -> None:
    facts = host(torch("2.1.0", "cu121", locations=UNSEEN), RTX_4090, installed=listed)
    finding = only("mixed-package-sources", facts, tables)
    assert Evidence("packages.pytorch", "2.1.0", "site-packages") in finding.evidence
    assert finding.remedies[1].commands == ("python -m pip uninstall -y torch", "conda remove pytorch")
    assert is_skipped("duplicate-torch", facts, tables)


def test_condas_own_torch_in_pips_list_is_one_torch(tables: Tables) -> None:
    facts = host(torch("2.1.0", "cu121", locations=None), installed=replace(ONE_OWNER, complete=True))
    assert found("mixed-package-sources", facts, tables) == []
    assert found("duplicate-torch", facts, tables) == []
    assert is_skipped("mixed-package-sources", replace(facts, packages=ONE_OWNER), tables)
    only_conda = Packages((CONDA_ROW, replace(CONDA_ROW, name="torch")), complete=True)
    assert found("mixed-package-sources", replace(facts, packages=only_conda), tables) == []


def test_a_file_named_torch(tables: Tables) -> None:
    finding = only("duplicate-torch", host(torch("2.14.1", "cpu", shadowed_by="/home/u/app/torch.py")), tables)
    assert str(finding.summary) == "/home/u/app/torch.py is imported in place of torch"
    assert finding.evidence == (Evidence("torch.shadowed_by", "/home/u/app/torch.py", ""),)


FOREIGN = [
    ((USER, VENV), python("venv", "/home/u/app/.venv/bin/python"), USER),
    (
        (
            r"C:\Users\u\AppData\Roaming\Python\Python312\site-packages\torch",
            r"H:\app\python_env\Lib\site-packages\torch",
        ),
        python("venv", r"H:\app\python_env\Scripts\python.exe"),
        r"C:\Users\u\AppData\Roaming\Python\Python312\site-packages\torch",
    ),
    (
        (USER, "/opt/conda/envs/a/lib/python3.12/site-packages/torch"),
        python("conda", "/opt/conda/envs/a/bin/python"),
        USER,
    ),
    (
        (r"D:\x\torch", r"C:\conda\envs\a\Lib\site-packages\torch"),
        python("conda", r"C:\conda\envs\a\python.exe"),
        r"D:\x\torch",
    ),
]


@pytest.mark.parametrize(("locations", "interpreter", "first"), FOREIGN)
def test_a_copy_outside_the_environment_comes_first(
    locations: tuple[str, ...], interpreter: Python, first: str, tables: Tables
) -> None:
    facts = host(torch("2.13.0+cpu", "cpu", locations=locations), python=interpreter)
    finding = only("duplicate-torch", facts, tables)
    assert str(finding.summary) == f"torch is imported from {first}, not from this environment"
    assert [evidence.value for evidence in finding.evidence] == list(locations)
    assert finding.remedies[0].commands == (setting(PYTHONNOUSERSITE="1"), unsetting("PYTHONPATH"))


HARMLESS = [
    ((VENV, USER), python("venv", "/home/u/app/.venv/bin/python")),
    ((VENV,), python("venv", "/home/u/app/.venv/bin/python")),
    ((USER, "/usr/lib/python3/dist-packages/torch"), python("system", "/usr/bin/python3")),
    ((USER, "/data/lib/torch"), python("venv", "/home/u/app/.venv/bin/python")),
]


@pytest.mark.parametrize(("locations", "interpreter"), HARMLESS)
def test_a_copy_that_is_not_imported_does_no_harm(
    locations: tuple[str, ...], interpreter: Python, tables: Tables
) -> None:
    assert found("duplicate-torch", host(torch("2.14.1", "cpu", locations=locations), python=interpreter), tables) == []


def test_two_versions_in_a_pasted_report(tables: Tables) -> None:
    facts = host(torch("2.6.0+cu124", "cu124", locations=UNSEEN), RTX_4090, installed=LISTED_TWICE)
    finding = only("duplicate-torch", facts, tables)
    assert str(finding.summary) == "Two versions of torch are on the path: 2.6.0+cu124 and 2.8.0"
    assert finding.confidence == "likely"


def test_two_builds_of_one_version_are_two_torches(tables: Tables) -> None:
    listed = Packages((Package(name="torch", version="2.6.0+cpu"),))
    facts = host(torch("2.6.0+cu124", "cu124", locations=UNSEEN), installed=listed)
    assert only("duplicate-torch", facts, tables).evidence
    same = Packages((Package(name="torch", version="2.6.0"), Package(name="numpy", version="2.2.6")))
    assert is_skipped("duplicate-torch", replace(facts, packages=same), tables)


def test_a_report_without_torch_is_skipped(tables: Tables) -> None:
    assert is_skipped("duplicate-torch", Facts(), tables)
    assert is_skipped("mixed-package-sources", Facts(), tables)
    assert is_skipped("interpreter-mismatch", Facts(), tables)
    assert is_skipped("base-environment", Facts(), tables)
    two = host(torch("2.14.1", "cpu", locations=(USER, VENV)), python=Python(executable="/home/u/app/.venv/bin/python"))
    assert is_skipped("duplicate-torch", two, tables)


@pytest.mark.parametrize(
    ("listed", "names"), [(packages("torch==2.8.0", "pip==26.1"), "torch 2.8.0"), (packages("pip==26.1"), "no torch")]
)
def test_the_list_of_another_python(listed: Packages, names: str, tables: Tables) -> None:
    facts = host(torch("2.6.0+cu124", "cu124", locations=UNSEEN), installed=listed)
    finding = only("interpreter-mismatch", facts, tables)
    assert names in str(finding.why)
    assert finding.evidence[0] == Evidence("torch.version", "2.6.0", "torch/version.py")
    assert is_skipped("duplicate-torch", facts, tables)


NOT_ANOTHER = [
    host(torch("2.6.0+cu124", "cu124", locations=UNSEEN), installed=packages("torch==2.6.0")),
    host(torch("2.6.0+cu124", "cu124"), installed=packages("torch==2.8.0")),
    host(torch("2.1.0", "cu121", locations=UNSEEN), installed=replace(ONE_OWNER, complete=True)),
    host(Torch(installed=False, version=None)),
]


@pytest.mark.parametrize("facts", NOT_ANOTHER)
def test_one_python(facts: Facts, tables: Tables) -> None:
    assert found("interpreter-mismatch", facts, tables) == []


def test_an_incomplete_list_proves_nothing(tables: Tables) -> None:
    facts = host(torch("2.6.0", "cu124", locations=UNSEEN), installed=packages("torch==2.8.0", complete=False))
    assert is_skipped("interpreter-mismatch", facts, tables)
    assert only("duplicate-torch", facts, tables).evidence


@pytest.mark.parametrize(
    ("environment", "words"), [("system", "the system Python"), ("conda-base", "conda's base environment")]
)
def test_shared_environments_are_named(environment: str, words: str, tables: Tables) -> None:
    facts = host(torch("2.14.1", "cu130"), RTX_4090, python=python(environment, "/usr/bin/python3"))
    finding = only("base-environment", facts, tables)
    assert str(finding.summary) == f"torch is installed into {words}"
    assert finding.evidence[0].value == environment


def test_images_and_jetsons_have_no_other_environment(tables: Tables) -> None:
    base = host(torch("2.14.1", "cu130"), python=python("system", "/usr/bin/python3"))
    for place in (replace(BARE, container="docker"), replace(BARE, jetpack="6.2")):
        assert found("base-environment", replace(base, place=place), tables) == []
    assert is_skipped(
        "base-environment", replace(base, place=replace(BARE, container=Unknown("container kind"))), tables
    )
    assert found("base-environment", replace(base, torch=Torch(installed=False)), tables) == []


def test_the_list_names_another_torch_than_the_one_that_lies_elsewhere(tables: Tables) -> None:
    """The only known place is that of the imported torch: the user's own packages hide the environment's."""
    listed = Packages((Package(name="torch", version="2.9.1+rocm6.4"),))
    facts = host(torch("2.13.0+cpu", "cpu", locations=(USER,)), os=WINDOWS, installed=listed)
    finding = only("duplicate-torch", facts, tables)
    assert Evidence("torch.locations", USER, "") in finding.evidence
    assert str(finding.summary) == "Two versions of torch are on the path: 2.13.0+cpu and 2.9.1+rocm6.4"


OLD_LIST = "sm_50 sm_60 sm_61 sm_70 sm_75 sm_80 sm_86 sm_90"
WARNING = ErrorText("arch-not-compatible", "", "log line 3", {"sm": "120", "archs": f"{OLD_LIST} compute_37"})
RTX_5070 = gpu("NVIDIA GeForce RTX 5070 Ti", "12.0")
NEW = torch("2.9.1+cu128", "cu128", arch_list=("sm_75", "sm_90", "sm_120"))


@pytest.mark.parametrize("installed", [NEW, replace(NEW, arch_list=Unknown("architecture list of the torch build"))])
def test_the_failing_torch_is_not_the_one_that_was_asked(installed: Torch, tables: Tables) -> None:
    facts = replace(host(installed, RTX_5070), quoted=Quoted((WARNING,)))
    finding = only("interpreter-mismatch", facts, tables)
    assert finding.evidence[0] == Evidence("torch.arch_list", f"{OLD_LIST} compute_37", "log line 3")
    assert "sm_120" in finding.evidence[1].value


@pytest.mark.parametrize(
    ("installed", "quoted"),
    [
        (torch("2.5.1+cu121", "cu121", arch_list=tuple(WARNING.values["archs"].split())), WARNING),  # one and the same
        (torch("2.5.1+cu121", "cu121", arch_list=Unknown("list")), WARNING),  # that build has no code for it either
        (NEW, replace(WARNING, doubtful=True)),
        (NEW, replace(WARNING, values={})),
    ],
)
def test_the_failing_torch_can_be_the_one_that_was_asked(installed: Torch, quoted: ErrorText, tables: Tables) -> None:
    facts = replace(host(installed, RTX_5070), quoted=Quoted((quoted,)))
    assert found("interpreter-mismatch", facts, tables) == []
