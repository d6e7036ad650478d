# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory plugin: the Windows Nodes of a cluster as hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cluster_nodes
short_description: The Windows nodes of a cluster
author:
  - The winkube.node authors (@winkube)
version_added: 0.1.0
description:
  - Makes an inventory host of every Windows Node of the cluster that a kubeconfig leads to, in the group
    C(windows_nodes), which the playbooks of this collection take by default.
  - Each host has C(winkube_node_name), C(winkube_cluster) and what its Node says - C(k8s_node_labels),
    C(k8s_node_annotations), C(k8s_node_taints), C(k8s_node_addresses), C(k8s_node_ready), C(k8s_node_versions)
    (C(kubelet), C(container_runtime), C(os_image), C(kernel)).
  - A source file is any YAML file that names this plugin.
requirements:
  - the Python package kubernetes on the controller
extends_documentation_fragment:
  - ansible.builtin.constructed
  - ansible.builtin.inventory_cache
options:
  plugin:
    description: Marks a source file of this plugin.
    type: str
    required: true
    choices:
      - winkube.node.cluster_nodes
  kubeconfig:
    description:
      - Path of a kubeconfig on the controller, or of several, as kubectl takes them from C(KUBECONFIG). A relative one
        starts at the source file.
    type: str
    default: ~/.kube/config
    env:
      - name: K8S_AUTH_KUBECONFIG
      - name: KUBECONFIG
  context:
    description: A context of the kubeconfig; empty for its current one.
    type: str
    default: ''
  label_selector:
    description: Which Nodes, beside that they are Windows; as in C(kubectl get nodes --selector).
    type: str
    default: ''
  slices:
    description:
      - Into how many slices the Nodes are divided, of which this source has one. A Node's slice follows from its name,
        so that Nodes which come and go move no other one. V(1) has all of them.
      - For an Indexed Job its C(completions).
    type: int
    default: 1
    env:
      - name: WINKUBE_SLICES
  slice:
    description: Which one, from V(0) on. An Indexed Job sets the variable in each of its pods.
    type: int
    default: 0
    env:
      - name: JOB_COMPLETION_INDEX
  connection:
    description:
      - How the hosts are reached. V(host_process) through a pod of each node (P(winkube.node.host_process#connection)),
        V(ssh) at an address of the Node, V(none) if your variables set it.
    type: str
    default: host_process
    choices:
      - host_process
      - ssh
      - none
  address_types:
    description: Which address of a Node C(ansible_host) is, the first one that it has; for O(connection=ssh).
    type: list
    elements: str
    default:
      - InternalIP
      - ExternalIP
      - Hostname
notes:
  - It needs the right to list Nodes, and no other.
"""

EXAMPLES = r"""
# cluster_nodes.yml: ansible-inventory -i cluster_nodes.yml --graph
plugin: winkube.node.cluster_nodes
kubeconfig: ~/.kube/config
connection: host_process

# Groups by label and by build, over SSH.
# plugin: winkube.node.cluster_nodes
# connection: ssh
# keyed_groups:
#   - key: k8s_node_labels['agentpool'] | default('')
#     prefix: pool
#   - key: k8s_node_labels['node.kubernetes.io/windows-build'] | default('')
#     prefix: build
# compose:
#   ansible_user: "'azureuser'"

# The second of four slices.
# plugin: winkube.node.cluster_nodes
# slices: 4
# slice: 1
"""

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from ansible.errors import AnsibleParserError
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable

from ..plugin_utils.cluster.answer import Object
from ..plugin_utils.cluster.client import Cluster
from ..plugin_utils.cluster.error import ClusterError
from ..plugin_utils.engine.local_path import expand_home
from ..plugin_utils.node_yaml import source

if TYPE_CHECKING:
    from ansible.inventory.data import InventoryData
    from ansible.parsing.dataloader import DataLoader

GROUP = "windows_nodes"
_WINDOWS = "kubernetes.io/os=windows"


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """See DOCUMENTATION."""

    NAME = "winkube.node.cluster_nodes"

    def verify_file(self, path: str) -> bool:
        """Whether the file names this plugin."""
        is_yaml = super().verify_file(path) and path.endswith((".yml", ".yaml"))
        return is_yaml and source.names_plugin(Path(path), self.NAME)

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        """Hosts of all Nodes that are asked for. AnsibleParserError where the cluster does not answer."""
        super().parse(inventory, loader, path, cache=cache)
        self._read_config_data(path)
        where = {
            "kubeconfig": _locate(self.get_option("kubeconfig"), path),
            "context": self.get_option("context"),
        }
        number, count = self.get_option("slice"), self.get_option("slices")
        if not 0 <= number < count:
            raise AnsibleParserError(
                f"{path}: slice is {number} (JOB_COMPLETION_INDEX) and slices is {count} (WINKUBE_SLICES): slice "
                "counts from 0 to one less than slices, which is the completions of an Indexed Job."
            )
        self.inventory.add_group(GROUP)
        for node in self._nodes(where, path, cache and self.get_option("cache")):
            if find_slice(node["metadata"]["name"], count) == number:
                self._add(node, where)

    def _nodes(self, where: dict[str, str], path: str, use_cache: bool) -> list[Object]:
        key = self.get_cache_key(path)
        if use_cache:
            try:
                return list(self._cache[key])
            except KeyError:
                pass
        selector = ",".join(part for part in (_WINDOWS, self.get_option("label_selector")) if part)
        try:
            cluster = Cluster.open(where)
            nodes = cluster.items(f"/api/v1/nodes?{urlencode({'labelSelector': selector})}") if cluster else []
        except ClusterError as error:
            raise AnsibleParserError(f"{path}: {error}") from None
        if self.get_option("cache"):
            self._cache[key] = nodes
        return nodes

    def _add(self, node: Object, where: dict[str, str]) -> None:
        name = str(node["metadata"]["name"])
        self.inventory.add_host(name, group=GROUP)
        found = {
            **variables(node),
            "winkube_cluster": where,
            **connection(node, self.get_option("connection"), self.get_option("address_types")),
        }
        for variable, value in found.items():
            self.inventory.set_variable(name, variable, value)
        strict = self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), found, name, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), found, name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), found, name, strict=strict)


def find_slice(name: str, count: int) -> int:
    """The slice of the Node of this name."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()) % count


def variables(node: Object) -> dict[str, Any]:
    """What a Node says of itself, as host variables."""
    metadata, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    info = status.get("nodeInfo") or {}
    conditions = {item.get("type"): item.get("status") for item in status.get("conditions") or ()}
    return {
        "winkube_node_name": metadata["name"],
        "k8s_node_labels": metadata.get("labels") or {},
        "k8s_node_annotations": metadata.get("annotations") or {},
        "k8s_node_taints": spec.get("taints") or [],
        "k8s_node_addresses": status.get("addresses") or [],
        "k8s_node_ready": conditions.get("Ready") == "True",
        "k8s_node_versions": {
            "kubelet": info.get("kubeletVersion", ""),
            "container_runtime": info.get("containerRuntimeVersion", ""),
            "os_image": info.get("osImage", ""),
            "kernel": info.get("kernelVersion", ""),
        },
    }


def connection(node: Object, kind: str, address_types: list[str]) -> dict[str, str]:
    """The variables by which a host is reached."""
    if kind == "none":
        return {}
    if kind == "host_process":
        return {"ansible_connection": "winkube.node.host_process", "ansible_shell_type": "powershell"}
    by_type: dict[str, str] = {}
    for item in (node.get("status") or {}).get("addresses") or ():
        by_type.setdefault(str(item.get("type")), str(item.get("address")))
    address = next((by_type[each] for each in address_types if each in by_type), str(node["metadata"]["name"]))
    return {"ansible_connection": "ssh", "ansible_shell_type": "powershell", "ansible_host": address}


def _locate(kubeconfigs: str, beside: str) -> str:
    """The paths of the setting, each from the folder of the source file on."""
    return os.pathsep.join(
        str(Path(beside).parent / expand_home(each)) for each in kubeconfigs.split(os.pathsep) if each
    )
