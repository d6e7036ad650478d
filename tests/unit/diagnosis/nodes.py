"""Two healthy nodes, l2bridge under nssm and overlay under sc, with their cluster, as plain parts that tests break.

The command lines are written out as they stand on such nodes, not made by the code that is tested.
"""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node as WantedNode
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis import gather
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import Scene
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.tried import (
    InPod,
    Looking,
    Objects,
    Said,
    Stats,
    Tried,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key, service_key
from ansible_collections.winkube.node.plugins.plugin_utils.network.virtual_machine import VmAdapter
from ansible_collections.winkube.node.plugins.plugin_utils.words.cause import NOTE
from ansible_collections.winkube.node.plugins.plugin_utils.words.finding import Finding

from tests.unit.components.nodes import LAYOUT, wanted_node

Parts = dict[str, Any]

STARTED, WRITTEN = "2026-11-21T08:00:00Z", "2026-11-21T08:05:00Z"
NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
ADDRESS, MAC = "192.168.122.220", "00-15-5D-EB-40-00"
SUBNET_ENV, CNI_CONF = r"C:\run\flannel\subnet.env", r"C:\k\cni\config\cni.conf"
CONTAINERD = rf'"{LAYOUT.containerd_binary}" --run-service --log-file "{LAYOUT.containerd_log}"'
KUBELET_127 = (
    "--hostname-override=win1 --v=6 --resolv-conf= --enable-debugging-handlers --cluster-dns=10.96.0.10 "
    r"--cluster-domain=cluster.local --kubeconfig=C:\etc\kubernetes\kubelet.conf --cgroups-per-qos=false "
    "--enforce-node-allocatable= --container-runtime-endpoint=npipe:////./pipe/containerd-containerd "
    "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS --system-reserved=memory=2Gi "
    r"--register-with-taints=os=windows:NoSchedule --client-ca-file=C:\etc\kubernetes\pki\ca.crt "
    r"--bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf "
    r"--cert-dir=C:\var\lib\kubelet\pki --config=C:\var\lib\kubelet\config.yaml"
)
KUBELET_137 = (
    r"--windows-service --hostname-override=win1 --v=6 --kubeconfig=C:\etc\kubernetes\kubelet.conf "
    "--windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS "
    r"--client-ca-file=C:\etc\kubernetes\pki\ca.crt --bootstrap-kubeconfig=C:\etc\kubernetes\bootstrap-kubelet.conf "
    r"--cert-dir=C:\var\lib\kubelet\pki "
    r"--config=C:\var\lib\kubelet\config.yaml --config-dir=C:\var\lib\kubelet\config.d"
)
PROXY_BRIDGE = (
    r"--v=4 --proxy-mode=kernelspace --hostname-override=win1 --kubeconfig=C:\k\kube-proxy.kubeconfig "
    "--enable-dsr=false --cluster-cidr=10.244.0.0/16"
)
PROXY_OVERLAY = (
    r"--windows-service --v=4 --proxy-mode=kernelspace --hostname-override=win1 "
    r"--kubeconfig=C:\k\kube-proxy.kubeconfig --network-name=vxlan0 --source-vip=10.244.3.2 --enable-dsr=false "
    "--cluster-cidr=10.244.0.0/16"
)
FLANNELD = rf"--kubeconfig-file=C:\flannel\flanneld.kubeconfig --iface={ADDRESS} --ip-masq=1 --kube-subnet-mgr=1"
CONFIG_2 = r"""version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.9"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = 'C:\k\cni'
  conf_dir = 'C:\k\cni\config'
"""
CONFIG_4 = r"""version = 4
[plugins.'io.containerd.cri.v1.images'.pinned_images]
  sandbox = 'registry.k8s.io/pause:3.10.2'
[plugins.'io.containerd.cri.v1.runtime'.cni]
  bin_dirs = ['C:\k\cni']
  conf_dir = 'C:\k\cni\config'
"""
POD_IP, WEB = "10.244.3.5", "10.97.14.2"


@dataclass
class Node:
    """One node, changeable: `parts` are its reading, `node`, `pods`, ... the cluster's objects; the rest goes into
    Tried as it is. `find(id)` gives what a check finds."""

    overlay: bool
    parts: Parts
    node: Parts | None
    pods: list[Parts]
    services: list[Parts]
    slices: list[Parts]
    nodes: list[Parts]
    events: list[Parts] = field(default_factory=list)
    expected: WantedNode = field(default_factory=lambda: wanted_node("1.27.4"))
    how: Looking = field(default_factory=Looking)
    no_cluster: str = ""
    later: Callable[[Parts], None] = lambda parts: None
    """What is otherwise in the second look."""
    more: dict[str, Any] = field(default_factory=dict)
    adapters: tuple[VmAdapter, ...] | None = None

    def looked(self) -> tuple[Scene, tuple[Finding, ...]]:
        """The scene, and what is found in it."""
        first = Reading(parts=copy.deepcopy(self.parts))
        second_parts = copy.deepcopy(self.parts)
        self.later(second_parts)
        second = Reading(parts=second_parts)
        objects = Objects(
            self.node,
            tuple(self.pods),
            tuple(self.events),
            tuple(self.nodes),
            tuple(self.services),
            tuple(self.slices),
        )
        tried = Tried(
            host="win1",
            expected=self.expected,
            how=self.how,
            objects=None if self.no_cluster else objects,
            no_cluster=self.no_cluster,
            now=NOW,
            **self.more,
        )
        question = gather.Question("win1", self.expected, self.how, adapters=self.adapters)
        logs = gather.log_texts(self.expected.layout, self.expected, first, second)
        return gather.diagnose(first, second, question, tried, logs)

    def scene(self) -> Scene:
        return self.looked()[0]

    def tried(self) -> Tried:
        found = self.scene().tried
        assert found is not None
        return found

    def ids(self) -> set[str]:
        """The ids of all findings; without the notes."""
        return {one.id for one in self.looked()[1] if one.severity != NOTE}

    def find(self, identity: str) -> list[Finding]:
        return [one for one in self.looked()[1] if one.id == identity]

    def look(self, **changes: Any) -> None:
        self.how = replace(self.how, **changes)

    def want_release(self, version: str) -> None:
        self.expect(kubelet=replace(self.expected.kubelet, version=version))

    def expect(self, **changes: Any) -> None:
        self.expected = replace(self.expected, **changes)

    def service(self, name: str) -> Parts:
        found: Parts = self.parts[service_key(name)]
        return found

    def line(self, name: str, change: Callable[[str], str]) -> None:
        """Another command line for a service."""
        service = self.service(name)
        if service.get("nssm"):
            service["nssm"]["AppParameters"] = change(service["nssm"]["AppParameters"])
        else:
            service["image_path"] = change(service["image_path"])

    def file(self, path: str, content: str | None) -> None:
        self.parts[file_key(path)] = {"exists": False} if content is None else text(content)

    def hns(self, kind: str, change: Callable[[list[Parts]], list[Parts]]) -> None:
        """Other objects in HNS."""
        objects = json.loads(self.parts["hns"][kind])["Output"]
        self.parts["hns"][kind] = listed(change(objects))


def text(content: str) -> Parts:
    return {
        "exists": True,
        "kind": "file",
        "size": len(content),
        "written": WRITTEN,
        "content": base64.b64encode(content.encode()).decode(),
    }


def log(content: str = "I1121 08:05:00 started\n") -> Parts:
    return text(content) | {"tail": base64.b64encode(content.encode()).decode()}


def listed(objects: list[Parts]) -> str:
    return json.dumps({"Success": True, "Output": objects})


def by_nssm(name: str, binary: str, parameters: str, **more: Any) -> Parts:
    nssm = {
        "Application": binary,
        "AppParameters": parameters,
        "AppStdout": rf"C:\k\{name}.log",
        "AppStderr": rf"C:\k\{name}.log",
        **more,
    }
    return {**_service(name), "image_path": r"C:\k\nssm.exe", "nssm": nssm}


def by_sc(name: str, line: str) -> Parts:
    return {**_service(name), "image_path": line, "nssm": None}


def _service(name: str) -> Parts:
    return {
        "name": name,
        "state": "running",
        "start": 2,
        "pid": 0,
        "exit_code": 0,
        "service_exit_code": 0,
        "deleting": False,
        "environment": [],
    }


def conf(*exceptions: str, name: str = "cbr0") -> str:
    policy = {"Name": "EndpointPolicy", "Value": {"Type": "OutBoundNAT", "Settings": {"Exceptions": list(exceptions)}}}
    kind = "win-overlay" if name == "vxlan0" else "win-bridge"
    delegate = {"type": kind, "apiVersion": 2, "policies": [policy]}
    return json.dumps({"name": name, "type": "flannel", "delegate": delegate})


def endpoint(address: str, **more: Any) -> Parts:
    return {
        "ID": f"e-{address}",
        "Name": f"pod_{address}",
        "IPAddress": address,
        "MacAddress": "00-15-5D-EB-41-05",
        "VirtualNetwork": "N-1",
        "DNSServerList": "10.96.0.10",
        "DNSSuffix": "default.svc.cluster.local",
        "State": 2,
        "Namespace": {"ID": "ns-1"},
        **more,
    }


def rule(address: str, port: int, behind: str, protocol: int = 6, overlay: bool = False) -> Parts:
    """What kube-proxy makes of a port of a Service."""
    policy = {"Type": "ELB", "Protocol": protocol, "ExternalPort": port, "InternalPort": port, "VIPs": [address]}
    return {
        "ID": f"p-{address}",
        "References": [f"/endpoints/e-{behind}"],
        "Policies": [policy | ({"SourceVIP": "10.244.3.2"} if overlay else {})],
    }


def pod(name: str, address: str = POD_IP, image: str = "mcr.microsoft.com/windows/servercore:ltsc2022") -> Parts:
    return {
        "metadata": {"name": name, "namespace": "default", "uid": f"u-{name}"},
        "spec": {"nodeName": "win1", "containers": [{"name": "main", "image": image}]},
        "status": {
            "phase": "Running",
            "startTime": STARTED,
            "podIP": address,
            "podIPs": [{"ip": address}],
            "containerStatuses": [{"name": "main", "ready": True, "restartCount": 0, "state": {"running": {}}}],
        },
    }


def service(name: str, namespace: str, address: str, **spec: Any) -> Parts:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterIP": address, "ports": [{"port": 80, "protocol": "TCP"}], **spec},
    }


