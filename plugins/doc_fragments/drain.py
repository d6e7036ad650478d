# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option by which a module empties its node before it interrupts pods."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  drain:
    description:
      - Whether the Node is cordoned and drained before a change that interrupts pods, such as a restart of containerd
        or of the machine. A node that needs no such change is left alone.
      - M(winkube.node.win_k8s_uncordon) lets pods come back.
    type: dict
    suboptions:
      enabled:
        description: Whether to do it.
        type: bool
        default: false
      node_name:
        description: The name of the Node.
        type: str
        default: ''
      cluster:
        description: How the controller reaches the cluster's API, as the variable C(winkube_cluster).
        type: dict
        suboptions:
          kubeconfig:
            description: A kubeconfig on the controller, or several as in C(KUBECONFIG).
            type: str
            default: ''
          context:
            description: The context of that kubeconfig; empty for its current one.
            type: str
            default: ''
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
      budget:
        description:
          - How many Windows Nodes may be away at once, over all runs and people; see
            M(winkube.node.k8s_windows_claim).
        type: dict
        suboptions:
          max_unavailable:
            description: A number of Nodes, at least 1, or a percentage of the Nodes that count, rounded down, but at
              least 1.
            type: str
            default: '1'
          nodes:
            description: A label selector of the Nodes that count.
            type: str
            default: kubernetes.io/os=windows
          timeout:
            description: Seconds to wait while the budget is full.
            type: int
            default: 600
          take_over:
            description: The id of a dead run, as the refusal prints it. Needed where only a person can know that the
              run is dead.
            type: str
            default: ''
          until:
            description: A time of day or a duration after which the run stops waiting for a full budget; empty for no
              limit.
            type: str
            default: ''
          events:
            description: Whether to create Events on the Nodes when the budget is full or a Node is taken over.
            type: bool
            default: false
          why:
            description: What the run does. Other runs that find its mark print this.
            type: str
            default: ''
"""
