"""Commands of our own in remedies ask the Python that was examined."""

from __future__ import annotations

import pytest

from torchdoctor.checks.answers import answered
from torchdoctor.checks.ours import again
from torchdoctor.facts import Facts, Os, Probe, Python, Trial
from torchdoctor.tables import Tables

NAMED = "named with --python"


@pytest.mark.parametrize(
    ("command", "why", "system", "written"),
    [
        ("/v/bin/python", NAMED, "linux", "torchdoctor check -v --python /v/bin/python"),
        ("/my venv/bin/python", NAMED, "linux", "torchdoctor check -v --python '/my venv/bin/python'"),
        ("~/v/bin/python", NAMED, "linux", "torchdoctor check -v --python ~/v/bin/python"),
        ("docker\nexec\nweb\npython", NAMED, "linux", "torchdoctor check -v --python 'docker exec web python'"),
        ("C:\\my venv\\python.exe", NAMED, "windows", 'torchdoctor check -v --python "C:\\my venv\\python.exe"'),
        ("/srv/<user-1>/python", NAMED, "linux", "torchdoctor check -v --python PATH"),
        ("/v/bin/python", "VIRTUAL_ENV is set", "linux", "torchdoctor check -v"),
    ],
    ids=["path", "blank", "home", "command", "Windows", "redacted", "not named"],
)
def test_a_command_of_ours_names_the_python_that_was_named(command: str, why: str, system: str, written: str) -> None:
    facts = Facts(python=Python(command=command, chosen_because=why), os=Os(name=system))
    assert again(facts, "check -v") == written


def test_the_remedy_of_a_failed_test_carries_it(tables: Tables) -> None:
    failed = Probe(id="fft", device="cpu", library="", outcome="failed", error="is off by 3")
    facts = Facts(trial=Trial(probes=(failed,)), python=Python(command="/v/bin/python", chosen_because=NAMED))
    (found,) = answered(facts, tables, "smoke-test-failed")
    assert found.remedies[0].commands == ("torchdoctor smoke --only fft -v --python /v/bin/python",)
