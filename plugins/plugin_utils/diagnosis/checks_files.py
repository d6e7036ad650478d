# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of files and arguments that have to fit each other: net-conf.json, subnet.env, services."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..components.flannel import subnet_env
from ..components.networks import Adapter
from ..engine.sentences import join_words
from ..facts.flannel import BACKENDS, PORT, VNI
from ..words.cause import ERROR, Cause
from ..words.causes import CAUSES
from ..words.finding import Seen
from ..words.remedies import FLANNEL_FILES, KUBE_PROXY, converge
from ..words.remedy import Ends
from .check import Check, Needs, inside, ranges
from .scene import Scene, argument

NET_CONF, SUBNET_ENV = "net-conf.json", "subnet.env"


def _bridge_endpoint(scene: Scene) -> Iterator[Seen]:
    """`<network>_ep` in the host's own compartment, by which the host reaches its pods."""
    network, conf = scene.pod_network, scene.cni_conf
    if network is None or network.type != "l2bridge" or conf is None or not scene.hns.knows("endpoints"):
        return
    if not scene.expected.flannel_is_ours or all(each.type != "flannel" for each in conf.plugins):
        return
    name = f"{network.name}_ep"
    own = [each for each in scene.hns.endpoints if each.name.casefold() == name.casefold()]
    if not own:
        yield Seen(f"endpoint {name}", "it is not there", "the host's endpoint in the pod network")
    elif network.prefixes and not any(inside(one, network.prefixes) for each in own for one in each.addresses):
        yield Seen(
            f"endpoint {name}",
            f"its address is {join_words(own[0].addresses)}",
            f"one in {join_words(network.prefixes)}",
        )
    elif scene.adapters is not None and not any(
        each.is_virtual and each.physical.casefold() == name.casefold() for each in scene.adapters
    ):
        yield Seen(f"endpoint {name}", f"the host has no adapter vEthernet ({name})", "attached to the host")


def _own(adapters: tuple[Adapter, ...] | None) -> list[str]:
    return [address for each in adapters or () for address, _length in each.addresses]


def _backend(scene: Scene) -> Mapping[str, Any]:
    found = (scene.net_conf or {}).get("Backend")
    return found if isinstance(found, Mapping) else {}


def _flannel_name(scene: Scene) -> str:
    """What flanneld calls its network. Source: flannel pkg/backend, hostgw_windows.go and vxlan_windows.go."""
    backend = _backend(scene)
    if name := str(backend.get("Name") or ""):
        return name
    return f"flannel.{backend.get('VNI', VNI)}" if backend.get("Type") == "vxlan" else "cbr0"


def _net_conf_name(scene: Scene) -> Iterator[Seen]:
    if scene.net_conf is None or _backend(scene).get("Type") not in {each.type for each in BACKENDS.values()}:
        return
    name = _flannel_name(scene)
    if scene.cni_conf is not None and scene.cni_conf.name.casefold() != name.casefold():
        yield Seen(NET_CONF, f"flanneld calls its network {name}, cni.conf says {scene.cni_conf.name}", "one name")
    elif scene.network_name and scene.network_name.casefold() != name.casefold():
        yield Seen(NET_CONF, f"flanneld calls its network {name}", scene.network_name)


def _net_conf_backend(scene: Scene) -> Iterator[Seen]:
    network = scene.pod_network
    wanted = scene.network_mode or (network.type if network else "")
    backend = _backend(scene)
    if scene.net_conf is None or wanted not in BACKENDS:
        return
    if backend.get("Type") != BACKENDS[wanted].type:
        yield Seen(
            NET_CONF, f"the backend is {backend.get('Type') or 'missing'}", f"{BACKENDS[wanted].type} for {wanted}"
        )


def _net_conf_vxlan(scene: Scene) -> Iterator[Seen]:
    backend = _backend(scene)
    if backend.get("Type") != "vxlan":
        return
    vni, port = backend.get("VNI", VNI), backend.get("Port", PORT)
    if not isinstance(vni, int) or vni < VNI:
        yield Seen(NET_CONF, f"VNI is {vni}", f"{VNI} or more")
    elif scene.vni and vni != scene.vni:
        yield Seen(NET_CONF, f"VNI is {vni}", str(scene.vni))
    if port != PORT:
        yield Seen(NET_CONF, f"Port is {port}", str(PORT))
    for key in ("DirectRouting", "GBP"):
        if backend.get(key):
            yield Seen(NET_CONF, f"{key} is true", f"no {key}: flanneld on Windows does not start with it")


