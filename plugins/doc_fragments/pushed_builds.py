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
      - Whether to keep a program that M(winkube.node.win_k8s_provisioner) installed, although it is not the wanted
        release. If not, it is replaced; the step says whose build it was, and it is kept as the previous program, so
        that O(winkube.node.win_k8s_provisioner#module:state=previous) restores it.
    type: bool
    default: false
"""
