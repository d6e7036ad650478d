# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The texts of steps: orders in a plan ("install containerd"), past or conditional tense in a result."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

PAST = {
    "add": "added",
    "allow": "allowed",
    "cancel": "cancelled",
    "change": "changed",
    "create": "created",
    "convert": "converted",
    "delete": "deleted",
    "enable": "enabled",
    "end": "ended",
    "exclude": "excluded",
    "forget": "forgot",
    "have": "had",
    "install": "installed",
    "join": "joined",
    "label": "labelled",
    "leave": "left",
    "limit": "limited",
    "make": "made",
    "mark": "marked",
    "move": "moved",
    "pull": "pulled",
    "record": "recorded",
    "register": "registered",
    "relaunch": "relaunched",
    "remove": "removed",
    "rename": "renamed",
    "restart": "restarted",
    "restrict": "restricted",
    "rewrite": "rewrote",
    "run": "ran",
    "schedule": "scheduled",
    "secure": "secured",
    "set": "set",
    "skip": "skipped",
    "start": "started",
    "stop": "stopped",
    "swap": "swapped",
    "taint": "tainted",
    "wait": "waited",
    "write": "wrote",
    "acknowledge": "acknowledged",
    "approve": "approved",
    "burn": "burned",
    "cordon": "cordoned",
    "drain": "drained",
    "uncordon": "uncordoned",
}
"""The verbs that steps begin with. A step has one verb; nouns say what else happens."""


def as_result(orders: Sequence[str], *, planned: bool, diff: Collection[Mapping[str, str]] = ()) -> dict[str, Any]:
    """A task's `changed`, `steps`, and `diff` if there is one."""
    result: dict[str, Any] = {"changed": bool(orders), "steps": as_steps(orders, planned=planned)}
    return result | ({"diff": list(diff)} if orders and diff else {})


def as_steps(orders: Iterable[str], *, planned: bool) -> list[dict[str, str]]:
    """A result's `[{text, state}]`: "would install nssm 2.24", `planned`; "installed nssm 2.24", `done`."""
    state = "planned" if planned else "done"
    return [{"text": f"would {order}" if planned else put_in_past(order), "state": state} for order in orders]


def put_in_past(order: str) -> str:
    """The order in the past tense."""
    verb, blank, rest = order.partition(" ")
    return f"{PAST[verb]}{blank}{rest}" if verb in PAST else f"did {order}"


_EMPTY_LINES = re.compile(r"[ \t\r]*\n\s*?(?=[^\r\n])")


def read_message(said: str) -> str:
    """The text of a node's error, without the empty lines that Windows' programs print in the midst of a message."""
    return _EMPTY_LINES.sub("\n", said or "no reason was given")


def end_sentence(text: object) -> str:
    """The text with a full stop, unless it already ends with a punctuation mark."""
    said = str(text).rstrip()
    return said if said.endswith((".", "!", "?")) else f"{said}."


def join_words(values: Iterable[object], none: str = "none") -> str:
    """Values for a sentence; `none` where there are none."""
    return ", ".join(str(each) for each in values) or none