def _net_conf_network(scene: Scene) -> Iterator[Seen]:
    wanted = [each for each in ranges(scene.expected.cluster_cidr) if each.version == 4]
    found = ranges(str((scene.net_conf or {}).get("Network") or ""))
    if wanted and found and not set(found) <= set(wanted):
        yield Seen(NET_CONF, f"Network is {join_words(found)}", f"{join_words(wanted)}, the pods' network")


def _no_lease(scene: Scene) -> Iterator[Seen]:
    if scene.expected.flannel_is_ours and scene.content(subnet_env.path(scene.layout)) == "":
        yield Seen(
            SUBNET_ENV, f"there is no {subnet_env.path(scene.layout)}: flanneld has no lease", "flanneld's lease"
        )


def _lease_invalid(scene: Scene) -> Iterator[Seen]:
    """What flanneld would not have written, whatever the node's range is."""
    text = scene.content(subnet_env.path(scene.layout)) if scene.expected.flannel_is_ours else None
    if not text:
        return
    cluster = [each for each in ranges(scene.expected.cluster_cidr) if each.version == 4]
    try:
        lease = subnet_env.parse(text)
    except subnet_env.SubnetEnvError as error:
        yield Seen(SUBNET_ENV, str(error), "the four rows that flanneld writes")
        return
    if cluster and lease.network != cluster[0]:
        yield Seen(SUBNET_ENV, f"FLANNEL_NETWORK is {lease.network}", str(cluster[0]))
    if not lease.subnet.network.subnet_of(lease.network):
        yield Seen(SUBNET_ENV, f"FLANNEL_SUBNET is {lease.subnet}", f"a range in FLANNEL_NETWORK {lease.network}")


def _lease_stale(scene: Scene) -> Iterator[Seen]:
    """Against the Node's podCIDR; where that is not known, against the network that flanneld has made of it."""
    network = scene.pod_network
    if scene.lease is None:
        return
    if scene.pod_cidr:
        if not inside(str(scene.lease.subnet.ip), ranges(scene.pod_cidr)):
            yield Seen(
                SUBNET_ENV, f"FLANNEL_SUBNET is {scene.lease.subnet}", f"one within the podCIDR {scene.pod_cidr}"
            )
    elif network is not None and network.prefixes and scene.lease.subnet.network not in network.prefixes:
        yield Seen(
            SUBNET_ENV,
            f"FLANNEL_SUBNET is {scene.lease.subnet}, network {network.name} has {join_words(network.prefixes)}",
            "one range",
        )


def _proxy_network(scene: Scene) -> Iterator[Seen]:
    """--network-name, else KUBE_NETWORK. Source: kubernetes pkg/proxy/winkernel/proxier.go getNetworkName."""
    network = scene.pod_network
    if scene.kube_proxy is None or network is None:
        return
    given = argument(scene.kube_proxy, "network-name")
    if given:
        if given.casefold() != network.name.casefold():
            yield Seen("kube-proxy", f"--network-name is {given}", network.name)
        return
    by_env = scene.env_of_kube_proxy("KUBE_NETWORK", network.name)
    if by_env is False:
        yield Seen("kube-proxy", "KUBE_NETWORK in its environment is another name", network.name)
    elif by_env is None and not argument(scene.kube_proxy, "config"):
        yield Seen("kube-proxy", "neither --network-name nor KUBE_NETWORK names a network", network.name)


def _proxy_vip(scene: Scene) -> Iterator[Seen]:
    network = scene.pod_network
    if scene.kube_proxy is None or network is None or network.type != "overlay" or argument(scene.kube_proxy, "config"):
        return
    if not scene.source_vip:
        yield Seen("kube-proxy", "it has no --source-vip", "an address of the node's range")
    elif network.prefixes and not inside(scene.source_vip, network.prefixes):
        yield Seen("kube-proxy", f"--source-vip is {scene.source_vip}", f"an address in {join_words(network.prefixes)}")


def _proxy_vip_taken(scene: Scene) -> Iterator[Seen]:
    vip = scene.source_vip
    if not vip or scene.cluster is None:
        return
    for pod in scene.cluster.pods:
        if pod.address == vip:
            yield Seen(
                "kube-proxy", f"--source-vip {vip} is the address of pod {pod.name}", "an address that is reserved"
            )


def _proxy_host(scene: Scene) -> Iterator[Seen]:
    wanted = scene.expected.node_name
    if scene.kube_proxy is None or not wanted or argument(scene.kube_proxy, "config"):
        return
    given = argument(scene.kube_proxy, "hostname-override")
    if given.casefold() != wanted.casefold():
        yield Seen("kube-proxy", f"--hostname-override is {given or 'missing'}", wanted)


