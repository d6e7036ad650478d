# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How hosts are named to a person: win2 before win10, and many in a row as a range."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r"(.*?)(\d+)")


def name_hosts(hosts: Iterable[str]) -> str:
    """Hosts as a person names them: `win1 to win3, win7`, in their order."""
    runs: list[list[str]] = []
    for host in hosts:
        if runs and _follows(runs[-1][-1], host):
            runs[-1].append(host)
        else:
            runs.append([host])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def by_number(host: str) -> tuple[str, int, str]:
    """win2 before win10."""
    match = _NUMBERED.fullmatch(host)
    return (match[1], int(match[2]), host) if match else (host, -1, host)


def _follows(one: str, other: str) -> bool:
    """Whether the second name is the first with the next number at its end."""
    first, second = _NUMBERED.fullmatch(one), _NUMBERED.fullmatch(other)
    if first is None or second is None:
        return False
    return first[1] == second[1] and int(second[2]) == int(first[2]) + 1
