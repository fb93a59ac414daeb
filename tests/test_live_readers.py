"""Recorded hosts are tests: what each recording says, fact by fact."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest
from conftest import CASES, DATA
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdoctor.facts import Facts, Gpu, Unknown
from torchdoctor.readers.assemble import assemble
from torchdoctor.readers.env_names import NAMES
from torchdoctor.readers.live import ALL_WANTS, ON_DEMAND, read_live
from torchdoctor.recording import Answer, PastedText, Recording, Want
from torchdoctor.records import fields
from torchdoctor.tables import Tables

FOLDER = DATA / "recordings"
EXPECTED = {
    path.name.split(".")[0]: json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.expected.json"))
}
HOSTS = {host: Recording.from_json((FOLDER / f"{host}.json").read_text("utf-8")) for host in EXPECTED}
UNKNOWN = "?"  # not in the recording
TABLES = Tables()


def facts_of(recording: Recording) -> Facts:
    return assemble(read_live(recording, TABLES))


def shown(value: object) -> object:
    """A fact as the tables above write it."""
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, tuple):
        return list(value)
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)


def known_of(gpu: Gpu) -> dict[str, object]:
    values = {name: shown(getattr(gpu, name)) for name in (item.name for item in fields(Gpu))}
    return {name: value for name, value in values.items() if value != UNKNOWN}


def answered(host: str, **changes: Answer) -> Recording:
    """A recorded host with some answers changed; a key is a want's, blanks and slashes as they are."""
    return Recording({**HOSTS[host].answers, **changes})


def test_every_recorded_host_has_its_expected_answer() -> None:
    recorded = {path.stem for path in FOLDER.glob("*.json") if not path.name.endswith(".expected.json")}
    assert recorded == EXPECTED.keys()
    assert len(recorded) >= 8


@pytest.mark.parametrize(("host", "path"), [(host, path) for host in EXPECTED for path in EXPECTED[host]["facts"]])
def test_fact(host: str, path: str) -> None:
    group, _, name = path.partition(".")
    assert shown(getattr(getattr(facts_of(HOSTS[host]), group), name)) == EXPECTED[host]["facts"][path]


@pytest.mark.parametrize("host", EXPECTED)
def test_gpus(host: str) -> None:
    gpus = facts_of(HOSTS[host]).gpus
    assert (UNKNOWN if not isinstance(gpus, tuple) else [known_of(gpu) for gpu in gpus]) == EXPECTED[host]["gpus"]


def test_packages_and_variables_are_complete() -> None:
    facts = facts_of(HOSTS["slurm-h100-conda"])
    assert facts.packages.complete
    owners = {(item.name, item.version): (shown(item.owner), shown(item.build)) for item in facts.packages.items}
    assert owners == {
        ("pip", "24.0"): ("pip", UNKNOWN), ("torch", "2.5.1"): ("conda", UNKNOWN),
        ("pytorch", "2.5.1"): ("conda", "cuda126_py311h1d5e4a1_306"), ("cuda-nvcc", "12.6.85"): ("conda", "hcdd1206_0"),
    }  # fmt: skip
    assert facts.env.get("SLURM_JOB_GPUS") == "0,1"
    assert facts.env.get("LD_LIBRARY_PATH") is None


def test_toolkits_are_counted_once() -> None:
    toolkits = facts_of(HOSTS["bare-rtx4090-driver580"]).tools.toolkits
    assert isinstance(toolkits, tuple)
    assert [(str(item.cuda), item.path, item.has_nvcc) for item in toolkits] == [
        ("12.8", "/usr/local/cuda-12.8", True), ("11.8", "/usr/local/cuda-11.8", False),
    ]  # fmt: skip


def test_every_fact_names_its_source() -> None:
    facts = facts_of(HOSTS["bare-rtx4090-driver580"])
    assert facts.source("driver.version") == "NVML"
    assert facts.source("driver.flavour") == "/proc/driver/nvidia/version"
    assert facts.source("torch.version") == "~/ml/lib/python3.12/site-packages/torch/version.py"
    assert facts.source("os.distribution") == "/etc/os-release"


# ------------------------------------------------------------------------------------------------- single traits


