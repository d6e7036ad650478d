"""Healthy nodes made at random out of recorded objects of HNS (tests/recorded/hns).

Imports neither the checker nor the lab: what a healthy node looks like is said here once more, by its own rules.

    node = healthy(random.Random(7))    # a Node: mutable, plain dicts in the shapes of docs/protocol.md and of the API
    answers(node)                       # the probe's answer to each op, HNS's objects of API v1 or v2
"""

from __future__ import annotations

import copy
import ipaddress
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

Object = dict[str, Any]
RECORDED = Path(__file__).parents[2] / "recorded" / "hns"
CNI_CONF, NET_CONF = r"C:\k\cni\config\cni.conf", r"C:\etc\kube-flannel\net-conf.json"
CONF_DIR, BIN_DIR = r"C:\k\cni\config", r"C:\k\cni"
SUBNET_ENV = r"C:\run\flannel\subnet.env"


def recorded(name: str) -> Any:
    """The answer in one recorded file, a copy."""
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))["answer"]


@dataclass
class Node:
    """One node and what its cluster says of it. `hns` holds HNS's objects in the shapes of API v1; `api` is the one
    that they are shown by. `expect` are the arguments of the check."""

    name: str
    mode: str
    api: int
    network: str
    adapter: str
    address: str
    pods: ipaddress.IPv4Network
    vip: str
    hns: dict[str, list[Object]]
    adapters: list[Object]
    services: list[Object]
    processes: list[Object]
    files: dict[str, Any]
    folders: dict[str, list[str]]
    cluster: dict[str, list[Object]]
    node: Object
    expect: Object
    errors: dict[str, Object] = field(default_factory=dict)
    available: bool = True

    def endpoint(self, address: str) -> Object:
        return next(each for each in self.hns["endpoints"] if each["IPAddress"] == address)

    def pod_endpoints(self) -> list[Object]:
        return [each for each in self.hns["endpoints"] if "Namespace" in each]

    def remote_endpoints(self) -> list[Object]:
        return [each for each in self.hns["endpoints"] if each.get("IsRemoteEndpoint")]

    def pod_network(self) -> Object:
        return next(each for each in self.hns["networks"] if each["Name"] == self.network)

    def service(self, name: str) -> Object:
        return next(each for each in self.services if each["name"] == name)

    def arguments(self, name: str) -> str:
        service = self.service(name)
        return str(service["nssm"]["AppParameters"] if service["nssm"] else service["image_path"])

    def set_arguments(self, name: str, line: str) -> None:
        service = self.service(name)
        if service["nssm"]:
            service["nssm"]["AppParameters"] = line
        else:
            service["image_path"] = line


def guid(random: Random) -> str:
    """An id, in either case, as HNS writes them."""
    text = "-".join(f"{random.getrandbits(4 * size):0{size}x}" for size in (8, 4, 4, 4, 12))
    return text.upper() if random.random() < 0.5 else text


def healthy(random: Random) -> Node:
    """A node on which nothing is wrong."""
    mode = random.choice(["l2bridge", "overlay"])
    network = "cbr0" if mode == "l2bridge" else random.choice(["vxlan0", "flannel.4096"])
    cluster_cidr, service_cidr = random.choice([("10.244.0.0/16", "10.96.0.0/12"), ("10.42.0.0/16", "10.43.0.0/16")])
    pods = ipaddress.IPv4Network(f"{cluster_cidr.split('.0.0')[0]}.{random.randint(1, 120)}.0/24")
    address = f"192.168.{random.randint(1, 250)}.{random.randint(20, 250)}"
    adapter = random.choice(["Ethernet", "Ethernet 2", "Ethernet0"])
    node = Node(
        name=f"win{random.randint(1, 99)}",
        mode=mode,
        api=random.choice([1, 2]),
        network=network,
        adapter=adapter,
        address=address,
        pods=pods,
        vip=str(pods[2]) if mode == "overlay" else "",
        hns={"networks": [], "endpoints": [], "namespaces": recorded("calico-8465-namespaces")[1:], "policylists": []},
        adapters=[],
        services=[],
        processes=[],
        files={},
        folders={
            CONF_DIR: ["cni.conf"],
            BIN_DIR: ["flannel.exe", "host-local.exe", "win-bridge.exe", "win-overlay.exe"],
        },
        cluster={"services": [], "slices": [], "pods": []},
        node={},
        expect={
            "network_name": random.choice([network, ""]),
            "network_mode": random.choice([mode, ""]),
            "interface_name": random.choice([adapter, ""]),
            "cluster_cidr": cluster_cidr,
            "service_cidr": service_cidr,
            "cluster_domain": "cluster.local",
        },
    )
    node.expect["node_name"] = node.name
    node.node = {"metadata": {"name": node.name}, "spec": {"podCIDR": str(pods)}}
    _networks(node, random)
    _endpoints(node, random)
    _adapters(node)
    _files(node, random)
    _programs(node, random)
    _services(node, random)
    return node


