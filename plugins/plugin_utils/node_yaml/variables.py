# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns a valid node into host variables and groups; the schema maps keys to variables."""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ..node.ssh import KEEP_ALIVE
from .document import node_name, provisioners
from .schema import Address, has_template, node_schema, parse_address, resolve
from .tree import Mapping, Scalar, Value, is_null, plain

ALL_NODES = "windows_nodes"
SSH_PORT = 22
SSH_ARGUMENTS = "ansible_ssh_extra_args"
"""Of all arguments for ssh these come last. Source: ansible-core plugins/connection/ssh.py, _build_command."""
WINRM_SCHEMES = {
    5985: "http",
    5986: "https",
}  # Source: ansible-core plugins/connection/winrm.py, options port and scheme
WINRM_PORT = 5986


@dataclass(frozen=True)
class Plugin:
    """A connection plugin for WinRM, and its variables for the scheme, the certificate check and the login."""

    name: str
    scheme: str
    certificate: str
    login: str


WS_MANAGEMENT = {
    each.name: each
    for each in (
        Plugin("winrm", "ansible_winrm_scheme", "ansible_winrm_server_cert_validation", "ansible_winrm_transport"),
        Plugin("psrp", "ansible_psrp_protocol", "ansible_psrp_cert_validation", "ansible_psrp_auth"),
    )
}
"""Source: ansible-core plugins/connection/winrm.py and psrp.py, their options."""

Leaf = Callable[[Scalar], Any]


@dataclass(frozen=True)
class Place:
    """The origin of a node: `file` for messages, `directory` (absolute) for relative paths, `home` for ~."""

    file: str
    directory: str
    home: str


@dataclass(frozen=True)
class Row:
    """`path` under spec sets `variable`. `convert` takes the plain value and the place of the file; None leaves the
    variable out. `secret`: the value holds secrets. `listed`: the last key becomes an item of the variable."""

    path: tuple[str, ...]
    variable: str
    convert: Callable[[Any, Place], Any] = lambda value, place: value
    secret: bool = False
    listed: bool = False


@dataclass(frozen=True)
class Group:
    """An inventory group. Its variables are defaults, which group_vars and host variables override."""

    name: str
    variables: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Host:
    """A node as inventory host. `source`: file:line:column of its name; `key_file`: its private key, or empty."""

    name: str
    node_name: str
    source: str
    variables: dict[str, Any]
    groups: tuple[Group, ...]
    key_file: str = ""


def expand(value: Any, place: Place) -> Any:
    """Make a path on the controller absolute (`~/`, or relative to the YAML file); URLs and templates stay."""
    if not value:
        return None
    if has_template(value) or re.match(r"^[A-Za-z][A-Za-z0-9+.-]+:", value):
        return value
    if value.startswith("~/"):
        return posixpath.join(place.home, value[2:])
    if value.startswith("~"):  # another user's home: for the program that opens the file
        return value
    return posixpath.normpath(posixpath.join(place.directory, value))


CONVERSIONS: dict[str, Callable[[Any, Place], Any]] = {
    "": lambda value, place: value,
    "given": lambda value, place: value or None,
    "lower": lambda value, place: value.lower(),
    "snake_case": lambda value, place: re.sub("(?=[A-Z])", "_", value).lower(),
    "path": expand,
}
"""By the names in x-convert of the schema."""


@cache
def rows() -> tuple[Row, ...]:
    """The keys under spec that set variables, from the schema."""
    return tuple(_rows(node_schema()["properties"]["spec"], ()))


def _rows(schema: dict[str, Any], path: tuple[str, ...]) -> Iterator[Row]:
    schema = resolve(schema)
    if "x-variable" in schema:
        convert = CONVERSIONS[schema.get("x-convert", "")]
        yield Row(path, schema["x-variable"], convert, secret="x-secret" in json.dumps(schema))
    if "x-optional" in schema:
        yield Row(path, schema["x-optional"], listed=True)
    for key, item in schema.get("properties", {}).items():
        yield from _rows(item, (*path, key))


def host(node: Mapping, place: Place, leaf: Leaf = lambda scalar: scalar.value) -> Host:
    """The inventory host of a valid node."""
    said = _read_variables(node, place, leaf)
    connection, connection_groups = _connection(node, said)
    at = (node.get("metadata", "name") or node).at
    source = f"{place.file}:{at.line}:{at.column}"
    identity = {
        "winkube_node_name": node_name(node),
        "winkube_node_source": source,
        "winkube_node_dir": place.directory,
    }
    groups = (Group(ALL_NODES), *connection_groups, *(Group(_safe(group)) for group in _groups(node, said)))
    key = said.get("ansible_ssh_private_key_file", "")
    variables = {**connection, **identity, **said}
    name = node.text("metadata", "name")
    return Host(name, node_name(node), source, variables, groups, "" if has_template(key) else key)


