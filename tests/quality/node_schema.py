"""The JSON Schema of Node YAML and the rows of docs/inventory.md: a table of keys, and the options of every component.

The inventory plugin reads the schema alone: `x-variable` of a key names the variable that it becomes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.components.declaration import Component
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import (
    SECRET,
    Given,
    Option,
    role_variables,
)

Schema = dict[str, Any]
NAME = "^[A-Za-z0-9][A-Za-z0-9._-]*$"
ABOUT = (
    "One Windows machine that is, or is to become, a Kubernetes node. Keys marked x-extension are winkube.node's "
    "own; the others are those of SIG Windows Dev Tools. Keywords that begin with x- say what a validator cannot: "
    "x-wanted is the wording of error messages, x-refuse lists patterns that a text must not match and why (the "
    "first one counts), x-check names a further check of the inventory plugin, x-template and x-vault allow an "
    "Ansible template or a vaulted value, x-secret keeps the value out of messages, x-hints explains keys and values "
    "that are known but not accepted (* is any other value), x-variable is the variable that a key becomes and "
    "x-convert how, x-optional lists the key in that variable."
)


def text(wanted: str = "", **more: Any) -> Schema:
    """A text; keywords with an underscore for the hyphen."""
    return {"type": "string", **_x(more), **({"x-wanted": wanted} if wanted else {})}


def _x(more: dict[str, Any]) -> Schema:
    return {name.replace("_", "-"): value for name, value in more.items()}


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def a_list(items: Schema, wanted: str) -> Schema:
    return {"type": ["array", "null"], "items": items, "x-wanted": wanted}


def block(properties: Schema, *, own: bool = False, required: tuple[str, ...] = (), **more: Any) -> Schema:
    """A mapping of known keys. One that requires none may be empty."""
    said = [name for name, schema in properties.items() if not schema.get("deprecated")]
    return {
        "type": "object" if required else ["object", "null"],
        **({"required": list(required)} if required else {}),
        **({"x-extension": True} if own else {}),
        "additionalProperties": False,
        "properties": properties,
        "x-wanted": f"a mapping with {', '.join(said)}",
        **more,
    }


@dataclass(frozen=True, slots=True)
class Key:
    """A key below spec: what it may be, what the page says of it, the variable that it becomes and how. `own`: SIG
    Windows Dev Tools does not know it."""

    path: str
    schema: Schema
    text: str
    variable: str = ""
    convert: str = ""
    own: bool = True

    def made(self) -> Schema:
        """Its part of the schema."""
        words = {"x-variable": self.variable, "x-convert": self.convert, "x-extension": self.own}
        plain = self.text.replace("`", "")
        return {"description": plain, **self.schema, **{name: word for name, word in words.items() if word}}


def _cidr(example: str, second: str) -> Schema:
    return text(f"a network, such as {example}, or with two families {example},{second}", x_check="cidr")


_CHOCO = text("the name of a Chocolatey package", pattern=NAME)
_CHOCO_RELEASE = block(
    {"name": _CHOCO, "version": text("a version as text", minLength=1)}, own=True, required=("name",)
)
_PROVISIONERS = a_list(ref("provisioner"), "a list of provisioners, each '- name: ...'")
_MODES = ("l2bridge", "overlay", "calico", "l2tunnel", "transparent", "nat")

KEYS = (
    Key(
        "setup.enableRDP",
        {"type": "boolean"},
        "true or false; absent = left as it is",
        "winkube_setup_enable_rdp",
        own=False,
    ),
    Key(
        "setup.chocoPackages",
        a_list(
            {"anyOf": [_CHOCO, _CHOCO_RELEASE], "x-wanted": "the name of a Chocolatey package, or {name, version}"},
            "a list of Chocolatey packages, one '- name' a line",
        ),
        "names, or (own) `{name, version}`",
        "winkube_setup_choco_packages",
        own=False,
    ),
    Key(
        "kubernetes.provisioners",
        _PROVISIONERS,
        "list, see below; the items stay as they are",
        "winkube_provisioners",
        own=False,
    ),
    Key("kubernetes.deploys", {**_PROVISIONERS, "deprecated": True}, "former name of provisioners", own=False),
    Key(
        "kubernetes.version",
        ref("release"),
        "the release of kubelet, kubeadm and kube-proxy, three numbers; without it the machine gets only containerd",
        "winkube_kubernetes_version",
    ),
    Key(
        "kubernetes.checksum",
        ref("sumFile"),
        "the https address of a sum file that lists all three programs; absent: the publisher's sums",
        "winkube_kubernetes_checksum",
    ),
    Key(
        "kubernetes.join",
        {"enum": ["kubeadm", "bootstrapKubeconfig", "kubeconfig"]},
        "`kubeadm` (default), `bootstrapKubeconfig` (in the variable `bootstrap_kubeconfig`) or `kubeconfig`",
        "winkube_join",
        "snake_case",
    ),
    Key(
        "kubernetes.serviceManager",
        {"enum": ["auto", "nssm", "sc"]},
        "`auto` (default), `nssm` or `sc`, for kubelet and kube-proxy",
        "winkube_service_manager",
    ),
    Key(
        "kubernetes.logDir",
        text(r"an absolute Windows folder, such as C:\k", pattern='^[A-Za-z]:[\\\\/][^<>:"|?*]*$'),
        "folder of the services' logs on the node",
        "winkube_log_dir",
    ),
    Key(
        "network.mode",
        {"enum": [*_MODES, "L2bridge", "L2tunnel", "Overlay", "Transparent", "NAT"]},
        "`l2bridge` (default), `overlay`, `calico`; `l2tunnel`, `transparent`, `nat` only with a network of the"
        " cluster's own; the variable has it in lower case",
        "winkube_network_mode",
        "lower",
    ),
    Key(
        "network.clusterCIDR",
        _cidr("10.244.0.0/16", "fd00:10:244::/56"),
        "the pods' addresses of the whole cluster; IPv4 and IPv6 with a comma between them only on l2bridge with a"
        " network that you bring, neither flannel nor Calico, from Windows Server 2022 on",
        "winkube_cluster_cidr",
    ),
    Key(
        "network.serviceCIDR",
        _cidr("10.96.0.0/12", "fd00:10:96::/112"),
        "the services' addresses, likewise",
        "winkube_service_cidr",
    ),
    Key(
        "network.dnsServiceIP",
        text("the address of the cluster's DNS service, such as 10.96.0.10", x_check="ip"),
        "the cluster's DNS service",
        "winkube_dns_service_ip",
    ),
    Key(
        "network.managementIP",
        text("the node's own address in the cluster's network", x_check="ip"),
        "the node's address in the cluster's network",
        "winkube_management_ip",
    ),
    Key(
        "network.interfaceName",
        text("the name of a network adapter, such as Ethernet", minLength=1),
        "the network adapter's name",
        "winkube_interface_name",
    ),
    Key(
        "network.managedBy",
        {"enum": ["service", "cluster"]},
        "who runs the pods' network: a `service` of the host (default) or the `cluster`; of kube-proxy"
        " `winkube_kube_proxy_managed_by` says it",
        "winkube_cni_managed_by",
    ),
    Key("containerd.version", ref("release"), "its release", "winkube_containerd_version"),
    Key("containerd.checksum", ref("checksum"), "what its archive has to be", "winkube_containerd_checksum"),
    Key("containerd.sourceURL", ref("sourceURL"), "its archive", "winkube_containerd_url", "path"),
    Key(
        "containerd.destination",
        ref("windowsFile"),
        "path of containerd.exe on the node",
        "winkube_containerd_destination",
    ),
    Key(
        "os.build",
        {"type": "integer", "minimum": 14393, "maximum": 99999, "x-wanted": "a build number, such as 20348"},
        "Windows build, such as 20348, for groups; what counts is what the machine says",
        "winkube_os_build",
    ),
)
OWN_BLOCKS = ("network", "containerd", "os")

ANOTHER_VERSION = {"v1": "the Node of v1 is what the cluster says about a node; it has no credentials"}
ONE_EACH = "write each node as a document of its own, with a line '---' between two"
ANOTHER_KIND = {
    "NodeList": ONE_EACH,
    "List": ONE_EACH,
    "Cluster": "swdt's Cluster makes a virtual machine and does not say where it is. Write a Node with spec.credentials"
    " (its address as hostname; username and privateKey of spec.workload.virtualization.ssh), spec.setup (enableRDP and"
    " chocoPackages of spec.workload.auxiliary), spec.containerd.version (containerdVersion), spec.kubernetes.version"
    " (kubernetesVersion) and spec.kubernetes.provisioners",
    "*": "keep other objects in other files",
}
"""Cluster is swdt's later kind: a virtual machine that swdt makes beside a minikube, without an address. Source:
kubernetes-sigs/sig-windows-dev-tools 314a82d experiments/swdt/apis/config/v1alpha1/config_types.go, Cluster."""

# Why a text is refused, by what matches in it: the first that does is said.
_BLANK = [r"\s", "which holds a blank"]
# What Ansible understands by itself where a host is named. Source: ansible-core inventory/data.py (the two groups that
# always exist) and constants.LOCALHOST (the controller).
NO_NODE_NAME = [
    ["(?i)^all$", "which Ansible keeps for the group of every host"],
    ["(?i)^ungrouped$", "which Ansible keeps for the group of hosts without a group"],
    [r"(?i)^(localhost|127\.0\.0\.1)$", "which Ansible keeps for the machine that it runs on"],
    [r"[^.]{64}", "in which a part is longer than 63 characters"],
    [r"[^A-Za-z0-9.-]", "in which {} is not allowed"],
    [r"(^|\.)(-|\.|$)|-(\.|$)", "in which a part is empty, or begins or ends with '-'"],
]
NO_ADDRESS = [
    ["://", "which is a URL; leave out the part before the host name and everything after the port"],
    ["@", "which holds a user; write it as username"],
    _BLANK,
]
NO_KEY_PATH = [
    ["PRIVATE KEY-----", "which is a key itself; keep the key in a file and write its path"],
    [r"\.pub$", "which is a public key; leave out .pub"],
]
NO_SOURCE = [
    [r"^[A-Za-z]:[\\/]", "which is a Windows path, but the file is taken from the controller or from a web server"],
    [r"^(?!https?:|file:)[A-Za-z][A-Za-z0-9+.-]+(?=:)", "in which '{}' is a scheme that nothing here can fetch"],
    [r"^file:(?!/(?!/)|///)", "which is not a file address; write file:/// and an absolute path"],
    [r"^https?://[^/]*@", "which holds a user or a password; they would be seen in logs"],
    [r"^(https?|file):.*\s", "which holds a blank; write %20"],
]
NO_WINDOWS_FILE = [
    [r"[\\/]$", "which is a folder; add the file's name"],
    [r"^(\\\\|//)", "which is on another machine; a service's program lies on a drive of the node"],
    [r"^(?![A-Za-z]:[\\/])", "which is not absolute; begin with the drive"],
    [
        r"[\\/][^\\/.]*$",
        "which looks like a folder, since its last part has no extension; add the file's name",
    ],
]

METADATA = {
    "type": "object",
    "required": ["name"],
    "additionalProperties": False,
    "properties": {
        "name": text(
            "a DNS name (letters, digits, '-' and '.', at most 253, each part at most 63)",
            description="Name of the inventory host; in lower case also of the Kubernetes node.",
            minLength=1,
            maxLength=253,
            pattern="^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$",
            x_refuse=NO_NODE_NAME,
        ),
        "annotations": {
            "description": "Kubernetes annotations. 'winkube.node/<path>' says the same as our key under spec, for"
            " files that other tools read too: 'winkube.node/network.mode: overlay' is spec.network.mode.",
            "type": ["object", "null"],
            "additionalProperties": {"type": "string"},
            "x-wanted": "a mapping of texts",
        },
    },
    "x-wanted": "a mapping with the node's name",
}
CREDENTIALS = {
    "description": "How Ansible reaches the machine.",
    **block(
        {
            "username": text(
                "the name of a user, such as Administrator",
                minLength=1,
                x_template=True,
                x_vault=True,
                x_variable="ansible_user",
            ),
            "hostname": text(
                "a name or an address with an optional port, such as 192.168.122.220:22 or '[::1]:22'",
                description="Address and optional port.",
                minLength=1,
                x_refuse=NO_ADDRESS,
                x_check="address",
            ),
            "privateKey": {
                "description": "Path of a private SSH key on the controller; ~ is expanded, a relative path starts at"
                " the folder of this file.",
                "type": ["string", "null"],
                "x-template": True,
                "x-refuse": NO_KEY_PATH,
                "x-wanted": "the path of a private key",
                "x-variable": "ansible_ssh_private_key_file",
                "x-convert": "path",
            },
            "password": {
                "type": ["string", "null"],
                "x-template": True,
                "x-vault": True,
                "x-secret": True,
                "x-wanted": "text, a !vault value or a template in quotes",
                "x-variable": "ansible_password",
                "x-convert": "given",
            },
            "connection": {
                "description": "Default: winrm when the port is 5985 or 5986, else ssh.",
                "enum": ["ssh", "winrm", "psrp"],
                "x-variable": "ansible_connection",
                "x-extension": True,
            },
            "shell": {
                "description": "The shell that sshd starts. Default: powershell.",
                "enum": ["powershell", "cmd"],
                "x-variable": "ansible_shell_type",
                "x-extension": True,
            },
        },
        required=("username", "hostname"),
    ),
    "x-hints": {
        "publicKey": "the node needs the public key, the controller the private one: write privateKey with the path of"
        " the private key",
        "port": "the port belongs to the host name: hostname: 192.168.122.220:22",
    },
    "x-wanted": "a mapping with username and hostname",
}
TYPES = {
    "version": text(
        "a version as text, such as 1.29.0", pattern=r"^v?[0-9]+\.[0-9]+(\.[0-9]+)?([-+.~][0-9A-Za-z.+~-]*)?$"
    ),
    "release": text(
        "a full version of three numbers, such as 1.37.0", pattern=r"^v?[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]*)?$"
    ),
    "checksum": text(
        "sha256: and 64 hexadecimal digits, or the https address of the publisher's sum file",
        x_template=True,
        pattern=r"^(sha256:[0-9A-Fa-f]{64}|https://[^\s/]+/\S+)$",
    ),
    "sumFile": text(
        "the https address of a sum file that lists kubelet, kubeadm and kube-proxy (one sha256 cannot be that of three"
        " programs)",
        description="Where the publisher, or a mirror, lists what each of several programs has to be.",
        x_template=True,
        pattern=r"^https://[^\s/]+/\S+$",
    ),
    "sourceURL": text(
        "an http, https or file address, or a path on the controller",
        description="http, https, file, or a path on the controller (relative to the folder of this file).",
        minLength=1,
        x_template=True,
        x_refuse=NO_SOURCE,
        x_check="url",
    ),
    "windowsFile": text(
        r"the absolute path of a file on the node, such as c:\k\kubelet.exe",
        description="Absolute path of a file on the node, without quotes or in single quotes.",
        pattern='^[A-Za-z]:[\\\\/]([^<>:"|?*\\\\/]+[\\\\/])*[^<>:"|?*\\\\/]+\\.[A-Za-z0-9]+$',
        x_refuse=NO_WINDOWS_FILE,
    ),
}


def node_schema(components: tuple[Component, ...]) -> Schema:
    """The whole of it, for a collection with these components."""
    blocks: dict[str, Schema] = {}
    for key in KEYS:
        name, _dot, inner = key.path.partition(".")
        blocks.setdefault(name, {})[inner] = key.made()
    made = {name: block(keys, own=name in OWN_BLOCKS) for name, keys in blocks.items()}
    known = {"credentials": CREDENTIALS, **made, "components": _components(components)}
    wanted = [name for name in known if name != "credentials"]
    spec = {
        **block({name: ref(name) for name in known}, required=("credentials",)),
        "x-wanted": f"a mapping with credentials, and {', '.join(wanted[:-1])} or {wanted[-1]} as needed",
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://github.com/winkube/winkube.node/raw/main/docs/node.schema.json",
        "title": "Node YAML of winkube.node",
        "description": ABOUT,
        **block(
            {
                "apiVersion": {"const": "windows.k8s.io/v1alpha1", "x-hints": ANOTHER_VERSION},
                "kind": {"const": "Node", "x-hints": ANOTHER_KIND},
                "metadata": METADATA,
                "spec": spec,
            },
            required=("apiVersion", "kind", "metadata", "spec"),
        ),
        "x-wanted": "a mapping with apiVersion, kind, metadata and spec",
        "$defs": {**known, "provisioner": _provisioner(components), **TYPES},
    }


def _provisioner(components: tuple[Component, ...]) -> Schema:
    """An item of spec.kubernetes.provisioners: where the program of a component's service lies is known."""
    known = [each.name for each in components if each.daemon is not None]
    return {
        **block(
            {
                "name": text(
                    "the name of a Windows service, such as kubelet",
                    description="Name of the service whose binary is replaced.",
                    pattern=NAME,
                ),
                "version": ref("version"),
                "sourceURL": ref("sourceURL"),
                "destination": ref("windowsFile"),
                "overwrite": {"type": "boolean", "default": False},
                "checksum": {**ref("checksum"), "x-extension": True},
            },
            required=("name", "sourceURL"),
        ),
        "if": {"required": ["name"], "properties": {"name": {"enum": known}}},
        "else": {"required": ["destination"], "properties": {"destination": ref("windowsFile")}},
    }


