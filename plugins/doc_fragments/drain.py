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
        or of the machine. Nothing happens to a node on which nothing of that kind has to be done.
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
        description: Seconds in which the node has to be empty.
        type: int
        default: 600
      grace_period:
        description: Seconds that each pod gets to end; below 0 what the pod itself says.
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
            They stay, since a run works through them.
        type: str
        default: winkube-node
      budget:
        description:
          - How many Windows Nodes may be away at once, over all runs and people; see
            M(winkube.node.k8s_windows_claim).
        type: dict
        suboptions:
          max_unavailable:
            description: A number of Nodes from 1, or a percentage of those that count, rounded down, and at least 1.
            type: str
            default: '1'
          nodes:
            description: A label selector of the Nodes that count.
            type: str
            default: kubernetes.io/os=windows
          timeout:
            description: Seconds for which a full budget is waited for.
            type: int
            default: 600
          take_over:
            description: The id of a run that is dead, as the refusal names it, where only a person can know that it is.
            type: str
            default: ''
          until:
            description: A time of day or a duration, after which a full budget is no longer waited for; empty for none.
            type: str
            default: ''
          events:
            description: Whether a full budget, and a Node that is taken over, are told as Events of the Nodes.
            type: bool
            default: false
          why:
            description: What the run does; others that meet its mark are told.
            type: str
            default: ''
"""
