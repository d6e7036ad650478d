# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Remedies for a stuck node network, each a batch, ordered so that one may make the next unnecessary.

They start stopped services in the order of a first boot, remove conflicting networks and endpoints, and relaunch
flanneld a bounded number of times. Only then, and only if allowed, subnet.env is written. Source of the order:
kubernetes/website, Windows troubleshooting, "flanneld is stuck in ..." and "My Windows Pods cannot launch because of
missing /run/flannel/subnet.env".
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..components import networks, registry
from ..components.flannel import flannel_conf, subnet_env, virtual_switch
from ..components.join import join
from ..components.layout import Layout
from ..engine import windows_path
from ..engine.batch import Batch, Op, as_base64
from ..engine.environment import NSSM_VARIABLES, fingerprint
from ..engine.reading import Expectation, Query, Reading, merge_queries, services_query, system_query
from ..engine.resource import Refused
from ..engine.resources.service import ACTIVE, RUNNING
from ..engine.services.existing import Existing
from ..engine.tools import halt, start_ops, wait_pipe, wait_service
from ..facts.flannel import BACKENDS
from ..network.model import Endpoint, Hns, Network
from . import COMPONENT, hns, rejoin, stopping
from .options import RepairOptions

PAUSE_S = 10
"""Seconds between the two reads of endpoints: a pod in the making has no namespace for a moment."""
AUTO = 2
"""The start type of a service that Windows starts at boot. Source: winsvc.h SERVICE_AUTO_START."""


@dataclass(frozen=True, slots=True)
class NodeNetwork:
    """The network that a node should have. `ours` is what counts as ours in HNS, `pod_cidr` its Node's range (empty:
    unknown), `nodes` are all Nodes of the cluster (None: unknown)."""

    options: RepairOptions
    layout: Layout
    ours: hns.Ours
    pod_cidr: str = ""
    nodes: Sequence[Mapping[str, Any]] | None = None

    @classmethod
    def of(
        cls,
        options: RepairOptions,
        layout: Layout,
        nodes: Sequence[Mapping[str, Any]] | None,
        recorded: tuple[str, ...],
    ) -> NodeNetwork:
        """By the module's options; `recorded` are the ids of the networks that batches made."""
        flannel_conf.check_mode(options.network_mode, None)
        own = next((each for each in nodes or () if _name(each) == options.node_name), {})
        ours = hns.Ours(hns.list_own_names(options.network_name), options.cluster_cidr, recorded)
        return cls(options, layout, ours, str((own.get("spec") or {}).get("podCIDR") or ""), nodes)

    @property
    def mode(self) -> str:
        """The kind of network."""
        return self.options.network_mode

    @property
    def network(self) -> str:
        """flannel's HNS network."""
        return flannel_conf.network_name(self.mode, self.options.network_name if self.mode == "overlay" else "")


@dataclass(frozen=True, slots=True)
class Remedy:
    """One batch. `why` is the observation, `text` the remedy, both without a full stop."""

    why: str
    text: str
    batch: Batch


class Node(Protocol):
    """The node to repair."""

    seen: Reading
    """The last reading."""

    def look(self, after_s: float = 0) -> Reading:
        """Read it again."""

    def send(self, remedy: Remedy) -> None:
        """Execute it and read the node again. Raises if it was rolled back."""

    def attempt(self, remedy: Remedy) -> str:
        """Execute it and read the node again; why it was rolled back, empty if it was not."""


def reads(layout: Layout) -> tuple[Query, ...]:
    """What the choice of remedies reads."""
    return merge_queries(
        (
            system_query(),
            *hns.QUERIES,
            subnet_env.query(layout),
            *rejoin.reads(layout),
            services_query((*stopping.names(layout), layout.containerd_service)),
        )
    )


def repair(wanted: NodeNetwork, node: Node) -> str:
    """Apply remedies one by one, each chosen by the state that the one before left; why flanneld is still stuck,
    empty if it is not. Refused for a problem that no restart fixes."""
    if wanted.options.switch_mode and (going := find_other_mode(wanted, node.seen)):
        node.send(switch_mode(wanted, going, node.seen))
        return ""  # nothing works until site.yml has made the networks of the other mode
    _refuse_other_life(wanted, node.seen)
    before = hns.hns(node.seen)
    if find_blocking(wanted, before, before):
        dead = find_blocking(wanted, before, hns.hns(node.look(PAUSE_S)))
        if dead:
            node.send(remove_endpoints(wanted, dead, node.seen))
    if names := find_down(wanted, node.seen):
        node.send(start_in_order(wanted, names, node.seen))
    if stuck := _launch(wanted, node):
        return stuck
    if wanted.options.remove_policy_lists and (lists := remove_policy_lists(wanted, node.seen)):
        node.send(lists)
    return ""


