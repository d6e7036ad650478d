# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_k8s_cluster_info; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_k8s_cluster_info
short_description: Versions and builds of all Windows nodes of a cluster
version_added: 0.2.0
author: The winkube.node authors (@winkube)
description:
  - Reads the Node objects and says for each Windows node its build, its versions, the image and the RuntimeClass that
    fit it, and what about its labels, taints and versions is not as it should be.
  - Compares the label C(node.kubernetes.io/windows-build) with what the machine itself says, where O(machines) has it,
    else with what its kubelet reports.
  - Changes nothing, and makes no remote call.
extends_documentation_fragment:
  - winkube.node.cluster
attributes:
  check_mode:
    support: full
    description: It changes nothing.
  diff_mode:
    support: none
    description: There is nothing to show.
  idempotent:
    support: full
    description: It changes nothing.
  platform:
    support: full
    platforms: posix
    description: The work happens on the controller.
options:
  taints:
    description: Taints that Windows nodes should have, as C(key=value:effect); empty for none.
    type: list
    elements: str
    default: ['os=windows:NoSchedule']
  machines:
    description: What the machines themselves say. The playbook reads it from the nodes.
    type: list
    elements: dict
    default: []
    suboptions:
      node:
        description: The name of the Node.
        type: str
        required: true
      build:
        description: The build of its Windows, 0 if not known.
        type: int
        default: 0
      config:
        description: Its containerd's config.toml; not used here.
        type: str
        default: ''
seealso:
  - module: winkube.node.win_k8s_scheduling
"""

EXAMPLES = r"""
- name: What Windows nodes does this cluster have
  winkube.node.win_k8s_cluster_info:
    cluster: {kubeconfig: ~/.kube/config}
  register: windows
"""

RETURN = r"""
server:
  description: The version of the API server.
  returned: always
  type: str
  sample: 1.37.1
nodes:
  description: The Windows nodes, by name.
  returned: always
  type: list
  elements: dict
  contains:
    name:
      description: The name of the Node.
      type: str
    ready:
      description: Whether it is Ready.
      type: bool
    release:
      description: The release of Windows, empty for a build without a name.
      type: str
    os_version:
      description: The version of Windows as the kubelet reports it.
      type: str
    build_label:
      description: The value of C(node.kubernetes.io/windows-build).
      type: str
    kubelet:
      description: The version of the kubelet.
      type: str
    kube_proxy:
      description: The version of kube-proxy as the kubelet reports it.
      type: str
    runtime:
      description: The container runtime and its version.
      type: str
    image:
      description: The Server Core image that runs on it, empty if none is known.
      type: str
    runtime_class:
      description: The name of the RuntimeClass for its build.
      type: str
    taints:
      description: Its taints.
      type: list
      elements: str
builds:
  description: The builds, each with its nodes, image and RuntimeClass.
  returned: always
  type: list
  elements: dict
findings:
  description: What is not as it should be.
  returned: always
  type: list
  elements: dict
  contains:
    row:
      description: The requirement that it is about.
      type: str
    node:
      description: The Node.
      type: str
    text:
      description: A sentence with what to do.
      type: str
"""
