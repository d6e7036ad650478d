# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is read of a node: everything that any component needs for its layout, in one remote call."""

from __future__ import annotations

from ..engine.reading import Query, file_query, merge_queries, system_query
from . import registry
from .layout import Layout


def read_plan(layout: Layout) -> tuple[Query, ...]:
    """All queries for a node with this layout, one per thing."""
    return merge_queries(
        (
            system_query(),
            file_query(layout.runner, sha256=True),
            *(query for component in registry.COMPONENTS for query in component.reads(layout)),
        )
    )
