# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_look; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_look
short_description: Compares Node objects with what is wanted, without a call to the nodes
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Reads the Nodes of the cluster, in one list for all hosts of the task, and says what of this host's Node is not as
    wanted. Nothing is asked of the machine, and nothing is written.
  - What only the machine knows it cannot tell; for that there is the playbook C(drift.yml).
extends_documentation_fragment:
  - winkube.node.cluster
attributes:
  check_mode:
    support: full
    description: Only reads anyway.
  diff_mode:
    support: none
    description: There is nothing to show.
  idempotent:
    support: full
    description: Changes nothing.
  platform:
    support: full
    platforms: posix
    description: The work happens on the controller.
options:
  node_name:
    description: The name of this host's Node.
    type: str
    required: true
  kubernetes_version:
    description: The release of the kubelet that is wanted; empty to compare none.
    type: str
    default: ''
  containerd_version:
    description: The release of containerd that is wanted; empty to compare none.
    type: str
    default: ''
seealso:
  - module: winkube.node.win_k8s_node_info
"""

EXAMPLES = r"""
- name: Look at the Node
  winkube.node.k8s_windows_look:
    node_name: win1
    kubernetes_version: 1.37.1
    cluster: {kubeconfig: ~/.kube/config}
"""

RETURN = r"""
there:
  description: Whether the cluster has the Node.
  returned: always
  type: bool
  sample: true
ready:
  description: Whether it is Ready.
  returned: always
  type: bool
  sample: true
paused:
  description: Whether a person has taken it out of every run.
  returned: always
  type: bool
  sample: false
cordoned:
  description: Whether it is unschedulable.
  returned: always
  type: bool
  sample: false
findings:
  description: What is not as wanted; empty if nothing is.
  returned: always
  type: list
  elements: dict
  contains:
    reason:
      description: One word for programs.
      type: str
    message:
      description: One sentence.
      type: str
  sample: [{reason: OtherRelease, message: 'kubelet 1.36.2 runs, and 1.37.1 is wanted.'}]
"""
