# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The clock, replaceable so that tests need not wait, and moments as text."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class Clock:
    """Seconds, from any beginning."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


def as_timestamp(moment: datetime) -> str:
    """In UTC and whole seconds (RFC 3339): two of them compare as their moments do. `moment` has a time zone.

    Source: kubernetes apimachinery pkg/apis/meta/v1/time.go, Time.MarshalJSON.
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