def _networks(node: Node, random: Random) -> None:
    nat, external = recorded("rke2-3925-networks")
    if random.random() < 0.5:
        node.hns["networks"].append(nat)
    kind = "L2Bridge" if node.mode == "l2bridge" else "Overlay"
    for own in (external, copy.deepcopy(external)):
        own |= {"ManagementIP": node.address, "NetworkAdapterName": node.adapter, "Type": kind}
        if node.mode == "l2bridge":
            own["Subnets"][0]["Policies"] = []
    pod = copy.deepcopy(external)
    pod |= {"ID": guid(random), "Name": node.network, "Flags": 8 if node.mode == "overlay" else 0}
    subnet = pod["Subnets"][0]
    subnet |= {"AddressPrefix": str(node.pods), "GatewayAddress": str(node.pods[1])}
    if node.mode == "overlay":
        subnet["Policies"] = [{"Type": "VSID", "VSID": 4096}]
        pod["DrMacAddress"] = "00-15-5D-FB-CB-0D"
    external["ID"] = guid(random)
    node.hns["networks"] += random.sample([external, pod], 2)


def _endpoints(node: Node, random: Random) -> None:
    home = node.pod_network()
    if node.mode == "l2bridge":
        node.hns["endpoints"].append(_endpoint(node, random, f"{node.network}_ep", str(node.pods[2])))
    else:
        node.hns["endpoints"].append(_endpoint(node, random, random.choice(["", "Ethernet"]), node.vip))
    exceptions = [node.expect["cluster_cidr"], node.expect["service_cidr"], f"{node.address}/24"]
    for number in range(random.randint(1, 6)):
        address = str(node.pods[3 + number * random.randint(1, 9)])
        if any(each["IPAddress"] == address for each in node.hns["endpoints"]):
            continue
        space = {"ID": guid(random), "IsDefault": False, "CompartmentId": 2 + number, "Containers": [], "State": 1}
        node.hns["namespaces"].append(space)
        namespace = random.choice(["default", "kube-system", "shop-1"])
        own = _endpoint(node, random, f"{random.getrandbits(256):064x}_{node.network}", address)
        own |= {
            "DNSSuffix": f"{namespace}.svc.cluster.local",
            "DNSServerList": "10.96.0.10",
            "Namespace": {"ID": str(space["ID"]).swapcase()},
            "State": random.choice([1, 2, 3]),
            "EncapOverhead": 50 if node.mode == "overlay" else 0,
        }
        own["Policies"][0]["ExceptionList"] = [str(ipaddress.ip_network(each, strict=False)) for each in exceptions]
        node.hns["endpoints"].append(own)
        node.cluster["pods"].append(_pod(node, random, namespace, address))
    node.cluster["pods"].append(_pod(node, random, "kube-system", node.address) | {"spec": _host_spec(node, random)})
    for each in node.hns["endpoints"]:
        each["VirtualNetwork"], each["VirtualNetworkName"] = str(home["ID"]).swapcase(), home["Name"]


def _host_spec(node: Node, random: Random) -> Object:
    spec: Object = {"nodeName": node.name}
    if random.random() < 0.5:
        return spec | {"hostNetwork": True}
    return spec | {"securityContext": {"windowsOptions": {"hostProcess": True}}}


def _endpoint(node: Node, random: Random, name: str, address: str, *, remote: bool = False) -> Object:
    own: Object = recorded("acs-engine-1903-endpoint" if remote else "calico-4682-endpoint")[0]
    own |= {"ID": guid(random), "Name": name, "IPAddress": address, "State": 1}
    own["MacAddress"] = "0E-2A-" + "-".join(f"{int(part):02x}" for part in address.split("."))
    if not remote:
        own |= {"GatewayAddress": str(node.pods[1]), "DNSSuffix": "", "DNSServerList": ""}
        del own["EncapOverhead"]
    return own


