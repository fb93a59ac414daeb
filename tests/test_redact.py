"""Redaction: seeded secrets go, equal things stay equal, and nothing of use is spoilt."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchdoctor.redact import Identity, Redactor, redact

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
