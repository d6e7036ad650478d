# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_node_info; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_node_info
short_description: Reads everything that the collection needs to know about a Windows node, in one remote call
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Reads the machine, its services, and the files that the components of a node consist of.
  - The reading is also kept as a fact, so that later components of the same run need not read again. C(site.yml) starts
    with it.
  - The result contains no secrets. The contents of small files such as C(config.toml) are base64.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.components
attributes:
  check_mode:
    support: full
    description: It only reads.
  diff_mode:
    support: none
    description: It changes nothing.
  idempotent:
    support: full
    description: It only reads.
  platform:
    support: full
    platforms: windows
    description: The nodes are Windows.
options:
  preflight:
    description:
      - Whether to refuse here what a later task of the run would refuse. C(site.yml) does, so that all refusals are
        reported for all hosts before the first change.
      - It checks the node's network and version against the cluster, the kubeconfig, proxies, drives, and, if programs
        are still missing, the free space; before a join also the node's clock and the rights of the kubeconfig's user.
        With O(plan) it also reports, all at once, what each component refuses in its own plan.
    type: bool
    default: false
  plan:
    description:
      - Whether to plan all components that take part in a run of C(site.yml) here, as their tasks would in check mode,
        each on top of what the one before would leave. What one of them would refuse is refused before anything is
        changed.
      - It uses the variables of the roles, which must be defined at this task. The result then has C(plan)
        in place of C(node).
    type: bool
    default: false
  restarting:
    description:
      - Whether the next step restarts the machine, so that it is refused here if the machine could not be reached
        afterwards. So far this means an sshd that would not start again, if the connection is SSH.
    type: bool
    default: false
seealso:
  - module: winkube.node.win_containerd
"""

EXAMPLES = r"""
- name: Read the node
  winkube.node.win_k8s_node_info:
    refresh: true
  register: read

- name: Say which build it is
  ansible.builtin.debug:
    msg: "{{ read.node.system.os.build }}"
"""

RETURN = r"""
node:
  description: What was read.
  returned: without O(plan)
  type: dict
  contains:
    system:
      description: The machine, its id, boot, Windows build, clock, free space.
      type: dict
    services:
      description: Services outside the Windows folder, those that the collection works with, and what depends on them.
      type: list
      elements: dict
    files:
      description: Files and folders by lower-case path.
      type: dict
    errors:
      description: What could not be read, and why.
      type: dict
plan:
  description: What the run would change.
  returned: with O(plan)
  type: dict
  contains:
    converged:
      description: Whether nothing differs, so that no further task is needed.
      type: bool
    node_name:
      description: The name of the Node; empty if the cluster was not asked.
      type: str
    there:
      description: Whether the cluster has it.
      type: bool
    marked:
      description: Whether a run that is over has left its mark on it, so that this run takes it over.
      type: bool
    busy:
      description: With C(winkube_budget_full=report) the sentence of another run that works on it; empty else.
      type: str
    goes_away:
      description: Whether the run takes the Node out of service, so that it needs a place in the budget.
      type: bool
    applied:
      description:
        - With C(winkube_conditions) the fingerprint of what the run applies, for
          M(winkube.node.k8s_windows_conditions); empty for a run with tags.
      type: str
    whole:
      description: Whether everything could be planned; a variable may have no value before another task has run.
      type: bool
    steps:
      description: For each role that would change something, the sentences of its steps.
      type: dict
    unpinned:
      description:
        - Programs that would be downloaded and are vouched for only by the server that they come from. The collection
          has no checksum for them, and the sum file is on the same server, or there is none (no sum).
      type: list
      elements: str
winkube:
  description: How the node was read.
  returned: always
  type: dict
  contains:
    calls:
      description: Remote calls this task made; V(0) if this run had read the node already.
      type: int
"""
