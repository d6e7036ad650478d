# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_flannel; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_flannel
short_description: Runs flanneld on a Windows node and configures CNI for it
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Creates the adapter's external vSwitch, in a separate change. Every connection to the machine breaks for up to a
    minute; the node itself waits for its addresses and for the API server, and removes the switch again if they do not
    return.
  - Installs flanneld.exe, writes C(net-conf.json), and creates and starts the service. Writes C(cni.conf) only when
    flanneld has its lease and the HNS network has the node's address.
  - With O(cluster.kubeconfig), compares the node with the cluster - the Node and its podCIDR, the backend, VNI and port
    of the cluster's flannel, a DaemonSet that runs flannel on this node. Nothing in the cluster is changed.
  - A new C(cni.conf) restarts nothing. It applies to new pods; existing pods keep the old policy.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.golden_image
  - winkube.node.pushed_builds
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.inbound
  - winkube.node.nssm
  - winkube.node.components.flannel
  - winkube.node.attributes
seealso:
  - module: winkube.node.win_cni
  - module: winkube.node.win_kube_proxy
"""

EXAMPLES = r"""
- name: Run flanneld in l2bridge
  winkube.node.win_flannel:
    node_name: win1
    version: 0.28.10
    source:
      url: https://github.com/flannel-io/flannel/releases/download/v0.28.10/flanneld.exe
      checksum: sha256:5a924c98a2a1d9d6dca4e9e6f9f3d7f5a3a2a8d05f65d4a0a1a6f7f0f28c1b1e
    cluster:
      kubeconfig: ~/.kube/config

- name: Run it in overlay on a machine with two adapters
  winkube.node.win_flannel:
    node_name: win1
    source:
      url: https://mirror.example.com/flanneld.exe
      checksum: sha256:5a924c98a2a1d9d6dca4e9e6f9f3d7f5a3a2a8d05f65d4a0a1a6f7f0f28c1b1e
    network_mode: overlay
    interface_name: Ethernet 2
    api_server: 10.0.0.1:6443
"""

RETURN = r"""
steps:
  description: What was done, or in check mode would be done, in the order of the plan.
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
  sample: [{text: restarted flanneld, state: done}]
winkube:
  description: How it was done.
  returned: always
  type: dict
  contains:
    answer:
      description: The node's answer to the batch; null if nothing had to be done.
      type: str
    outcome:
      description: The outcome of the batch.
      type: str
    recovered:
      description: The batch of an earlier run that was finished or rolled back first, and its outcome.
      returned: if there was one
      type: dict
      sample: {id: 5fa17f4f4b3d4c91b7dd4f076635f82c, outcome: undone}
    batch:
      description: The id of the batch; its journal is on the node.
      type: str
    calls:
      description: Remote calls this task made.
      type: int
"""