def slice_of(name: str, namespace: str, *addresses: str, ready: bool = True) -> Parts:
    return {
        "metadata": {
            "name": f"{name}-1",
            "namespace": namespace,
            "labels": {"kubernetes.io/service-name": name},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [one], "conditions": {"ready": ready}} for one in addresses],
        "ports": [{"port": 80, "protocol": "TCP"}],
    }


def node_object(name: str, cidr: str, address: str = ADDRESS, release: str = "1.27.4") -> Parts:
    return {
        "metadata": {"name": name, "labels": {"kubernetes.io/os": "windows"}},
        "spec": {"podCIDR": cidr},
        "status": {
            "addresses": [{"type": "InternalIP", "address": address}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "ok"}],
            "nodeInfo": {"kubeletVersion": f"v{release}", "containerRuntimeVersion": "containerd://1.6.36"},
        },
    }


def healthy(overlay: bool = False) -> Node:
    """A node on which everything is as it should be, with one pod of its own on it."""
    network = "vxlan0" if overlay else "cbr0"
    services = _overlay_services() if overlay else _bridge_services()
    binaries = {
        "containerd": LAYOUT.containerd_binary,
        "kubelet": LAYOUT.kubelet_binary,
        "flanneld": LAYOUT.flanneld_binary,
        "kube-proxy": LAYOUT.kube_proxy_binary,
    }
    processes = []
    for number, (name, path) in enumerate(binaries.items()):
        services[name]["pid"] = 100 + number if not services[name].get("nssm") else 50 + number
        processes.append({"pid": 100 + number, "name": path.rsplit("\\", 1)[-1], "path": path, "started": STARTED})
    logs = [LAYOUT.containerd_log, *(rf"C:\k\{name}.log" for name in binaries if name != "containerd")]
    parts: Parts = {
        "system": {
            "machine": "m-1",
            "os": {"build": 20348, "revision": 4893, "installation_type": "Server Core", "architecture": "amd64"},
        },
        "services": sorted(services),
        **{service_key(name): found for name, found in services.items()},
        "processes": processes,
        "pipe:containerd-containerd": {"exists": True},
        "http:http://127.0.0.1:10248/healthz": {"status": 200, "body": "ok"},
        "http:http://127.0.0.1:10256/healthz": {"status": 200, "body": "{}"},
        **{file_key(path): log() for path in logs},
        "adapters": [
            {"name": "Ethernet", "mac": MAC, "up": True, "dhcp": True, "mtu": 1500, "ipv4": []},
            {
                "name": "vEthernet (Ethernet)",
                "mac": MAC,
                "up": True,
                "dhcp": True,
                "mtu": 1500,
                "ipv4": [{"address": ADDRESS, "prefix": 24}],
            },
            *([] if overlay else [_gateway()]),
        ],
        "hns": {
            "available": True,
            "networks": listed(
                [
                    {
                        "ID": "N-1",
                        "Name": network,
                        "Type": "Overlay" if overlay else "L2Bridge",
                        "ManagementIP": ADDRESS,
                        "NetworkAdapterName": "Ethernet",
                        "Subnets": [{"AddressPrefix": "10.244.3.0/24"}],
                    }
                ]
            ),
            "endpoints": listed(
                [
                    endpoint(POD_IP),
                    *([] if overlay else [endpoint("10.244.3.2", Name="cbr0_ep", Namespace=None)]),
                    endpoint("192.168.122.10", Name="Ethernet", IsRemoteEndpoint=True, Namespace=None),
                    endpoint("10.244.0.2", Name="Ethernet", IsRemoteEndpoint=True, Namespace=None),
                ]
            ),
            "policylists": listed(
                [
                    rule("10.96.0.1", 443, "192.168.122.10", overlay=overlay),
                    rule("10.96.0.10", 53, "10.244.0.2", protocol=17, overlay=overlay),
                    rule(WEB, 80, POD_IP, overlay=overlay),
                ]
            ),
            "namespaces": listed([{"ID": "ns-1", "IsDefault": False}]),
        },
        file_key(SUBNET_ENV): text(
            f"FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\nFLANNEL_MTU={1450 if overlay else 1500}\n"
            "FLANNEL_IPMASQ=true\n"
        ),
        file_key(CNI_CONF): text(conf("10.244.0.0/16", "10.96.0.0/12", "192.168.122.0/24", name=network)),
        file_key(LAYOUT.containerd_config): text(CONFIG_4 if overlay else CONFIG_2),
        "registry:bios": registry(SystemManufacturer="Dell Inc.", SystemProductName="PowerEdge R650"),
        "registry:guest": {"exists": False, "values": {}},
        "variable:http_proxy": {"exists": False},
        "variable:https_proxy": {"exists": False},
    }
    release = "1.37.1" if overlay else "1.27.4"
    return Node(
        overlay,
        parts,
        node_object("win1", "10.244.3.0/24", release=release),
        [pod("web")],
        [
            service("kubernetes", "default", "10.96.0.1", ports=[{"port": 443, "protocol": "TCP"}]),
            service("kube-dns", "kube-system", "10.96.0.10", ports=[{"port": 53, "protocol": "UDP"}]),
            service("web", "default", WEB),
        ],
        [
            slice_of("kubernetes", "default", "192.168.122.10"),
            slice_of("kube-dns", "kube-system", "10.244.0.2"),
            slice_of("web", "default", POD_IP),
        ],
        [node_object("win1", "10.244.3.0/24"), node_object("linux1", "10.244.0.0/24", "192.168.122.10")],
        expected=wanted_node(
            release,
            network_mode="overlay" if overlay else "l2bridge",
            network_name="vxlan0" if overlay else "",
            cluster_cidr="10.244.0.0/16",
            service_cidr="10.96.0.0/12",
            dns_service_ip="10.96.0.10",
        ),
        how=Looking(target="http://203.0.113.7/", registries=("registry.k8s.io",)),
        more={
            "in_pod": InPod("default/web", "", dict.fromkeys(COMMANDS, Said(0))),
            "reached": {"https://registry.k8s.io/v2/": Said(0, "200")},
            "stats": Stats("2.3.7" if overlay else "1.6.36", (verdict("neither", "Nothing is wrong."),)),
        },
    )


