# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a node's network and its Node object fit each other: HNS, subnet.env, cni.conf, source VIP, conditions."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..components import networks
from ..components.expected import Expected
from ..components.flannel import subnet_env
from ..components.layout import Layout
from ..engine import windows_path
from ..engine.reading import Query, Reading, file_query
from ..engine.resource import Refused
from ..facts.cni_plugins import TRANSLATES_NODES
from .verify import ERROR, WARNING, Finding, source_vip

CNI_CONF = "cni.conf"
CNI_LIMIT = 64 * 1024

NETWORKS: Mapping[str, str] = {"l2bridge": "cbr0", "overlay": "vxlan0"}
"""flannel's network in each mode."""

NOT_READY_TAINTS = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/pid-pressure",
    "node.cloudprovider.kubernetes.io/uninitialized",
)
"""Taints that the cluster itself puts on a node that pods should not come to.

Source: kubernetes.io/docs/reference/labels-annotations-taints.
"""

NO_NETWORK = "Run site.yml with the tag flannel; flanneld's log says why it made no network."


def reads(layout: Layout, expected: Expected) -> tuple[Query, ...]:
    """What the checks need besides the programs; nothing where the network is the cluster's."""
    if not expected.flannel:
        return ()
    return (
        networks.adapters_query(),
        networks.hns_query(),
        subnet_env.query(layout),
        file_query(_conf(layout), content_limit=CNI_LIMIT),
    )


def check_network(
    layout: Layout, expected: Expected, reading: Reading, node: Mapping[str, Any] | None
) -> tuple[Finding, ...]:
    """What HNS, flanneld and the CNI configuration say, against each other and against the Node's podCIDR."""
    if not expected.flannel:
        return ()
    pod_cidr = str(((node or {}).get("spec") or {}).get("podCIDR") or "")
    subnet, addressed = _own_subnet(expected, reading)
    lease, findings = _lease(layout, reading, pod_cidr)
    return (
        *addressed,
        *findings,
        *_hns(expected, reading, lease),
        *_exceptions(layout, expected, reading, subnet),
        *_vip(layout, expected, reading, lease),
    )


def check_node(expected: Expected, node: Mapping[str, Any] | None) -> tuple[Finding, ...]:
    """The Node object: there, Ready, labelled, without the taints of a node in trouble, with a podCIDR if flannel
    needs one. Only with access to the cluster."""
    check = f"Node {expected.node_name}"
    if node is None:
        text = f"The cluster has no Node {expected.node_name}."
        return (
            Finding(check, ERROR, text, "Run site.yml with the tag join; kubelet's log says why it did not register."),
        )
    return (*_ready(check, node), *_labels(check, node), *_taints(check, node), *_pod_cidr(check, expected, node))


def check_address(expected: Expected, reading: Reading, node: Mapping[str, Any] | None) -> tuple[Finding, ...]:
    """Whether the cluster knows the node by its own address: the API server looks for the kubelet there."""
    reported = [
        str(each.get("address"))
        for each in ((node or {}).get("status") or {}).get("addresses") or ()
        if each.get("type") == "InternalIP"
    ]
    try:
        own = networks.management(reading, interface=expected.interface_name, address=expected.management_ip)
    except Refused:
        return ()
    if node is None or own.address in reported:
        return ()
    text = (
        f"The Node {expected.node_name} has the InternalIP {', '.join(reported) or '(none)'}, but the node's address "
        f"is {own.address}: logs, exec and metrics go astray."
    )
    remedy = "Run site.yml with the tag kubelet, which gives the kubelet --node-ip; look at what overrules it there."
    return (Finding("address", ERROR, text, remedy),)


def _own_subnet(expected: Expected, reading: Reading) -> tuple[str, list[Finding]]:
    try:
        own = networks.management(reading, interface=expected.interface_name, address=expected.management_ip)
    except Refused as refused:
        remedy = "Give the host its address back, or correct winkube_interface_name and winkube_management_ip."
        return "", [Finding("address", ERROR, str(refused), remedy)]
    return own.subnet, []


