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
  - Reads the Nodes of the cluster, in one list for all hosts of the task, and says how this host's Node differs from
    what is wanted. The machine itself is not asked. The Node of a host that the run has changed is read by itself.
  - It cannot see what only the machine knows; the playbook C(drift.yml) does.
extends_documentation_fragment:
  - winkube.node.cluster
attributes:
  check_mode:
    support: full
    description: Says what it would write.
  diff_mode:
    support: none
    description: There is nothing to show.
  idempotent:
    support: full
    description: Run again, it writes nothing.
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
    description: The wanted release of the kubelet; empty to skip the comparison.
    type: str
    default: ''
  containerd_version:
    description: The wanted release of containerd; empty to skip the comparison.
    type: str
    default: ''
  applied:
    description:
      - Whether to compare the host's variables with those that a run last applied to the node, by the annotation
        C(winkube.node/applied). The defaults of all roles must be loaded, as the playbook does.
    type: bool
    default: false
  conditions:
    description:
      - Whether the condition C(winkube.node/UpToDate) becomes V(False) where the Node is not as wanted, and V(True)
        once it is again. What a run has reported about the machine itself stays.
      - It is written only if it changes, with one Event. If the cluster refuses the write, there is a warning.
    type: bool
    default: false
  timeout:
    description:
      - Seconds to wait for an existing Node to be Ready. With it, a cluster that does not answer is only a warning, and
        whether the Node is Ready stays unknown.
    type: int
    default: 0
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
steps:
  description: What was written.
  returned: always
  type: list
  elements: dict
  contains:
    text:
      description: One sentence.
      type: str
    state:
      description: V(done), or V(planned) in check mode.
      type: str
  sample: []
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
  description: Whether a person has excluded it from all runs.
  returned: always
  type: bool
  sample: false
cordoned:
  description: Whether it is unschedulable.
  returned: always
  type: bool
  sample: false
findings:
  description: What is not as wanted; empty if everything is.
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
