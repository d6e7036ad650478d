# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One write to the cluster: planned, shown, then done. A file of its own: every module that writes objects uses it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .client import Cluster

Object = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Change:
    """`text` for people, `before` and `after` for the diff."""

    text: str
    before: Object
    after: Object
    do: Callable[[Cluster], None]