def _conf(layout: Layout) -> str:
    return windows_path.join(layout.cni_conf_dir, CNI_CONF)


def _lease(layout: Layout, reading: Reading, pod_cidr: str) -> tuple[subnet_env.SubnetEnv | None, list[Finding]]:
    path = subnet_env.path(layout)
    text = reading.text(path)
    if text is None:
        return None, [Finding("subnet.env", ERROR, f"There is no {path}: flanneld has no lease.", NO_NETWORK)]
    try:
        lease = subnet_env.parse(text)
    except subnet_env.SubnetEnvError as error:
        return None, [Finding("subnet.env", ERROR, f"{path} cannot be used: {error}.", NO_NETWORK)]
    if pod_cidr and not lease.subnet.network.subnet_of(ipaddress.IPv4Network(pod_cidr)):
        text = f"{path} says {lease.subnet}, which does not lie in the Node's podCIDR {pod_cidr}."
        remedy = "The Node was made anew with another range: run site.yml, which makes the network anew as well."
        return lease, [Finding("subnet.env", ERROR, text, remedy)]
    return lease, []


def _hns(expected: Expected, reading: Reading, lease: subnet_env.SubnetEnv | None) -> Iterator[Finding]:
    name = (expected.network_name or NETWORKS.get(expected.network_mode, "")).casefold()
    check = f"HNS network {name}"
    try:
        known = networks.hns_networks(reading)
    except Refused as refused:
        yield Finding(check, ERROR, str(refused), "Look at the service hns on the node.")
        return
    if known is None:
        text = "There is no HNS: the feature Containers is not installed, or the machine was not restarted since."
        yield Finding(check, ERROR, text, "Run site.yml with the tag host.")
        return
    network = next((each for each in known if each.name.casefold() == name), None)
    if network is None:
        there = ", ".join(each.name for each in known) or "none"
        yield Finding(check, ERROR, f"There is no HNS network {name}; there are: {there}.", NO_NETWORK)
        return
    if network.type.casefold() != expected.network_mode:
        text = f"The HNS network {name} is of type {network.type}, wanted is {expected.network_mode}."
        yield Finding(check, ERROR, text, "Drain the node, stop flanneld, remove that network, and run site.yml.")
    if not network.management_ip:
        text = f"The HNS network {name} has no management address."
        yield Finding(check, ERROR, text, "Wait some seconds; then look whether the adapter has an address.")
    elif network.management_ip not in _addresses(reading):
        text = f"The HNS network {name} has the management address {network.management_ip}, which no adapter has."
        yield Finding(check, ERROR, text, "The host's address has changed: run site.yml with the tag flannel.")
    if lease and network.prefixes and str(lease.subnet.network) not in network.prefixes:
        text = (
            f"The HNS network {name} has {', '.join(network.prefixes)}, but flanneld's lease is {lease.subnet.network}."
        )
        yield Finding(check, ERROR, text, "Start flanneld again: it makes the network anew.")


def _addresses(reading: Reading) -> set[str]:
    try:
        return {address for adapter in networks.adapters(reading) for address, _prefix in adapter.addresses}
    except Refused:
        return set()


def _exceptions(layout: Layout, expected: Expected, reading: Reading, node_subnet: str) -> Iterator[Finding]:
    """Pods reach pods, services and nodes with their own address: a network that is no exception is translated."""
    path = _conf(layout)
    text = reading.text(path)
    if text is None:
        yield Finding("cni.conf", ERROR, f"There is no {path}: no pod can start.", NO_NETWORK)
        return
    try:
        conf = json.loads(text)
    except ValueError as error:
        yield Finding("cni.conf", ERROR, f"{path} is not JSON: {error}.", "Run site.yml with the tag flannel.")
        return
    exceptions = tuple(outbound_exceptions(conf))
    needed = [one for cidr in (expected.cluster_cidr, expected.service_cidr) for one in _ipv4(cidr)]
    own = [node_subnet] if node_subnet and expected.network_mode not in TRANSLATES_NODES else []
    missing = networks.uncovered(exceptions, [*needed, *own])
    if missing:
        text = (
            f"{path} lets traffic from pods to {', '.join(missing)} be translated (its exceptions are "
            f"{', '.join(exceptions) or 'none'})."
        )
        yield Finding(
            "cni.conf", ERROR, text, "Put them into winkube_exception_list, and run site.yml with the tag flannel."
        )


