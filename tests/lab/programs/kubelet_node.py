"""kubelet.exe's Node, judged by kubernetes v1.37.1 pkg/kubelet/kubelet_node_status.go.

The Node object of a Windows kubelet: what it registers, and what it reports.

Sources: kubernetes pkg/kubelet/kubelet_node_status.go, pkg/kubelet/nodestatus/setters.go.
"""

from __future__ import annotations

import contextlib
import ipaddress
from typing import TYPE_CHECKING, Any

from tests.lab.cluster.client import NodeClient, RefusedError
from tests.lab.cluster.cluster import LEASES
from tests.lab.cluster.store import strategic
from tests.lab.machine import image
from tests.lab.programs.flags import Flags, pairs

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

Object = dict[str, Any]
_PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)


def name_of(node: SimulatedNode, flags: Flags) -> str:
    """--hostname-override, else the computer's name; both in lower case."""
    return (flags.text("hostname-override") or image.computer_name(node.registry)).strip().lower()


def told(flags: Flags, minor: int) -> tuple[str, ...]:
    """The addresses of --node-ip; what is none is passed over. ValueError with what the kubelet ends with.

    Source: kubernetes cmd/kubelet/app/server.go; component-helpers/node/util/ips.go, ParseNodeIPArgument.
    """
    text, found = flags.text("node-ip"), []
    for part in text.split(",") if text else ():
        with contextlib.suppress(ValueError):
            found.append(ipaddress.ip_address(part.strip()))
    provider = flags.text("cloud-provider")
    if len(found) > 2 or len({one.version for one in found}) < len(found):
        raise ValueError(f'bad --node-ip "{text}": must contain either a single IP or a dual-stack pair of IPs')
    if len(found) == 2 and provider and (provider != "external" or minor < 29):
        raise ValueError(f'bad --node-ip "{text}": dual-stack not supported in this configuration')
    if len(found) == 2 and any(one.is_unspecified for one in found):
        raise ValueError(f"bad --node-ip \"{text}\": dual-stack node IP cannot include '0.0.0.0' or '::'")
    return tuple(str(one) for one in found)


def invalid(node: SimulatedNode, address: str) -> str:
    """Why a kubelet does not report this address; empty if it does. Source: kubelet_node_status.go, validateNodeIP."""
    found = ipaddress.ip_address(address)
    for wrong, what in (
        (found.is_loopback, "loopback address"),
        (found.is_multicast, "a multicast address"),
        (found.is_link_local, "a link-local unicast address"),
    ):
        if wrong:
            return f"nodeIP can't be {what}"
    held = [
        item.address
        for adapter in node.adapters.all()
        for item in (*node.adapters.addresses(adapter), *node.adapters.current(adapter).by_hand.ipv6)
    ]
    return "" if address in held else f'node IP: "{address}" not found in the host\'s network interfaces'


def addresses_of(node: SimulatedNode, flags: Flags, minor: int) -> tuple[str, ...]:
    """What it reports: those of --node-ip, none of them if one is invalid; without it, one."""
    given = told(flags, minor)
    if given:
        return () if any(invalid(node, one) for one in given) else given
    found = address_of(node)
    return (found,) if found else ()


def address_of(node: SimulatedNode) -> str:
    """What the machine's own name resolves to; `` when that is nothing.

    LookupIP of a machine's own name gives the addresses of all its adapters in no order that one could count on: here
    the newest adapter comes first, and so flannel's endpoint on the host. Sources: kubernetes
    pkg/kubelet/nodestatus/setters.go NodeAddress; microsoft/SDN#315, #269; rancher/rancher#22475.
    """
    for adapter in reversed(node.adapters.all()):
        found = [item.address for item in node.adapters.addresses(adapter) if not item.link_local]
        if found:
            return found[0]
    return ""


def default_labels(node: SimulatedNode, name: str) -> dict[str, str]:
    arch = node.release.architecture
    return {
        "beta.kubernetes.io/arch": arch,
        "beta.kubernetes.io/os": "windows",
        "kubernetes.io/arch": arch,
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "windows",
        "node.kubernetes.io/windows-build": f"10.0.{node.release.build}",
    }