def stat() -> Answer:
    return Answer({"type": "file", "readable": True, "writable": True, "size": 0})


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"stat /.dockerenv": stat()}, None),  # a machine started from an image: its root is a disk
        ({"file /run/.containerenv": Answer("")}, "podman"),
        ({"stat /.singularity.d": stat()}, "apptainer"),
        ({"file /proc/self/cgroup": Answer("0::/kubepods/besteffort/pod1\n")}, "kubernetes"),
        ({"file /proc/self/cgroup": Answer("12:memory:/docker/0123\n")}, "docker"),
        ({"file /proc/self/cgroup": Answer("0::/machine.slice/libpod-01.scope\n")}, "podman"),
        ({"file /proc/self/cgroup": Answer("1:name=systemd:/lxc/c1\n")}, "lxc"),
        ({"file /run/systemd/container": Answer("systemd-nspawn\n")}, "container"),
        (
            {
                "file /proc/self/mountinfo": Answer(
                    "1 0 0:9 / / rw - overlay overlay rw,lowerdir=/var/lib/containerd/x\n"
                )
            },
            "container",
        ),
        (
            {"file /proc/self/mountinfo": Answer("1 0 0:9 / / rw - overlay overlay rw,lowerdir=/lib/live/rootfs\n")},
            None,
        ),
    ],
)
def test_containers(changes: Mapping[str, Answer], kind: str | None) -> None:
    assert facts_of(answered("bare-nouveau", **changes)).place.container == kind


@pytest.mark.parametrize(
    ("release", "version", "expected"),
    [
        ("4.4.0-19041-Microsoft", "", 1),
        ("5.15.167.4-microsoft-standard-WSL2", "", 2),
        ("6.6.36.3-microsoft-standard-WSL2+", "", 2),
        ("6.8.0-48-generic", "", None),
    ],
)
def test_wsl(release: str, version: str, expected: int | None) -> None:
    python = copy.deepcopy(HOSTS["bare-nouveau"].answers["python"].value)
    python["uname"] |= {"release": release, "version": version}
    assert facts_of(answered("bare-nouveau", python=Answer(python))).place.wsl == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "__version__ = '2.13.0+cpu'\ncuda: Optional[str] = None\nhip: Optional[str] = None\n",
            ("2.13.0+cpu", "cpu", None, None),
        ),
        ("__version__ = '2.2.1'\ncuda = '12.1'\nhip = None\n", ("2.2.1", "cu121", "12.1", None)),
        (
            "__version__ = '2.10.0+xpu'\ncuda: Optional[str] = None\nxpu: Optional[str] = '20250302'\n",
            ("2.10.0+xpu", "xpu", None, "?"),
        ),
        ("__version__ = '2.1.0a0+29c30b1'\ncuda: str | None = \"12.2\"\n", ("2.1.0a0+29c30b1", "cu122", "12.2", "?")),
        (
            "__version__ = '1.13.1'\ncuda = None\nhip = '5.2.21151-afdc89f8'\n",
            ("1.13.1", "rocm5.2", None, "5.2.21151-afdc89f8"),
        ),
        ("not python at all {{{", ("?", "?", "?", "?")),
        ("", ("?", "?", "?", "?")),
    ],
)
def test_version_files_of_torch(text: str, expected: tuple[str, ...]) -> None:
    host = answered(
        "bare-rtx4090-driver580",
        **{"files @path/torch/version.py": Answer({"~/ml/lib/python3.12/site-packages/torch/version.py": text})},
    )
    torch = facts_of(host).torch
    seen = tuple(shown(value) for value in (torch.full, torch.build, torch.cuda, torch.hip))
    if text.startswith("__version__"):
        assert seen == expected
    assert torch.installed is True


