# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Feature gates of kubelet and kube-proxy over the release lines of Kubernetes: feature_gates.txt beside this file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .flag_table import judged_by
from .version import Line

_FILE = Path(__file__).with_name("feature_gates.txt")

SPECIAL = frozenset({"AllAlpha", "AllBeta"})
"""Gates that set others; every line has them. Source: component-base v0.22.17, v0.37.1 featuregate/feature_gate.go."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate as one line has it. `stage`: alpha, beta, ga, deprecated; a locked gate takes only its default."""

    stage: str
    default: bool
    locked: bool


def gate(program: str, name: str, line: Line) -> Gate | None:
    """The gate as `program` (kubelet, kube-proxy) of this line has it; None if it does not know it.

    For lines newer than the table, as the newest one in it. UnknownLineError for lines before it.
    """
    if name in SPECIAL:
        return Gate("alpha" if name == "AllAlpha" else "beta", default=False, locked=False)
    history = _table().get((program, name)) or _table().get(("", name), ())
    state: Gate | None = None
    for since, then in history:
        if since <= judged_by(line):
            state = then
    return state


def names(program: str, line: Line) -> frozenset[str]:
    """Every gate that `program` of this line knows, but for SPECIAL."""
    every = {bare for owner, bare in _table() if owner in {"", program}}
    return frozenset(name for name in every if gate(program, name, line) is not None)


def first_line(program: str, name: str) -> Line | None:
    """The first line of the table that knows the gate; None if none does."""
    history = _table().get((program, name)) or _table().get(("", name), ())
    return history[0][0] if history else None


def problem(program: str, name: str, value: bool, line: Line) -> str | None:
    """Why `program` of this line would not start with the gate at this value, as a sentence; None if it would."""
    found = gate(program, name, line)
    if found is None:
        since = first_line(program, name)
        if since is None:
            return f"feature gate {name}: no {program} from 1.22 on knows it; look at its spelling, or leave it out."
        if judged_by(line) < since:
            return (
                f"feature gate {name}: it came with Kubernetes {since}, and {program} {line} exits on it; leave it out."
            )
        return (
            f"feature gate {name}: {program} {line} does not know it any more and exits "
            f"(unrecognized feature gate: {name}); leave it out."
        )
    if found.locked and value != found.default:
        return (
            f"feature gate {name}={_word(value)}: locked to {_word(found.default)} in Kubernetes {line}, so {program} "
            f"exits; leave it out."
        )
    return None


def _word(value: bool) -> str:
    return str(value).lower()


@cache
def _table() -> Mapping[tuple[str, str], tuple[tuple[Line, Gate | None], ...]]:
    found: dict[tuple[str, str], tuple[tuple[Line, Gate | None], ...]] = {}
    for text in _FILE.read_text(encoding="utf-8").splitlines():
        if text.startswith("#"):
            continue
        name, *words = text.split()
        program, _slash, bare = name.rpartition("/")
        found[program, bare] = tuple((Line.parse(since), _state(state)) for since, state in _pairs(words))
    return found


def _pairs(words: list[str]) -> list[tuple[str, str]]:
    return [(since, state) for since, _colon, state in (word.partition(":") for word in words)]


def _state(text: str) -> Gate | None:
    if text == "gone":
        return None
    return Gate(text.rstrip("+-!"), default="+" in text, locked="!" in text)