def _refuse_other_life(wanted: NodeNetwork, reading: Reading) -> None:
    """Refused for a node that must join again, and for a network of the other mode. A lease that alone has another
    range than podCIDR and network was edited: a new launch makes flanneld write it again."""
    network = hns.hns(reading).network(wanted.network)
    fits = bool(wanted.pod_cidr) and network is not None and ipaddress.ip_network(wanted.pod_cidr) in network.prefixes
    edited = subnet_env.path(wanted.layout) if fits else ""
    stale = [
        f"{path} is of another range ({said}) than the podCIDR {wanted.pod_cidr}"
        for path, said in rejoin.stale_files(wanted.layout, wanted.pod_cidr, reading)
        if path != edited
    ]
    if stale:
        raise Refused(f"{'; '.join(stale)}: this node was deleted and has joined again. Run {join.REJOIN}.")
    if others := find_other_mode(wanted, reading):
        raise Refused(
            f"The HNS network {others[0].name} is of type {others[0].type}, and winkube_network_mode {wanted.mode} "
            "needs another: with -e winkube_repair_switch_mode=true it is removed, once its pods are gone."
        )


def _launch(wanted: NodeNetwork, node: Node) -> str:
    """Launch flanneld again, a limited number of times; then, if allowed, write subnet.env in its place: a lease is
    useless without its network."""
    made = launch_until_there(wanted, 1 + wanted.options.retries, node.seen, node.attempt, node.look)
    if not made or not made[-1].error:
        return ""
    if not wanted.options.generate_subnet_env or waits_for_network(wanted, node.seen):
        return (
            f"flanneld was launched {len(made)} times, and its network {wanted.network} or its "
            f"{subnet_env.path(wanted.layout)} did not come. The last time: {made[-1].error}"
        )
    options = wanted.options
    found = networks.management(node.seen, interface_name=options.interface_name, address=options.management_ip)
    node.send(write_lease(wanted, options.subnet, wanted.nodes, found.adapter.mtu, node.seen))
    return ""


def _name(node: Mapping[str, Any]) -> str:
    return str((node.get("metadata") or {}).get("name") or "")


# -- what is wrong -----------------------------------------------------------------------------------------------------


def waits_for_network(wanted: NodeNetwork, reading: Reading) -> str:
    """Why flanneld counts as stuck: its network is missing, or has no management address. Empty if it is not stuck."""
    service = wanted.layout.flanneld_service
    if reading.service(service) is None:
        return ""
    found = hns.hns(reading)
    network = found.network(wanted.network)
    if not found.knows("networks"):
        return ""
    if network is None:
        return f"{service} is there, but its HNS network {wanted.network} is not"
    if not network.management_ip:
        return f"the HNS network {wanted.network} has no management address"
    return ""


def lacks_lease(wanted: NodeNetwork, reading: Reading) -> str:
    """A clause if flanneld has not written subnet.env, or one that does not fit this node; else empty."""
    if reading.service(wanted.layout.flanneld_service) is None:
        return ""
    path = subnet_env.path(wanted.layout)
    text = reading.text(path)
    if text is None:
        return f"there is no {path}, so pods cannot start"
    cluster = str(networks.list_pod_ranges(wanted.options.cluster_cidr)[0])
    wrong = list(subnet_env.problems(text, cluster=cluster, mode=wanted.mode, mtu=0))
    if (
        not wrong
        and wanted.pod_cidr
        and _is_outside(str(subnet_env.parse(text).subnet.ip), ipaddress.ip_network(wanted.pod_cidr))
    ):
        wrong = [f"FLANNEL_SUBNET does not lie in the podCIDR {wanted.pod_cidr}"]
    return f"{path} does not fit: {'; '.join(wrong)}" if wrong else ""


def find_down(wanted: NodeNetwork, reading: Reading) -> tuple[str, ...]:
    """Our services that did not start with the machine, in the order of a first boot, without those of start type
    manual or disabled."""
    return tuple(
        name
        for name in _boot_order(wanted.layout)
        if (found := reading.service(name)) is not None and found.get("start") == AUTO and found.get("state") != RUNNING
    )


