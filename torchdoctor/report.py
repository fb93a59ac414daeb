"""The report: everything that was found out about one host, ready to be rendered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from torchdoctor.checks.quoted import NOT_SHOWN
from torchdoctor.facts import Facts, Probe, is_known, value_or
from torchdoctor.findings import SEVERITIES, Finding, Ignored, Outcome, Prediction, Severity, Text
from torchdoctor.prescribe.install import Install
from torchdoctor.records import record
from torchdoctor.values import Build

if TYPE_CHECKING:
    from torchdoctor.code_view import CodeRow

_REMARKS = {"no-gpu", "build-step-no-gpu"}
Status = Literal["ok", "warn", "fail", "unknown"]


@record(frozen=True, slots=True, kw_only=True)
class Report:
    """Findings with root causes first, the outcome of every check, and the install object or why there is none."""

    facts: Facts
    findings: tuple[Finding, ...]
    outcomes: tuple[Outcome, ...]
    tables_date: str
    live: bool = False  # made from a host that could be asked, not only from what somebody pasted
    install: Install | None = None
    no_install: Text | None = None  # why no build could be chosen, when one is in question
    change: Text | None = None  # the smallest change that would allow one
    linted: tuple[str, ...] = ()  # the files of a project that were judged, in place of a host
    hosts: int = 0  # how many reports were merged, in place of one host
    ignored: tuple[Ignored, ...] = ()  # what a policy sets aside of the findings
    code: tuple[CodeRow, ...] | None = None  # how each library serves each GPU, where the files were looked into

    @property
    def status(self) -> Status:
        """``fail`` and ``warn`` by the worst finding; ``unknown`` when too little is known to call the host ``ok``."""
        severities = {finding.severity for finding in self.findings}
        if "error" in severities:
            return "fail"
        if self.unknown_because:
            return "unknown"
        return "warn" if "warning" in severities else "ok"

    @property
    def unknown_because(self) -> Text | None:
        """Why the host cannot be called healthy, or None."""
        crashed = next((item for item in self.outcomes if item.outcome == "crashed"), None)
        if crashed:
            return Text("the check {id} crashed: {reason}", id=crashed.id, reason=crashed.reason)
        if self.linted or self.hosts:
            return None
        if not self._told and not _recognised_anything(self.facts) and not self.facts.quoted.last_error:
            return Text("nothing in it could be recognised")
        if self.facts.request.require_gpu and self._nothing_on_gpus():
            return Text("a GPU is required and the GPUs of this host are unknown")
        if self.facts.trial.interrupted is True:
            return Text("interrupted; what comes after was not examined")
        return (
            self._unforetold_because()
            or self._undecided_because()
            or self._unexplained_because()
            or self._unproved_because()
        )

    def _unforetold_because(self) -> Text | None:
        """Which of the hosts that were asked about was told too little of."""
        blank = next((item for item in self.targets if item.verdict == "unknown"), None)
        return Text("{target}: {reason}", target=blank.name, reason=blank.why) if blank else None

    @property
    def targets(self) -> tuple[Prediction, ...]:
        """What is foretold for the hosts that were asked about."""
        return self.facts.request.targets

    def _undecided_because(self) -> Text | None:
        """Which requirements of a policy cannot be told to hold, and how they can."""
        if not self.facts.request.requires:
            return None
        from torchdoctor.checks.requirements import undecided

        items = undecided(self.facts)
        if not items:
            return None
        wanted = (f"{item.requirement.key.removeprefix('require.')} {item.requirement.wanted}" for item in items)
        return Text(
            "{wanted} is required, and not known: the {facts} ({what_to_do})",
            wanted=", ".join(wanted),
            facts=", the ".join(dict.fromkeys(item.missing for item in items)),
            what_to_do="check -v shows what was read" if self.live else "run torchdoctor check on the host itself",
        )

    @property
    def _told(self) -> tuple[Finding, ...]:
        """Every finding, what a policy sets aside among them: it says why all the same."""
        return (*self.findings, *(item.finding for item in self.ignored))

    def _unexplained_because(self) -> Text | None:
        """Which error of a text nothing here explains."""
        if self._is_loud():
            return None
        if self._shows_no_cause():
            return Text("it shows that something failed and not what: paste the first error above it as well")
        if self.facts.quoted.last_error and not self._is_explained():
            text = "no check explains its last error; paste what stands before it as well: {error}"
            return Text(text, error=self.facts.quoted.last_error)
        if self.facts.quoted.unread and not self._told:
            return Text("{unread} bytes in the middle of it were not read", unread=self.facts.quoted.unread)
        return None

    def _shows_no_cause(self) -> bool:
        """Whether the text shows that something failed, and nothing of what."""
        told = [finding for finding in self._told if finding.confidence != "possible"]
        return not self._is_explained() and any(finding.id == NOT_SHOWN for finding in told)

    def _unproved_because(self) -> Text | None:
        """Why running torch, or asking it, proved too little."""
        for probe in self.absent:
            return Text("--device {device}: {reason}", device=probe.device, reason=probe.reason or "")
        return Text("torch sees no GPU, and nothing here says why") if self._sees_no_gpu() else None

    @property
    def absent(self) -> tuple[Probe, ...]:
        """The devices that were asked for and are not there: nothing is proved of them."""
        return tuple(probe for probe in value_or(self.facts.trial.probes, ()) if probe.values.get("absent"))

    def _is_loud(self) -> bool:
        return any(item.severity != "info" for item in self._told)

    def _is_explained(self) -> bool:
        """Whether a known error was found in the text, more of it than a wrapper, and no mere quotation."""
        rows = (finding for finding in self._told if finding.row and finding.row.table == "known_errors")
        return any(finding.id != NOT_SHOWN and finding.confidence != "possible" for finding in rows)

    def _sees_no_gpu(self) -> bool:
        """Whether a GPU build answered that it has no GPU, and no finding, not even a remark, speaks of that.

        A build that is not known may be one, but on a Mac and where there is no GPU.
        """
        torch = self.facts.torch
        is_gpu_build = isinstance(torch.build, Build) and torch.build.backend in {"cuda", "rocm"}
        if not is_known(torch.build):
            is_gpu_build = self.facts.os.name != "macos" and self.facts.gpus != ()
        spoken = any(item.severity != "info" or item.id in _REMARKS for item in self._told)
        return torch.cuda_available is False and is_gpu_build and not spoken

    def _nothing_on_gpus(self) -> bool:
        """Whether a live host's GPUs are unknown; a paste with a warning of its own is judged by that."""
        is_unknown = not is_known(self.facts.gpus) and not is_known(self.facts.torch.cuda_available)
        return is_unknown and (self.live or not self._told)

    def at_or_above(self, threshold: Severity) -> bool:
        """Whether any finding is as bad as the threshold or worse."""
        worst = SEVERITIES[: SEVERITIES.index(threshold) + 1]
        return any(finding.severity in worst for finding in self.findings)


def fails(finding: Finding, fail_on: str) -> bool:
    """Whether a finding is as bad as the threshold or worse."""
    return fail_on != "never" and SEVERITIES.index(finding.severity or "info") <= SEVERITIES.index(_severity(fail_on))


def exit_status(report: Report, fail_on: str) -> int:
    """0, 1 or 3 as documented: findings at the threshold first, then "do not know"."""
    if fail_on != "never" and report.at_or_above(_severity(fail_on)):
        return 1
    return 3 if report.unknown_because else 0


def _severity(word: str) -> Severity:
    return next(severity for severity in SEVERITIES if severity == word)


def _recognised_anything(facts: Facts) -> bool:
    """Whether the recording says anything that bears on torch: torch itself, a driver, a GPU, a Python, packages."""
    torch, driver = facts.torch, facts.driver
    telling = (torch.installed, torch.full, torch.version, torch.cuda_available, facts.gpus, facts.python.version)
    telling_driver = (driver.version, driver.smi, driver.kernel_log, driver.module_loaded)
    return any(is_known(fact) for fact in (*telling, *telling_driver)) or bool(facts.packages.items or facts.env.values)
