# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What modules of components do about builds that someone has pushed."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  keep_pushed_builds:
    description:
      - Whether a program that M(winkube.node.win_k8s_provisioner) has put there stays although it is not the release
        that is wanted here. Else it is replaced; the step says whose build that was, and it is kept as the program
        before, so that O(winkube.node.win_k8s_provisioner#module:state=previous) brings it back.
    type: bool
    default: false
"""