def _gateway() -> Parts:
    """The host's own endpoint in l2bridge."""
    ipv4 = [{"address": "10.244.3.2", "prefix": 24}]
    return {"name": "vEthernet (cbr0_ep)", "mac": MAC, "up": True, "dhcp": False, "mtu": 1500, "ipv4": ipv4}


COMMANDS = ("outside", "service address", "fully qualified name", "short name", "name in between")


def verdict(blame: str, sentence: str, faulty: bool = False, **more: Any) -> Mapping[str, Any]:
    return {"blame": blame, "text": sentence, "faulty": faulty, "defect": {}, **more}


def registry(**values: str) -> Parts:
    return {
        "exists": True,
        "values": {name: {"type": "string", "value": value} for name, value in values.items()},
        "keys": [],
    }


def _windows_services() -> dict[str, Parts]:
    host = r"%systemroot%\system32\svchost.exe -k NetSvcs"
    return {"hns": by_sc("hns", host), "vmcompute": by_sc("vmcompute", r"%systemroot%\system32\vmcompute.exe")}


def _bridge_services() -> dict[str, Parts]:
    return {
        **_windows_services(),
        "containerd": by_sc("containerd", CONTAINERD),
        "kubelet": by_nssm("kubelet", LAYOUT.kubelet_binary, KUBELET_127),
        "flanneld": by_nssm(
            "flanneld", LAYOUT.flanneld_binary, FLANNELD, AppEnvironmentExtra=["NODE_NAME=sha256:0123456789abcdef"]
        ),
        "kube-proxy": by_nssm(
            "kube-proxy",
            LAYOUT.kube_proxy_binary,
            PROXY_BRIDGE,
            AppEnvironmentExtra=["KUBE_NETWORK=sha256:54f8385aba3bee96"],
        ),
    }


