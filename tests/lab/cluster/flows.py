"""Who reaches whom, and what the programs that ask say: a model of a cluster's network without a packet in it.

A pod listens on the ports that its command line names (`http://*:80/`, `UdpClient 8081`). A Service leads to its ready
endpoints; on a machine of the lab only if its kube-proxy has made HNS a policy list for the address. Known limits of
Windows hold: a Windows host reaches no Service address and no NodePort of its own, no pod gets an answer to ICMP from
another network, and Windows' resolver appends no suffix to a name with a dot.

Into a machine of the lab comes only what its firewall lets in: the kubelet's port, those at which load balancers ask
kube-proxy, and with vxlan the tunnel's, which every packet between the pods of two nodes goes through.

`broken` takes flows away, one name each: BREAKABLE. Source: kubernetes.io, Networking on Windows.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.store import Object
from tests.lab.cluster.workloads import is_ready

if TYPE_CHECKING:
    from tests.lab.cluster.cluster import Cluster

BREAKABLE = ("node-to-pod", "pod-to-pod", "pod-to-node", "service", "dns", "inbound", "outbound", "cni-dns")
BANNER = "<html><body><H1>Windows Container Web Server</H1><p>IP {} callerCount 1 </body></html>"
_HTTP = re.compile(r"http://\*:(\d+)/")
_UDP = re.compile(r"UdpClient (\d+)")
_DASHED = re.compile(r"\d+-\d+-\d+-\d+")
KUBELET = 10250
DNS = (53, 17)
"""Port and protocol (UDP)."""


@dataclass(frozen=True)
class Place:
    """Where a program runs. node: a pod's; address: its own."""

    kind: Literal["pod", "linux", "windows", "outside"]
    name: str
    address: str
    node: str = ""
    namespace: str = ""
    user: str = "ContainerAdministrator"


@dataclass(frozen=True)
class Served:
    """An answer."""

    text: str
    status: int = 200


class SilenceError(Exception):
    """No answer; `refused` at once, or none at all."""

    def __init__(self, refused: bool = False) -> None:
        self.refused = refused
        super().__init__("connection refused" if refused else "timed out")


