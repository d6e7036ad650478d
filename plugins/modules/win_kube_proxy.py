# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_kube_proxy; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_kube_proxy
short_description: Installs kube-proxy on a Windows node and runs it as a service
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Installs kube-proxy.exe and creates its service, with arguments that its release accepts; an argument with which it
    would not start is refused before the node is touched.
  - For overlay it needs a source VIP, an address of the node's own pod range. One that is already in use is kept;
    otherwise host-local reserves one on the node, and it goes into the command line.
  - Needs its kubeconfig on the node (C(node.kube_proxy_kubeconfig)), which the role join writes, and for overlay what
    flanneld has written.
  - The Windows firewall gets a rule (C(winkube-kube-proxy)) for its port 10256 and the healthCheckNodePorts. A load
    balancer that gets no answer there considers the node dead. The rule is also created if the cluster runs kube-proxy.
  - It is restarted only if the program, the command line or the environment change. If it does not answer on its
    healthz port afterwards, the change is rolled back.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.golden_image
  - winkube.node.pushed_builds
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.nssm
  - winkube.node.log_runner
  - winkube.node.components.kube_proxy
  - winkube.node.attributes
seealso:
  - module: winkube.node.win_kubelet
"""

EXAMPLES = r"""
- name: Run kube-proxy in l2bridge
  winkube.node.win_kube_proxy:
    version: 1.37.1
    node_name: win1
    source:
      url: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kube-proxy.exe
      checksum: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kube-proxy.exe.sha256

- name: Run it in overlay by sc.exe, with direct server return
  winkube.node.win_kube_proxy:
    version: 1.37.1
    node_name: win1
    source:
      url: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kube-proxy.exe
      checksum: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kube-proxy.exe.sha256
    network_mode: overlay
    dsr: true
    service: {manager: sc}
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
  sample: [{text: restarted kube-proxy, state: done}]
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
