# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Feature gates of kubelet and kube-proxy over the release lines of Kubernetes: feature_gates.txt beside this file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .flags import PRE_RELEASE, PRE_RELEASE_READ, line_for
from .version import Line, Version

_FILE = Path(__file__).with_name("feature_gates.txt")

SPECIAL = frozenset({"AllAlpha", "AllBeta"})
"""Gates that set others; every line has them. Source: component-base v0.22.17, v0.37.1 featuregate/feature_gate.go."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate as one line has it. `stage`: alpha, beta, ga, deprecated; a locked gate takes only its default."""

    stage: str
    default: bool
    locked: bool


def gate(program: str, name: str, of: Line | Version) -> Gate | None:
    """The gate as `program` (kubelet, kube-proxy) of this line or release has it; None if it does not know it.

    Gates come and change in patch releases as well: a line is as the newest release of it that the table was read from,
    a release as the next one from it on. For lines newer than the table, as the newest one in it. UnknownLineError for
    lines before it.
    """
    if name in SPECIAL:
        return Gate("alpha" if name == "AllAlpha" else "beta", default=False, locked=False)
    judged = line_for(_line(of), PRE_RELEASE)
    history = _history(program, name)
    if isinstance(of, Version):
        for release, then in history.releases:
            if release.line == judged and of <= release:
                return then
    state: Gate | None = None
    for since, then in history.lines:
        if since <= judged:
            state = then
    return state


def names(program: str, of: Line | Version) -> frozenset[str]:
    """Every gate that `program` of this line or release knows, but for SPECIAL."""
    every = {bare for owner, bare in _TABLE if owner in {"", program}}
    return frozenset(name for name in every if gate(program, name, of) is not None)


def first_line(program: str, name: str) -> Line | None:
    """The first line of the table that knows the gate; None if none does."""
    lines = _history(program, name).lines
    return lines[0][0] if lines else None


def problem(program: str, name: str, value: bool, of: Line | Version) -> str | None:
    """Why `program` of this line or release would not start with the gate at this value, as a sentence; None if it
    would."""
    found = gate(program, name, of)
    line = _line(of)
    if found is None:
        since = first_line(program, name)
        if since is None:
            return f"feature gate {name}: no {program} from 1.22 on knows it; look at its spelling, or leave it out."
        if line_for(line, PRE_RELEASE) < since:
            return (
                f"feature gate {name}: it came with Kubernetes {since}, and {program} {line} exits on it; leave it out."
            )
        if gate(program, name, line) is not None:
            return (
                f"feature gate {name}: it came with a later release of Kubernetes {line}, and {program} {of} exits on "
                f"it; leave it out, or install a newer release of {line}."
            )
        return (
            f"feature gate {name}: {program} {line} does not know it any more{_tell_source(line)} and exits "
            f"(unrecognized feature gate: {name}); leave it out."
        )
    if found.locked and value != found.default:
        return (
            f"feature gate {name}={_word(value)}: locked to {_word(found.default)} in Kubernetes {line}"
            f"{_tell_source(line)}, so {program} exits; leave it out."
        )
    return None


def _tell_source(line: Line) -> str:
    return f" (as {PRE_RELEASE_READ} has it)" if line >= PRE_RELEASE else ""


def _word(value: bool) -> str:
    return str(value).lower()


@dataclass(frozen=True, slots=True)
class _History:
    """`lines`: since when which state, None where the gate is not known. `releases`: those that differ from their line,
    oldest first."""

    lines: tuple[tuple[Line, Gate | None], ...] = ()
    releases: tuple[tuple[Version, Gate | None], ...] = ()


def _line(of: Line | Version) -> Line:
    return of.line if isinstance(of, Version) else of


def _history(program: str, name: str) -> _History:
    return _TABLE.get((program, name)) or _TABLE.get(("", name)) or _History()


def _read() -> Mapping[tuple[str, str], _History]:
    found: dict[tuple[str, str], _History] = {}
    for text in _FILE.read_text(encoding="utf-8").splitlines():
        if text.startswith("#"):
            continue
        name, *words = text.split()
        program, _slash, bare = name.rpartition("/")
        pairs = _pairs(words)
        found[program, bare] = _History(
            tuple((Line.parse(since), _state(state)) for since, state in pairs if since.count(".") == 1),
            tuple((Version.parse(release), _state(state)) for release, state in pairs if release.count(".") == 2),
        )
    return found


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    return [(since, state) for since, _colon, state in (word.partition(":") for word in words)]


def _state(text: str) -> Gate | None:
    if text == "gone":
        return None
    return Gate(text.rstrip("+-!"), default="+" in text, locked="!" in text)


# At import, not at first use: Ansible loads an action before it forks its workers, so that a run reads the file once.
_TABLE = _read()