def cacheable(node: Mapping) -> bool:
    """Whether a node may be cached: no secrets, vaulted values or templates (a cache cannot mark them as trusted)."""
    scalars: list[Scalar] = []
    plain(node, scalars.append)
    return all(is_null(node.get("spec", *row.path)) for row in rows() if row.secret) and not any(
        scalar.tag or has_template(scalar.value) for scalar in scalars
    )


def _read_variables(node: Mapping, place: Place, leaf: Leaf) -> dict[str, Any]:
    """The variables set by keys of the file."""
    variables: dict[str, Any] = {}
    for row in rows():
        value = node.get("spec", *row.path)
        if value is None:
            continue
        if row.listed:
            variables[row.variable] = [*variables.get(row.variable, ()), row.path[-1]]
        elif not is_null(value):
            variables[row.variable] = _convert(row, value, place, leaf)
    # The provisioner named containerd stands in where spec.containerd says nothing: swdt's own file installs it so.
    for item in provisioners(node):
        if item.text("name") == "containerd":
            for row in (each for each in rows() if each.path[0] == "containerd"):
                value = item.get(row.path[-1])
                if value is not None and row.variable not in variables:
                    variables[row.variable] = _convert(row, value, place, leaf)
    if way(node) in WS_MANAGEMENT:
        variables.pop("ansible_shell_type", None)  # the shell that sshd starts
    return {name: value for name, value in variables.items() if value is not None}


def _convert(row: Row, value: Value, place: Place, leaf: Leaf) -> Any:
    """Leave templates and vaulted texts to `leaf`; convert everything else."""
    if isinstance(value, Scalar) and (value.tag or has_template(value.value)):
        return leaf(value)
    return row.convert(plain(value, leaf), place)


def way(node: Mapping) -> str:
    """The node's connection plugin: the one it names, else winrm for a WinRM port, else ssh."""
    named = node.text("spec", "credentials", "connection")
    return named or ("winrm" if _address(node).port in WINRM_SCHEMES else "ssh")


def _address(node: Mapping) -> Address:
    return parse_address(node.text("spec", "credentials", "hostname"))


def _connection(node: Mapping, said: dict[str, Any]) -> tuple[dict[str, Any], tuple[Group, ...]]:
    """Host variables for the address, and group variables for unset options, so that group_vars win."""
    address = _address(node)
    variables: dict[str, Any] = {"ansible_host": address.host}
    if address.port is not None:
        variables["ansible_port"] = address.port
    if plugin := WS_MANAGEMENT.get(way(node)):
        port = address.port or WINRM_PORT
        if port in WINRM_SCHEMES:
            variables[plugin.scheme] = WINRM_SCHEMES[port]
        group = f"winkube_{plugin.name}"
        defaults: dict[str, Any] = {
            "ansible_connection": plugin.name,
            "ansible_port": WINRM_PORT,
            plugin.certificate: "validate",
        }
        if "ansible_password" in said:
            return variables, (Group(group, defaults), Group(f"{group}_password", {plugin.login: "ntlm"}))
        return variables, (Group(group, defaults),)
    defaults = {
        "ansible_connection": "ssh",
        "ansible_port": SSH_PORT,
        "ansible_shell_type": "powershell",
        SSH_ARGUMENTS: KEEP_ALIVE,
    }
    return variables, (Group("winkube_ssh", defaults),)


def _groups(node: Mapping, said: dict[str, Any]) -> Iterator[str]:
    if "winkube_network_mode" in said:
        yield f"winkube_mode_{said['winkube_network_mode']}"
    versions = {item.text("name"): item.text("version") for item in provisioners(node)}
    yield from (f"winkube_provisioner_{name}" for name in versions)
    minor = re.match(r"v?(\d+)\.(\d+)", str(said.get("winkube_kubernetes_version", versions.get("kubelet"))))
    if minor:
        yield f"winkube_kubernetes_{minor[1]}_{minor[2]}"
    if "winkube_os_build" in said:
        yield f"winkube_os_build_{said['winkube_os_build']}"


def _safe(group: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", group)
