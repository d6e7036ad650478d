# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks of how a node was set up: files of an earlier life, flanneld's service, its lease beside those of others, the
folders of CNI, the hypervisor beneath; and what is not known without the cluster."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator

from ..components.flannel import subnet_env
from ..engine import windows_path
from ..engine.reading import Query, file_key
from ..facts import cni
from ..network.virtual_machine import hypervisor
from ..repair.rejoin import stale_files
from ..words.cause import ERROR, NOTE, Area, Cause
from ..words.finding import Seen
from ..words.remedies import FLANNEL_FILES, REJOIN, advice, converge
from ..words.remedy import Ends
from .check import Check, Needs
from .checks_workloads import setting
from .scene import Scene, list_adapters

BIOS = Query("registry:bios", "registry", (("path", r"HKLM\HARDWARE\DESCRIPTION\System\BIOS"),))
GUEST = Query("registry:guest", "registry", (("path", r"HKLM\SOFTWARE\Microsoft\Virtual Machine\Guest\Parameters"),))
"""What a Hyper-V host tells its guests: VirtualMachineName, PhysicalHostName. Source: learn.microsoft.com, Hyper-V
integration services, key-value pair exchange."""

_VIRTUAL_MACHINES = ("virtual", "vmware", "kvm", "qemu", "xen", "bochs", "hvm", "openstack", "google compute", "ec2")

PROMISCUOUS = {
    "microsoft corporation": "On its Hyper-V host: Set-VMNetworkAdapter -VMName {name} -MacAddressSpoofing On",
    "vmware": "In vSphere, on the port group: promiscuous mode, MAC address changes and forged transmits: Accept",
}
"""How MAC spoofing is allowed, by the manufacturer in the machine's BIOS."""


def _kubernetes(scene: Scene) -> bool:
    return scene.expected.kubernetes


def _earlier_life(scene: Scene) -> Iterator[Seen]:
    """Files but subnet.env, which has its own check, against the Node's podCIDR; against the lease, where the network
    has it too, if that is not known."""
    if not scene.expected.runs_flannel:
        return
    own = scene.lease.subnet.network if scene.lease else None
    network = scene.pod_network
    cidr = scene.pod_cidr or (str(own) if own and network and own in network.prefixes else "")
    lease = subnet_env.path(scene.layout)
    for path, said in stale_files(scene.layout, cidr, scene.first):
        if not windows_path.is_same(path, lease):
            yield Seen(path, f"it says {said}", f"the node's range {cidr}")


def _no_iface(scene: Scene) -> Iterator[Seen]:
    if scene.flanneld is not None and not any(word.startswith(("--iface", "-iface")) for word in scene.flanneld):
        yield Seen(
            "flanneld",
            "it has no --iface: on a machine with several adapters it takes another one after a restart",
            "--iface with the node's address",
            evidence=(" ".join(scene.flanneld),),
        )


def _no_node_name(scene: Scene) -> Iterator[Seen]:
    """Source: flannel pkg/subnet/kube/kube.go NewSubnetManager: NODE_NAME, else its pod's."""
    if not scene.expected.runs_flannel:
        return
    found = scene.second.service(scene.layout.flanneld_service)
    if found is None or scene.flanneld is None:
        return
    nssm = found.get("nssm") or {}
    entries = [
        *(found.get("environment") or ()),
        *(nssm.get("AppEnvironmentExtra") or ()),
        *(nssm.get("AppEnvironment") or ()),
    ]
    if not any(str(entry).upper().startswith("NODE_NAME=") for entry in entries):
        yield Seen(f"service {scene.layout.flanneld_service}", "it has no NODE_NAME in its environment", "the Node's")


def _lease_taken(scene: Scene) -> Iterator[Seen]:
    """The lease's range is another node's podCIDR."""
    if scene.lease is None or scene.tried is None or scene.tried.objects is None or not scene.whole:
        return
    for node in scene.tried.objects.nodes:
        name = str((node.get("metadata") or {}).get("name"))
        cidr = str((node.get("spec") or {}).get("podCIDR") or "")
        if name == scene.expected.node_name or not cidr or ":" in cidr:
            continue
        if scene.lease.subnet.network.overlaps(ipaddress.IPv4Network(cidr)):
            seen = f"FLANNEL_SUBNET {scene.lease.subnet} is the node {name}'s podCIDR {cidr}"
            yield Seen(subnet_env.path(scene.layout), seen, "a range that no other node has")


def _cni_folders(scene: Scene) -> Iterator[Seen]:
    """One place for CNI's programs and one for its configuration: the same for containerd as for who writes them."""
    if not _kubernetes(scene):
        return
    layout = scene.layout
    conf_dir = setting(scene, lambda places: places.cni_conf_dir)
    bin_dir = setting(scene, lambda places: places.cni_bin) or setting(scene, lambda places: places.cni_bin_list)
    bins = [str(one) for one in (bin_dir if isinstance(bin_dir, list) else [bin_dir]) if one]
    if conf_dir and not windows_path.is_same(str(conf_dir), layout.cni_conf_dir):
        yield Seen("containerd", f"it reads CNI configurations in {conf_dir}", layout.cni_conf_dir)
    if bins and not any(windows_path.is_same(one, layout.cni_bin_dir) for one in bins):
        yield Seen("containerd", f"it looks for CNI programs in {', '.join(bins)}", layout.cni_bin_dir)
    if scene.expected.runs_flannel:
        for name in (*cni.MEMBERS, cni.FLANNEL_PLUGIN):
            path = windows_path.join(layout.cni_bin_dir, name)
            if scene.first.parts.get(file_key(path), {"exists": True}).get("exists") is False:
                yield Seen("CNI plugins", f"there is no {path}", "all of them")


