from __future__ import annotations

import pytest
from install_hosts import RTX_4090, WINDOWS, healthy, host, torch
from one_check import found, is_skipped, only

from torchdoctor.facts import Facts, Gpu, Os, Probe, Trial, Unknown, Variables
from torchdoctor.findings import setting
from torchdoctor.records import replace
from torchdoctor.tables import Tables
from torchdoctor.values import GfxId

ID = "rocm-gfx-unsupported"


def amd(gfx: str, name: str = "AMD Radeon Graphics") -> Gpu:
    return Gpu(vendor="amd", name=name, gfx=GfxId(gfx), driver_sees=True)


def on(build: str, *gpus: Gpu, **more: object) -> Facts:
    return host(torch(build, build.partition("+")[2]), *gpus, driver="", **more)  # type: ignore[arg-type]


STRIX, NAVI_33, NAVI_31, VEGA_20 = amd("gfx1151"), amd("gfx1102"), amd("gfx1100", "RX 7900 XTX"), amd("gfx906")
RAPHAEL, POLARIS = amd("gfx1036"), amd("gfx803", "Radeon Pro WX 5100")

MISSING = [
    (on("2.5.1+rocm6.2", NAVI_33), "torch rocm6.2 has no code for AMD Radeon Graphics (gfx1102)", "certain", True),
    # a nightly is judged by the release it leads to, an inferred list is only likely
    (on("2.10.0.dev20250929+rocm7.0", STRIX), "torch rocm7.0 has no code for", "likely", True),
    (on("2.13.0+rocm7.1", STRIX), "torch rocm7.1 has no code for", "likely", True),
    # listed, and without kernels in the math libraries
    (on("2.9.1+rocm6.4", VEGA_20), "torch rocm6.4 has no code for", "certain", True),
    # nothing official serves it
    (on("2.9.1+rocm6.4", POLARIS), "torch rocm6.4 has no code for Radeon Pro WX 5100 (gfx803)", "certain", False),
    # all GPUs go without
    (on("2.9.1+rocm6.4", POLARIS, RAPHAEL), "torch rocm6.4 has no code for", "certain", False),
    # an override that leads nowhere, or is none
    (on("2.9.1+rocm6.4", RAPHAEL, env={"HSA_OVERRIDE_GFX_VERSION": "8.0.3"}), "torch rocm6.4", "certain", False),
    (on("2.9.1+rocm6.4", RAPHAEL, env={"HSA_OVERRIDE_GFX_VERSION": "10.3"}), "torch rocm6.4", "certain", False),
    (on("2.9.1+rocm6.4", RAPHAEL, env={"HSA_OVERRIDE_GFX_VERSION": "10.3.99999"}), "torch rocm", "certain", False),
    # where the system is unknown there is still only one such wheel
    (on("2.5.1+rocm6.2", NAVI_33, os=Os()), "torch rocm6.2 has no code for", "certain", True),
]


@pytest.mark.parametrize(("facts", "summary", "confidence", "installs"), MISSING)
def test_found(facts: Facts, summary: str, confidence: str, installs: bool, tables: Tables) -> None:
    finding = only(ID, facts, tables)
    assert str(finding.summary).startswith(summary)
    assert (finding.severity, finding.confidence) == (None, confidence)
    assert finding.evidence[1].fact == "gpus[].gfx"
    assert [remedy.installs for remedy in finding.remedies] == [installs]
    assert finding.row
    assert finding.row.key in finding.evidence[0].source


def test_the_list_and_the_folklore_are_told(tables: Tables) -> None:
    why = str(only(ID, MISSING[0][0], tables).why)
    assert "gfx900 gfx906 gfx908 gfx90a gfx942 gfx1030 gfx1100" in why
    assert "is_available() does not look" in why
    broken = str(only(ID, on("2.9.1+rocm6.4", VEGA_20), tables).why)
    assert "math libraries have no kernels" in broken


