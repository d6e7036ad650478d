# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a kubelet's request for a serving certificate may be approved: only for what the node really is.

Kubernetes itself approves no serving certificates, since it cannot know which names and addresses are a node's.
Source: kubernetes.io, Certificate Signing Requests, signer kubernetes.io/kubelet-serving.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from typing import Any

from ...cluster.documents import Request

SIGNER = "kubernetes.io/kubelet-serving"
PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_GROUPS = frozenset({"system:nodes", "system:authenticated"})
_USAGES = (
    frozenset({"digital signature", "server auth"}),
    frozenset({"digital signature", "key encipherment", "server auth"}),
)
"""With an elliptic key, and with an RSA key. Source: kubernetes pkg/apis/certificates/helpers.go."""
_NAMES = frozenset({"Hostname", "InternalDNS", "ExternalDNS"})
_ADDRESSES = frozenset({"InternalIP", "ExternalIP"})


def pending(csr: Mapping[str, Any], node: str) -> bool:
    """Whether this is a request of `node` for a serving certificate that nobody has decided yet."""
    spec, status = csr.get("spec") or {}, csr.get("status") or {}
    decided = any(item.get("type") in {"Approved", "Denied", "Failed"} for item in status.get("conditions") or ())
    mine = spec.get("signerName") == SIGNER and spec.get("username") == f"system:node:{node}"
    return mine and not decided and not status.get("certificate")


def problems(csr: Mapping[str, Any], request: Request, node: Mapping[str, Any]) -> list[str]:
    """Why `csr`, whose request is `request`, is not approved for the Node object `node`: one half sentence each."""
    spec = csr.get("spec") or {}
    name = str(node["metadata"]["name"])
    known = (node.get("status") or {}).get("addresses") or ()
    names = {str(item.get("address")).lower() for item in known if item.get("type") in _NAMES}
    addresses = {_address(item.get("address")) for item in known if item.get("type") in _ADDRESSES}
    said = []
    user = f"system:node:{name}"
    if spec.get("username") != user:
        said.append(f"the user is {spec.get('username')}, not {user}")
    if request.common_name != user:
        said.append(f"it is for the name '{request.common_name}', not {user}")
    if absent := sorted(_GROUPS.difference(spec.get("groups") or ())):
        said.append(f"the user is not in {' and '.join(absent)}")
    if request.organizations != ("system:nodes",):
        said.append(f"it is for the groups '{', '.join(request.organizations)}', not system:nodes alone")
    if frozenset(spec.get("usages") or ()) not in _USAGES:
        said.append(f"the usages are {', '.join(spec.get('usages') or ()) or 'none'}, not those of a server")
    if not request.names and not request.addresses:
        said.append("it names neither a host nor an address")
    said += [f"{other} is neither a host's name nor an address" for other in request.others]
    said += [f"{wanted} is no name of the node" for wanted in request.names if wanted.lower() not in names]
    said += [f"{wanted} is no address of the node" for wanted in request.addresses if _address(wanted) not in addresses]
    return said


def approval(csr: Mapping[str, Any], node: str) -> dict[str, Any]:
    """The patch for `<PATH>/<name>/approval`."""
    condition = {
        "type": "Approved",
        "status": "True",
        "reason": "WinkubeNodeVerified",
        "message": f"User, groups, usages, names and addresses are those of the Node {node}.",
    }
    present = (csr.get("status") or {}).get("conditions") or ()
    return {"status": {"conditions": [*present, condition]}}


def _address(text: object) -> str:
    try:
        return str(ipaddress.ip_address(str(text)))
    except ValueError:
        return str(text)
