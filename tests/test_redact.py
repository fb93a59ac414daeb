"""Redaction: seeded secrets go, equal things stay equal, and nothing of use is spoilt."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdoctor.readers.given_names import given_names
from torchdoctor.readers.pasted import read_pasted
from torchdoctor.recording import PastedText, Recording
from torchdoctor.redact import Identity, Redactor, redact
from torchdoctor.tables import Tables

ALICE = Identity(("/home/alicewonder", "/data/homes/alicewonder"), "alicewonder", "node42.cluster.example")
MAX = Identity(("/home/max",), "max", "tux")
ROOT = Identity(("/root",), "root", "vm")
WINDOWS = Identity(("C:\\Users\\alicewonder",), "alicewonder", "DESKTOP-4F2K1")


@pytest.mark.parametrize(
    ("identity", "text", "expected"),
    [
        (ALICE, "/home/alicewonder/venv/bin/python", "~/venv/bin/python"),
        (ALICE, "/home/alicewonder", "~"),
        (ALICE, "/data/homes/alicewonder/x:/home/alicewonder/y", "~/x:~/y"),
        (ALICE, "/home/bob/venv/bin/python", "/home/<user>/venv/bin/python"),
        (ALICE, "/home/alicewonder2/venv", "/home/<user>/venv"),
        (ALICE, "/Users/bob/Library", "/Users/<user>/Library"),
        (ALICE, "C:\\Users\\Bob Smith\\venv", "C:\\Users\\<user>\\venv"),
        (ALICE, "C:\\Users\\Public\\x", "C:\\Users\\Public\\x"),
        (ALICE, "/scratch/alicewonder/env/bin/python", "/scratch/<user>/env/bin/python"),
        (ALICE, "drwx alicewonder staff", "drwx <user> staff"),
        (ALICE, "node42.cluster.example: node42 up", "<host>: <host> up"),
        (ALICE, "mail alicewonder@example.org now", "mail <email-1> now"),
        (WINDOWS, "C:\\Users\\alicewonder\\venv\\Scripts\\python.exe", "~\\venv\\Scripts\\python.exe"),
        (WINDOWS, "D:\\envs\\alicewonder\\python.exe on DESKTOP-4F2K1", "D:\\envs\\<user>\\python.exe on <host>"),
        (MAX, "/scratch/max/env, max 3, maxsize, user=max", "/scratch/<user>/env, max 3, maxsize, user=<user>"),
        (MAX, "tux", "tux"),
        (ROOT, "/root/.local/bin and /opt/root/bin and root", "~/.local/bin and /opt/root/bin and root"),
        (ROOT, "vm.max_map_count", "vm.max_map_count"),
    ],
)
def test_people_and_hosts(identity: Identity, text: str, expected: str) -> None:
    assert redact(text, identity) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://user:hunter2@packages.example/simple", "https://<secret>@packages.example/simple"),
        ("https://user:hunt/er2@packages.example/simple", "https://<secret>@packages.example/simple"),
        ("https://user:hunt@er2@packages.example/simple", "https://<secret>@packages.example/simple"),
        (
            "'https://u:hun@t/e@r2@pack.example/s' and 'https://x/'",
            "'https://<secret>@pack.example/s' and 'https://x/'",
        ),
        ("git+https://ghp_abcdefghijklmnopqrstuvwx0123@github.com/o/r", "git+https://<secret>@github.com/o/r"),
        (
            "--extra-index-url https://x.example/?token=abc123&y=1",
            "--extra-index-url https://x.example/?token=<secret>&y=1",
        ),
        ("HF_TOKEN=hf_abcdefghijklmnopqrstuv", "HF_TOKEN=<secret>"),
        ("export WANDB_API_KEY: 0123456789abcdef", "export WANDB_API_KEY: <secret>"),
        ("docker login -p nvapi-abcdefghijklmnopqrstuvwx", "docker login -p <secret>"),
        ("password = opensesame", "password = <secret>"),
        ("Authorization: Bearer abcdef.123456", "Authorization: Bearer <secret>"),
        ("key AKIAIOSFODNN7EXAMPLE here", "key <secret> here"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-def", "<secret>"),
        ("GPU 0: NVIDIA H100 (UUID: GPU-8932f937-d72c-4106-c12f-20bd9faed9f6)", "GPU 0: NVIDIA H100 (UUID: GPU-<1>)"),
        ("MIG-c6d4f1ef-42e4-5de3-91c7-45d71c87eb3f,GPU-8932f937", "MIG-<1>,GPU-<1>"),
        ("Serial Number : 1321021009876", "Serial Number : <serial-1>"),
        ("Serial Number : N/A", "Serial Number : N/A"),
        (
            "eth0 aa:bb:cc:dd:ee:ff eth1 AA:BB:CC:DD:EE:FF eth2 aa:bb:cc:dd:ee:00",
            "eth0 <mac-1> eth1 <mac-1> eth2 <mac-2>",
        ),
        ("tcp://10.1.2.3:29500 and 10.1.2.3:80 and 10.1.2.4/24", "tcp://<ip-1>:29500 and <ip-1>:80 and <ip-2>/24"),
        (
            "connect to (10.1.2.3, 29500) of [::ffff:10.1.2.3]:29500",
            "connect to (<ip-1>, 29500) of [::ffff:<ip-1>]:29500",
        ),
        ("connected to 10.1.2.3 by tcp", "connected to <ip-1> by tcp"),
        ("inet 192.168.1.17 peer=172.17.0.2", "inet <ip-1> peer=<ip-2>"),
        ("http://[fe80::1ff:fe23:4567:890a]/", "http://[<ip-1>]/"),
        ("root=UUID=123e4567-e89b-12d3-a456-426614174000", "root=UUID=<uuid-1>"),
        ("S-1-5-21-3623811015-3361044348-30300820-1013", "<sid-1>"),
    ],
)
def test_secrets_and_machines(text: str, expected: str) -> None:
    assert redact(text, ROOT) == expected


@pytest.mark.parametrize(
    "text",
    [
        "580.65.06",
        "driver 13.2.86.1 and nvidia-curand-cu12==10.3.9.90",
        "nvidia-cudnn-cu12 9.10.2.21",
        "0000:01:00.0",
        "00000000:65:00.0",
        "2.14.1+cu130",
        "libcudnn.so.9.1.0.70: cannot open shared object file",
        "127.0.0.1:29500",
        "sm_90 compute_120",
        "Requires-Dist: tokenizers==0.15.0; extra == 'x'",
        "std::vector<at::Tensor>",
        "c10::cuda::CUDAStream",
        "12:34:56",
        "PCI_ID=10DE:2684",
        "pci:v000010DEd00002684sv00001458sd0000413Cbc03sc00i00",
        "conda-forge::pytorch",
        "basic something-long-here",
        "2b85:0001",
        "6.8.0-48-generic #48-Ubuntu SMP PREEMPT_DYNAMIC",
        "max_tokens 5",
        "serial port",
        "cp313-cp313-manylinux_2_28_x86_64",
        "sys.path: ['']",
        "NVIDIA GeForce RTX 4090",
        "GPU-Z",
        "GPU 0",
        "https://download.example/whl/cu126",
        "nvidia-nccl-cu12 2.27.3 172.16.1 ",
        "http://x/@scope",
        "git+https://github.com/pytorch/vision@main",
        "https://x.example:8080/whl and @rank0",
    ],
)
def test_what_must_stay(text: str) -> None:
    assert redact(text, Identity(("/home/alicewonder",), "alicewonder", "node42")) == text


def test_json_values_keys_and_relations() -> None:
    redactor = Redactor(ALICE)
    first = redactor.value({"/home/alicewonder/a": ["GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", 3, None, True]})
    second = redactor.value(
        {"uuid": "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", "other": "GPU-11111111-d72c-4106-c12f-20bd9faed9f6"}
    )
    assert first == {"~/a": ["GPU-<1>", 3, None, True]}
    assert second == {"uuid": "GPU-<1>", "other": "GPU-<2>"}


def test_values_known_by_their_name() -> None:
    told = redact(
        {"serial": "1321021009876", "MASTER_ADDR": "10.0.0.5", "api_key": "abc", "version": "10.3.9.90", "token": ""},
        ROOT,
    )
    assert told == {
        "serial": "<serial-1>",
        "MASTER_ADDR": "<ip-1>",
        "api_key": "<secret>",
        "version": "10.3.9.90",
        "token": "",
    }


def test_a_common_name_spoils_nothing() -> None:
    nvidia = Identity(("/home/nvidia",), "nvidia", "jetson")
    text = "/home/nvidia/env and /usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1 on a jetson"
    assert redact(text, nvidia) == "~/env and /usr/lib/aarch64-linux-gnu/nvidia/libcuda.so.1 on a jetson"


LOG = """\
alice@secretbox:/lustre/home/x$ sbatch job.sh
slurmstepd: info: JobId=8812231 on gpu-a[011-012]
gpu-a012: Nov 18 03:41:12 gpu-a012 kernel: NVRM: Xid 79
2025-11-18T03:41:12.123456+01:00 storage17 sshd[812]: closed
[compute-04:12345] *** Process received signal ***
login-x2:4711:4801 [0] NCCL INFO Bootstrap
srun: error: gpu-a013: task 5: Exited with exit code 1
slurmstepd: error: *** STEP 8812231.0 ON gpu-a014 CANCELLED AT 2025-11-18T03:51:20 ***
failed to connect to any network address of (node-secret7.corp.example, 29500)
export MASTER_ADDR=head9.corp.example USER=bobsmith
$ ssh carolina@jumphost3
Linux uname-box 6.8.0-48-generic #48-Ubuntu SMP
root@3f2a9c1b7d8e:/workspace# python train.py
[rank0:123] [model.py:211] user@A100:~$ ls
$ ssh -T git@github.com
"""
GIVEN_AWAY = (
    "alice", "secretbox", "gpu-a012", "gpu-a[011-012]", "storage17", "compute-04", "login-x2", "gpu-a013", "gpu-a014",
    "node-secret7", "node-secret7.corp.example", "head9", "bobsmith", "carolina", "jumphost3", "uname-box",
)  # fmt: skip


@pytest.mark.parametrize("name", GIVEN_AWAY)
def test_a_name_that_a_log_gives_away_is_taken_out_everywhere(name: str) -> None:
    redactor = Redactor(given_names([LOG]))
    told = redactor.text(LOG)
    assert name not in told
    assert name not in redactor.text(f"seen on {name}, torch 2.9.1")


def test_a_log_keeps_what_names_nobody() -> None:
    told = Redactor(given_names([LOG])).text(
        f"{LOG} 3f2a9c1b7d8e rank0 model.py A100 github.com 6.8.0-48-generic 2.9.1+cu128"
    )
    for word in (
        "root@3f2a9c1b7d8e:",
        "[rank0:123]",
        "model.py:211",
        "A100",
        " github.com ",
        "6.8.0-48-generic",
        "2.9.1+cu128",
        "NVRM",
    ):
        assert word in told


def test_machines_of_one_log_stay_apart_and_one_machine_stays_one() -> None:
    redactor = Redactor(Identity(hosts=("gpu-a011", "gpu-a012", "node7.corp.example")))
    told = redactor.text("gpu-a012 node7 gpu-a011 node7.corp.example gpu-a012")
    assert told == "<host-1> <host-2> <host-3> <host-2> <host-1>"


def test_a_short_host_goes_only_where_a_machine_is_named() -> None:
    told = Redactor(Identity(hosts=("tux",))).text("Nov 18 03:41:12 tux kernel: tux, [tux:123] a@tux")
    assert told == "Nov 18 03:41:12 <host-1> kernel: tux, [<host-1>:123] a@<host-1>"


def test_a_line_in_the_middle_of_a_long_log_gives_away_its_own_machine(tables: Tables) -> None:
    fault = "gpu-a012: Nov 18 03:41:12 gpu-a012 kernel: NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.\n"
    text = "step 1 loss 6.9\n" * 9000 + fault + "step 2 loss 6.8\n" * 9000
    said = list(read_pasted(Recording(texts=(PastedText("a.log", text),)), tables))
    assert "fallen off the bus" in str(said)
    assert "gpu-a012" not in str(said)


PIECES = st.sampled_from(
    [
        "/home/alicewonder",
        "/home/bob",
        "alicewonder",
        "node42",
        "C:\\Users\\bob",
        "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6",
        "GPU-8932",
        "~",
        "<user>",
        "https://a:b@c.example",
        "token=x",
        "10.1.2.3:80",
        "580.65.06",
        "aa:bb:cc:dd:ee:ff",
        "a@b.example",
        "serial: 12",
        "fe80::1:2:3:4",
        " ",
        "/",
        "=",
        "\n",
    ]
)
TEXTS = st.one_of(st.text(max_size=80), st.lists(PIECES, max_size=8).map("".join))
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(VALUES)
def test_twice_is_once_and_the_shape_stays(value: Any) -> None:
    once = redact(value, ALICE)
    assert redact(once, ALICE) == once
    assert type(once) is type(value)
    json.dumps(once)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=8))
def test_no_secret_survives(pieces: list[str]) -> None:
    told = redact(" ".join(pieces), ALICE)
    for secret in ("alicewonder", "node42", "8932f937-d72c", "aa:bb:cc:dd:ee:ff", "a:b@"):
        assert secret not in told
