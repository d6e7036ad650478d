# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment variables of services. Their values may be secret, such as a proxy's password.

A node gives only a fingerprint of each value: readings become facts, facts are cached on disk, and answers are printed
at -vvv. Where an undo needs the value, the node notes it itself (`tools.restore_value`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .secret import Secret

_MADE = re.compile("sha256:[0-9a-f]{16}")
NSSM_VARIABLES = ("AppEnvironmentExtra", "AppEnvironment")


@dataclass(frozen=True, slots=True)
class Entry:
    """A variable of an environment."""

    name: str
    value: Secret[str]

    @classmethod
    def plain(cls, name: str, value: str) -> Entry:
        """One whose value is not secret by itself."""
        return cls(name, Secret(value))

    @property
    def text(self) -> Secret[str]:
        """`NAME=value`."""
        return Secret(f"{self.name}={self.value.reveal()}")

    @property
    def fingerprint(self) -> str:
        """As a reading has it."""
        return fingerprint(self.text.reveal())


def fingerprint(entry: str) -> str:
    """`NAME=value` with a shortened sha256 in place of the value; equal entries have equal fingerprints. A
    fingerprint made by a node is returned unchanged."""
    name, equals, value = entry.partition("=")
    if _MADE.fullmatch(value):
        return entry
    return f"{name}{equals}sha256:{hashlib.sha256(value.encode()).hexdigest()[:16]}"


def fingerprints(entries: Iterable[str] | None) -> list[str]:
    """The fingerprint of each entry."""
    return [fingerprint(str(entry)) for entry in entries or ()]


def mask_values(service: Mapping[str, Any]) -> dict[str, Any]:
    """A service from the probe, with fingerprints in place of its environment's values."""
    clean = {**service, "environment": fingerprints(service.get("environment"))}
    parameters = service.get("nssm")
    if isinstance(parameters, Mapping):
        clean["nssm"] = {
            name: fingerprints(value) if name in NSSM_VARIABLES and isinstance(value, list) else value
            for name, value in parameters.items()
        }
    return clean


def mask_value(name: str, variable: Mapping[str, Any]) -> dict[str, Any]:
    """A variable of the machine from the query `registry`, with a fingerprint in place of its value. Names match
    without case."""
    clean = {key: value for key, value in variable.items() if key != "value"}
    if "value" in variable:
        clean["fingerprint"] = fingerprint(f"{name.upper()}={variable['value']}")
    return clean


def name_all(entries: Iterable[Entry]) -> str:
    """The wanted variables' names as one text."""
    return ", ".join(entry.name for entry in entries) or "none"


def names_of(entries: Iterable[str] | None) -> list[str]:
    """The variables' names."""
    return [str(entry).partition("=")[0] for entry in entries or ()]


def names(entries: Iterable[str] | None) -> str:
    """The variables' names as one text."""
    return ", ".join(names_of(entries)) or "none"