def _pod(node: Node, random: Random, namespace: str, address: str) -> Object:
    return {
        "metadata": {"namespace": namespace, "name": f"pod-{random.getrandbits(20):x}"},
        "spec": {"nodeName": node.name},
        "status": {"phase": "Running", "podIP": address},
    }


def _adapters(node: Node) -> None:
    below = {"description": "Intel(R) 82574L", "mac": "00-15-5D-EB-40-00", "up": True, "dhcp": False, "mtu": 1500}
    empty: Object = {"ipv4": [], "gateways": [], "dns": []}
    above = {"ipv4": [{"address": node.address, "prefix": 24}], "gateways": [], "dns": []}
    node.adapters = [
        {"name": node.adapter, "index": 4, **below, **empty},
        {"name": f"vEthernet ({node.adapter})", "index": 9, **below, **above},
    ]
    if node.mode == "l2bridge":
        own = {"ipv4": [{"address": str(node.pods[2]), "prefix": 24}], "gateways": [], "dns": []}
        node.adapters.append({"name": f"vEthernet ({node.network}_ep)", "index": 12, **below, **own})


def _files(node: Node, random: Random) -> None:
    exceptions = [node.expect["cluster_cidr"], node.expect["service_cidr"]]
    exceptions.append(str(ipaddress.ip_network(f"{node.address}/24", strict=False)))
    values: list[Object] = [{"Type": "OutBoundNAT", "Settings": {"Exceptions": exceptions}}]
    values.append(
        {"Type": "SDNRoute", "Settings": {"DestinationPrefix": node.expect["service_cidr"], "NeedEncap": True}}
    )
    if node.mode == "overlay":
        values.append({"Type": "ProviderAddress", "Settings": {"ProviderAddress": node.address}})
    name, value = random.choice([("Name", "Value"), ("name", "value")])
    plugin: Object = {
        "type": "flannel",
        "capabilities": {"portMappings": True, "dns": True},
        "delegate": {
            "type": "win-bridge" if node.mode == "l2bridge" else "win-overlay",
            "apiVersion": 2,
            random.choice(["policies", "Policies"]): [{name: "EndpointPolicy", value: each} for each in values],
        },
    }
    node.files[CNI_CONF] = {"name": node.network, "cniVersion": "0.3.0", **plugin}
    backend: Object = {"Type": "host-gw"}
    if node.mode == "overlay":
        backend = {"Type": "vxlan", "VNI": 4096, "Port": 4789, "Name": node.network}
        if node.network == "flannel.4096":
            del backend["Name"]
    node.files[NET_CONF] = {"Network": node.expect["cluster_cidr"], "Backend": backend}
    node.files[SUBNET_ENV] = {
        "FLANNEL_NETWORK": node.expect["cluster_cidr"],
        "FLANNEL_SUBNET": f"{node.pods[1]}/24",
        "FLANNEL_MTU": "1450" if node.mode == "overlay" else "1500",
        "FLANNEL_IPMASQ": "true",
    }


def _programs(node: Node, random: Random) -> None:
    by_nssm = random.random() < 0.5
    proxy = f"--hostname-override={node.name} --cluster-cidr={node.expect['cluster_cidr']} --v=4"
    environment = []
    if node.mode == "overlay":
        proxy += f" --network-name={node.network} --source-vip={node.vip}"
    else:
        environment = [f"KUBE_NETWORK={node.network}"]
    daemon = f"--kube-subnet-mgr --iface={node.address} --ip-masq=1"
    node.services = [
        _service("hns", "running", 1204, r"C:\Windows\System32\svchost.exe -k NetSvcs", start=2),
        _service("vmcompute", "running", 1800, r"C:\Windows\System32\vmcompute.exe", start=3),
        _program("kube-proxy", r"C:\k\kube-proxy.exe", proxy, environment, by_nssm),
        _program("flanneld", r"C:\flannel\flanneld.exe", daemon, [f"NODE_NAME={node.name}"], by_nssm),
    ]
    day = f"2026-11-{random.randint(10, 20)}"
    node.processes = [
        {"pid": 1204, "name": "svchost.exe", "path": r"C:\Windows\System32\svchost.exe", "started": f"{day}T06:00:01Z"},
        {"pid": 3000, "name": "kube-proxy.exe", "path": r"C:\k\kube-proxy.exe", "started": f"{day}T06:01:30Z"},
    ]


def _service(name: str, state: str, pid: int, image: str, *, start: int) -> Object:
    found: Object = {"name": name, "state": state, "pid": pid, "image_path": image, "start": start}
    return found | {"nssm": None, "environment": [], "exit_code": 0, "service_exit_code": 0}


