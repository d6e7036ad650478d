# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How nodes differ from what is wanted, by their records: a report for programs, and a page.

Shape: docs/drift.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..record.node_record import FAILED, UNKNOWN, UNREACHABLE, NodeRecord
from .render import render

SCHEMA = 2
STATES = ("same", "different", FAILED, UNREACHABLE)
_SAID = {UNREACHABLE: "Not reached", FAILED: "Could not be planned"}

Report = Mapping[str, Any]


def make_report(records: Sequence[NodeRecord], generated: str) -> Report:
    """Of nodes that were planned, in their order."""
    nodes = [_describe(record) for record in records]
    counts = {state: sum(node["state"] == state for node in nodes) for state in STATES}
    return {"schema": SCHEMA, "generated": generated, "counts": counts, "nodes": nodes}


def _describe(record: NodeRecord) -> dict[str, Any]:
    failure = record.not_planned
    state = failure.state if failure else "different" if record.differs else "same"
    return {
        "name": record.host,
        "node": record.host if record.node == UNKNOWN else record.node,
        "state": state,
        "error": failure.reason if failure else "",
        "components": {about: [asdict(step) for step in steps] for about, steps in record.planned.items()},
        "notes": list(record.notes),
    }


def as_json(report: Report) -> str:
    """For programs."""
    return json.dumps(report, indent=4, ensure_ascii=False) + "\n"


def as_html(report: Report) -> str:
    """One file without scripts that needs nothing from elsewhere."""
    return render("drift.html.j2", report=report)


def conclude(report: Report) -> str:
    """One sentence about all nodes."""
    number, same = len(report["nodes"]), report["counts"]["same"]
    return "No node differs." if same == number else f"{number - same} of {number} nodes are not as wanted."


def verdicts(report: Report) -> dict[str, str]:
    """Host -> a sentence, of the nodes that are not as wanted."""
    return {node["name"]: _judge(node) for node in report["nodes"] if node["state"] != "same"}


def _judge(node: Mapping[str, Any]) -> str:
    if node["error"]:
        return f"{_SAID[node['state']]}: {node['error']}"
    return f"Differs in {', '.join(node['components'])}."
