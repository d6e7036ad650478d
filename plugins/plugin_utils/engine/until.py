# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a maintenance window: a time of day, or a duration from the start of the run."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from .resource import Refused

_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")
_DURATION = re.compile(r"(?=\d)(?:(\d{1,3})h)?(?:(\d{1,4})m)?")


def find_end(text: str, began: datetime) -> datetime:
    """When no further node is begun.

    Args:
        text: `05:00`, in the zone of `began`: the first such time after it; or `4h`, `90m`, `1h30m` after it.
        began: When the run began.

    Raises:
        Refused: It is neither.
    """
    if found := _TIME.fullmatch(text.strip()):
        end = began.replace(hour=int(found[1]), minute=int(found[2]), second=0, microsecond=0)
        return end if end > began else end + timedelta(days=1)
    found = _DURATION.fullmatch(text.strip())
    if not found or not any(found.groups()):
        raise Refused(f"winkube_until: '{text}' is neither a time of day (05:00) nor a duration (4h, 90m, 1h30m).")
    return began + timedelta(hours=int(found[1] or 0), minutes=int(found[2] or 0))
