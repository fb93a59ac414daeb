"""Names of machines and people that a pasted text gives away itself, by its prefixes, prompts and settings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchdoctor.patterns import lazily
from torchdoctor.redact import Identity

_END = 20_000  # of a long text its two ends are looked through: launchers and prompts stand there
_MOST = 400  # names of one kind: a job on more machines is not quoted in full
_HOST = r"(?P<host>[A-Za-z0-9][\w.-]{1,62}(?:\[[\d,-]{1,60}\])?)"  # Slurm writes gpu-a[011-012]
_USER = r"(?P<user>[A-Za-z_][\w.-]{0,31})"
_CLOCK = r"\d\d:\d\d:\d\d"

# What is in every match, in one piece, and the pattern; nothing is looked for in a text without that piece.
_GIVEN = (
    (":", lazily(rf"[A-Z][a-z]{{2}} [ \d]\d {_CLOCK} {_HOST} [\w./@()-]{{1,60}}(?:\[\d{{1,8}}\])?: ")),  # syslog
    (":", lazily(rf"\dT{_CLOCK}(?:\.\d{{1,9}})?(?:Z|[+-]\d\d:\d\d) {_HOST} [\w./@()-]{{1,60}}(?:\[\d{{1,8}}\])?: ")),
    ("\n[", lazily(rf"\n\[{_HOST}:\d{{2,8}}\] ")),  # mpirun
    (" NCCL ", lazily(rf"\n(?:\d{{1,4}}: ?)?{_HOST}:\d{{1,8}}:\d{{1,8}} \[\d{{1,3}}\] NCCL ")),
    ("srun: ", lazily(rf"srun: error: {_HOST}: task")),
    (" ON ", lazily(rf" (?:STEP|JOB) [\d.]{{1,20}} ON {_HOST} ")),
    ("JobId=", lazily(rf"JobId=\d{{1,12}} on {_HOST}")),
    (
        "NODE",
        lazily(
            rf"(?:SLURM\w{{0,20}}_NODELIST|SLURMD_NODENAME|SLURM_TOPOLOGY_ADDR|PBS_O_HOST)[\"']?[=:] ?[\"']?{_HOST}"
        ),
    ),
    (
        "@",
        lazily(rf"\n(?:\([^()\n]{{1,60}}\) ?){{0,3}}\[?{_USER}@{_HOST}(?=[:\] ~][^$#%>\u276f\n]{{0,120}}[$#%>\u276f])"),
    ),
    ("ssh ", lazily(rf"\bssh (?:-\w+ )*(?:{_USER}@)?{_HOST}\s*\n")),
    ("@", lazily(rf"\b(?:ssh|scp|rsync|sftp)\b[^@\n]{{0,120}}[ ]{_USER}@{_HOST}")),
    ("network address of (", lazily(rf"network address of \({_HOST}, \d")),
    ("onnect to ", lazily(rf"onnect to [(\[]{_HOST}(?:, |\]:)\d")),
    ("MASTER_ADDR", lazily(rf"MASTER_ADDR[\"']?[=:] ?[\"']?{_HOST}")),
    ("master", lazily(rf"--master[_-]addr[= ]{_HOST}")),
    ("rdzv", lazily(rf"rdzv[_-]endpoint[\"']?\s?[=: ]\s?[\"']?{_HOST}:\d")),
    ("Linux ", lazily(rf"\nLinux {_HOST} \d\.\d{{1,2}}\.\d")),  # uname -a
    ("Darwin ", lazily(rf"\nDarwin {_HOST} \d\d\.\d")),
    ("ostname", lazily(rf"[Hh]ostname\s?[:=] ?[\"']?{_HOST}")),
    ("HOSTNAME", lazily(rf"HOSTNAME[\"']?[:=] ?[\"']?{_HOST}")),
    ("USER", lazily(rf"\b(?:USER|SLURM_JOB_USER)[\"']?[:=] ?[\"']?{_USER}\b")),
    ("LOGNAME", lazily(rf"\bLOGNAME[\"']?[:=] ?[\"']?{_USER}\b")),
)

# What stands where a name may stand and is none: places in code, ranks, GPUs, versions, ids of containers.
_NO_NAME = lazily(
    r"(?i).*\.(?:py|cpp|cc|cu|cuh|c|h|hpp|rs|go|js|so)|(?:rank|worker|trainer|default|cuda|device|task|stage|thread)[\d_]*"
    r"|(?:debug|info|warn|warning|error|critical|fatal|notice|kernel|systemd|[a-z]|gpu\d|cpu\d*|none|null|true|false)"
    r"|(?:rtx|gtx|sm|cu|gfx|py|cp|rocm|[abhlvtp])[_-]?\d{1,4}\w{0,2}|[v\d.]+|(?:.*\.)?(?:github|gitlab|huggingface|nvidia)\.com?|[0-9a-f]{12}|[0-9a-f]{64}"
)


def given_names(texts: Iterable[str]) -> Identity:
    """Return the hosts and users that the texts name, to be taken out of all that is reported of them."""
    hosts: dict[str, None] = {}
    users: dict[str, None] = {}
    for text in texts:
        for match in _matches(text):
            found = match.groupdict()
            if (host := (found.get("host") or "").rstrip(".-")) and len(hosts) < _MOST and not _NO_NAME.fullmatch(host):
                hosts[host] = None
            if (user := found.get("user") or "") and len(users) < _MOST:
                users[user] = None
    return Identity(hosts=tuple(hosts), users=tuple(users))


def _matches(text: str) -> Iterator[re.Match[str]]:
    text = f"\n{text}\n" if len(text) <= 2 * _END else f"\n{text[:_END]}\n{text[-_END:]}\n"
    for hint, pattern in _GIVEN:
        if hint in text:
            yield from pattern.finditer(text)
