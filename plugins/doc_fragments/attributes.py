# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task can expect of a module that installs or configures a component."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
attributes:
  check_mode:
    support: full
    description: Says what it would do without doing it. A component's plan is applied in memory, so that the next
      ones see it.
  diff_mode:
    support: full
    description: Shows each setting, file and command line before and after.
  idempotent:
    support: full
    description: Run again, it changes nothing and restarts nothing.
  async:
    support: none
    description: The work on the node already survives a lost connection.
  platform:
    support: full
    platforms: windows
    description: The nodes are Windows; the planning happens on the controller.
"""
