# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How modules of components are told that the machine becomes an image, not a node."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  golden_image:
    description:
      - Brings only what may be cloned, since the machine is going to be an image of many nodes (playbook C(image.yml)).
        Programs come to their places; nothing is written that holds the machine's name, one of its addresses, a key or
        anything of a cluster, which is not asked.
      - A service that is stopped stays so, unless something it uses changes.
    type: bool
    default: false
"""
