# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of win_kubelet; the work is done by the action plugin of the same name."""

from __future__ import annotations

DOCUMENTATION = r"""
module: win_kubelet
short_description: Installs the kubelet on a Windows node and runs it as a service
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Installs kubelet.exe, creates its folders and its service, and gives it arguments that its release accepts.
  - The whole command line, including what kubeadm wrote into C(kubeadm-flags.env), is checked before the node is
    touched. A flag or feature gate with which this release would not start is refused.
  - From Kubernetes 1.30 on, settings go into a drop-in beside kubeadm's own files C(config.yaml) and
    C(kubeadm-flags.env), before 1.30 into arguments. C(kubeadm-flags.env) is never written. Once the node has joined,
    C(config.yaml) follows the cluster's ConfigMap C(kubelet-config), as C(kubeadm upgrade node phase kubelet-config)
    would write it.
  - Without a kubeconfig the kubelet cannot run. Its service is then created but not started; the join starts it.
  - The Windows firewall gets a rule (C(winkube-kubelet)) for its port 10250, which logs, exec and metrics need.
  - It is restarted only if the program, the command line, the environment or the values of its configuration change. If
    it does not answer on its healthz port afterwards, the change is rolled back.
extends_documentation_fragment:
  - winkube.node.node
  - winkube.node.golden_image
  - winkube.node.pushed_builds
  - winkube.node.drain
  - winkube.node.cluster
  - winkube.node.inbound
  - winkube.node.nssm
  - winkube.node.log_runner
  - winkube.node.components.kubelet
  - winkube.node.attributes
seealso:
  - module: winkube.node.win_containerd
  - module: winkube.node.win_kube_proxy
"""

EXAMPLES = r"""
- name: Run a kubelet
  winkube.node.win_kubelet:
    version: 1.37.1
    node_name: win1
    source:
      url: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubelet.exe
      checksum: https://dl.k8s.io/release/v1.37.1/bin/windows/amd64/kubelet.exe.sha256

- name: Run it by sc.exe, with more reserved and labels for a new node
  winkube.node.win_kubelet:
    version: 1.37.1
    node_name: win1
    source:
      url: https://builds.example.com/kubelet.exe
      checksum: sha256:5a924c98a2a1d9d6dca4e9e6f9f3d7f5a3a2a8d05f65d4a0a1a6f7f0f28c1b1e
    system_reserved: {cpu: 500m, memory: 4Gi}
    labels: {pool: windows}
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
  sample: [{text: restarted kubelet, state: done}]
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