def _program(name: str, path: str, line: str, environment: list[str], by_nssm: bool) -> Object:
    if not by_nssm:
        return _service(name, "running", 3000, f"{path} {line}", start=2) | {"environment": environment}
    found = _service(name, "running", 2900, r"C:\k\nssm.exe", start=2)
    return found | {
        "nssm": {"Application": path, "AppParameters": line, "AppEnvironmentExtra": environment},
    }


def _services(node: Node, random: Random) -> None:
    """Services with their slices, and a rule for each port that has endpoints."""
    base = ipaddress.IPv4Network(node.expect["service_cidr"])
    others = ipaddress.IPv4Network(f"{node.expect['cluster_cidr'].split('.0.0')[0]}.{random.randint(130, 250)}.0/24")
    local = [each["IPAddress"] for each in node.pod_endpoints()]
    remote = [str(others[number]) for number in range(2, 8)]
    _add(node, random, "default/kubernetes", str(base[1]), [("https", 443, 6443, "TCP")], ["192.168.0.10"])
    dns = [("dns", 53, 53, "UDP"), ("dns-tcp", 53, 53, "TCP")]
    _add(node, random, "kube-system/kube-dns", str(base[10]), dns, random.sample(remote, 2))
    for number in range(random.randint(1, 5)):
        behind = random.sample(local + remote, random.randint(1, 3)) if len(local + remote) > 2 else remote[:1]
        ports = [("", random.randint(80, 9000), random.randint(1024, 9000), "TCP")]
        _add(node, random, f"default/app-{number}", str(base[100 + number]), ports, behind)
    _add(node, random, "default/empty", str(base[90]), [("", 80, 80, "TCP")], [])
    node.cluster["services"].append(
        {"metadata": {"namespace": "default", "name": "elsewhere"}, "spec": {"type": "ExternalName"}}
    )
    headless = {"metadata": {"namespace": "default", "name": "headless"}, "spec": {"clusterIP": "None", "ports": []}}
    node.cluster["services"].append(headless)


def _add(
    node: Node, random: Random, name: str, vip: str, ports: list[tuple[str, int, int, str]], behind: list[str]
) -> None:
    namespace, _, service = name.partition("/")
    metadata = {"namespace": namespace, "name": service}
    shown = [
        {"name": label, "port": port, "targetPort": target, "protocol": proto} for label, port, target, proto in ports
    ]
    node.cluster["services"].append({"metadata": metadata, "spec": {"clusterIP": vip, "ports": shown}})
    if not behind:
        return
    node.cluster["slices"].append(
        {
            "metadata": {"namespace": namespace, "labels": {"kubernetes.io/service-name": service}},
            "addressType": "IPv4",
            "ports": [{"name": label, "port": target, "protocol": proto} for label, _, target, proto in ports],
            "endpoints": [{"addresses": [each], "conditions": {"ready": True}} for each in behind],
        }
    )
    ends = [_end(node, random, each) for each in behind]
    for _, port, target, proto in ports:
        rule = recorded("calico-8465-policylist")[0]
        rule |= {"ID": guid(random), "References": [f"/endpoints/{each['ID'].lower()}" for each in ends]}
        rule["Policies"] = [
            {
                "Type": "ELB",
                "Protocol": 6 if proto == "TCP" else 17,
                "InternalPort": target,
                "ExternalPort": port,
                "IsDSR": False,
                "VIPs": [vip],
                **({"SourceVIP": node.vip} if node.vip else {}),
            }
        ]
        node.hns["policylists"].append(rule)


def _end(node: Node, random: Random, address: str) -> Object:
    """The endpoint with this address, a remote one if it is not there yet."""
    for each in node.hns["endpoints"]:
        if each["IPAddress"] == address:
            return each
    made = _endpoint(node, random, "Ethernet", address, remote=True)
    made["VirtualNetwork"] = node.pod_network()["ID"]
    node.hns["endpoints"].append(made)
    return made


# -- as the probe answers ----------------------------------------------------------------------------------------------


def answers(node: Node) -> dict[str, Any]:
    """What the node says: `hns`, `adapters`, `services`, `processes`, and `files` by path, None for one that is not
    there; `folders` with the names in them."""
    shown = node.hns if node.api == 1 else as_v2(node.hns)
    hns: dict[str, Any] = {"available": node.available}
    if node.available:
        for kind, found in shown.items():
            hns[kind] = node.errors.get(kind) or json.dumps({"Success": True, "Output": found})
    return {
        "hns": hns,
        "adapters": node.adapters,
        "services": node.services,
        "processes": node.processes,
        "files": {path: _text(path, content) for path, content in node.files.items()},
        "folders": node.folders,
    }


