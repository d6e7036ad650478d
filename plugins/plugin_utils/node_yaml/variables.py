# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a valid node to what Ansible gets: host variables and groups. One table says which key is which variable."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..node.ssh import KEEP_ALIVE
from .document import Node, node_name, provisioners
from .problems import Position
from .schema import Address, has_template, parse_address
from .tree import Mapping, Scalar, Sequence, Value, is_null, is_string, plain

ALL_NODES = "windows_nodes"
SSH_PORT = 22
SSH_ARGUMENTS = "ansible_ssh_extra_args"
"""Of all arguments for ssh these come last. Source: ansible-core plugins/connection/ssh.py, _build_command."""
WINRM_SCHEMES = {
    5985: "http",
    5986: "https",
}  # Source: ansible-core plugins/connection/winrm.py, options port and scheme
WINRM_PORT = 5986

Leaf = Callable[[Scalar], Any]


@dataclass(frozen=True)
class Place:
    """Where a node comes from: `file` as messages name it, `directory` (absolute) for relative paths, `home` for ~."""

    file: str
    directory: str
    home: str


@dataclass(frozen=True)
class Row:
    """`path` under spec becomes `variable`; `convert` gets the plain value and the place of the file."""

    path: str
    variable: str
    convert: Callable[[Any, Place], Any] = lambda value, place: value


@dataclass(frozen=True)
class Group:
    """An inventory group. Its variables are defaults: group_vars of the user win over them, host variables too."""

    name: str
    variables: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Host:
    """A node as inventory host. `source`: file:line:column of its name; `key_file`: its private key, "" if none."""

    name: str
    node_name: str
    source: str
    variables: dict[str, Any]
    groups: tuple[Group, ...]
    key_file: str = ""


def _lower(value: Any, place: Place) -> Any:
    return value.lower()


def _join(value: Any, place: Place) -> Any:
    return {"bootstrapKubeconfig": "bootstrap_kubeconfig"}.get(value, value)


def expand(value: Any, place: Place) -> Any:
    """A path on the controller made absolute (`~/`, or relative to the YAML file); URLs and templates stay."""
    if has_template(value) or re.match(r"^[A-Za-z][A-Za-z0-9+.-]+:", value):
        return value
    if value.startswith("~/"):
        return posixpath.join(place.home, value[2:])
    if value.startswith("~"):  # another user's home: for the program that opens the file
        return value
    return posixpath.normpath(posixpath.join(place.directory, value))


VARIABLES: tuple[Row, ...] = (
    Row("setup.enableRDP", "winkube_setup_enable_rdp"),
    Row("setup.chocoPackages", "winkube_setup_choco_packages"),
    Row("network.mode", "winkube_network_mode", _lower),
    Row("network.clusterCIDR", "winkube_cluster_cidr"),
    Row("network.serviceCIDR", "winkube_service_cidr"),
    Row("network.dnsServiceIP", "winkube_dns_service_ip"),
    Row("network.managementIP", "winkube_management_ip"),
    Row("network.interfaceName", "winkube_interface_name"),
    Row("network.managedBy", "winkube_cni_managed_by"),
    Row("containerd.version", "winkube_containerd_version"),
    Row("containerd.checksum", "winkube_containerd_checksum"),
    Row("containerd.sourceURL", "winkube_containerd_url", expand),
    Row("containerd.destination", "winkube_containerd_destination"),
    Row("kubernetes.version", "winkube_kubernetes_version"),
    Row("kubernetes.checksum", "winkube_kubernetes_checksum"),
    Row("kubernetes.join", "winkube_join", _join),
    Row("kubernetes.serviceManager", "winkube_service_manager"),
    Row("kubernetes.logDir", "winkube_log_dir"),
    Row("kubernetes.provisioners", "winkube_provisioners"),
    Row("os.build", "winkube_os_build"),
)

# The provisioner named containerd stands in where spec.containerd says nothing, so that swdt's own file
# installs containerd.
FROM_PROVISIONER: tuple[Row, ...] = (
    Row("version", "winkube_containerd_version"),
    Row("checksum", "winkube_containerd_checksum"),
    Row("sourceURL", "winkube_containerd_url", expand),
    Row("destination", "winkube_containerd_destination"),
)


def host(node: Node, place: Place, leaf: Leaf = lambda scalar: scalar.value) -> Host:
    """The inventory host of a node that `document.read` found no problem in."""
    connection, connection_groups = _connection(node, place, leaf)
    own = _own(node, place, leaf)
    at = name_at(node)
    source = f"{place.file}:{at.line}:{at.column}"
    identity = {
        "winkube_node_name": node_name(node),
        "winkube_node_source": source,
        "winkube_node_dir": place.directory,
    }
    name = node.text("metadata", "name") or ""
    groups = (Group(ALL_NODES), *connection_groups, *(Group(_safe(group)) for group in _groups(node, own)))
    key = connection.get("ansible_ssh_private_key_file", "")
    return Host(
        name, node_name(node), source, {**connection, **identity, **own}, groups, "" if has_template(key) else key
    )