def test_shadows_and_copies() -> None:
    site, user = "~/ml/lib/python3.12/site-packages", "~/project"
    version = "__version__ = '2.9.1+cu128'\n"
    versions, folders = "files @path/torch/version.py", "glob @path/torch/__init__.py"
    two_folders = Answer([f"{user}/torch/__init__.py", f"{site}/torch/__init__.py"])
    two_versions = Answer({f"{user}/torch/version.py": version, f"{site}/torch/version.py": version})
    both = answered("bare-rtx4090-driver580", **{versions: two_versions, folders: two_folders})
    assert facts_of(both).torch.locations == (f"{user}/torch", f"{site}/torch")
    assert facts_of(both).torch.shadowed_by is None
    folder = answered("bare-rtx4090-driver580", **{folders: two_folders})
    assert facts_of(folder).torch.shadowed_by == f"{user}/torch"
    behind = answered("bare-rtx4090-driver580", **{"glob @path/torch.py": Answer([f"{site}/torch.py"])})
    assert facts_of(behind).torch.shadowed_by is None


KNOWN_OF_A_WHOLE_HOST = (
    "driver.version driver.libcuda driver.module_loaded driver.device_nodes driver.smi driver.secure_boot "
    "torch.installed tools.nvcc tools.gcc place.container place.scheduler memory.total memory.limit"
)


def test_a_failed_question_is_never_an_absence() -> None:
    """Every answer lost: nothing may turn from known to "there is none"."""
    answers = HOSTS["bare-rtx4090-driver580"].answers
    lost = {key: Answer(error="no answer in 5 s") for key in answers if key not in ("python", "choice")}
    facts = facts_of(Recording({**answers, **lost}))
    for path in KNOWN_OF_A_WHOLE_HOST.split():
        group, _, name = path.partition(".")
        assert isinstance(getattr(getattr(facts, group), name), Unknown), path
    assert isinstance(facts.gpus, Unknown)
    assert not facts.packages.complete
    assert not facts.env.complete


@pytest.mark.parametrize("host", HOSTS)
def test_any_one_lost_answer_makes_no_absence(host: str) -> None:
    whole = facts_of(HOSTS[host])
    for key in HOSTS[host].answers:
        if key in ("python", "choice"):
            continue
        facts = facts_of(answered(host, **{key: Answer(error="no answer in 5 s")}))
        if isinstance(whole.gpus, tuple) and whole.gpus:
            assert facts.gpus != (), key
        if whole.torch.installed is True:
            assert facts.torch.installed is not False, key
        if not isinstance(whole.driver.version, Unknown) and whole.driver.version is not None:
            assert facts.driver.version is not None, key


def test_a_pasted_recording_says_nothing_live() -> None:
    assert list(read_live(Recording(texts=(PastedText("a", "b"),)), TABLES)) == []


# ------------------------------------------------------------------------------------------------- the list of wants


def test_every_recorded_answer_is_still_asked_for() -> None:
    """A want that changes its key would leave old recordings unread: give it a ``name`` instead."""
    keys = {want.key for want in ALL_WANTS} | {"choice", "nvml", "psutil", "noise", "trial", *ON_DEMAND}
    for path in [*FOLDER.glob("*.json"), *CASES.glob("*/recording.json")]:
        if not path.name.endswith(".expected.json"):
            assert Recording.from_json(path.read_text("utf-8")).answers.keys() <= keys, path


def test_wants_are_distinct_and_have_deadlines() -> None:
    keys = [want.key for want in ALL_WANTS]
    assert len(keys) == len(set(keys))
    assert all(0 < want.seconds <= 20 for want in ALL_WANTS)
    assert ALL_WANTS.count(Want("python")) == 1


def test_the_environment_list_holds_no_family_of_secrets() -> None:
    assert not [
        name
        for name in NAMES
        if name in ("*", "PIP_*", "UV_*", "SLURM_*", "CONDA_*") or "TOKEN" in name or "PASS" in name
    ]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10**6) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(HOSTS)), st.data())
def test_no_edited_recording_makes_a_reader_crash(host: str, data: st.DataObject) -> None:
    answers: dict[str, Any] = dict(HOSTS[host].answers)
    for key in data.draw(st.lists(st.sampled_from(sorted(answers)), max_size=4)):
        value = copy.deepcopy(answers[key].value)
        if isinstance(value, dict) and value and data.draw(st.booleans()):
            value[data.draw(st.sampled_from(sorted(value)))] = data.draw(JSON)
        else:
            value = data.draw(JSON)
        answers[key] = Answer(value)
    recording = Recording(answers)
    facts_of(Recording.from_json(recording.to_json()))
    json.loads(recording.to_json())
