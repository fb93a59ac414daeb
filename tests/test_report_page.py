"""The page as a file: well formed, its verdict that of the JSON, nothing of a stranger's in its markup, no address."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_objects import MARKUP, case_names, everything, hostile, recording_of, told_of

from torchdoctor.facts import Request
from torchdoctor.pipeline import examine
from torchdoctor.prescribe.writing import Writing
from torchdoctor.recording import Recording
from torchdoctor.render.html.chain import Chain, State, chain_of
from torchdoctor.render.html.host import facts_of
from torchdoctor.render.html.page import page
from torchdoctor.render.html.picture import in_words
from torchdoctor.render.html.told import causes, errors_of, flat, source
from torchdoctor.render.report_markdown import render as as_markdown
from torchdoctor.render.text import verdict
from torchdoctor.tables import Tables

CASES = case_names()
EMPTY = {"meta", "link", "img", "br", "hr", "input", "rect", "line", "circle"}
LEADS_OUT = {"src", "href", "action", "formaction", "data", "poster", "srcset", "xlink:href"}


class Reader(HTMLParser):
    """What a page consists of; every end tag must be that of what is open."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.names: list[str] = []
        self.leads: list[str] = []
        self.handlers: list[str] = []
        self.text: dict[str, list[str]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.names.append(value or "")
            if name in LEADS_OUT:
                self.leads.append(value or "")
            if name.startswith("on") or name == "style":
                self.handlers.append(name)
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in EMPTY
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        for tag in self.open:
            self.text.setdefault(tag, []).append(data)

    def said(self, tag: str) -> str:
        return " ".join("".join(self.text.get(tag, ())).split())


def read(content: str) -> Reader:
    reader = Reader()
    reader.feed(content)
    reader.close()
    assert reader.open == []
    return reader


def check_page(told: dict[str, Any], tables: Tables) -> Reader:
    """What holds for the page of any report."""
    reader = read(page(told, tables))
    assert reader.leads == ["#main"]
    assert reader.handlers == []
    assert reader.tags.count("script") == reader.tags.count("style") == reader.tags.count("h1") == 1
    assert not {"img", "iframe", "link", "form", "base", "object"} & set(reader.tags)
    assert len(reader.names) == len(set(reader.names))
    return reader


@pytest.mark.parametrize("name", CASES)
def test_the_verdict_is_that_of_the_json_and_of_the_text(name: str, tables: Tables) -> None:
    report = examine(recording_of(name), tables, Request(), Writing())
    told = told_of(recording_of(name), tables)
    said = " ".join(verdict(report).split())
    assert " ".join(told["verdict"].split()) == said
    reader = check_page(told, tables)
    assert reader.said("h1") == said.replace(": ", " ", 1)
    for finding in told["findings"]:
        assert " ".join(finding["summary"].split()) in reader.said("main")
    lines = [line for cause, _ in causes(told) for remedy in cause["remedies"] for line in remedy["commands"]]
    for line in lines:
        assert " ".join(line.split()) in reader.said("code")
    assert len(as_markdown(told).splitlines()) < 100


def states(chain: Chain) -> list[State]:
    arms = [link.state for arm in chain.arms for link in (arm.served, arm.driven) if link]
    return [chain.allowed.state, *arms]


# Findings that say what the picture shows: the driver and the build, the build and the GPU, the driver and the GPU.
SHOWN = {
    "driver-too-old", "driver-not-loaded", "driver-dropped-gpu", "torch-arch-missing", "rocm-gfx-unsupported",
    "scheduler-no-gpu", "no-gpu", "build-step-no-gpu", "jetson-wheel", "gpu-init-failed",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_picture_never_contradicts_the_findings(name: str, tables: Tables) -> None:
    told = told_of(recording_of(name), tables)
    chain = chain_of(facts_of(told), tables, errors_of(told))
    found = {finding["id"] for finding in told["findings"]}
    if chain is None:
        return
    if "bad" in states(chain):
        assert told["status"] != "ok"
        assert found & SHOWN
    if chain.allowed.state == "ok":
        assert "driver-too-old" not in found
    if "torch-arch-missing" in found and told["facts"].get("gpus") and told["facts"]["torch"].get("version"):
        assert {"bad", "unknown"} & set(states(chain))


WORDS = {
    "r570-under-cuda-13-build": ("allows builds of CUDA 11, CUDA 12, not CUDA 13", "No: CUDA 13.0 needs driver 580"),
    "v100-on-cu130": ("needs code for sm_70", "No: no code that sm_70 can run"),
    "rx-7600-on-rocm-6-2": ("needs code for gfx1102", "No: no code for gfx1102"),
    "rtx-5090-on-550": ("does not drive it",),
    "four-3090-in-wsl": ("4 x NVIDIA RTX 3090", "Yes: sm_86 runs on it"),
    "ci-runner-without-gpu": ("No GPU", "runs on the processor"),
}


@pytest.mark.parametrize("name", WORDS)
def test_the_picture_in_words(name: str, tables: Tables) -> None:
    told = told_of(recording_of(name), tables)
    chain = chain_of(facts_of(told), tables, errors_of(told))
    assert chain is not None
    said = " ".join(in_words(chain))
    for words in WORDS[name]:
        assert words in said


def test_every_part_is_there(tables: Tables) -> None:
    reader = check_page(everything(tables), tables)
    assert {
        "findings", "compatibility", "smoke", "benchmark", "code", "checks", "facts", "chain-name", "step-times-name",
        "peaks-name", "bandwidths-name", "workers-name",
    } <= set(reader.names)  # fmt: skip
    said = reader.said("main")
    for words in (
        "4 workers, pinned 141 batches/s, recommended", "of its peak", "of its bandwidth", "of its PCIe link",
        "RuntimeError: wrong", "no accelerator", "Crashed", "T4 farm", "frozen", "another program uses it",
    ):  # fmt: skip
        assert words in said, words


def test_facts_stand_with_where_they_were_read(tables: Tables) -> None:
    told = told_of(recording_of("r570-under-cuda-13-build"), tables)
    facts = dict(flat(told["facts"]))
    assert facts["driver.version"] == "570.86.10"
    assert source(told["sources"], "driver.version") == "nvidia-smi.txt line 3"
    assert source({"gpus[].name": "a", "gpus": "b"}, "gpus[3].name") == "a"
    assert source({"gpus": "b"}, "gpus[3].name") == "b"
    assert source({"packages": "c"}, "packages.numpy") == "c"
    assert source({"os.name": "d"}, "os.version") == ""
    assert "nvidia-smi.txt line 3" in page(told, tables)


def test_what_a_stranger_writes_stays_text(tables: Tables) -> None:
    told = hostile()
    content = page(told, tables)
    reader = check_page(told, tables)
    assert reader.said("main").count("<script>window.evil = 1</script>") > 20
    assert MARKUP not in content.replace("&quot;", "'")
    assert content.count("<script>") == 1


def test_only_our_own_style_and_script_count(tables: Tables) -> None:
    content = page(hostile(), tables)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', content)
    assert policy is not None
    assert "//" not in policy[1]
    for tag in ("style", "script"):
        own = re.search(rf"<{tag}>(.*?)</{tag}>", content, re.DOTALL)
        assert own is not None
        assert f"{tag}-src 'sha256-{b64encode(sha256(own[1].encode()).digest()).decode()}'" in policy[1]
    assert "default-src 'none'" in policy[1]


def test_a_report_without_the_newer_keys_is_read(tables: Tables) -> None:
    told = told_of(recording_of("r570-under-cuda-13-build"), tables)
    older = {name: value for name, value in told.items() if name not in {"verdict", "sources", "code"}}
    assert check_page(older, tables).said("h1") == told["verdict"].replace(": ", " ", 1)


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_mangled_report_makes_a_page_all_the_same(data: st.DataObject) -> None:
    """Any value in the place of any other, a few at a time."""
    tables = TABLES
    told = everything(tables)
    for _ in range(data.draw(st.integers(1, 4))):
        place: Any = told
        while isinstance(place, (dict, list)) and place:
            key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else list(range(len(place)))))
            if not isinstance(place[key], (dict, list)) or not place[key] or data.draw(st.booleans()):
                place[key] = data.draw(JSON)
                break
            place = place[key]
    check_page(told, tables)
    as_markdown(told)


TABLES = Tables()


def test_a_recording_gives_the_same_page_whenever_it_is_read(tables: Tables) -> None:
    recording = recording_of("power-capped-4090")
    again = Recording.from_json(recording.to_json())
    assert page(told_of(recording, tables), tables) == page(told_of(again, tables), tables)
