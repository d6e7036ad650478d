# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Probes whose exit code is 0 whatever they find."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..foreign.windows import Pattern
from .catalog import PodCase
from .commands import Call, Script
from .model import Hit, Severity
from .rule import ALL_CONTAINERS, Rule, always, needing
from .rules_programs import runs

# They write what they find, or that there is nothing, and that is no error to PowerShell.
_CMDLETS = {
    "test-path": "it writes True or False",
    "test-netconnection": "it writes what it finds",
    "get-service": "it writes the service's state, running or not",
    "where-object": "it writes what matches, or nothing",
    "where": "it writes what matches, or nothing",
    "?": "it writes what matches, or nothing",
    "select-string": "it writes what matches, or nothing",
}
_ENDS_OTHERWISE = Pattern(
    r"\bexit\b|\bthrow\b|\bif\b|::exit|erroractionpreference|-erroraction\s+stop|\?\s*$", re.IGNORECASE
)
_COMPARISON = Pattern(
    r"^[^|;{}]*\s-[ci]?(?:eq|ne|match|notmatch|like|notlike|contains|in|gt|ge|lt|le)\s[^|;{}]*$", re.IGNORECASE
)


def _explain(script: Script) -> tuple[str, str]:
    """What cannot fail, and why; empty for what can."""
    call = script.calls[-1] if script.calls else None
    if call is None:
        return "", ""
    if script.powershell:
        if _ENDS_OTHERWISE.search(script.text):
            return "", ""
        # Before a pipe it is not the last one.
        if call.program in _CMDLETS:
            return call.words[0], _CMDLETS[call.program]
        if _COMPARISON.match(script.text.strip()):
            return "a comparison", "it writes True or False"
        return "", ""
    return _explain_program(call)


def _explain_program(call: Call) -> tuple[str, str]:
    options = [word.lower() for word in call.words[1:]]
    if call.program == "tasklist" and "/fi" in options:
        return "tasklist /fi", "it ends well without a match, too"
    if call.program == "sc" and options[:1] in (["query"], ["queryex"]):
        return f"sc {options[0]}", "it ends well for a service that is stopped, too"
    return "", ""


@needing("exec")
def _cannot_fail(case: PodCase) -> Iterator[Hit]:
    for run in runs(case):
        if run.place[0] not in ("livenessProbe", "readinessProbe", "startupProbe"):
            continue
        for script in run.scripts[-1:]:
            value, why = _explain(script)
            if value:
                yield Hit(run.path(script), {"value": value, "what": why}, run.container.name)


RULES: tuple[Rule, ...] = (
    Rule(
        id="probe-cannot-fail",
        title="Probes that cannot fail",
        level=always(Severity.WARNING),
        find=_cannot_fail,
        message="the probe cannot fail: {value} has the exit code 0 whatever it finds: {what}.",
        remedy="End with an exit code of its own: if (-not (...)) { exit 1 }, or | findstr in cmd.exe.",
        source="k8s.io/kubernetes pkg/probe/exec; learn.microsoft.com, about_PowerShell_exe, tasklist, sc query",
        paths=(f"{ALL_CONTAINERS}.*Probe.exec",),
    ),
)
