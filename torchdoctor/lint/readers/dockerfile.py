"""Dockerfile: its instructions, with continuations, heredocs and variables, as stages that install packages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from torchdoctor.findings import Place
from torchdoctor.lint.model import Group, Image
from torchdoctor.lint.readers.requirements import Load
from torchdoctor.lint.readers.stages import Stage
from torchdoctor.lint.source import Source

_INSTRUCTION = re.compile(r"\s*([A-Za-z]{2,12})\s+(.*)", re.DOTALL)
_HEREDOC = re.compile(r"<<(-?)([\"']?)([A-Za-z_][A-Za-z0-9_]{0,60})\2")
_VARIABLE = re.compile(r"\\\$|\$(?:\{([A-Za-z_]\w{0,100})(?::?([-+])([^{}]{0,500}))?\}|([A-Za-z_]\w{0,100}))")
_FROM = re.compile(r"(?:--platform=\S+\s+)?(\S+)(?:\s+as\s+(\S+))?\s*$", re.IGNORECASE)
_PAIR = re.compile(r"([A-Za-z_]\w{0,100})=(\"(?:[^\"\\]|\\.){0,2000}\"|'[^']{0,2000}'|\S{0,2000})")
_MOST_STAGES = 60
_LONGEST = 20_000  # characters a value may grow to by substitution


class Instruction(NamedTuple):
    """One instruction: its word, what stands behind it, and the lines it takes."""

    word: str
    rest: str
    lines: tuple[tuple[int, str], ...]

    @property
    def line(self) -> int:
        """Where it begins."""
        return self.lines[0][0]


def read(source: Source, load: Load) -> list[Group]:
    """One group for each install command, and one for everything a stage ends up with."""
    arguments: dict[str, str] = {}
    stages: dict[str, Stage] = {}
    stage: Stage | None = None
    order: list[Stage] = []
    for item in instructions(source.text):
        if item.word == "FROM" and len(order) >= _MOST_STAGES:
            break
        if item.word == "FROM":
            stage = _begun(item, arguments, stages, source, len(order), load)
            order.append(stage)
        elif stage is None:
            arguments.update(_pairs(item, arguments) if item.word == "ARG" else {})
        else:
            _apply(item, stage, arguments, source)
    last = order[-1] if order else None
    return [group for one in order for group in one.groups(is_last=one is last)]


def _begun(
    item: Instruction, arguments: Mapping[str, str], stages: dict[str, Stage], source: Source, number: int, load: Load
) -> Stage:
    match = _FROM.match(item.rest.strip())
    name = substituted(match[1], arguments) if match else ""
    place = Place(source.name, item.line)
    parent = stages.get(name.lower())
    stage = parent.child() if parent else Stage(source.name, Image(name, place), load)
    stages[(match[2] if match and match[2] else str(number)).lower()] = stage
    return stage


def _apply(item: Instruction, stage: Stage, arguments: Mapping[str, str], source: Source) -> None:
    known = {**stage.arguments, **{name: value for name, (value, _) in stage.env.items()}}
    if item.word == "ARG":
        declared = _pairs(item, known)
        bare = [word for word in item.rest.split() if "=" not in word]
        stage.arguments.update(declared | {name: arguments[name] for name in bare if name in arguments})
    elif item.word == "ENV":
        pairs = _pairs(item, known)
        for name, value in pairs.items():
            stage.env[name] = (value, Place(source.name, _line_of(item, name)))
    elif item.word == "RUN":
        stage.run(substituted(_shell_text(item.rest), known), item.lines)


def _line_of(item: Instruction, text: str) -> int:
    return next((number for number, line in item.lines if text in line), item.line)


def _pairs(item: Instruction, known: Mapping[str, str]) -> dict[str, str]:
    """``NAME=value`` pairs; ``ENV NAME value`` is the older form of one."""
    found = {name: substituted(_plain(value), known) for name, value in _PAIR.findall(item.rest[:_LONGEST])}
    first, _, rest = item.rest.strip().partition(" ")
    if item.word == "ENV" and "=" not in first and rest:
        return {first: substituted(_plain(rest.strip()), known)}
    return found


def _plain(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def _shell_text(rest: str) -> str:
    """The command of RUN as a line for a shell: without options, and the exec form joined."""
    rest = re.sub(r"^(?:--[a-z]{1,20}(?:=\S{0,500})?\s+)+", "", rest.lstrip())
    if rest.startswith("["):
        try:
            words = json.loads(rest)
        except (ValueError, RecursionError):
            return rest
        if isinstance(words, list) and all(isinstance(word, str) for word in words):
            is_shell = len(words) == 3 and words[1] == "-c"  # noqa: PLR2004 - a shell, its option, the command
            return words[2] if is_shell else " ".join(words)
    return rest


def substituted(text: str, known: Mapping[str, str]) -> str:
    """With the variables that are known; others stay as they are written."""

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[4]
        if not name:
            return match[0]
        if known.get(name):
            return match[3] or "" if match[2] == "+" else known[name]
        return match[3] or "" if match[2] == "-" else known.get(name, match[0])

    return _VARIABLE.sub(value, text)[:_LONGEST]


def instructions(text: str) -> Iterator[Instruction]:
    """The instructions of a file; comments and blank lines inside a continued one are left out."""
    lines = text.split("\n")
    escape = "`" if re.match(r"\s*#\s*escape\s*=\s*`", lines[0]) else "\\"
    index = 0
    while index < len(lines):
        taken: list[tuple[int, str]] = []
        parts: list[str] = []
        while index < len(lines):
            line = lines[index]
            index += 1
            if line.lstrip().startswith("#") or not line.strip():
                if taken:
                    continue
                break
            taken.append((index, line))
            bare = line.rstrip()
            if not bare.endswith(escape):
                parts.append(bare)
                break
            parts.append(bare[:-1])
        match = _INSTRUCTION.match(" ".join(parts)) if taken else None
        if match:
            body, index = _heredoc(match[2], lines, index, taken)
            yield Instruction(match[1].upper(), body, tuple(taken))


def _heredoc(rest: str, lines: list[str], index: int, taken: list[tuple[int, str]]) -> tuple[str, int]:
    """The rest of an instruction with the text of its heredocs in their place."""
    marks = _HEREDOC.findall(rest)[:5]
    if not marks:
        return rest, index
    body: list[str] = []
    for _, _, mark in marks:
        while index < len(lines) and lines[index].strip() != mark:
            taken.append((index + 1, lines[index]))
            body.append(lines[index])
            index += 1
        index += 1
    return "\n".join(body) or rest, index