def _proxy_cidr(scene: Scene) -> Iterator[Seen]:
    given = argument(scene.kube_proxy or (), "cluster-cidr")
    wanted = scene.expected.cluster_cidr
    if given and wanted and not set(ranges(given)) <= set(ranges(wanted)):
        yield Seen("kube-proxy", f"--cluster-cidr is {given}", wanted)


def _flanneld_iface(scene: Scene) -> Iterator[Seen]:
    given = argument(scene.flanneld or (), "iface")
    if not given or scene.adapters is None:
        return
    names = {name.casefold() for each in scene.adapters for name in (each.name, each.physical)}
    if given not in _own(scene.adapters) and given.casefold() not in names:
        yield Seen(
            "flanneld", f"--iface is {given}; the host has {join_words(_own(scene.adapters))}", "an address of the host"
        )


CHECKS = (
    Check(
        CAUSES["flannel.bridge-endpoint"],
        _bridge_endpoint,
    ),
    Check(
        Cause(
            "flannel.net-conf-name",
            ERROR,
            "flanneld calls its network otherwise",
            "Backend.Name in net-conf.json is missing or not cni.conf's name; flannel's own are flannel.<VNI> and "
            "cbr0.",
            FLANNEL_FILES.said("Set Backend.Name of net-conf.json to the name in cni.conf, and restart flanneld."),
            "microsoft/SDN#320",
            explains=("kube-proxy.network-name", "hns.no-network"),
        ),
        _net_conf_name,
    ),
    Check(
        CAUSES["flannel.net-conf-backend"],
        _net_conf_backend,
    ),
    Check(
        CAUSES["flannel.net-conf-vxlan"],
        _net_conf_vxlan,
    ),
    Check(
        CAUSES["flannel.net-conf-network"],
        _net_conf_network,
    ),
    Check(
        CAUSES["flannel.no-subnet-env"],
        _no_lease,
    ),
    Check(
        Cause(
            "flannel.subnet-env-invalid",
            ERROR,
            "flanneld's lease cannot be used",
            "Somebody has edited subnet.env, or it comes from another cluster.",
            FLANNEL_FILES.said("Remove C:\\run\\flannel\\subnet.env and restart flanneld, which writes it again."),
            explains=("flannel.subnet-env-stale", "pod.*"),
        ),
        _lease_invalid,
    ),
    Check(
        Cause(
            "flannel.subnet-env-stale",
            ERROR,
            "flanneld's lease is of another range than the node",
            "Somebody has edited subnet.env, or it is of an earlier life of the node.",
            FLANNEL_FILES.said(
                "Remove C:\\run\\flannel\\subnet.env and restart flanneld, which writes it by the Node's podCIDR."
            ),
            "microsoft/SDN#371",
            explains=("hns.endpoint-outside-range", "kube-proxy.source-vip", "kube-proxy.rule-source-vip", "pod.*"),
        ),
        _lease_stale,
    ),
    Check(
        CAUSES["kube-proxy.network-name"],
        _proxy_network,
    ),
    Check(
        CAUSES["kube-proxy.source-vip"],
        _proxy_vip,
    ),
    Check(
        Cause(
            "kube-proxy.source-vip-taken",
            ERROR,
            "A pod has kube-proxy's source VIP",
            "The address was not reserved with host-local, or the reservation's file was removed.",
            converge(
                "kube_proxy",
                text=(
                    "Reserve another address of the node's range for --source-vip (a file of its name below "
                    "\\var\\lib\\cni\\networks) and restart kube-proxy, then delete the pod."
                ),
                ends=(Ends.PODS,),
            ),
            "kubernetes/kubernetes#123014",
        ),
        _proxy_vip_taken,
        needs=Needs.CLUSTER,
    ),
    Check(
        CAUSES["kube-proxy.hostname-override"],
        _proxy_host,
    ),
    Check(
        Cause(
            "kube-proxy.cluster-cidr",
            ERROR,
            "kube-proxy has another network for pods",
            "--cluster-cidr was copied from another cluster.",
            KUBE_PROXY.said("Set kube-proxy's --cluster-cidr to the cluster's pod range, and restart it."),
            explains=("traffic.*",),
        ),
        _proxy_cidr,
    ),
    Check(
        CAUSES["flannel.iface"],
        _flanneld_iface,
    ),
)
