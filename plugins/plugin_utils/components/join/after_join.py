# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After the join, in the cluster: wait for the Node, approve its certificate request, set labels and taints.

None of this is rolled back: the machine has joined.
"""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...cluster.answer import Object
from ...cluster.client import Cluster, wait_for
from ...cluster.documents import Request, request
from ...cluster.error import ClusterError
from ...cluster.pods import pods_of
from ...engine.clock import Clock
from ...engine.reading import Reading, file_key
from ...engine.waiting import Wait
from ..kubelet.kubelet import is_there
from ..kubelet.places import cert_dir, config_file
from ..layout import Layout
from . import node_object
from .options import JoinOptions

# Whether a kubelet's request for a serving certificate may be approved: only for the node's real names and addresses.
# Kubernetes itself approves no serving certificates, since it cannot know them. Source: kubernetes.io, Certificate
# Signing Requests, signer kubernetes.io/kubelet-serving.

SIGNER = "kubernetes.io/kubelet-serving"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
_GROUPS = frozenset({"system:nodes", "system:authenticated"})
_USAGES = (
    frozenset({"digital signature", "server auth"}),
    frozenset({"digital signature", "key encipherment", "server auth"}),
)
"""Key usages with an elliptic key, and with an RSA key. Source: kubernetes pkg/apis/certificates/helpers.go."""
_NAMES = frozenset({"Hostname", "InternalDNS", "ExternalDNS"})
_ADDRESSES = frozenset({"InternalIP", "ExternalIP"})


def is_pending(csr: Mapping[str, Any], node: str) -> bool:
    """Whether this is a pending request of `node` for a serving certificate."""
    spec, status = csr.get("spec") or {}, csr.get("status") or {}
    decided = any(item.get("type") in {"Approved", "Denied", "Failed"} for item in status.get("conditions") or ())
    mine = spec.get("signerName") == SIGNER and spec.get("username") == f"system:node:{node}"
    return mine and not decided and not status.get("certificate")


def request_problems(csr: Mapping[str, Any], request: Request, node: Mapping[str, Any]) -> list[str]:
    """Why `csr`, whose request is `request`, must not be approved for the Node object `node`: one clause each."""
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
    said += [f"{wanted} is not a name of the node" for wanted in request.names if wanted.lower() not in names]
    said += [f"{one} is not an address of the node" for one in request.addresses if _address(one) not in addresses]
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


CSR_S = 30
"""Seconds to wait for a new node's request for a serving certificate."""
CONFLICT = 409


@dataclass(frozen=True, slots=True)
class Joined:
    """A machine that has joined: what its Node object should be by its options and by what the machine is.
    `serving_csr`: whether its kubelet asks for a serving certificate, `served`: whether it has had one before this run;
    `just_now`: whether it joined in this run, so that its Node is waited for."""

    options: JoinOptions
    architecture: str = ""
    build: int | None = None
    serving_csr: bool = False
    served: bool = False
    just_now: bool = False

    @classmethod
    def of(cls, options: JoinOptions, layout: Layout, reading: Reading, *, just_now: bool) -> Joined:
        """From a reading of it."""
        system = reading.parts.get("system", {}).get("os") or {}
        architecture, serving = str(system.get("architecture") or ""), _wants_serving_certificate(layout, reading)
        certificates = (reading.parts.get(file_key(cert_dir(layout))) or {}).get("entries") or ()
        served = any(str(name).startswith("kubelet-server-") for name in certificates)
        return cls(options, architecture, reading.build, serving, served, just_now)

    @property
    def name(self) -> str:
        """The Node's."""
        return self.options.node_name

    @property
    def timeout_s(self) -> int:
        """How long its Node is waited for; 0 for one that had joined before."""
        return self.options.node_timeout if self.just_now else 0

    @property
    def csr_timeout_s(self) -> int:
        """How long its request is waited for: where it will come for the first time, since the kubelet has just been
        started with it."""
        if not self.serving_csr or (self.served and not self.just_now):
            return 0
        return min(CSR_S, self.timeout_s) if self.just_now else CSR_S


@dataclass(frozen=True, slots=True)
class Report:
    """`steps`: what changed in the cluster; `warnings`: sentences; `node`: the Node object."""

    steps: tuple[str, ...]
    warnings: tuple[str, ...]
    node: Object


