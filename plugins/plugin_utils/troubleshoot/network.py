# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network of the node itself: adapters, HNS, flanneld, leases, source VIP, folders of CNI."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator

from ..components import networks
from ..components.flannel import subnet_env
from ..components.kube_proxy import source_vip
from ..diagnosis import programs
from ..diagnosis.expectations import NETWORKS
from ..diagnosis.finding import WARNING, Finding
from ..diagnosis.scene import host_endpoint
from ..engine import windows_path
from ..engine.reading import file_key
from ..engine.resource import Refused
from ..facts import cni
from ..network.model import POD_TYPES, Endpoint
from ..network.parse import parse
from ..repair.rejoin import stale_files
from .evidence import Evidence, is_host_process, named, pods_of
from .model import Answer, broken, cannot_tell, does_not_apply, ok
from .workloads import setting

ENDPOINTS = ("hns.endpoint-*", "hns.pod-without-endpoint")
WAITS = "Waiting for the Network to be created"
"""What Kubernetes' pages quote of flanneld. Source: kubernetes.io, Windows troubleshooting of v1.22."""


def rejoined(evidence: Evidence) -> Answer:
    """Files of an earlier life of the node: subnet.env and the source VIP against the Node's podCIDR."""
    if not evidence.expected.flannel:
        return does_not_apply("flanneld is no service of this host.")
    layout, view = evidence.layout, evidence.cluster
    pod_cidr = str((((view.node if view else None) or {}).get("spec") or {}).get("podCIDR") or "")
    path = source_vip.source_vip_json(layout)
    kept = _text(evidence, path)
    lease = _lease(evidence)
    seen = [
        f"podCIDR of the Node: {pod_cidr or 'not known'}",
        f"{subnet_env.path(layout)}: {lease.subnet if lease else 'none'}",
        f"{path}: {'there' if kept else 'not there'}",
    ]
    files = f"{path} and {windows_path.join(layout.root, 'SourceVipRequest.json')}"
    remedy = (
        f"Run playbooks/repair.yml -e winkube_repair=rejoin for this node: it removes {files}, and lets flanneld make "
        "the network anew."
    )
    if view is not None and view.node is None and evidence.service(layout.kubelet_service) is not None:
        return broken(
            f"The cluster has no Node {evidence.expected.node_name}, though this machine has been one: it was deleted.",
            remedy,
            seen,
        )
    cidr = pod_cidr or (str(lease.subnet.network) if lease else "")
    wrong = [f"{file} says {said}, not {cidr}" for file, said in stale_files(layout, cidr, evidence.first)]
    wrong += [one.text.rstrip(".") for one in evidence.of("kube-proxy.source-vip") if given_vip(evidence)]
    if wrong:
        return broken(f"This node keeps files of an earlier life: {'; '.join(wrong)}.", remedy, seen)
    if not pod_cidr:
        return cannot_tell(
            f"The files on the node fit each other; the Node's podCIDR is not known: "
            f"{evidence.no_cluster or 'it has none'}",
            "Name a kubeconfig in winkube_cluster.kubeconfig.",
            f"kubectl get node {evidence.expected.node_name} -o jsonpath={{.spec.podCIDR}}",
            seen,
        )
    return ok("The lease and the source VIP lie in the Node's podCIDR.", seen)


def waits_for_network(evidence: Evidence) -> Answer:
    """Flanneld waits for a network whose management address does not come; also a flanneld without --iface."""
    if not evidence.expected.flannel:
        return does_not_apply("flanneld is no service of this host.")
    layout = evidence.layout
    log = evidence.logs.get(layout.flanneld_service)
    says = WAITS.casefold() in (log or "").casefold()
    seen = [
        f"flanneld's log {'has' if says else 'has no'} line '{WAITS}'"
        if log is not None
        else "flanneld's log was not read"
    ]
    argv = evidence.arguments(layout.flanneld_service, layout.flanneld_binary)
    if argv is not None:
        seen.append(f"{layout.flanneld_service}: {' '.join(argv)}")
    missing = _network_problem(evidence)
    remedy = (
        f"Look that the adapter {evidence.expected.interface_name} has its address, then relaunch flanneld: "
        f"sc.exe stop {layout.flanneld_service}, sc.exe start {layout.flanneld_service}; or run site.yml with the tag "
        "flannel, which waits for the address."
    )
    if missing and says:
        return broken(f"flanneld waits for its network: {missing}", remedy, seen)
    if missing:
        return broken(
            f"{missing} flanneld makes it when the adapter has an address and the Node a podCIDR.", remedy, seen
        )
    if argv is not None and not any(word.startswith(("--iface", "-iface")) for word in argv):
        return broken(
            "flanneld has no --iface: on a machine with several adapters it takes another one after a restart.",
            "Run site.yml with the tag flannel.",
            seen,
        )
    if name := _without_node_name(evidence):
        return broken(name, "Run site.yml with the tag flannel.", seen)
    return ok(f"flanneld's network is there{', though it had to be waited for' if says else ''}.", seen)


