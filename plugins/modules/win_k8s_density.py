# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_density; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_density
short_description: Says how long pods take to start on Windows nodes when many start at once
version_added: 0.2.0
author: The winkube.node authors (@winkube)
description:
  - Makes so many pods on each Windows node at once, waits until they are Ready, says how long that took in percentiles,
    and takes everything away again, also after a failure or Ctrl-C. What a killed run leaves, the next one removes.
  - The pods run the pause image of the node's Kubernetes and Windows, which is on the node already. The figures are of
    the node and its network, not of pulling an image.
  - Fails if pods do not become Ready, and if a percentile is above its limit. Two runs at once measure each other.
  - Needs the right to make Namespaces and pods.
extends_documentation_fragment:
  - winkube.node.cluster
attributes:
  check_mode:
    support: full
    description: Says what it would run; makes no pod.
  diff_mode:
    support: none
    description: There is nothing to show.
  idempotent:
    support: none
    description: It measures anew each time.
  platform:
    support: full
    platforms: posix
    description: The work happens on the controller.
options:
  nodes:
    description: Names of Windows nodes; empty for all that are Ready and not cordoned.
    type: list
    elements: str
    default: []
  pods:
    description: How many pods on each node.
    type: int
    default: 10
  image:
    description: What the pods run; empty for the pause image of each node. It has to run on all of the nodes.
    type: str
    default: ''
  memory:
    description: Request and limit of memory of each pod.
    type: str
    default: 100Mi
  cpu:
    description: Request and limit of CPU of each pod.
    type: str
    default: 50m
  taints:
    description: Taints of the Windows nodes that the pods tolerate, as C(key=value:effect).
    type: list
    elements: str
    default: ['os=windows:NoSchedule']
  timeout:
    description: Seconds in which all pods have to be Ready, and again in which they have to be gone.
    type: int
    default: 600
  limits:
    description: Seconds until a pod is Ready that a percentile may not exceed; V(0) for no limit.
    type: dict
    suboptions:
      p50:
        description: For half of the pods.
        type: float
        default: 0
      p90:
        description: For nine of ten.
        type: float
        default: 0
      p99:
        description: For 99 of 100.
        type: float
        default: 0
      max:
        description: For the slowest.
        type: float
        default: 0
seealso:
  - module: winkube.node.win_k8s_cluster_info
"""

EXAMPLES = r"""
- name: Twenty pods on each Windows node, half of them Ready within 30 seconds
  winkube.node.win_k8s_density:
    cluster: {kubeconfig: ~/.kube/config}
    pods: 20
    limits: {p50: 30}
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
summary:
  description: How many pods there were and became Ready, and percentiles.
  returned: when not in check mode
  type: dict
  contains:
    pods:
      description: How many were made.
      type: int
    ready:
      description: How many became Ready.
      type: int
    started_s:
      description: Seconds from creation to the container's start, by the cluster's stamps, in whole seconds.
      type: dict
    ready_s:
      description: Seconds until the controller saw the pod Ready; it looks once a second.
      type: dict
  sample:
    pods: 20
    ready: 20
    started_s: {p50: 4, p90: 7, p99: 9, max: 9}
    ready_s: {p50: 5, p90: 8, p99: 10, max: 10}
samples:
  description: Each pod, with its node, its times and what was wrong with it.
  returned: when not in check mode
  type: list
  elements: dict
"""