def name_at(node: Node) -> Position:
    """Where the node's name stands."""
    value = node.get("metadata", "name")
    return value.at if value is not None else node.at


def cacheable(node: Node) -> bool:
    """Whether a node may be kept in a cache: no password, nothing vaulted, no template (a cache knows no trust)."""
    password = node.get("spec", "credentials", "password")
    return is_null(password) and not any(scalar.tag or has_template(scalar.value) for scalar in _scalars(node.tree))


def _scalars(value: Value) -> Iterator[Scalar]:
    if isinstance(value, Mapping):
        for member in value.members:
            yield from _scalars(member.value)
    elif isinstance(value, Sequence):
        for item in value.items:
            yield from _scalars(item)
    else:
        yield value


def _own(node: Node, place: Place, leaf: Leaf) -> dict[str, Any]:
    variables: dict[str, Any] = {}
    for row in VARIABLES:
        value = node.get("spec", *row.path.split("."))
        if not is_null(value) and value is not None:
            variables[row.variable] = _convert(row, value, place, leaf)
    for item in provisioners(node):
        if text_of(item, "name") == "containerd":
            for row in FROM_PROVISIONER:
                value = item.get(row.path)
                if value is not None and row.variable not in variables:
                    variables[row.variable] = _convert(row, value, place, leaf)
    return variables


def _convert(row: Row, value: Value, place: Place, leaf: Leaf) -> Any:
    """A template or vaulted text keeps what `leaf` made of it; everything else is converted."""
    if isinstance(value, Scalar) and (value.tag or has_template(value.value)):
        return leaf(value)
    return row.convert(plain(value, leaf), place)


def is_winrm(node: Node) -> bool:
    """Whether the node is reached by WinRM: it says so, or its port is one of WinRM's."""
    said = node.text("spec", "credentials", "connection")
    return (said == "winrm") if said else _address(node).port in WINRM_SCHEMES


def _address(node: Node) -> Address:
    return parse_address(node.text("spec", "credentials", "hostname") or "")


def _connection(node: Node, place: Place, leaf: Leaf) -> tuple[dict[str, Any], tuple[Group, ...]]:
    """Host variables for what the file says; group variables for what it leaves open, so that group_vars win."""
    address = _address(node)
    said = node.text("spec", "credentials", "connection")
    shell = node.text("spec", "credentials", "shell")
    variables: dict[str, Any] = {"ansible_host": address.host}
    if said:
        variables["ansible_connection"] = said
    for key, variable in (("username", "ansible_user"), ("password", "ansible_password")):
        value = node.get("spec", "credentials", key)
        if isinstance(value, Scalar) and is_string(value) and value.value:
            variables[variable] = leaf(value)
    key_file = node.get("spec", "credentials", "privateKey")
    if isinstance(key_file, Scalar) and is_string(key_file) and key_file.value:
        variables["ansible_ssh_private_key_file"] = (
            leaf(key_file) if has_template(key_file.value) else expand(key_file.value, place)
        )
    if address.port is not None:
        variables["ansible_port"] = address.port
    if is_winrm(node):
        port = address.port or WINRM_PORT
        if port in WINRM_SCHEMES:
            variables["ansible_winrm_scheme"] = WINRM_SCHEMES[port]
        defaults: dict[str, Any] = {
            "ansible_connection": "winrm",
            "ansible_port": WINRM_PORT,
            "ansible_winrm_server_cert_validation": "validate",
        }
        if "ansible_password" in variables:
            return variables, (
                Group("winkube_winrm", defaults),
                Group("winkube_winrm_password", {"ansible_winrm_transport": "ntlm"}),
            )
        return variables, (Group("winkube_winrm", defaults),)
    if shell is not None:
        variables["ansible_shell_type"] = shell
    defaults = {
        "ansible_connection": "ssh",
        "ansible_port": SSH_PORT,
        "ansible_shell_type": "powershell",
        SSH_ARGUMENTS: KEEP_ALIVE,
    }
    return variables, (Group("winkube_ssh", defaults),)


def _groups(node: Node, own: dict[str, Any]) -> Iterator[str]:
    if "winkube_network_mode" in own:
        yield f"winkube_mode_{own['winkube_network_mode']}"
    names = [text_of(item, "name") for item in provisioners(node)]
    yield from (f"winkube_provisioner_{name}" for name in names)
    kubelet = next((text_of(item, "version") for item in provisioners(node) if text_of(item, "name") == "kubelet"), "")
    minor = re.match(r"v?(\d+)\.(\d+)", str(own.get("winkube_kubernetes_version", kubelet)))
    if minor:
        yield f"winkube_kubernetes_{minor[1]}_{minor[2]}"
    if "winkube_os_build" in own:
        yield f"winkube_os_build_{own['winkube_os_build']}"


def _safe(group: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", group)


def text_of(item: Mapping, key: str) -> str:
    """A text of a mapping, "" if there is none."""
    value = item.get(key)
    return value.value if isinstance(value, Scalar) and isinstance(value.value, str) else ""
