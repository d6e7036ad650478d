# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a node, why, and what mends it: one table of checks over one scene.

    scene = scene_of(reading, Node.of(options, layout), cluster, whole=True)      scene.py: what was read, parsed once
    report = diagnose(scene, HNS_CHECK)                                        table.py: CHECKS, the selections, Report
    report.causes[0].finding.id                                                words/finding.py: Finding

- A check (check.py) is a cause, whose words are in `words` or beside it, and a look that yields what was seen of it.
- `VERIFY`, `HNS_CHECK` and `DIAGNOSE` are selections: the same fault has the same id and the same remedy in each.
- `report.causes` are the roots, each with its consequences; `report.findings` all; `report.lines(host)` for a terminal.
- Without a node: `Reading(parts={"hns": {"available": True, "networks": "<JSON>", ..}})` and `Node.unknown(layout)`.
- A remedy is data: what carries it out (`Action`), on what, and what it cuts off. `Action.ADVICE` is for a person.

Private to the collection: playbooks use its modules.
"""

from __future__ import annotations