def find_other_mode(wanted: NodeNetwork, reading: Reading) -> tuple[Network, ...]:
    """Our networks on the node's adapters with another type than the mode's. A virtual switch has one type, so they
    block the mode."""
    kind = BACKENDS[wanted.mode].hns_type.casefold()
    return tuple(each for each in hns.hns(reading).networks if wanted.ours.owns(each) and each.type != kind)


def find_blocking(wanted: NodeNetwork, before: Hns, now: Hns) -> tuple[Endpoint, ...]:
    """Endpoints of dead pods that keep an address from others.

    Each is on our networks, was seen twice, and has neither namespace nor container; and its address also belongs to
    another endpoint, or is outside the node's range.
    """
    cidr = ipaddress.ip_network(wanted.pod_cidr) if wanted.pod_cidr else None
    earlier = {each.id for each in _find_dead(wanted, before)}
    held: dict[str, int] = {}
    for each in now.endpoints:
        for address in each.addresses:
            held[address] = held.get(address, 0) + 1
    return tuple(
        each
        for each in _find_dead(wanted, now)
        if each.id in earlier
        and any(held[one] > 1 or (cidr is not None and _is_outside(one, cidr)) for one in each.addresses)
    )


def _find_dead(wanted: NodeNetwork, found: Hns) -> tuple[Endpoint, ...]:
    mine = {each.id: each for each in found.networks if wanted.ours.owns(each)}
    return tuple(
        each
        for each in found.endpoints
        if each.network in mine
        and not (each.remote or found.is_attached(each) or each.containers)
        and not each.name.casefold().endswith("_ep")
        and "source" not in each.name.casefold()
    )


def _is_outside(address: str, cidr: ipaddress.IPv4Network | ipaddress.IPv6Network) -> bool:
    try:
        return ipaddress.ip_address(address) not in cidr
    except ValueError:
        return False


# -- what is done about it ---------------------------------------------------------------------------------------------


def remove_endpoints(wanted: NodeNetwork, dead: Sequence[Endpoint], reading: Reading) -> Remedy:
    """Remove the dead endpoints by id."""
    named = ", ".join(each.label for each in dead)
    return _remedy(
        f"{named} of pods that are gone keep addresses",
        f"remove {named}",
        (hns.remove_objects(hns.ENDPOINTS, [each.id for each in dead]),),
        wanted,
        reading,
    )


def remove_policy_lists(wanted: NodeNetwork, reading: Reading) -> Remedy | None:
    """Clean what an earlier kube-proxy left in HNS: stop kube-proxy, remove all policy lists, start it.

    Source: microsoft/SDN Kubernetes/windows/start-kubeproxy.ps1, `Get-HnsPolicyList | Remove-HnsPolicyList`.
    """
    lists = hns.hns(reading).policy_lists
    service = wanted.layout.kube_proxy_service
    if not lists or reading.service(service) is None:
        return None
    ran = stopping.list_active((service,), reading)
    return _remedy(
        f"HNS has {len(lists)} policy lists, and winkube_repair_policy_lists says that they go",
        f"remove {len(lists)} policy lists" + (f", with {service} stopped, which makes its own again" if ran else ""),
        (
            *stopping.stop((service,), reading),
            hns.remove_objects(hns.POLICY_LISTS, [each.id for each in lists]),
            *(_start(service, reading, stopping.TIMEOUT_S) if ran else ()),
        ),
        wanted,
        reading,
    )


def relaunch(wanted: NodeNetwork, why: str, reading: Reading) -> Remedy:
    """Stop and start flanneld, until its network and its lease exist. Refused if it is not told its node, since it
    would end the same way."""
    layout = wanted.layout
    service = layout.flanneld_service
    found = reading.service(service) or {}
    _refuse_without_name(wanted, found)
    stop = stopping.stop((service,), reading) if found.get("state") in ACTIVE else ()
    return _remedy(
        why,
        f"relaunch {service}, with {wanted.options.network_timeout} s for its network {wanted.network}",
        (
            *stop,
            *_start(service, reading, stopping.TIMEOUT_S),
            virtual_switch.wait_network(wanted.network, wanted.options.network_timeout),
            Op("wait", {"for": "file", "path": subnet_env.path(layout), "timeout_s": wanted.options.network_timeout}),
        ),
        wanted,
        reading,
    )