def _hypervisor(scene: Scene) -> Iterator[Seen]:
    """A virtual machine of which no Hyper-V host told: no one sees from inside what its host lets through."""
    if not _kubernetes(scene) or any(each.mac in scene.macs for each in scene.vm_adapters):
        return
    maker = _of_registry(scene, BIOS, "SystemManufacturer")
    product = _of_registry(scene, BIOS, "SystemProductName")
    on = "" if maker or product else hypervisor(list_adapters(scene.first))
    name = _of_registry(scene, GUEST, "VirtualMachineName") or (scene.tried.host if scene.tried else "")
    evidence = (
        f"manufacturer: {maker or 'not known'}, product: {product or 'not known'}",
        *((f"its adapters are those of {on}",) if on else ()),
    )
    text = f"{maker} {product}".casefold()
    if on or any(word in text for word in _VIRTUAL_MACHINES):
        allow = next((text for who, text in PROMISCUOUS.items() if who in maker.casefold()), "").format(name=name)
        allow = allow or "Allow MAC spoofing (promiscuous mode, forged transmits) on all its adapters on its host."
        yield Seen(
            "this virtual machine",
            "from inside nobody sees whether its host lets the pods' MAC addresses through",
            remedy=advice(
                f"{allow} Look with Get-VMNetworkAdapter -VMName {name} | Format-List Name, MacAddress, "
                "MacAddressSpoofing."
            ),
            evidence=evidence,
        )
    elif not maker and not product:
        yield Seen(
            "this machine",
            "whether it is a virtual one is not known",
            remedy=advice(
                "If it is one (Get-CimInstance Win32_ComputerSystem | Format-List Manufacturer, Model), allow MAC "
                "spoofing on all its network adapters on its host."
            ),
            evidence=evidence,
        )


def _of_registry(scene: Scene, query: Query, name: str) -> str:
    values = (scene.first.parts.get(query.key) or {}).get("values") or {}
    return str((values.get(name) or {}).get("value") or "")


def _not_asked(scene: Scene) -> Iterator[Seen]:
    if scene.tried is None or scene.tried.objects is not None or not _kubernetes(scene):
        return
    name = scene.expected.node_name
    yield Seen(
        "the cluster",
        f"it was not asked: {scene.tried.no_cluster.rstrip('.')}. Whether the Node is Ready, its podCIDR, and whether "
        "its pods run is not known",
        remedy=advice(
            f"kubectl get node {name} -o wide, kubectl get pods -A -o wide --field-selector spec.nodeName={name}",
            variables=("winkube_cluster.kubeconfig",),
        ),
    )


CHECKS = (
    Check(
        Cause(
            "node.earlier-life",
            ERROR,
            "The node keeps files of an earlier life",
            "The Node was deleted and came back with another range; the files were kept.",
            REJOIN.said(
                "With the node drained: kubeadm reset on it, remove what is left below C:\\var\\lib\\kubelet\\pki "
                "and C:\\run\\flannel, then join it again."
            ),
            explains=("kube-proxy.source-vip", "kube-proxy.rule-source-vip"),
            area=Area.NODE,
        ),
        _earlier_life,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "flannel.no-iface",
            ERROR,
            "flanneld chooses an adapter by itself",
            "Its service was made by hand, or by a script.",
            FLANNEL_FILES.said("Give flanneld --iface with the host's address."),
            explains=("hns.network-adapter",),
        ),
        _no_iface,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "flannel.no-node-name",
            ERROR,
            "flanneld does not know its Node",
            "Without NODE_NAME it does not find the Node whose podCIDR is its lease.",
            FLANNEL_FILES.said(
                "Give flanneld's service NODE_NAME with the Node's name (nssm.exe set flanneld "
                "AppEnvironmentExtra NODE_NAME=NAME), and restart it."
            ),
            explains=("flannel.*", "hns.no-network", "cni.absent"),
        ),
        _no_node_name,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "flannel.lease-taken",
            ERROR,
            "flanneld's lease is another node's range",
            "Somebody has written subnet.env by hand, or copied the machine.",
            advice(
                "Restart flanneld, which rewrites the file; only if it does not, write it by hand with a "
                "FLANNEL_SUBNET "
                "that no other node has.",
                Ends.CONNECTIONS,
            ),
            explains=("flannel.subnet-env-stale", "traffic.*"),
        ),
        _lease_taken,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "containerd.cni-folders",
            ERROR,
            "containerd and CNI do not agree on their folders",
            "containerd's configuration is of another installation, or its plugins were removed.",
            converge(
                "cni",
                "containerd",
                text=(
                    "Set bin_dir and conf_dir of containerd's config.toml to the folders that have the plugins and "
                    "cni.conf, and restart containerd."
                ),
            ),
            explains=("cni.plugin-missing", "cni.absent", "node.not-ready", "pod.stuck"),
        ),
        _cni_folders,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "host.mac-spoofing-unknown",
            NOTE,
            "Whether the hypervisor lets pods send is not known",
            "",
            advice("Allow MAC spoofing on all of the machine's network adapters on its host."),
        ),
        _hypervisor,
        needs=Needs.TRIED,
    ),
    Check(
        Cause(
            "node.not-asked",
            NOTE,
            "The cluster was not asked",
            "",
            advice(
                "kubectl get node NAME -o wide and kubectl get pods -A -o wide tell what the node does not.",
                variables=("winkube_cluster.kubeconfig",),
            ),
            area=Area.NODE,
        ),
        _not_asked,
        needs=Needs.TRIED,
    ),
)
