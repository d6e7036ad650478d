# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_cpu_limits; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_cpu_limits
short_description: Runs two pods that burn CPU on a Windows node and judges what the kubelet says of them
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Kubernetes' own test C(Cpu Resources, Container limits should not be exceeded after waiting 2 minutes) - two pods
    whose limit is half a core, written as C(0.5) and as C(500m), with eight PowerShell jobs each.
  - After O(wait) seconds both have to run still, and C(usageNanoCores) of each in C(/stats/summary) has to be above 0
    and at most the limit and O(tolerance). Else the task fails. A zero there is the defect that
    M(winkube.node.k8s_windows_cri_info) hunts.
  - The pods are taken away afterwards, whatever happens. They run on the named node whatever its taints are.
extends_documentation_fragment:
  - winkube.node.cluster
attributes:
  check_mode:
    support: none
    description: Pods are started; in check mode the task is skipped and returns their manifests.
  diff_mode:
    support: none
    description: Nothing that stays is changed.
  idempotent:
    support: full
    description: What is made is taken away.
  platform:
    support: full
    platforms: posix
    description: It runs on the controller.
options:
  node_name:
    description: The Node.
    type: str
    required: true
  namespace:
    description: The namespace of the pods; it has to be there.
    type: str
    default: default
  image:
    description: An image with PowerShell for the node's Windows.
    type: str
    default: registry.k8s.io/e2e-test-images/busybox:1.36.1-1
  wait:
    description: Seconds that the pods burn CPU before they are judged.
    type: float
    default: 120
  tolerance:
    description: How far the usage may be above the limit, 0.05 for 5 %.
    type: float
    default: 0.05
  start_timeout:
    description: Seconds in which the pods have to run; the first pull of a Windows image takes minutes.
    type: float
    default: 900
seealso:
  - module: winkube.node.k8s_windows_cri_info
"""

EXAMPLES = r"""
- name: CPU limits hold on the node
  winkube.node.win_k8s_cpu_limits:
    node_name: win1
    cluster: {kubeconfig: ~/.kube/config}
"""

RETURN = r"""
pods:
  description: The manifests.
  returned: always
  type: list
  elements: dict
nano_cores:
  description: The usage of each pod by its name, in nanocores, null where the kubelet does not say.
  returned: always
  type: dict
  sample: {winkube-cpulimit-decimal: 500618452, winkube-cpulimit-milli: 478772447}
findings:
  description: What is wrong, a sentence each.
  returned: always
  type: list
  elements: str
"""