@dataclass(frozen=True, slots=True)
class Launch:
    """One attempt to get flanneld's network; `error` says why it was rolled back, empty if it worked."""

    remedy: Remedy
    error: str


def launch_until_there(
    wanted: NodeNetwork, tries: int, reading: Reading, send: Callable[[Remedy], str], look: Callable[[], Reading]
) -> tuple[Launch, ...]:
    """Launch flanneld again, at most `tries` times, until its network and its lease exist; empty if they do already.
    `send` returns why an attempt was rolled back, `look` reads the node again."""
    made: list[Launch] = []
    while len(made) < tries:
        why = waits_for_network(wanted, reading) or lacks_lease(wanted, reading)
        if not why:
            break
        remedy = relaunch(wanted, why, reading)
        made.append(Launch(remedy, send(remedy)))
        if not made[-1].error:
            break
        reading = look()
    return tuple(made)


def start_in_order(wanted: NodeNetwork, names: Sequence[str], reading: Reading) -> Remedy:
    """Start services that stayed down after a boot, each after its prerequisites: containerd's pipe, flannel's
    network."""
    layout = wanted.layout
    ops: list[Op] = []
    for name in names:
        ops += _start(name, reading, wanted.options.network_timeout)
        if name == layout.containerd_service:
            ops.append(wait_pipe(layout.containerd_pipe, wanted.options.network_timeout))
        elif name == layout.flanneld_service:
            ops.append(virtual_switch.wait_network(wanted.network, wanted.options.network_timeout))
        else:
            ops.append(wait_service(name, RUNNING, wanted.options.network_timeout, stable_s=10))
    states = ", ".join(f"{name} is {(reading.service(name) or {}).get('state')}" for name in names)
    return _remedy(states, f"start {', '.join(names)} in this order", tuple(ops), wanted, reading)


def switch_mode(wanted: NodeNetwork, going: Sequence[Network], reading: Reading) -> Remedy:
    """Remove the networks of the other mode while kube-proxy, kubelet and flanneld are stopped; the site playbook
    makes the new ones. Refused while they are in use."""
    layout = wanted.layout
    found = hns.hns(reading)
    order = sorted(going, key=lambda each: each.id in wanted.ours.recorded)
    pods = rejoin.evict(layout, found, list(order), reading)
    names = stopping.names(layout)
    kind = BACKENDS[wanted.mode].hns_type
    return _remedy(
        f"{', '.join(f'{each.name} is of type {each.type}' for each in order)}, and {wanted.mode} needs {kind}",
        f"remove the HNS networks {', '.join(each.name for each in order)}, so that site.yml can make those of "
        f"{wanted.mode}",
        (
            *stopping.stop(names[:2], reading),
            *pods,
            *stopping.stop(names[2:], reading, after=names[:2]),
            *hns.remove(found, order, networks.adapters(reading)),
        ),
        wanted,
        reading,
    )


def write_lease(
    wanted: NodeNetwork, subnet: str, nodes: Iterable[Mapping[str, Any]] | None, mtu: int, reading: Reading
) -> Remedy:
    """Write subnet.env as flanneld would, if flanneld does not. `subnet` is the node's range, empty for its Node's
    podCIDR; `nodes` are all Nodes. Refused for a range that is another node's, or that cannot be compared."""
    text = lease(wanted, subnet, nodes, mtu)
    path = subnet_env.path(wanted.layout)
    old = reading.text(path)
    back = (
        Op("remove", {"path": path}) if old is None else Op("write", {"path": path, "content": as_base64(old.encode())})
    )
    write = Op("write", {"path": path, "content": as_base64(text.encode())}).with_undo(back)
    folder = windows_path.parent(path)
    made = Op("mkdir", {"path": folder}).with_undo(Op("remove", {"path": folder, "only_if_empty": True}))
    why = f"{wanted.layout.flanneld_service} does not write {path}"
    return _remedy(why, f"write {path}: {', '.join(text.split())}", (made, write), wanted, reading)