def look_after(cluster: Cluster, joined: Joined, clock: Clock, *, check: bool = False) -> Report:
    """Wait, approve, patch; with `check` only report it. ClusterError if the Node or its podCIDR does not come, or
    if its labels are not a Windows node's."""
    node = _node(cluster, joined, clock)
    steps, warnings = _certificates(cluster, joined, clock, node, check=check)
    node, patched = _taints(cluster, joined, node, check=check)
    if problems := node_object.label_problems(node, architecture=joined.architecture, build=joined.build):
        raise ClusterError(
            f"The Node {joined.name} has joined, but {'; '.join(problems)}: the kubelet sets these labels, so "
            "another machine has this name, or something removed them."
        )
    return Report((*steps, *patched), tuple(warnings), node)


def _node(cluster: Cluster, joined: Joined, clock: Clock) -> Object:
    name, timeout_s = joined.name, joined.timeout_s
    node = wait_for(
        Wait(f"join: waiting for the Node {name}", clock),
        timeout_s,
        lambda: cluster.node(name),
        f"The machine has joined, but within {timeout_s} s the cluster got no Node {name}: the kubelet registers it "
        "under the name of its --hostname-override; look into the kubelet's log.",
    )
    if not joined.options.wait_for_pod_cidr or not timeout_s:
        return node
    return wait_for(
        Wait(f"join: waiting for the podCIDR of the Node {name}", clock),
        timeout_s,
        lambda: found if (found := cluster.node(name)) and node_object.pod_cidr(found) else None,
        f"The Node {name} has joined, but within {timeout_s} s it got no podCIDR, without which flanneld ends: "
        "kube-controller-manager gives them out with --allocate-node-cidrs and --cluster-cidr, and may have run out of "
        "them.",
    )


def _certificates(
    cluster: Cluster, joined: Joined, clock: Clock, node: Mapping[str, Any], *, check: bool
) -> tuple[list[str], list[str]]:
    """Handle every request of this node for a serving certificate: approve it if it is right, else warn."""
    steps: list[str] = []
    warnings: list[str] = []
    if not joined.options.approve_serving:
        return steps, warnings
    for found in _requests(cluster, joined, clock, 0 if check else joined.csr_timeout_s):
        label = str(found["metadata"]["name"])
        try:
            asked = request(base64.b64decode(str((found.get("spec") or {}).get("request") or "")))
            problems = request_problems(found, asked, node)
        except ClusterError as error:
            problems = [str(error).rstrip(".")]
        if problems:
            warnings.append(
                f"The certificate request {label} of {joined.name} was not approved: {'; '.join(problems)}. Look at "
                f"it (kubectl describe csr {label}) and deny it unless you know whose it is."
            )
            continue
        if not check:
            cluster.patch(f"{REQUESTS}/{label}/approval", approval(found, joined.name))
        steps.append(f"approve the serving certificate of {joined.name} ({label})")
    return steps, warnings


def _requests(cluster: Cluster, joined: Joined, clock: Clock, timeout_s: int) -> list[Object]:
    def pending() -> list[Object] | None:
        return [item for item in cluster.items(REQUESTS) if is_pending(item, joined.name)] or None

    if not timeout_s:
        return pending() or []
    try:
        wait = Wait(f"join: waiting for the certificate request of {joined.name}", clock)
        return wait_for(wait, timeout_s, pending)
    except ClusterError as error:
        if error.status:
            raise
        return []


def plan_taints(cluster: Cluster, node: Object, taints: Sequence[str]) -> tuple[str, ...]:
    """What `look_after` would do to the Node and its pods for these taints."""
    added = node_object.find_missing_taints(node, taints)
    if not added:
        return ()
    name = str(node["metadata"]["name"])
    return (node_object.taint_step(name, added, cluster.items(pods_of(name))),)


def _taints(cluster: Cluster, joined: Joined, node: Object, *, check: bool) -> tuple[Object, tuple[str, ...]]:
    for attempt in range(3):
        patch = node_object.build_taint_patch(node, joined.options.taints)
        if patch is None:
            return node, ()
        steps = plan_taints(cluster, node, joined.options.taints)
        if check:
            return node, steps
        try:
            patched = cluster.patch(f"/api/v1/nodes/{joined.name}", patch)
        except ClusterError as error:
            if error.status != CONFLICT or attempt == 2:
                raise
            node = cluster.node(joined.name) or node
        else:
            return patched or node, steps
    return node, ()


def _wants_serving_certificate(layout: Layout, reading: Reading) -> bool:
    """Whether kubeadm's KubeletConfiguration, or its command line, makes the kubelet ask the cluster for its serving
    certificate."""
    service = reading.service(layout.kubelet_service) or {}
    told = f"{service.get('image_path')} {(service.get('nssm') or {}).get('AppParameters')}"
    if "--rotate-server-certificates=true" in told:
        return True
    text = reading.text(config_file(layout)) if is_there(config_file(layout), reading) else None
    return re.search(r"(?m)^serverTLSBootstrap:\s*true\s*$", text or "") is not None
