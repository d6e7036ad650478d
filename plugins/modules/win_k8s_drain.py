# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_drain; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_drain
short_description: Cordons and drains a Windows node
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Use it before something that this collection does not do itself, such as Windows updates. The modules of components
    drain by themselves if C(winkube_drain) is true.
  - PodDisruptionBudgets are respected, and pods of DaemonSets stay. Pods that nothing recreates, or that keep data in
    an C(emptyDir), make it fail before it begins, as in C(kubectl drain). If the node is not empty in time it is
    uncordoned, and the task fails.
  - The Node gets the annotation C(winkube.node/mark), which other runs respect; M(winkube.node.win_k8s_uncordon) lets
    pods come back. A Node that another run works on, or that is paused, is refused.
  - Asks the cluster only; makes no remote call to the node.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.cluster
  - winkube.node.budget
attributes:
  check_mode:
    support: full
    description: Says what it would do.
  diff_mode:
    support: none
    description: There is nothing to show but the steps.
  idempotent:
    support: full
    description: Run again, it changes nothing.
  platform:
    support: full
    platforms: windows
    description: The nodes are Windows; the work happens on the controller.
options:
  node_name:
    description: The name of the Node. A Node that the cluster does not have is not a failure.
    type: str
    required: true
  timeout:
    description: Seconds to wait for the node to be empty.
    type: int
    default: 600
  grace_period:
    description: Seconds that each pod gets to terminate; a negative number means the pod's own grace period.
    type: int
    default: -1
  force:
    description: Whether pods that nothing recreates are deleted.
    type: bool
    default: false
  delete_emptydir_data:
    description: Whether pods that keep data in an C(emptyDir) are evicted.
    type: bool
    default: false
  host_process_namespace:
    description:
      - The namespace of the pods of the connection P(winkube.node.host_process#connection).
        They are not evicted, since runs work through them.
    type: str
    default: winkube-node
  give_back:
    description:
      - Whether a run that ends before M(winkube.node.win_k8s_update) begins on the node uncordons it, after Ctrl-C and
        SIGTERM too. Only with that module between the drain and the first change of the machine.
      - With V(false), a Node that is drained stays so.
    type: bool
    default: false
seealso:
  - module: winkube.node.win_k8s_uncordon
"""

EXAMPLES = r"""
- name: Empty the node before its updates
  winkube.node.win_k8s_drain:
    node_name: win1
    cluster: {kubeconfig: ~/.kube/config}
  register: drained

- name: Let pods come back
  winkube.node.win_k8s_uncordon:
    node_name: win1
    cluster: {kubeconfig: ~/.kube/config}
"""

RETURN = r"""
steps:
  description: What was done, or in check mode would be done.
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
  sample: [{text: cordoned win1, state: done}, {text: drained win1 (3 pods), state: done}]
pods:
  description: The pods that were evicted from the node, or in check mode would be.
  returned: always
  type: list
  elements: dict
  contains:
    namespace:
      description: Its namespace.
      type: str
    name:
      description: Its name.
      type: str
    images:
      description: The images of its containers.
      type: list
      elements: str
    build:
      description: The Windows build in its nodeSelector, such as V(10.0.20348); empty if there is none.
      type: str
"""