def status(
    node: SimulatedNode,
    flags: Flags,
    name: str,
    version: str,
    runtime: str,
    problem: str,
    old: Object,
    config: Object,
) -> Object:
    """The whole status; times of transition are kept where a condition's status is the old one's."""
    reported = addresses_of(node, flags, int(version.split(".")[1]))
    addresses = [{"type": "InternalIP", "address": one} for one in reported]
    stamp = node.clock.utc().strftime("%Y-%m-%dT%H:%M:%SZ")
    conditions = [
        {"type": kind, "status": "False", "reason": reason, "message": said} for kind, reason, said in _PRESSURES
    ]
    ready = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status"}
    if problem:
        ready |= {"status": "False", "reason": "KubeletNotReady", "message": problem}
    before = {item["type"]: item for item in old.get("conditions") or []}
    for item in (*conditions, ready):
        was = before.get(item["type"]) or {}
        same = was.get("status") == item["status"]
        item |= {
            "lastHeartbeatTime": stamp,
            "lastTransitionTime": was.get("lastTransitionTime", stamp) if same else stamp,
        }
    pods = flags.text("max-pods") or str(config.get("maxPods") or 110)
    size = {"cpu": "2", "memory": "8388148Ki", "pods": pods, "ephemeral-storage": "83884012Ki"}
    machine = node.registry.text("HKLM\\SOFTWARE\\Microsoft\\Cryptography", "MachineGuid")
    info = {
        "architecture": node.release.architecture,
        "bootID": node.boot_id,
        "containerRuntimeVersion": f"containerd://{runtime}",
        "kernelVersion": f"10.0.{node.release.build}.{node.release.revision}",
        "kubeProxyVersion": f"v{version}",
        "kubeletVersion": f"v{version}",
        "machineID": image.computer_name(node.registry),
        "operatingSystem": "windows",
        "osImage": node.release.product,
        "systemUUID": machine.upper(),
    }
    return {
        "addresses": [*addresses, {"type": "Hostname", "address": name}],
        "allocatable": allocatable(size, config),
        "capacity": size,
        "conditions": [*conditions, ready],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": info,
    }


def allocatable(size: dict[str, str], config: Object) -> dict[str, str]:
    """Capacity less systemReserved, kubeReserved and what hard eviction keeps free.

    Source: kubernetes pkg/kubelet/cm/container_manager_windows.go, GetNodeAllocatableReservation.
    """
    whole = {"cpu": _millis(size["cpu"]), "memory": _bytes(size["memory"], 0)}
    left = dict(whole)
    for part in ("systemReserved", "kubeReserved"):
        kept = config.get(part) or {}
        left["cpu"] -= _millis(str(kept.get("cpu") or "0"))
        left["memory"] -= _bytes(str(kept.get("memory") or "0"), 0)
    left["memory"] -= _bytes(str((config.get("evictionHard") or {}).get("memory.available") or "0"), whole["memory"])
    if left == whole:
        return size
    return {**size, "cpu": f"{left['cpu']}m", "memory": f"{left['memory'] // 1024}Ki"}


def _millis(text: str) -> int:
    return int(text[:-1]) if text.endswith("m") else round(float(text) * 1000)


def _bytes(text: str, whole: int) -> int:
    if text.endswith("%"):
        return int(whole * float(text[:-1]) / 100)
    for unit, factor in (("Ki", 2**10), ("Mi", 2**20), ("Gi", 2**30), ("k", 10**3), ("M", 10**6), ("G", 10**9)):
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * factor)
    return int(text)


def register(api: NodeClient, node: SimulatedNode, flags: Flags, name: str, taints: tuple[dict[str, str], ...]) -> None:
    """Makes the Node, or brings the default labels of the one that is there up to date: taints and --node-labels count
    only for a new one. UnreachableError, RefusedError.
    """
    labels = default_labels(node, name)
    found = api.find(f"/api/v1/nodes/{name}")
    if found is None:
        not_ready = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
        metadata = {
            "name": name,
            "labels": {**pairs(flags.text("node-labels")), **labels},
            "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
        }
        # Source: kubernetes v1.37.2 pkg/kubelet/kubelet_node_status.go, initialNode: only a Node that is made gets it.
        cloud = {"key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule"}
        every = [*taints, *([cloud] if flags.text("cloud-provider") == "external" else []), not_ready]
        api.send("POST", "/api/v1/nodes", {"metadata": metadata, "spec": {"taints": every}})
    elif any((found["metadata"].get("labels") or {}).get(key) != value for key, value in labels.items()):
        patch = {"metadata": {"labels": labels}}
        api.send("PATCH", f"/api/v1/nodes/{name}", patch, "application/strategic-merge-patch+json")


def report(api: NodeClient, name: str, new: Object) -> None:
    """The status of the Node. Addresses are replaced as a whole: two of one type would become one.

    Source: kubernetes component-helpers/node/util/status.go, fixupPatchForNodeStatusAddresses. UnreachableError,
    RefusedError.
    """
    node = api.get(f"/api/v1/nodes/{name}")
    status = strategic(node.get("status") or {}, new)
    addresses = [*new["addresses"], {"$patch": "replace"}]
    body = {"metadata": {"name": name}, "status": {**status, "addresses": addresses}}
    api.send("PATCH", f"/api/v1/nodes/{name}/status", body, "application/strategic-merge-patch+json")


def renew_lease(api: NodeClient, name: str, stamp: str) -> None:
    spec = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": stamp}
    try:
        api.send("PATCH", f"{LEASES}/{name}", {"spec": spec}, "application/merge-patch+json")
    except RefusedError as error:
        if error.status != 404:
            raise
        api.send("POST", LEASES, {"metadata": {"name": name}, "spec": spec})