def _text(path: str, content: Any) -> str | None:
    if content is None or isinstance(content, str):
        return content
    if path == SUBNET_ENV:
        return "".join(f"{name}={value}\n" for name, value in content.items())
    return json.dumps(content, indent=2)


def as_v2(hns: dict[str, list[Object]]) -> dict[str, list[Object]]:
    """The same objects as API v2 shows them. Source: hcsshim hcn/hcn{network,endpoint,namespace,loadbalancer}.go."""
    return {
        "networks": [_network_v2(each) for each in hns["networks"]],
        "endpoints": [_endpoint_v2(each) for each in hns["endpoints"]],
        "namespaces": [_namespace_v2(each, hns["endpoints"]) for each in hns["namespaces"]],
        "policylists": [_balancer_v2(each) for each in hns["policylists"]],
    }


def _network_v2(found: Object) -> Object:
    subnets = []
    for each in found["Subnets"]:
        policies = [
            {"Type": "VSID", "Settings": {"IsolationId": one["VSID"]}}
            for one in each.get("Policies") or ()
            if one["Type"] == "VSID"
        ]
        routes = [{"NextHop": each["GatewayAddress"], "DestinationPrefix": "0.0.0.0/0"}]
        subnets.append({"IpAddressPrefix": each["AddressPrefix"], "Routes": routes, "Policies": policies})
    policies = []
    if found.get("NetworkAdapterName"):
        policies.append({"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": found["NetworkAdapterName"]}})
    if found.get("ManagementIP"):
        policies.append({"Type": "ProviderAddress", "Settings": {"ProviderAddress": found["ManagementIP"]}})
    return {
        "ID": found["ID"],
        "Name": found["Name"],
        "Type": found["Type"],
        "Ipams": [{"Type": "Static", "Subnets": subnets}],
        "Policies": policies,
        "Flags": found["Flags"],
        "SchemaVersion": {"Major": 2, "Minor": 0},
    }


def _endpoint_v2(found: Object) -> Object:
    policies = []
    for each in found.get("Policies") or ():
        if each["Type"] == "OutBoundNAT":
            settings = {"Exceptions": each["ExceptionList"], "Destinations": each.get("Destinations", [])}
            policies.append({"Type": "OutBoundNAT", "Settings": settings})
    if "EncapOverhead" in found:
        policies.append({"Type": "EncapOverhead", "Settings": {"Overhead": found["EncapOverhead"]}})
    made: Object = {
        "ID": found["ID"],
        "HostComputeNetwork": found["VirtualNetwork"],
        "Policies": policies,
        "IpConfigurations": [{"IpAddress": found["IPAddress"], "PrefixLength": 24}],
        "Dns": {"Search": [found["DNSSuffix"]] if found.get("DNSSuffix") else []},
        "MacAddress": found["MacAddress"],
    }
    if found["Name"]:
        made["Name"] = found["Name"]
    if found.get("IsRemoteEndpoint"):
        made["Flags"] = 1
    if "Namespace" in found:
        made["HostComputeNamespace"] = found["Namespace"]["ID"]
    return made


def _namespace_v2(found: Object, endpoints: list[Object]) -> Object:
    own = [each for each in endpoints if str(each.get("Namespace", {}).get("ID")).lower() == str(found["ID"]).lower()]
    return {
        "ID": found["ID"],
        "NamespaceId": found["CompartmentId"],
        "Type": "HostDefault" if found.get("IsDefault") else "Host",
        "Resources": [{"Type": "Endpoint", "Data": {"ID": each["ID"]}} for each in own],
    }


def _balancer_v2(found: Object) -> Object:
    policy = found["Policies"][0]
    made: Object = {
        "ID": found["ID"],
        "HostComputeEndpoints": [each.rpartition("/")[2] for each in found["References"]],
        "FrontendVIPs": policy["VIPs"],
        "PortMappings": [
            {key: policy[key] for key in ("Protocol", "InternalPort", "ExternalPort")},
        ],
        "Flags": 1 if policy["IsDSR"] else 0,
    }
    return made | ({"SourceVIP": policy["SourceVIP"]} if "SourceVIP" in policy else {})