def _overlay_services() -> dict[str, Parts]:
    runner = r"C:\k\kube-log-runner.exe -log-file=C:\k"
    return {
        **_windows_services(),
        "containerd": by_sc("containerd", CONTAINERD),
        "kubelet": by_sc("kubelet", rf"{runner}\kubelet.log {LAYOUT.kubelet_binary} {KUBELET_137}"),
        "flanneld": by_nssm("flanneld", LAYOUT.flanneld_binary, FLANNELD, AppEnvironmentExtra=["NODE_NAME=sha256:01"]),
        "kube-proxy": by_sc("kube-proxy", rf"{runner}\kube-proxy.log {LAYOUT.kube_proxy_binary} {PROXY_OVERLAY}"),
    }


# -- what several tests break ------------------------------------------------------------------------------------


def broken(node: Node, check: str, *pieces: str, remedy: str = "") -> None:
    """The check finds something, and its findings say all of this."""
    found = node.find(check)
    assert found, (check, sorted(node.ids()))
    said = " ".join(one.text for one in found)
    for piece in pieces:
        assert piece in said, said
    assert all(one.remedy.plain for one in found)
    assert remedy in " ".join(f"{one.remedy.plain} {one.remedy.ours('win1')}" for one in found), found


def fine(node: Node, *checks: str) -> None:
    """Nothing is found by these checks; by none at all without any."""
    found = [one for one in node.looked()[1] if one.severity != NOTE and (not checks or one.id in checks)]
    assert found == []


def noted(node: Node, note: str, *pieces: str, remedy: str = "") -> None:
    """A note says all of this."""
    (found,) = node.find(note)
    assert found.severity == NOTE
    for piece in pieces:
        assert piece in found.text, found.text
    assert remedy in f"{found.remedy.plain} {found.remedy.ours('win1')}", found.remedy


def stopped(node: Node) -> None:
    node.service("kubelet").update(state="stopped", exit_code=1066, service_exit_code=255)
    node.parts["processes"] = [one for one in node.parts["processes"] if one["name"] != "kubelet.exe"]


def stuck(
    node: Node, reason: str, message: str = "", image: str = "mcr.microsoft.com/windows/servercore:ltsc2022"
) -> None:
    found = pod("stuck", "", image)
    found["status"] = {
        "phase": "Pending",
        "startTime": "2026-11-21T08:00:00Z",
        "containerStatuses": [
            {"name": "main", "ready": False, "restartCount": 0, "state": {"waiting": {"reason": reason}}}
        ],
    }
    if message:
        found["status"]["containerStatuses"][0]["state"]["waiting"]["message"] = message
    node.pods.append(found)
