# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One line per part on a terminal during a long transfer; nothing in a log."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

WATCHED = sys.stdout.isatty()
"""Whether someone watches. Evaluated at import, which Ansible does in its main process: its workers' output is
redirected."""

MEGA = 1000 * 1000


@dataclass(frozen=True, slots=True)
class Progress:
    """After a part: `part` of `parts` are on the node, `sent` of `total` bytes, in `seconds`."""

    part: int
    parts: int
    sent: int
    total: int
    seconds: float

    @property
    def seconds_left(self) -> float:
        """The remaining seconds at the present speed."""
        return self.seconds * (self.total - self.sent) / self.sent if self.sent else 0.0


def line(label: str, now: Progress) -> str:
    """`[win1] kubelet.exe: part 2 of 5, 16.0 of 37.2 MB, 12 s left`."""
    left = "done" if now.part == now.parts else f"{now.seconds_left:.0f} s left"
    return f"{label}: part {now.part} of {now.parts}, {now.sent / MEGA:.1f} of {now.total / MEGA:.1f} MB, {left}"


def is_watched(environment: Mapping[str, str] | None = None, terminal: bool | None = None) -> bool:
    """Whether someone watches the output: a terminal, and not CI (a variable CI that is neither empty, 0 nor false)."""
    in_ci = (os.environ if environment is None else environment).get("CI", "").lower() not in {"", "0", "false"}
    return not in_ci and (WATCHED if terminal is None else terminal)


def show(
    label: str,
    say: Callable[[str], None],
    environment: Mapping[str, str] | None = None,
    watched: bool | None = None,
) -> Callable[[Progress], None]:
    """The callback that `push` calls after each part: `say` gets a line if someone watches and there is more than
    one part; nothing in CI (a variable CI that is neither empty, 0 nor false)."""
    if not is_watched(environment, watched):
        return lambda now: None
    return lambda now: say(line(label, now)) if now.parts > 1 else None