def lease_file(evidence: Evidence) -> Answer:
    """Subnet.env is there, can be read, fits the node, and its subnet is nobody else's."""
    if not evidence.expected.flannel:
        return does_not_apply("flanneld is no service of this host.")
    layout, expected = evidence.layout, evidence.expected
    path = subnet_env.path(layout)
    text = _text(evidence, path)
    remedy = (
        f"First restart flanneld (sc.exe stop {layout.flanneld_service}, sc.exe start {layout.flanneld_service}) "
        f"and wait: "
        f"it writes {path}. Only if it does not, write the file by hand after that of the control plane, with a "
        "FLANNEL_SUBNET that no other node has."
    )
    if not text:
        why = f"There is no {path}: flanneld has not launched correctly, and pods cannot start."
        return broken(why, remedy, [f"{path}: not there"])
    seen = [f"{path}: {line.strip()}" for line in text.splitlines() if line.strip()]
    wrong = list(
        subnet_env.problems(text, cluster=_ipv4(expected.cluster_cidr), mode=expected.network_mode, mtu=_mtu(evidence))
        if expected.cluster_cidr
        else ()
    )
    lease = _lease(evidence)
    if lease is not None and evidence.cluster is not None:
        wrong += [
            f"FLANNEL_SUBNET {lease.subnet} is the node {name}'s podCIDR {other}"
            for name, other in _others(evidence)
            if lease.subnet.network.overlaps(other)
        ]
    if wrong:
        return broken(f"{path} does not fit this node: {'; '.join(wrong)}.", remedy, seen)
    return ok(f"{path} is there and fits this node.", seen)


def adapter(evidence: Evidence) -> Answer:
    """The HNS network and its virtual adapter; the names that there really are."""
    if not evidence.expected.kubernetes:
        return does_not_apply("the node runs no Kubernetes.")
    expected = evidence.expected
    found = evidence.adapters
    hns = evidence.hns
    seen = [
        f"adapter '{one.name}' ({'up' if one.up else 'down'}): "
        f"{', '.join(a for a, _p in one.addresses) or 'no address'}"
        for one in found
    ]
    seen += [f"HNS network {one.name} ({one.type})" for one in hns.networks]
    wrong: list[str] = []
    physical = sorted({one.physical for one in found})
    virtual = [one for one in found if one.is_virtual and _like(one.physical, expected.interface_name)]
    if expected.flannel and not hns.knows("networks"):
        wrong += [one.text for one in evidence.of("hns.absent", "hns.unreadable", "hns.stopped")] or [
            "HNS could not be asked."
        ]
    elif expected.flannel:
        if hns.network(network_name(evidence)) is None:
            wrong.append(f"There is no HNS network {network_name(evidence)}.")
        wrong += [one.text for one in evidence.of("hns.network-type")]
    if not virtual and (expected.flannel or hns.networks):
        wrong.append(f"There is no adapter vEthernet ({expected.interface_name}*.")
    wrong += [one.text for one in evidence.of("host.address-lost", "node.address")]
    wrong += [one.text for one in evidence.of("host.no-adapter", "hns.network-adapter")]
    if wrong:
        names = ", ".join(f"'{name}'" for name in physical) or "none"
        return broken(
            f"{' '.join(dict.fromkeys(wrong))} Virtual network creation, a necessary prerequisite for the kubelet "
            f"to work, "
            "has failed.",
            f"The adapters here are {names}: set winkube_interface_name to the right one and run site.yml with the tag "
            "flannel; else its error and flanneld's log say what went wrong.",
            seen,
        )
    return ok("The network and its virtual adapter are there.", seen)


