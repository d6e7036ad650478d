# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_update; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_update
short_description: Installs Windows updates on a drained node
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Runs M(ansible.windows.win_updates) after M(winkube.node.win_k8s_drain) with
    O(winkube.node.win_k8s_drain#module:give_back=true).
  - From here on the node counts as changed. If the run ends before, its Node is uncordoned; if it ends in the updates
    or after them, the Node stays cordoned and marked, for the next run to make it right.
requirements:
  - the collection ansible.windows on the controller
attributes:
  check_mode:
    support: full
    description: Says what it would install.
  diff_mode:
    support: none
    description: There is nothing to show.
  idempotent:
    support: full
    description: Run again, it changes nothing where there is no other update.
  platform:
    support: full
    platforms: windows
    description: What win_updates supports.
options:
  node_name:
    description: The name of the Node.
    type: str
    required: true
  updates:
    description: The options of M(ansible.windows.win_updates), such as C(category_names), C(state) and C(reboot).
    type: dict
    default: {}
seealso:
  - module: ansible.windows.win_updates
  - module: winkube.node.win_k8s_drain
  - module: winkube.node.win_k8s_uncordon
"""

EXAMPLES = r"""
- name: Empty the node
  winkube.node.win_k8s_drain:
    node_name: win1
    cluster: {kubeconfig: ~/.kube/config}
    give_back: true

- name: Install updates and restart
  winkube.node.win_k8s_update:
    node_name: win1
    updates: {category_names: [SecurityUpdates], state: installed, reboot: true}
"""

RETURN = r"""
steps:
  description: The number of updates that were installed, or in check mode would be.
  returned: success
  type: list
  elements: dict
  contains:
    text:
      description: One sentence.
      type: str
    state:
      description: V(done), or V(planned) in check mode.
      type: str
updates:
  description: As M(ansible.windows.win_updates) returns it, like all other keys that it returns.
  returned: success
  type: dict
"""
