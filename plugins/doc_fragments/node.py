# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that every module that installs or configures a component of a node has."""

from __future__ import annotations


class ModuleDocFragment:
    DOCUMENTATION = r"""
options:
  node:
    description:
      - Where files and services are on the node. The roles pass the variable C(winkube_node), so that all of them
        agree.
      - The first component of a run reads everything at these places, so that the others need not.
    type: dict
    suboptions:
      # generated: places
      state_dir:
        description: "The collection's own folder. For administrators only; refused if anyone else owns it."
        type: str
        default: C:\ProgramData\winkube
      root:
        description: The folder of the node's Kubernetes programs.
        type: str
        default: C:\k
      nssm:
        description: nssm.exe, the service manager of programs that are not services themselves.
        type: str
        default: C:\k\nssm.exe
      log_dir:
        description: The folder for the logs of kubelet, kube-proxy and flanneld, one file each.
        type: str
        default: C:\k
      kubernetes_dir:
        description: The folder of kubeadm's files, pki and kubelet.conf.
        type: str
        default: C:\etc\kubernetes
      cni_bin_dir:
        description: The folder of the CNI plugins.
        type: str
        default: C:\k\cni
      cni_conf_dir:
        description: The folder of the CNI configuration. containerd watches it from its first start.
        type: str
        default: C:\k\cni\config
      containerd_service:
        description: The name of containerd's service.
        type: str
        default: containerd
      containerd_binary:
        description: containerd.exe. ctr.exe and the shim lie beside it.
        type: str
        default: "C:\\Program Files\\containerd\\bin\\containerd.exe"
      containerd_config:
        description: containerd's configuration.
        type: str
        default: "C:\\Program Files\\containerd\\config.toml"
      containerd_log:
        description: The file containerd logs to.
        type: str
        default: C:\ProgramData\containerd\log\containerd.log
      containerd_pipe:
        description: The name of containerd's named pipe.
        type: str
        default: containerd-containerd
      certs_dir:
        description: The folder of containerd's registry settings, a folder with hosts.toml for each registry.
        type: str
        default: C:\ProgramData\containerd\certs.d
      registry_hosts:
        description:
          - The registries that have a folder there.
          - "These folders are read together with everything else; other folders cost one more remote call."
        type: list
        elements: str
        default: []
      kubelet_dir:
        description:
          - The kubelet's own folder, with config.yaml, kubeadm-flags.env, pods and client certificates.
        type: str
        default: C:\var\lib\kubelet
      kubelet_service:
        description: The name of the kubelet's service.
        type: str
        default: kubelet
      kubelet_binary:
        description: kubelet.exe.
        type: str
        default: C:\k\kubelet.exe
      kubelet_kubeconfig:
        description: The kubelet's kubeconfig, supplied by you or written by the join.
        type: str
        default: C:\etc\kubernetes\kubelet.conf
      credential_providers:
        description:
          - Names of programs that the kubelet asks for credentials.
          - "These are read together with everything else; others cost one more remote call."
        type: list
        elements: str
        default: []
      kubeadm_binary:
        description: kubeadm.exe.
        type: str
        default: C:\k\kubeadm.exe
      flannel_dir:
        description: The folder of flanneld.
        type: str
        default: C:\flannel
      flannel_run_dir:
        description: The folder in which flanneld writes subnet.env.
        type: str
        default: C:\run\flannel
      flanneld_service:
        description: The name of flanneld's service.
        type: str
        default: flanneld
      flanneld_binary:
        description: flanneld.exe.
        type: str
        default: C:\flannel\flanneld.exe
      flanneld_kubeconfig:
        description: flanneld's kubeconfig.
        type: str
        default: C:\flannel\flanneld.kubeconfig
      kube_proxy_service:
        description: The name of kube-proxy's service.
        type: str
        default: kube-proxy
      kube_proxy_binary:
        description: kube-proxy.exe.
        type: str
        default: C:\k\kube-proxy.exe
      kube_proxy_kubeconfig:
        description: kube-proxy's kubeconfig.
        type: str
        default: C:\k\kube-proxy.kubeconfig
      # end of places
  refresh:
    description: Read the node even if this run has read it already.
    type: bool
    default: false
  reading_max_age:
    description: For how many seconds a reading of this run may be reused; V(0) always reads again.
    type: int
    default: 300
  runner:
    description:
      - V(task) applies changes in a scheduled task of the account SYSTEM, which survives a lost connection and
        finishes or rolls back
        an interrupted change after a power loss.
      - V(inline) applies them in the session. An interrupted change is then rolled back only by the next run.
    type: str
    choices: [task, inline]
    default: task
  reconnect_timeout:
    description: Seconds to wait for a node if the connection is lost while it works.
    type: int
    default: 300
  answer_timeout:
    description:
      - Seconds to wait for an answer of the node. A call without an answer is then ended, since a connection that goes
        silent is neither closed nor reset, and the node is asked again for O(reconnect_timeout) seconds.
      - A node that is applying a change gets the same time again; it then answers that it is still working, and is
        asked once more.
    type: int
    default: 300
"""
