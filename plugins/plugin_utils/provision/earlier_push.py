# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an earlier push has left: a reading that the next push of the same run is planned with, or the build of someone
else.

A file of its own: it is about pushes one after the other, everything else in this folder about one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..components.layout import Layout
from ..components.registry import read_plan
from ..engine.reading import Query, Reading, merge_queries, usable
from ..engine.resources.programs import pusher, read_pushed_build
from ..node.link import person
from .provision import Task, reads, receipt
from .provision_items import Item

PUSHED_AT, STILL_TRUE_S = "pushed_at", 3600
"""When a push left the reading, and so long the next one is planned with it."""


def list_queries(items: Sequence[Item], layout: Layout) -> tuple[Query, ...]:
    """`reads`, and what every component reads."""
    return merge_queries((*reads(items, layout), *read_plan(layout)))


def read_last(fact: Mapping[str, Any], queries: Sequence[Query], run: str, now: float) -> Reading | None:
    """The reading as the last push of this run left it, so that who pushes again and again has the node read once; None
    if there is none, or it is old. What has changed meanwhile makes the batch stale."""
    if now - fact.get(PUSHED_AT, 0) > STILL_TRUE_S:
        return None
    known = usable(fact, run=run, now=now, max_age=math.inf, check=False)
    return known if known is not None and not known.find_missing(queries) else None


def date_facts(facts: dict[str, Any], name: str, now: float) -> dict[str, Any]:
    """The facts of a task, with when the reading of this `name` was left by a push."""
    if facts and not facts["ansible_facts"][name]["predicted"]:
        facts["ansible_facts"][name][PUSHED_AT] = now
    return facts


def describe_foreign_builds(tasks: Iterable[Task], layout: Layout, reading: Reading) -> list[str]:
    """Sentences: builds of someone else that are replaced."""
    said = []
    for task in tasks:
        build = read_pushed_build(reading, receipt(task.item, layout)) if task.what == "replace" else None
        if build and build.get("by") and build["by"] != person():
            said.append(
                f"{task.item.name}: this replaces the build that {pusher(build)}. It is kept beside it: state previous "
                "brings it back."
            )
    return said