def outbound_exceptions(value: Any, version: Any = None) -> Iterator[str]:
    """The exceptions of every OutBoundNAT policy below `value`, in both forms: `Settings.Exceptions` (apiVersion 2) and
    `ExceptionList`, which the plugins do not read under apiVersion 2."""
    if isinstance(value, Mapping):
        version = next((one for key, one in value.items() if key.casefold() == "apiversion"), version)
        if str(value.get("Type", "")).casefold() == "outboundnat":
            settings = value.get("Settings") or {}
            old = () if version == 2 else value.get("ExceptionList") or ()
            yield from (str(one) for one in (*(settings.get("Exceptions") or ()), *old))
        for one in value.values():
            yield from outbound_exceptions(one, version)
    elif isinstance(value, list):
        for one in value:
            yield from outbound_exceptions(one, version)


def _ipv4(cidr: str) -> Iterable[str]:
    return [part.strip() for part in cidr.split(",") if part.strip() and ":" not in part]


def _vip(layout: Layout, expected: Expected, reading: Reading, lease: subnet_env.SubnetEnv | None) -> Iterator[Finding]:
    if expected.network_mode != "overlay" or not expected.kube_proxy or lease is None:
        return
    vip = source_vip(layout, reading)
    remedy = "Run site.yml with the tag kube_proxy: it reserves an address of the node's range."
    if not vip:
        text = f"The service {layout.kube_proxy_service} has no --source-vip, which the overlay network needs."
        yield Finding("source VIP", ERROR, text, remedy)
    elif ipaddress.ip_address(vip) not in lease.subnet.network:
        text = f"kube-proxy's source VIP {vip} does not lie in the node's range {lease.subnet.network}."
        yield Finding("source VIP", ERROR, text, remedy)


def _ready(check: str, node: Mapping[str, Any]) -> Iterator[Finding]:
    conditions = (node.get("status") or {}).get("conditions") or ()
    ready = next((one for one in conditions if one.get("type") == "Ready"), None)
    if ready is None or ready.get("status") != "True":
        why = f"{(ready or {}).get('reason') or 'no condition'}: {(ready or {}).get('message') or 'nothing was said'}"
        remedy = "Look at the findings above, if there are any; else at kubelet's log."
        yield Finding(check, ERROR, f"{check} is not Ready ({why.rstrip('.')}).", remedy)


def _labels(check: str, node: Mapping[str, Any]) -> Iterator[Finding]:
    labels = (node.get("metadata") or {}).get("labels") or {}
    if labels.get("kubernetes.io/os") != "windows":
        said = labels.get("kubernetes.io/os") or "not there"
        text = f"{check} has the label kubernetes.io/os={said}, wanted is windows: no pod for Windows comes to it."
        yield Finding(check, ERROR, text, "Another machine may have registered under this name; look at its addresses.")


def _taints(check: str, node: Mapping[str, Any]) -> Iterator[Finding]:
    spec = node.get("spec") or {}
    found = [str(taint.get("key")) for taint in spec.get("taints") or () if taint.get("key") in NOT_READY_TAINTS]
    if found:
        yield Finding(
            check, ERROR, f"{check} has the taint {', '.join(found)}.", f"kubectl describe node says why ({check})."
        )
    if spec.get("unschedulable"):
        yield Finding(
            check, WARNING, f"{check} is cordoned: no new pod comes to it.", "kubectl uncordon, when you are done."
        )


def _pod_cidr(check: str, expected: Expected, node: Mapping[str, Any]) -> Iterator[Finding]:
    if expected.flannel and not (node.get("spec") or {}).get("podCIDR"):
        text = f"{check} has no podCIDR; flannel cannot give its pods addresses."
        yield Finding(
            check, ERROR, text, "The controller manager needs --allocate-node-cidrs=true and a range with room left."
        )
