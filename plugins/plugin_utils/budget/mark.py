# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The mark of a run on a Node: an annotation that says who works on the node, since when and why."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from ..cluster.records import NodeObject
from ..engine.printable import make_printable
from .run import Run

ANNOTATION = "winkube.node/mark"
PAUSED = "winkube.node/paused"
"""An annotation of a person's: no run touches this Node, and no budget counts it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """`why` is what the run does, `since` the API server's time, `budget` how many nodes its run lets be away (`1`,
    `25%`), `cordoned` whether it has cordoned the Node."""

    run: Run
    why: str = ""
    since: str = ""
    budget: str = ""
    cordoned: bool = False

    def to_text(self) -> str:
        """The annotation's value."""
        told = {"run": self.run.to_data(), "why": self.why, "since": self.since, "budget": self.budget}
        return json.dumps(told | ({"cordoned": True} if self.cordoned else {}), sort_keys=True)

    @classmethod
    def parse(cls, text: str) -> Mark:
        """Of an annotation's value. One that cannot be read is of an unknown run: no run goes past it, and a person
        removes it."""
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, Mapping) or not isinstance(found.get("run"), Mapping):
            return cls(Run("", ""))
        said = {name: value for name in ("why", "since", "budget") if isinstance(value := found.get(name), str)}
        return cls(Run.from_data(found["run"]), cordoned=found.get("cordoned") is True, **said)

    def describe(self) -> str:
        """A clause for people: who does what, since when."""
        by, why = make_printable(self.run.by), make_printable(self.why)
        if not by:
            return f"a mark that cannot be read (annotation {ANNOTATION})"
        return f"{by}{f', {why}' if why else ''}{f', since {make_printable(self.since)}' if self.since else ''}"


def find_mark(node: NodeObject) -> Mark | None:
    """The mark of a Node."""
    text = node.annotations.get(ANNOTATION)
    return Mark.parse(text) if text is not None else None


def is_paused(node: NodeObject) -> bool:
    """Whether a person has taken the Node out of every run."""
    return PAUSED in node.annotations