def endpoints(evidence: Evidence) -> Answer:
    """As many HNS endpoints as pods with a network of their own; which are missing, which are nobody's."""
    if not evidence.expected.kubernetes:
        return does_not_apply("the node runs no Kubernetes.")
    if not evidence.hns.knows("endpoints"):
        return cannot_tell(
            "HNS's endpoints could not be read.", "Look at the service hns.", "hnsdiag.exe list endpoints"
        )
    own = {address: one for one in evidence.hns.endpoints if is_pods(evidence, one) for address in one.addresses}
    later = {address for one in parse(evidence.second.parts[networks.HNS]).endpoints for address in one.addresses}
    seen = [f"endpoint {one.name}: {address}" for address, one in sorted(own.items())]
    others = evidence.of(*ENDPOINTS)
    seen += [f"{one.id}: {one.text}" for one in evidence.of(*ENDPOINTS, severity=WARNING)]
    if evidence.cluster is None:
        if others:
            return broken(" ".join(one.text for one in others), _remedies(others), seen)
        return cannot_tell(
            f"HNS has {len(own)} endpoints of pods; whether that many pods run is not known: {evidence.no_cluster}",
            "Name a kubeconfig in winkube_cluster.kubeconfig.",
            f"kubectl get pods -A -o wide --field-selector spec.nodeName={evidence.expected.node_name}",
            seen,
        )
    pods = {
        str(one.get("ip")): named(pod)
        for pod in pods_of(evidence.cluster)
        if not is_host_process(pod) and (pod.get("status") or {}).get("phase") == "Running"
        for one in (pod.get("status") or {}).get("podIPs") or [{"ip": (pod.get("status") or {}).get("podIP")}]
        if one.get("ip") and ":" not in str(one.get("ip"))
    }
    all_pods = {
        str(one.get("ip")) for pod in evidence.cluster.pods for one in (pod.get("status") or {}).get("podIPs") or ()
    }
    seen += [f"pod {name}: {address}" for address, name in sorted(pods.items())]
    missing = [
        f"{name} ({address})" for address, name in sorted(pods.items()) if address not in own and address not in later
    ]
    orphans = [address for address in sorted(own) if address in later and address not in {*pods, *all_pods}]
    wrong, remedies = [], []
    if missing:
        wrong.append(f"Running pods without an HNS endpoint: {', '.join(missing)}.")
        remedies.append(
            "Delete these pods, so that they are made anew; kube-proxy without --hostname-override deletes endpoints."
        )
    if orphans:
        wrong.append(f"HNS endpoints of no pod: {', '.join(orphans)}.")
        remedies.append("Run playbooks/repair.yml -e winkube_repair=network, or drain the node and restart it.")
    wrong += [one.text for one in others]
    if wrong:
        return broken(" ".join(wrong), " ".join([*remedies, _remedies(others)]).strip(), seen)
    return ok(f"{len(pods)} pods have an address, and HNS has their endpoints.", seen)


def vip(evidence: Evidence) -> Answer:
    """The source VIP of overlay: kube-proxy has one, of the node's range, and no pod has the same."""
    expected = evidence.expected
    if expected.network_mode != "overlay" or not expected.kube_proxy:
        return does_not_apply("a source VIP belongs to overlay, with kube-proxy as a service of the host.")
    address = given_vip(evidence)
    seen = [f"--source-vip: {address or 'none'}"]
    wrong = [one.text for one in evidence.of("kube-proxy.source-vip")]
    if evidence.cluster is not None and address:
        wrong += [
            f"The pod {named(pod)} has the source VIP {address} as its address."
            for pod in pods_of(evidence.cluster)
            if (pod.get("status") or {}).get("podIP") == address and not is_host_process(pod)
        ]
    if not address and not wrong:
        wrong.append(
            f"The service {evidence.layout.kube_proxy_service} has no --source-vip, which the overlay network needs."
        )
    if wrong:
        return broken(
            " ".join(wrong), "Run site.yml with the tag kube_proxy: it reserves an address of the node's range.", seen
        )
    return ok(f"kube-proxy sends from {address}, an address of the node's range.", seen)


