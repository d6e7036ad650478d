# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of kubelet or kube-proxy as the program parses it, and reasons why it would not start.

Both programs parse with spf13/pflag: `--name=value`, `--name value`, `--flag` for booleans, one letter after a single
hyphen; underscores in names are hyphens; the last of two equal flags counts. Source: pflag v1.0.5 flag.go, parseArgs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..facts import feature_gates
from ..facts.flags import Flag, FlagTable, UnknownLineError, line_for, normalize
from ..facts.version import Line

_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})
_FALSE = frozenset({"0", "f", "F", "false", "FALSE", "False"})
"""Source: Go's strconv.ParseBool."""

_LETTERS = {"v": "v", "h": "help"}
"""Flags with a one-letter form."""

_GLUED = re.compile(r".--([a-z][a-z0-9-]+)(?:=|$)")


@dataclass(frozen=True, slots=True)
class Given:
    """One flag on a command line: its normalized name, its value (`true` for a boolean without one), and its
    original text. `place` says where it comes from, for messages."""

    name: str
    value: str
    text: str
    place: str


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A parsed command line: its flags in order, and one sentence for each syntax error."""

    given: tuple[Given, ...]
    problems: tuple[str, ...]

    def find_last(self, name: str) -> Given | None:
        """The occurrence that counts: the last one."""
        return next((flag for flag in reversed(self.given) if flag.name == name), None)

    def gates(self) -> dict[str, bool]:
        """The feature gates of all --feature-gates; later ones win. Malformed entries are left out."""
        found: dict[str, bool] = {}
        for flag in self.given:
            if flag.name == "feature-gates":
                found.update({gate: value for gate, value in _gates(flag.value) if value is not None})
        return found


def read(parts: Iterable[tuple[str, Sequence[str]]], table: FlagTable, line: Line) -> CommandLine:
    """Parse arguments (without the program) from several places, in the order in which the program gets them.

    A flag missing from the table is an error; whether it takes the next argument is then guessed from how that begins.
    """
    arguments = [(argument, place) for place, words in parts for argument in words]
    known = table.list_known(line)
    given: list[Given] = []
    problems: list[str] = []
    position = 0
    while position < len(arguments):
        text, place = arguments[position]
        position += 1
        name, equals, value = _name(text)
        if not name:
            problems.append(
                f"{place}: {text!r} is not a flag, and {table.program} takes nothing else: quote a value that holds a "
                "blank, and give a boolean its value with `=`."
            )
            continue
        flag = table.flags.get(name)
        following = arguments[position][0] if position < len(arguments) else None
        if name not in known:
            problems.append(f"{place}: --{name}: {table.why_unknown(name, line)}.")
            if not equals and following is not None and _would_take(flag, following):
                position += 1
            continue
        if flag is None:  # `known` is made of `flags`
            raise AssertionError(name)
        if flag.boolean:
            value = value if equals else "true"
            if value not in _TRUE | _FALSE:
                problems.append(f"{place}: {text}: --{name} takes true or false, not {value!r}.")
        elif not equals:
            if following is None:
                problems.append(f"{place}: --{name} needs a value and is the last argument; write --{name}=<value>.")
                continue
            value, position = following, position + 1
            if _name(value)[0] in known:
                problems.append(f"{place}: --{name} has no value and takes {value!r} for it; write --{name}=<value>.")
        given.append(Given(name, value, text, place))
    problems += [sentence for flag in given for sentence in _value_problems(flag, known)]
    return CommandLine(tuple(given), tuple(problems))


def contradictions(line: CommandLine) -> list[str]:
    """Flags given twice with different values: the last one wins, but a reader sees the first. Several
    --feature-gates add up, so only single gates are compared."""
    found: list[str] = []
    seen: dict[str, Given] = {}
    gates: dict[str, tuple[bool, Given]] = {}
    for flag in line.given:
        if flag.name == "feature-gates":
            for gate, value in _gates(flag.value):
                if value is None:
                    continue
                before = gates.get(gate)
                if before is not None and before[0] != value:
                    found.append(
                        f"feature gate {gate} is {str(before[0]).lower()} ({before[1].place}) and {str(value).lower()} "
                        f"({flag.place}); leave one of them out."
                    )
                gates[gate] = (value, flag)
            continue
        earlier = seen.get(flag.name)
        if earlier is not None and earlier.value != flag.value:
            found.append(
                f"--{flag.name} is {earlier.value!r} ({earlier.place}) and {flag.value!r} ({flag.place}); the last one "
                "would count; leave one of them out."
            )
        seen[flag.name] = flag
    return found


def gate_problems(line: CommandLine, program: str, version: Line) -> list[str]:
    """Feature gates that the program does not know or that are locked to the other value, and malformed ones."""
    found = []
    for flag in line.given:
        if flag.name != "feature-gates":
            continue
        for gate, value in _gates(flag.value):
            if value is None:
                found.append(f"{flag.place}: {gate!r} in --feature-gates is not <name>=true or <name>=false.")
            elif sentence := feature_gates.problem(program, gate, value, version):
                found.append(f"{flag.place}: {sentence}")
    return found


def line_problem(version: Line) -> str | None:
    """A sentence if no table covers the release; None if one does."""
    try:
        line_for(version)
    except UnknownLineError as error:
        return str(error)
    return None


def render_gates(gates: Mapping[str, bool]) -> str:
    """The value of one --feature-gates for all gates, sorted so that it is the same at each run."""
    return ",".join(f"{name}={str(value).lower()}" for name, value in sorted(gates.items()))


def _would_take(flag: Flag | None, following: str) -> bool:
    """Whether a flag that the table does not have probably takes the next argument."""
    return not following.startswith("-") if flag is None else not flag.boolean


def _name(text: str) -> tuple[str, bool, str]:
    """(name, whether there is `=`, what follows it). An empty name: this is not a flag."""
    if text.startswith("--") and len(text) > 2:
        name, equals, value = text[2:].partition("=")
        return normalize(name), bool(equals), value
    if text.startswith("-") and len(text) > 1 and text[1] in _LETTERS:
        rest = text[2:]
        return _LETTERS[text[1]], bool(rest), rest.removeprefix("=")
    return "", False, ""


def _gates(value: str) -> list[tuple[str, bool | None]]:
    found: list[tuple[str, bool | None]] = []
    for entry in value.split(","):
        if not entry:
            continue
        name, equals, word = (part.strip() for part in entry.partition("="))
        known = word in _TRUE | _FALSE
        found.append((name, word in _TRUE) if equals and known else (entry, None))
    return found


def _value_problems(flag: Given, known: frozenset[str]) -> list[str]:
    glued = _GLUED.search(flag.value)
    if glued and glued[1] in known:
        at = flag.value.index(f"--{glued[1]}")
        return [
            f"{flag.place}: {flag.text}: a blank is missing before --{glued[1]}; as it stands --{flag.name} is "
            f"{flag.value!r}; write --{flag.name}={flag.value[:at]} {flag.value[at:]}."
        ]
    if flag.value[:1] in {"'", '"'}:
        return [
            f"{flag.place}: {flag.text}: the quotes would reach the program as part of the value; write "
            f"--{flag.name}={flag.value.strip(chr(39) + chr(34))}."
        ]
    return []