@pytest.mark.parametrize("names", [("gfx90a:sramecc+:xnack-", "gfx1100", "gfx11-generic"), ("gfx1100",)])
def test_the_builds_own_list_outranks_the_table(names: tuple[str, ...], tables: Tables) -> None:
    own = torch("2.9.1+rocm6.4", "rocm6.4", arch_list=names)
    finding = only(ID, host(own, NAVI_33, driver=""), tables)
    assert (finding.confidence, finding.row) == ("certain", None)
    assert finding.evidence[0].source == ""
    assert found(ID, host(own, NAVI_31, driver=""), tables) == []


def test_a_listed_id_may_be_broken_all_the_same(tables: Tables) -> None:
    own = torch("2.9.1+rocm6.4", "rocm6.4", arch_list=("gfx906", "gfx1100"))
    assert "math libraries" in str(only(ID, host(own, VEGA_20, driver=""), tables).why)
    built_by_others = torch("2.9.1+rocm6.4", "rocm6.4", arch_list=("gfx906",), origin="source")
    assert found(ID, host(built_by_others, VEGA_20, driver=""), tables) == []


def test_a_small_gpu_beside_a_served_one_is_a_remark(tables: Tables) -> None:
    finding = only(ID, on("2.9.1+rocm6.4", RAPHAEL, NAVI_31), tables)
    assert finding.severity == "info"
    assert finding.remedies[0].commands == (setting(HIP_VISIBLE_DEVICES="1"),)


PASSED = Trial(probes=(Probe(id="matmul", device="cuda:0"),))
ON_CPU = Trial(probes=(Probe(id="matmul", device="cpu"), Probe(id="basic", device="cuda:0", outcome="failed")))

SERVED = [
    healthy(),
    on("2.9.1+rocm6.4", NAVI_31),
    on("2.11.0+rocm7.2", STRIX),
    on("2.9.1+rocm6.3", VEGA_20),
    # passed off as a GPU that is served
    on("2.9.1+rocm6.4", RAPHAEL, env={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}),
    on("2.9.1+rocm6.4", amd("gfx90c"), env={"HSA_OVERRIDE_GFX_VERSION": "9.0.10"}),
    # hidden already
    on("2.9.1+rocm6.4", RAPHAEL, NAVI_31, env={"HIP_VISIBLE_DEVICES": "1"}),
    # it has computed
    on("2.9.1+rocm6.4", RAPHAEL, trial=PASSED),
    # no AMD GPU, no GPU of the driver, no ROCm build
    on("2.9.1+rocm6.4", RTX_4090),
    on("2.9.1+rocm6.4"),
    on("2.9.1+rocm6.4", replace(RAPHAEL, driver_sees=False)),
    on("2.13.0+cpu", STRIX, os=WINDOWS),
    on("2.14.1+cu130", STRIX),
]


@pytest.mark.parametrize("facts", SERVED)
def test_not_found(facts: Facts, tables: Tables) -> None:
    assert found(ID, facts, tables) == []


def test_a_test_that_failed_or_ran_elsewhere_proves_nothing(tables: Tables) -> None:
    assert found(ID, on("2.9.1+rocm6.4", RAPHAEL, trial=ON_CPU), tables)


SKIPPED = [
    Facts(),
    on("2.9.1+rocm6.4", gpus=Unknown("list of GPUs")),
    on("2.9.1+rocm6.4", replace(NAVI_31, gfx=Unknown("gfx id"))),
    on("2.99.0+rocm9.9", NAVI_31),
    on("2.9.1+rocm7.2.3", NAVI_31, os=WINDOWS),
]


@pytest.mark.parametrize("facts", SKIPPED)
def test_skipped(facts: Facts, tables: Tables) -> None:
    assert is_skipped(ID, facts, tables)


def test_a_name_alone_is_no_more_than_a_remark(tables: Tables) -> None:
    """Nobody printed the gfx id, and many such GPUs run with an override that is in no paste."""
    facts = on("2.9.1+rocm6.4", amd("gfx1031", "Radeon RX 6700 XT"))
    assert only(ID, facts, tables).severity is None
    by_name = replace(facts, sources={"gpus[0].gfx": "amd_gpus: Radeon RX 6700 XT"})
    assert only(ID, by_name, tables).severity is None  # the variables of this host are known
    assert only(ID, replace(by_name, env=Variables()), tables).severity == "info"
