# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_acknowledge; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_acknowledge
short_description: Lets a node be changed again after a change that could not be taken back
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - When a change fails and taking it back fails too, the node refuses further changes until a person has looked at
    it. This module is how
    that person says so.
  - It repairs nothing. The next run of C(site.yml) brings the node to what is wanted.
extends_documentation_fragment:
  - winkube.node.node
options:
  batch:
    description: The id of the batch, as the error named it.
    type: str
    required: true
attributes:
  check_mode:
    support: full
    description: Says what it would do.
  diff_mode:
    support: none
    description: There is nothing to compare.
  idempotent:
    support: none
    description: A second call fails, since the node is no longer blocked.
  platform:
    support: full
    platforms: windows
    description: The nodes are Windows.
seealso:
  - module: winkube.node.win_k8s_node_info
"""

EXAMPLES = r"""
- name: I have looked at the node
  winkube.node.win_k8s_acknowledge:
    batch: 0123456789abcdef0123456789abcdef
"""

RETURN = r"""
steps:
  description: What was done.
  returned: always
  type: list
  elements: dict
"""
