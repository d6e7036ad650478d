# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What actions and connections say to the user beside a task's result. The one place where it is printed: texts of
nodes and clusters in it are escaped and have an end (engine/printable.py)."""

from __future__ import annotations

from typing import Any

from ansible.utils.display import Display

from ..engine.printable import make_sentence

_display = Display()


class Screen:
    """Ansible's display, for sentences."""

    @property
    def verbosity(self) -> int:
        """How many -v there are."""
        return int(_display.verbosity)

    def display(self, text: str, color: str | None = None) -> None:
        """A line that everybody sees."""
        _display.display(make_sentence(text), color=color)

    def warning(self, text: str) -> None:
        _display.warning(make_sentence(text))

    def v(self, text: str, host: str | None = None) -> None:
        """A line for -v."""
        _display.v(make_sentence(text), host=host)

    def vv(self, text: str) -> None:
        """A line for -vv."""
        _display.vv(make_sentence(text))

    def vvv(self, text: Any) -> None:
        """A line for -vvv."""
        _display.vvv(make_sentence(text))


display = Screen()