def cni_folders(evidence: Evidence) -> Answer:
    """One place for CNI's programs and one for its configuration: the same for containerd as for who writes them."""
    if not evidence.expected.kubernetes:
        return does_not_apply("the node runs no Kubernetes.")
    layout = evidence.layout
    conf_dir = setting(evidence, lambda places: places.cni_conf_dir)
    bin_dir = setting(evidence, lambda places: places.cni_bin) or setting(evidence, lambda places: places.cni_bin_list)
    bins = [str(one) for one in (bin_dir if isinstance(bin_dir, list) else [bin_dir]) if one]
    seen = [f"containerd: conf_dir {conf_dir or 'not said'}, bin_dir {', '.join(bins) or 'not said'}"]
    wrong = []
    if conf_dir and not windows_path.same(str(conf_dir), layout.cni_conf_dir):
        wrong.append(f"containerd reads CNI configurations in {conf_dir}, they are written to {layout.cni_conf_dir}")
    if bins and not any(windows_path.same(one, layout.cni_bin_dir) for one in bins):
        wrong.append(f"containerd looks for CNI programs in {', '.join(bins)}, they lie in {layout.cni_bin_dir}")
    if evidence.expected.flannel:
        needed = (*cni.PLUGINS, cni.FLANNEL_PLUGIN)
        paths = [windows_path.join(layout.cni_bin_dir, name) for name in needed]
        gone = [
            path for path in paths if evidence.first.parts.get(file_key(path), {"exists": True}).get("exists") is False
        ]
        wrong += [f"there is no {path}" for path in gone]
    if wrong:
        return broken(f"{'; '.join(wrong)}.", "Run site.yml with the tags cni and containerd.", seen)
    return ok("containerd and the CNI files agree on their folders.", seen)


def is_pods(evidence: Evidence, endpoint: Endpoint) -> bool:
    """Whether an HNS endpoint is that of a pod of this node: not remote, not the host's own of flannel or Calico, not
    kube-proxy's VIP, not one of another kind of network."""
    home = evidence.hns.network_of(endpoint)
    vip = given_vip(evidence)
    if endpoint.remote or host_endpoint(endpoint.name) or vip in endpoint.addresses or not endpoint.addresses:
        return False
    return home is None or home.type in POD_TYPES


def network_name(evidence: Evidence) -> str:
    """The HNS network of the pods."""
    return evidence.expected.network_name or NETWORKS.get(evidence.expected.network_mode, "")


def given_vip(evidence: Evidence) -> str:
    """The source VIP that kube-proxy is told; empty if it is told none."""
    return programs.source_vip(evidence.layout, evidence.second)


def _network_problem(evidence: Evidence) -> str:
    name = network_name(evidence)
    found = evidence.hns.network(name)
    if found is None:
        return f"There is no HNS network {name}."
    return "" if found.management_ip else f"The HNS network {name} has no management address."


def _without_node_name(evidence: Evidence) -> str:
    found = evidence.service(evidence.layout.flanneld_service) or {}
    nssm = found.get("nssm") or {}
    entries = [
        *(found.get("environment") or ()),
        *(nssm.get("AppEnvironmentExtra") or ()),
        *(nssm.get("AppEnvironment") or ()),
    ]
    if any(str(entry).upper().startswith("NODE_NAME=") for entry in entries):
        return ""
    service = evidence.layout.flanneld_service
    return f"The service {service} has no NODE_NAME in its environment, so flanneld does not find its Node."


def _lease(evidence: Evidence) -> subnet_env.SubnetEnv | None:
    try:
        return subnet_env.parse(_text(evidence, subnet_env.path(evidence.layout)))
    except subnet_env.SubnetEnvError:
        return None


def _text(evidence: Evidence, path: str) -> str:
    return (evidence.first.text(path) or "") if file_key(path) in evidence.first.parts else ""


def _others(evidence: Evidence) -> Iterator[tuple[str, ipaddress.IPv4Network]]:
    for node in evidence.cluster.nodes if evidence.cluster else ():
        name = str((node.get("metadata") or {}).get("name"))
        cidr = str((node.get("spec") or {}).get("podCIDR") or "")
        if name != evidence.expected.node_name and cidr and ":" not in cidr:
            yield name, ipaddress.IPv4Network(cidr)


def _mtu(evidence: Evidence) -> int:
    expected = evidence.expected
    try:
        own = networks.management(
            evidence.first, interface_name=expected.interface_name, address=expected.management_ip
        )
    except Refused:
        return 0
    return own.adapter.mtu


def _ipv4(cidr: str) -> str:
    return next((part.strip() for part in cidr.split(",") if ":" not in part), cidr)


def _like(name: str, pattern: str) -> bool:
    """`-Like "<pattern>*"`, as Kubernetes' pages compare."""
    return name.casefold().startswith(pattern.casefold())


def _remedies(found: Iterable[Finding]) -> str:
    return " ".join(dict.fromkeys(one.remedy.text for one in found))