def lease(wanted: NodeNetwork, subnet: str, nodes: Iterable[Mapping[str, Any]] | None, mtu: int) -> str:
    """The text of subnet.env, with a range that only this node has."""
    if nodes is None:
        raise Refused(
            "subnet.env is generated only where all nodes' ranges are known, since two nodes with one range lose each "
            "other's pods: set winkube_cluster.kubeconfig to a kubeconfig on the controller."
        )
    given = subnet or wanted.pod_cidr
    if not given:
        raise Refused(
            f"The Node {wanted.options.node_name} has no podCIDR, so its range is unknown: the controller manager "
            "needs --allocate-node-cidrs; or name one with winkube_repair_subnet."
        )
    span = networks.ipv4(networks.ranges(given, "winkube_repair_subnet"))
    if not wanted.options.cluster_cidr:
        raise Refused("winkube_cluster_cidr: it is empty, and the cluster does not say the pods' range: set it.")
    cluster = networks.list_pod_ranges(wanted.options.cluster_cidr)
    if not span or not any(span[0].subnet_of(cover) for cover in cluster):
        raise Refused(
            f"winkube_repair_subnet: {given} does not lie in winkube_cluster_cidr {wanted.options.cluster_cidr}."
        )
    if taken := find_user(span[0], wanted.options.node_name, nodes):
        raise Refused(
            f"winkube_repair_subnet: {span[0]} overlaps {taken[1]} of the node {taken[0]}: with one range for two "
            "nodes, the traffic for their pods goes to one of them. Choose a range that no node has."
        )
    largest = (mtu or subnet_env.LARGEST_MTU) - (subnet_env.VXLAN_OVERHEAD if wanted.mode == "overlay" else 0)
    rows = {
        "FLANNEL_NETWORK": str(cluster[0]),
        "FLANNEL_SUBNET": f"{span[0].network_address + 1}/{span[0].prefixlen}",
        "FLANNEL_MTU": str(largest),
        "FLANNEL_IPMASQ": "true",
    }
    return "".join(f"{name}={value}\n" for name, value in rows.items())


def find_user(
    span: ipaddress.IPv4Network, own: str, nodes: Iterable[Mapping[str, Any]]
) -> tuple[str, ipaddress.IPv4Network] | None:
    """The other node whose podCIDR overlaps `span`, and that range."""
    for node in nodes:
        name = _name(node)
        spec = node.get("spec") or {}
        listed = [str(each) for each in spec.get("podCIDRs") or [spec.get("podCIDR")] if each]
        if name == own or not listed:
            continue
        for other in networks.ipv4(networks.ranges(",".join(listed), f"the podCIDR of the Node '{name}'")):
            if span.overlaps(other):
                return name, other
    return None


# -- the parts ---------------------------------------------------------------------------------------------------------


def _boot_order(layout: Layout) -> tuple[str, ...]:
    return tuple(daemon.service(layout) for daemon in registry.start_order())


def _start(name: str, reading: Reading, timeout_s: int) -> tuple[Op, ...]:
    """Start it; the undo stops it unless it ran before."""
    start, *waits = start_ops(name, timeout_s)
    ran = (reading.service(name) or {}).get("state") in ACTIVE
    return (start if ran else start.with_undo(halt(name, timeout_s)), *waits)


def _remedy(why: str, text: str, ops: tuple[Op, ...], wanted: NodeNetwork, reading: Reading) -> Remedy:
    batch = Batch(
        component=COMPONENT,
        ops=ops,
        pre=(Expectation(system_query(), (("machine", reading.machine), ("boot_id", reading.boot_id))),),
        state=reads(wanted.layout),
    )
    return Remedy(why, text, batch)


def _refuse_without_name(wanted: NodeNetwork, found: Mapping[str, Any]) -> None:
    parameters = found.get("nssm") or {}
    entries = [
        *(found.get("environment") or ()),
        *(one for name in NSSM_VARIABLES for one in parameters.get(name) or ()),
    ]
    line = f"{Existing(found).program} {parameters.get('AppParameters') or found.get('image_path')}"
    lacks = [
        *(
            []
            if fingerprint(f"NODE_NAME={wanted.options.node_name}") in entries
            else [f"NODE_NAME={wanted.options.node_name}"]
        ),
        *(word for word in ("--kubeconfig-file", "--iface", "--ip-masq", "--kube-subnet-mgr") if word not in line),
    ]
    if lacks:
        raise Refused(
            f"The service {wanted.layout.flanneld_service} should be started again, but it lacks {', '.join(lacks)} "
            "and would hang again: run site.yml with the tag flannel, which sets them."
        )