class Flows:
    """internet: names that resolve outside the cluster, with their addresses, which answer HTTP."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.broken: set[str] = set()
        self.internet: dict[str, str] = {"www.msftconnecttest.com": "203.0.113.10", "one.one.one.one": "1.1.1.1"}

    # -- a pod -----------------------------------------------------------------------------------------------------

    def place_of(self, namespace: str, name: str) -> Place:
        pod = self._find("Pod", namespace, name) or {}
        spec = pod.get("spec") or {}
        options = (spec.get("securityContext") or {}).get("windowsOptions") or {}
        user = str(options.get("runAsUserName") or "ContainerAdministrator")
        address = str((pod.get("status") or {}).get("podIP") or "")
        return Place("pod", name, address, str(spec.get("nodeName") or ""), namespace, user)

    def dns_of(self, place: Place) -> str:
        """The DNS server that a pod was given: by the CNI plugin, as the kubelet says; empty if by none.

        Source: kubernetes pkg/kubelet/network/dns/dns.go, getPodDNSType and GetPodDNS: without clusterDNS, and on the
        host's network, a pod gets the machine's.
        """
        spec = (self._find("Pod", place.namespace, place.name) or {}).get("spec") or {}
        policy = str(spec.get("dnsPolicy") or "ClusterFirst")
        if "cni-dns" in self.broken:
            return ""
        if policy == "None":
            return str(next(iter((spec.get("dnsConfig") or {}).get("nameservers") or ()), ""))
        first, hosted = policy.startswith("ClusterFirst"), bool(spec.get("hostNetwork"))
        clustered = first and (not hosted or policy == "ClusterFirstWithHostNet")
        if clustered and (servers := self._kubelet_of(place).get("clusterDNS")):
            return str(servers[0])
        machine = self._cluster.machine_of(place.node)
        return machine.node.nic.dns[0] if machine is not None and machine.node.nic.dns else ""

    def _kubelet_of(self, place: Place) -> Object:
        """What the kubelet of a pod's node runs with; that of a Node without a machine fits the cluster."""
        settings = self._cluster.settings
        with self._cluster.api.lock:
            found = self._cluster.api.proxied.get((place.node, "configz"))
        if self._cluster.machine_of(place.node) is None:
            return {"clusterDNS": [settings.dns_address], "clusterDomain": settings.domain}
        return dict(found["kubeletconfig"]) if isinstance(found, dict) else {}

    # -- reaching ------------------------------------------------------------------------------------------------

    def ask(self, place: Place, host: str, port: int, protocol: str = "TCP", data: str = "") -> Served:
        """One request to a name or an address. SilenceError; LookupError for a name that does not resolve."""
        return self._reach(place, host if _is_address(host) else self.resolve(place, host), port, protocol, data)

    def ping(self, place: Place, address: str) -> None:
        """SilenceError unless it is answered: only by pods and nodes of the cluster."""
        pod = self._pod_at(address)
        if pod is not None:
            self._need_pod(place, pod)
        elif place.kind == "pod" and self._node_at(address) is None:
            raise SilenceError

    def resolve(self, place: Place, name: str) -> str:
        """The address of a name: in a pod by the DNS server that it was given. LookupError; SilenceError when none
        answers: the cluster's is reached as a Service, which needs endpoints and a policy on the pod's machine."""
        settings = self._cluster.settings
        server = self.dns_of(place) if place.kind == "pod" else ""
        if place.kind != "pod" or self._is_of_machine(place, server):
            if name in self.internet:
                return self.internet[name]
            raise LookupError(name)
        if {"dns", "service"} & self.broken:
            raise SilenceError
        service, _target = self._service_at(server, 53, "UDP")
        if service is None or (service["metadata"].get("labels") or {}).get("k8s-app") != "kube-dns":
            raise SilenceError
        if not self._ends(str(service["metadata"]["namespace"]), str(service["metadata"]["name"])):
            raise SilenceError
        self.need_tunnel(place.node, settings.name)
        self._need_policy(place, server, DNS)
        domain = str(self._kubelet_of(place).get("clusterDomain") or "")
        suffixes = [f"{place.namespace}.svc.{domain}", f"svc.{domain}", domain]
        for full in [name] if "." in name else [f"{name}.{suffix}" for suffix in suffixes]:
            found = self._of_cluster(full.rstrip("."), settings.domain) or self.internet.get(full)
            if found:
                return found
        raise LookupError(name)

    def _is_of_machine(self, place: Place, server: str) -> bool:
        machine = self._cluster.machine_of(place.node)
        return machine is not None and bool(server) and server in machine.node.nic.dns

    def _of_cluster(self, name: str, domain: str) -> str:
        parts = name.removesuffix(f".{domain}").split(".") if name.endswith(f".{domain}") else []
        if len(parts) == 3 and parts[2] == "svc":
            service = self._find("Service", parts[1], parts[0])
            address = str(((service or {}).get("spec") or {}).get("clusterIP") or "")
            if address == "None":
                ends = self._ends(parts[1], parts[0])
                return str(ends[0]["addresses"][0]) if ends else ""
            return address
        if len(parts) == 3 and parts[2] == "pod" and _DASHED.fullmatch(parts[0]):
            return parts[0].replace("-", ".")
        if len(parts) == 4 and parts[3] == "svc":
            ends = [end for end in self._ends(parts[2], parts[1]) if end.get("hostname") == parts[0]]
            return str(ends[0]["addresses"][0]) if ends else ""
        return ""

    def _reach(self, place: Place, address: str, port: int, protocol: str, data: str) -> Served:
        service, target = self._service_at(address, port, protocol)
        if service is not None:
            if place.kind in {"windows", "outside"} or "service" in self.broken:
                raise SilenceError
            self._need_policy(place, address)
            return self._behind(place, service, target, protocol, data, "IPv6" if ":" in address else "IPv4")
        node = self._node_at(address)
        if node is not None:
            return self._at_node(place, node, port, protocol, data)
        pod = self._pod_at(address)
        if pod is not None:
            self._need_pod(place, pod)
            return _served(pod, address, port, protocol, data)
        return self._outside(place, address, port, protocol)

    def _behind(
        self, place: Place, service: Object, target: int, protocol: str, data: str, family: str = "IPv4"
    ) -> Served:
        metadata = service["metadata"]
        ends = self._ends(str(metadata["namespace"]), str(metadata["name"]), family)
        if not ends:
            raise SilenceError(refused=True)
        own = self._pod_at(place.address) if place.kind == "pod" else None
        mine = {place.address, *(one["ip"] for one in own["status"].get("podIPs") or ())} if own else {place.address}
        others = [end for end in ends if end["addresses"][0] not in mine] or ends
        address = str(others[0]["addresses"][0])
        if address in mine:
            self._need_loopback(place, str(service["spec"]["clusterIP"]))
        pod = self._pod_at(address)
        if pod is None and (metadata["namespace"], metadata["name"]) == ("default", "kubernetes"):
            return Served("Unauthorized", 401)
        if pod is None:
            raise SilenceError
        # A Service's backend is reached as any pod is. From a node it is the node that forwards.
        if place.kind == "pod":
            self._need_pod(place, pod)
        else:
            self.need_tunnel(place.node or self._cluster.settings.name, str(pod["spec"].get("nodeName")))
        return _served(pod, address, target, protocol, data)

    def _at_node(self, place: Place, node: Object, port: int, protocol: str, data: str) -> Served:
        name = str(node["metadata"]["name"])
        for service in self._all("Service"):
            for item in service["spec"].get("ports") or []:
                if item.get("nodePort") == port and item.get("protocol", "TCP") == protocol:
                    if {"inbound", "service"} & self.broken or (place.kind == "windows" and place.name == name):
                        raise SilenceError
                    self._need_policy(Place("windows", name, "", name), str(service["spec"]["clusterIP"]))
                    return self._behind(
                        Place("linux", name, "", name), service, int(item["targetPort"]), protocol, data
                    )
        if port == KUBELET and protocol == "TCP":
            if place.kind == "pod" and "pod-to-node" in self.broken:
                raise SilenceError
            self._need_translation(place, self.address_of(name))
            if self.kubelet_address(name, place.address):
                raise SilenceError
            return Served("Unauthorized", 401)
        machine = self._cluster.machine_of(name)
        if machine is None or protocol != "TCP":
            raise SilenceError(refused=protocol == "TCP")
        own = machine.node
        if not machine.in_turn(lambda: own.lets_in("TCP", port, place.address)):
            raise SilenceError
        found = machine.in_turn(lambda: own.network.listeners.get(port))
        if found is None:
            raise SilenceError(refused=True)
        status, body = found[1]("/healthz")
        return Served(body.decode(), status)

    def _outside(self, place: Place, address: str, port: int, protocol: str) -> Served:
        if address not in self.internet.values() or (place.kind == "pod" and "outbound" in self.broken):
            raise SilenceError
        if protocol == "TCP" and port in {80, 443}:
            return Served("Microsoft Connect Test")
        if protocol == "UDP" and port == 53:
            return Served("")
        raise SilenceError

    # -- what has to be there ------------------------------------------------------------------------------------

    def _need_pod(self, place: Place, pod: Object) -> None:
        flow = {"pod": "pod-to-pod", "linux": "node-to-pod"}.get(place.kind, "")
        own = place.address == pod["status"].get("podIP")
        if place.kind == "outside" or (flow in self.broken and not own):
            raise SilenceError
        self.need_tunnel(place.node or self._cluster.settings.name, str(pod["spec"].get("nodeName")))

    def need_tunnel(self, here: str, there: str) -> None:
        """With vxlan, packets between two nodes come as UDP, and each of them has to let the other's in."""
        settings = self._cluster.settings
        if not settings.tunnels or here == there:
            return
        for own, other in ((here, there), (there, here)):
            machine = self._cluster.machine_of(own)
            source = self.address_of(other)
            if machine is None or not source:
                continue
            node = machine.node
            if not machine.in_turn(lambda node=node, source=source: node.lets_in("UDP", settings.port, source)):  # type: ignore[misc]
                raise SilenceError

    def _need_translation(self, place: Place, address: str) -> None:
        """With vxlan nobody outside the overlay can answer a pod's own address: what is an exception of OutBoundNAT is
        not translated, and gets no answer. Source: microsoft/SDN Kubernetes/windows/helper.psm1 (its list for overlay
        has pods and services alone)."""
        machine = self._cluster.machine_of(place.node) if place.kind == "pod" else None
        if machine is None or not self._cluster.settings.tunnels:
            return
        endpoints = machine.in_turn(lambda: machine.node.hns.endpoints)
        own = [item for item in endpoints if item.get("IPAddress") == place.address]
        listed = [one for item in own for policy in item["Policies"] for one in policy.get("ExceptionList") or ()]
        if any(ipaddress.ip_address(address) in ipaddress.ip_network(one) for one in listed):
            raise SilenceError

    def kubelet_address(self, name: str, source: str) -> str:
        """The address at which nobody answers `source` for the kubelet of this Node; empty where it answers.

        A Node that no machine stands behind answers.
        """
        machine = self._cluster.machine_of(name) if name else None
        if machine is None:
            return ""
        node, address = machine.node, self.address_of(name)
        own = address == node.nic.address
        if own and machine.in_turn(lambda: node.lets_in("TCP", KUBELET, source)):
            return ""
        return address

    def _need_loopback(self, place: Place, address: str) -> None:
        """With direct server return a pod gets back what it sent to its own Service only with a policy that translates
        it. Source: containernetworking/plugins pkg/hns/netconf_windows.go, ApplyLoopbackDSR."""
        machine = self._cluster.machine_of(place.node)
        if machine is None:
            return
        hns = machine.node.hns
        lists, ends = machine.in_turn(lambda: (hns.policy_lists, hns.endpoints))
        rules = [policy for item in lists for policy in item["Policies"] if address in policy.get("VIPs", ())]
        own = [policy for item in ends if item.get("IPAddress") == place.address for policy in item["Policies"]]
        back = any(place.address in (policy.get("Destinations") or ()) for policy in own)
        if any(policy.get("IsDSR") for policy in rules) and not back:
            raise SilenceError

    def address_of(self, name: str) -> str:
        """A Node's InternalIP."""
        found = ((self._find("Node", "", name) or {}).get("status") or {}).get("addresses") or []
        return next((str(item["address"]) for item in found if item["type"] == "InternalIP"), "")

    def _need_policy(self, place: Place, address: str, port: tuple[int, int] | None = None) -> None:
        """On a machine of the lab: HNS has a policy list for the Service's address, and its port where one is named."""
        machine = self._cluster.machine_of(place.node) if place.node else None
        if machine is None:
            return
        lists = machine.in_turn(lambda: machine.node.hns.policy_lists)
        for policy in (policy for item in lists for policy in item["Policies"]):
            here = (policy.get("ExternalPort"), policy.get("Protocol"))
            if address in policy.get("VIPs", ()) and port in (None, here):
                return
        raise SilenceError

    # -- objects -------------------------------------------------------------------------------------------------

    def _all(self, kind: str, namespace: str = "") -> list[Object]:
        with self._cluster.api.lock:
            return self._cluster.store.list(BY_NAME[kind], namespace)

    def _find(self, kind: str, namespace: str, name: str) -> Object | None:
        with self._cluster.api.lock:
            return self._cluster.store.find(BY_NAME[kind], namespace, name)

    def _ends(self, namespace: str, service: str, family: str = "IPv4") -> list[Object]:
        for item in self._all("EndpointSlice", namespace):
            if item.get("addressType", "IPv4") != family:
                continue
            if (item["metadata"].get("labels") or {}).get("kubernetes.io/service-name") == service:
                return list(item.get("endpoints") or [])
        return []

    def _service_at(self, address: str, port: int, protocol: str) -> tuple[Object | None, int]:
        for service in self._all("Service"):
            for item in service["spec"].get("ports") or []:
                same = address in (service["spec"].get("clusterIPs") or ()) and item["port"] == port
                if same and item.get("protocol", "TCP") == protocol:
                    return service, int(item["targetPort"])
        return None, 0

    def _node_at(self, address: str) -> Object | None:
        for node in self._all("Node"):
            if any(item["address"] == address for item in (node.get("status") or {}).get("addresses") or []):
                return node
        return None

    def _pod_at(self, address: str) -> Object | None:
        """IPv6 is written in several ways: as an address, not as text."""
        wanted = ipaddress.ip_address(address) if _is_address(address) else None
        for pod in self._all("Pod"):
            own = [pod["status"].get("podIP"), *(one["ip"] for one in pod["status"].get("podIPs") or ())]
            if is_ready(pod) and wanted in [ipaddress.ip_address(one) for one in own]:
                return pod
        return None


def _served(pod: Object, address: str, port: int, protocol: str, data: str) -> Served:
    """What the pod's own program answers on this port."""
    command = " ".join(str(word) for item in pod["spec"]["containers"] for word in item.get("command") or [])
    if protocol == "TCP" and str(port) in _HTTP.findall(command):
        return Served(BANNER.format(address))
    if protocol == "UDP" and str(port) in _UDP.findall(command):
        return Served(data)
    raise SilenceError(refused=protocol == "TCP")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