def _components(components: tuple[Component, ...]) -> Schema:
    """spec.components: of each component the variables of its role that no other key gives."""
    elsewhere = {key.variable for key in KEYS}
    found: dict[str, Schema] = {}
    for each in components:
        prefix = f"winkube_{each.role}_"
        given = [one for one in role_variables(each.interface.rows) if one.variable.name not in elsewhere]
        keys = {one.variable.name.removeprefix(prefix).removeprefix("winkube_"): _variable(one) for one in given}
        listed = {"x-optional": "winkube_optional_components"} if each.optional else {}
        found[each.role] = {"description": f"{each.interface.summary}.", **block(keys), **listed}
    return {
        "description": "Options of the components, each by its role: the role's variables without their prefix. An"
        " optional component that is named here is installed.",
        **block(found, own=True),
        "x-wanted": "a mapping with the names of roles, such as kubelet",
    }


def _variable(given: Given) -> Schema:
    made = {"description": re.sub(r"\b[A-Z]\(((?:[^()]|\([^()]*\))*)\)", r"\1", given.text), **_option(given.option)}
    return {**made, "x-variable": given.variable.name}


def _option(option: Option) -> Schema:
    """What a module's option may be. Roles fill in the templates of texts and decrypt them, so both are allowed."""
    lines = (option.description,) if isinstance(option.description, str) else option.description
    secret = {"x-secret": True} if any(line.startswith(SECRET) for line in lines) else {}
    later = {"x-template": True, "x-vault": True, **secret}
    known = block({each.name: _option(each) for each in option.options})
    if option.type == "dict":
        return known if option.options else {"type": "object", "additionalProperties": later, **secret}
    if option.type == "list":
        return {"type": "array", "items": known if option.options else {"type": "string", **later}}
    if option.choices:
        return {"enum": list(option.choices), **later}
    plain = {"bool": "boolean", "int": "integer"}.get(option.type)
    return {"type": plain} if plain else {"type": "string", **later}


def page_rows() -> Iterator[str]:
    """The table of docs/inventory.md, but for credentials and components."""
    for key in KEYS:
        if not key.schema.get("deprecated"):
            yield f"| `spec.{key.path}` | {'own; ' if key.own else ''}{key.text} | `{key.variable}` |"


def written(schema: Schema) -> str:
    """As text: what fits into a line stands in one."""
    return _json(schema, 0) + "\n"


def _json(value: Any, indent: int, before: int = 0) -> str:
    flat = json.dumps(value, ensure_ascii=False)
    if indent + before + len(flat) < 130 or not isinstance(value, (dict, list)) or not value:
        return flat
    inner, blank = " " * (indent + 2), " " * indent
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"{inner}{_json(each, indent + 2)}" for each in value) + f"\n{blank}]"
    names = {name: json.dumps(name) + ": " for name in value}
    lines = (f"{inner}{names[name]}{_json(each, indent + 2, len(names[name]))}" for name, each in value.items())
    return "{\n" + ",\n".join(lines) + f"\n{blank}}}"
