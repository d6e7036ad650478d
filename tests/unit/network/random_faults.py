"""What goes wrong with a node's network, as mutations of a healthy one; imports neither the checker nor the lab.

Each fault names the finding that has to come of it, and those that may follow from it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.unit.network.random_nodes import BIN_DIR, CNI_CONF, CONF_DIR, NET_CONF, SUBNET_ENV, Node, guid

Object = dict[str, Any]


@dataclass(frozen=True)
class Fault:
    """`change` breaks a node; `may` tells on which nodes it is possible. `also` are findings that may come with it."""

    id: str
    change: Callable[[Node, Random], None]
    may: Callable[[Node], bool] = lambda node: True
    also: frozenset[str] = frozenset()
    needs_cluster: bool = False


FAULTS: list[Fault] = []


def fault(
    identity: str, *also: str, may: Callable[[Node], bool] = lambda node: True, needs_cluster: bool = False
) -> Callable[[Callable[[Node, Random], None]], Callable[[Node, Random], None]]:
    def add(change: Callable[[Node, Random], None]) -> Callable[[Node, Random], None]:
        FAULTS.append(Fault(identity, change, may, frozenset(also), needs_cluster))
        return change

    return add


def overlay(node: Node) -> bool:
    return node.mode == "overlay"


def bridge(node: Node) -> bool:
    return node.mode == "l2bridge"


def pods(node: Node) -> bool:
    return bool(node.pod_endpoints())


def named(node: Node) -> bool:
    return bool(node.expect["network_name"])


def typed(node: Node) -> bool:
    return bool(node.expect["network_mode"])


def delegate(node: Node) -> Object:
    found: Object = node.files[CNI_CONF]["delegate"]
    return found


def policy_value(node: Node, number: int) -> Object:
    """The value of one policy in cni.conf, whatever the case of the keys above it."""
    own = delegate(node)
    policy = own["policies" if "policies" in own else "Policies"][number]
    found: Object = policy["value" if "value" in policy else "Value"]
    return found


def exceptions(node: Node) -> list[str]:
    found: list[str] = policy_value(node, 0)["Settings"]["Exceptions"]
    return found


def drop(node: Node, endpoint: Object) -> None:
    node.hns["endpoints"].remove(endpoint)


def unreferenced(node: Node) -> list[Object]:
    used = {ref.rpartition("/")[2].lower() for each in node.hns["policylists"] for ref in each["References"]}
    return [each for each in node.pod_endpoints() if each["ID"].lower() not in used]


# -- the host ----------------------------------------------------------------------------------------------------------


@fault("hns.absent")
def no_feature(node: Node, random: Random) -> None:
    node.available = False


@fault("hns.unreadable")
def mute(node: Node, random: Random) -> None:
    kind = random.choice(["networks", "endpoints", "namespaces", "policylists"])
    node.errors[kind] = {"error": f"HNS did not list its {kind}: it gave no answer within 10000 ms"}


@fault("hns.stopped")
def hns_stopped(node: Node, random: Random) -> None:
    node.service("hns")["state"] = random.choice(["stopped", "stop_pending"])


@fault("hns.vmcompute-stopped")
def vmcompute_disabled(node: Node, random: Random) -> None:
    node.service("vmcompute").update({"state": "stopped", "start": 4})


@fault("hns.vmcompute-stopped", may=pods)
def vmcompute_stopped(node: Node, random: Random) -> None:
    node.service("vmcompute")["state"] = "stopped"


@fault("host.no-adapter", "hns.network-adapter", may=lambda node: bool(node.expect["interface_name"]))
def another_adapter(node: Node, random: Random) -> None:
    node.expect["interface_name"] = "Local Area Connection"


@fault(
    "hns.no-host-adapter",
    "hns.management-address-stale",
    "flannel.iface",
    "cni.provider-address",
    "kube-proxy.rule-source-vip",
)
def no_host_adapter(node: Node, random: Random) -> None:
    node.adapters = [each for each in node.adapters if each["name"] != f"vEthernet ({node.adapter})"]


@fault("host.address-lost", "hns.management-address-stale", "flannel.iface", "cni.provider-address")
def apipa(node: Node, random: Random) -> None:
    lost = [{"address": f"169.254.{random.randint(1, 254)}.{random.randint(1, 254)}", "prefix": 16}]
    node.adapters[1]["ipv4"] = random.choice([[], lost])


@fault("hns.no-management-address")
def no_management(node: Node, random: Random) -> None:
    node.pod_network()["ManagementIP"] = ""


@fault("hns.management-address-stale")
def old_management(node: Node, random: Random) -> None:
    node.pod_network()["ManagementIP"] = "172.16.99.4"


@fault("hns.restarted")
def hns_came_later(node: Node, random: Random) -> None:
    node.processes[0]["started"] = "2026-11-21T09:30:00Z"


# -- networks ----------------------------------------------------------------------------------------------------------


@fault("hns.no-network", "cni.network-name", "hns.endpoint-network-gone", may=named)
def network_lost(node: Node, random: Random) -> None:
    node.hns["networks"].remove(node.pod_network())


@fault(
    "hns.network-type",
    "cni.plugin-type",
    "flannel.net-conf-backend",
    "hns.network-other-mode",
    "kube-proxy.source-vip",
    "flannel.bridge-endpoint",
    "flannel.mtu",
    "hns.endpoint-overhead",
    may=typed,
)
def network_of_another_kind(node: Node, random: Random) -> None:
    node.pod_network()["Type"] = "Overlay" if node.mode == "l2bridge" else "L2Bridge"


@fault("hns.network-range")
def another_range_is_expected(node: Node, random: Random) -> None:
    node.expect["subnet"] = "10.99.9.0/24"


@fault(
    "hns.network-pod-cidr",
    "flannel.subnet-env-stale",
    "hns.endpoint-outside-range",
    "flannel.bridge-endpoint",
    "kube-proxy.source-vip",
    "kube-proxy.rule-source-vip",
    needs_cluster=True,
)
def old_range(node: Node, random: Random) -> None:
    subnet = node.pod_network()["Subnets"][0]
    subnet |= {"AddressPrefix": "10.99.7.0/24", "GatewayAddress": "10.99.7.1"}


@fault("hns.network-pod-cidr", "flannel.subnet-env-stale", needs_cluster=True)
def node_came_back(node: Node, random: Random) -> None:
    node.node["spec"]["podCIDR"] = "10.99.8.0/24"


@fault("hns.network-vni", may=overlay)
def another_vni(node: Node, random: Random) -> None:
    node.pod_network()["Subnets"][0]["Policies"] = [{"Type": "VSID", "VSID": random.randint(4097, 9000)}]


@fault("hns.network-adapter", "hns.no-host-adapter", may=lambda node: bool(node.expect["interface_name"]))
def network_elsewhere(node: Node, random: Random) -> None:
    node.pod_network()["NetworkAdapterName"] = "Storage"


@fault("hns.networks-overlap", "hns.network-other-mode")
def left_behind(node: Node, random: Random) -> None:
    old = copy.deepcopy(node.pod_network())
    node.hns["networks"].append(old | {"ID": guid(random), "Name": "old-pods"})


@fault("hns.network-other-mode", may=named)
def other_kind_left_behind(node: Node, random: Random) -> None:
    old = copy.deepcopy(node.pod_network())
    old |= {"ID": guid(random), "Name": "switched", "Type": "Overlay" if node.mode == "l2bridge" else "L2Bridge"}
    old["Subnets"][0] |= {"AddressPrefix": "10.77.3.0/24", "GatewayAddress": "10.77.3.1"}
    node.hns["networks"].append(old)


@fault("flannel.mtu")
def smaller_mtu(node: Node, random: Random) -> None:
    for each in node.adapters[:2]:
        each["mtu"] = random.choice([1400, 1450, 1480])


@fault("hns.endpoint-overhead", may=lambda node: overlay(node) and pods(node))
def no_room(node: Node, random: Random) -> None:
    random.choice(node.pod_endpoints())["EncapOverhead"] = random.choice([0, 28])


# -- endpoints ---------------------------------------------------------------------------------------------------------


@fault("hns.endpoint-duplicate-address", "hns.endpoint-remote-stale", may=pods)
def remote_twin(node: Node, random: Random) -> None:
    own = random.choice(node.pod_endpoints())
    twin = copy.deepcopy(node.remote_endpoints()[0])
    node.hns["endpoints"].append(twin | {"ID": guid(random), "IPAddress": own["IPAddress"]})


@fault("hns.endpoint-without-namespace", may=pods)
def orphan(node: Node, random: Random) -> None:
    own = random.choice(node.pod_endpoints())
    space = next(each for each in node.hns["namespaces"] if each["ID"].lower() == own["Namespace"]["ID"].lower())
    node.hns["namespaces"].remove(space)
    del own["Namespace"]


@fault("hns.endpoint-namespace-gone", may=pods)
def namespace_lost(node: Node, random: Random) -> None:
    random.choice(node.pod_endpoints())["Namespace"] = {"ID": guid(random)}


@fault("hns.endpoint-network-gone", may=pods)
def of_a_dead_network(node: Node, random: Random) -> None:
    random.choice(node.pod_endpoints())["VirtualNetwork"] = guid(random)


@fault(
    "hns.endpoint-outside-range",
    "hns.pod-without-endpoint",
    "hns.endpoint-without-pod",
    "kube-proxy.rule-backends",
    may=pods,
)
def of_the_old_range(node: Node, random: Random) -> None:
    random.choice(node.pod_endpoints())["IPAddress"] = "10.99.1.44"


@fault("hns.endpoint-not-attached", may=lambda node: node.api == 1 and pods(node))
def detached(node: Node, random: Random) -> None:
    random.choice(node.pod_endpoints())["State"] = random.choice([4, 5, 6])


@fault("hns.endpoint-translated", may=pods)
def old_policy(node: Node, random: Random) -> None:
    policy = random.choice(node.pod_endpoints())["Policies"][0]
    policy["ExceptionList"] = random.choice([[], policy["ExceptionList"][1:], policy["ExceptionList"][:1]])


@fault("hns.endpoint-dns-suffix", may=pods)
def wrong_suffix(node: Node, random: Random) -> None:
    suffix = random.choice(["svc.cluster.local", "default.svc.other.example"])
    random.choice(node.pod_endpoints())["DNSSuffix"] = suffix


@fault("hns.endpoint-remote-stale", needs_cluster=True)
def remote_left_behind(node: Node, random: Random) -> None:
    twin = copy.deepcopy(node.remote_endpoints()[0])
    address = node.expect["cluster_cidr"].replace("0.0/16", f"251.{random.randint(2, 250)}")
    node.hns["endpoints"].append(twin | {"ID": guid(random), "IPAddress": address})


@fault("hns.pod-without-endpoint", may=lambda node: bool(unreferenced(node)), needs_cluster=True)
def endpoint_deleted(node: Node, random: Random) -> None:
    drop(node, random.choice(unreferenced(node)))


@fault("hns.endpoint-without-pod", may=pods, needs_cluster=True)
def pod_gone(node: Node, random: Random) -> None:
    address = random.choice(node.pod_endpoints())["IPAddress"]
    node.cluster["pods"] = [each for each in node.cluster["pods"] if each["status"]["podIP"] != address]


# -- rules -------------------------------------------------------------------------------------------------------------


@fault("kube-proxy.no-rules")
def no_rules(node: Node, random: Random) -> None:
    node.hns["policylists"].clear()


@fault("kube-proxy.rule-endpoint-gone", "kube-proxy.rule-backends", "hns.pod-without-endpoint")
def rule_into_nothing(node: Node, random: Random) -> None:
    rule = random.choice(node.hns["policylists"])
    rule["References"] = [f"/endpoints/{guid(random)}", *rule["References"][1:]]


@fault("kube-proxy.rule-twice")
def rule_twice(node: Node, random: Random) -> None:
    rule = copy.deepcopy(random.choice(node.hns["policylists"]))
    node.hns["policylists"].append(rule | {"ID": guid(random)})


@fault("kube-proxy.rule-source-vip", may=overlay)
def old_source_vip(node: Node, random: Random) -> None:
    policy = random.choice(node.hns["policylists"])["Policies"][0]
    policy["SourceVIP"] = random.choice(["10.99.3.2", str(node.pods[77])])


@fault("kube-proxy.rule-missing", needs_cluster=True)
def rule_lost(node: Node, random: Random) -> None:
    node.hns["policylists"].remove(random.choice(node.hns["policylists"]))


@fault("kube-proxy.rule-stale", needs_cluster=True)
def service_deleted(node: Node, random: Random) -> None:
    rule = copy.deepcopy(random.choice(node.hns["policylists"]))
    rule["ID"] = guid(random)
    rule["Policies"][0]["VIPs"] = [".".join([*rule["Policies"][0]["VIPs"][0].split(".")[:3], "253"])]
    node.hns["policylists"].append(rule)


@fault("kube-proxy.rule-backends", "hns.endpoint-remote-stale", needs_cluster=True)
def scaled(node: Node, random: Random) -> None:
    own = next(each for each in node.cluster["slices"] if each["metadata"]["namespace"] == "kube-system")
    address = node.expect["cluster_cidr"].replace("0.0/16", "252.9")
    own["endpoints"][0]["addresses"] = [address]


@fault("hns.endpoint-no-loopback", may=pods)
def dsr_over_endpoints_of_before(node: Node, random: Random) -> None:
    node.set_arguments("kube-proxy", f"{node.arguments('kube-proxy')} --enable-dsr=true")
    delegate(node)["loopbackDSR"] = True
    for each in random.sample(node.pod_endpoints(), len(node.pod_endpoints()) - 1):
        each["Policies"].append({"Type": "OutBoundNAT", "ExceptionList": [], "Destinations": [each["IPAddress"]]})


@fault("kube-proxy.rule-too-many", "kube-proxy.rule-backends", "hns.endpoint-remote-stale", needs_cluster=True)
def scaled_too_far(node: Node, random: Random) -> None:
    own = next(each for each in node.cluster["slices"] if each["metadata"]["namespace"] == "kube-system")
    count = random.randint(65, 200)
    own["endpoints"][0]["addresses"] = [
        node.expect["cluster_cidr"].replace("0.0/16", f"252.{number}") for number in range(1, count)
    ] + [node.expect["cluster_cidr"].replace("0.0/16", "253.1")]


# -- files and arguments -----------------------------------------------------------------------------------------------


@fault("cni.network-name", "flannel.net-conf-name", may=named)
def conf_of_another_network(node: Node, random: Random) -> None:
    node.files[CNI_CONF]["name"] = random.choice(["flannel.4097", "l2bridge", "mynet"])


@fault("cni.not-first")
def another_comes_first(node: Node, random: Random) -> None:
    node.folders[CONF_DIR].append(random.choice(["05-azure.conflist", "10-calico.conf", "0.json"]))


@fault("cni.plugin-missing")
def plugin_not_brought(node: Node, random: Random) -> None:
    gone = {"flannel.exe", "win-bridge.exe" if node.mode == "l2bridge" else "win-overlay.exe"}
    node.folders[BIN_DIR].remove(random.choice(sorted(gone)))


@fault("flannel.bridge-endpoint", may=bridge)
def host_endpoint_lost(node: Node, random: Random) -> None:
    own = next(each for each in node.hns["endpoints"] if each["Name"] == f"{node.network}_ep")
    if random.random() < 0.5:
        drop(node, own)
    node.adapters = [each for each in node.adapters if each["name"] != f"vEthernet ({node.network}_ep)"]


@fault("flannel.bridge-endpoint", may=bridge)
def host_endpoint_of_the_old_range(node: Node, random: Random) -> None:
    own = next(each for each in node.hns["endpoints"] if each["Name"] == f"{node.network}_ep")
    own["IPAddress"] = "10.99.1.2"


@fault("cni.plugin-type", "cni.plugin-missing", may=bridge)
def conf_of_an_overlay(node: Node, random: Random) -> None:
    delegate(node)["type"] = "win-overlay"


@fault("cni.plugin-type", "cni.plugin-missing", "cni.policies-key", may=overlay)
def conf_of_a_bridge(node: Node, random: Random) -> None:
    """sdnbridge reads no `policies`, where those of this node stand."""
    delegate(node)["type"] = "sdnbridge"


@fault("cni.exceptions")
def network_not_excepted(node: Node, random: Random) -> None:
    """In an overlay the node's own network, the third, need not be among them."""
    found = exceptions(node)
    found.remove(random.choice(found[:2] if overlay(node) else found))


@fault("cni.exceptions", "cni.old-form")
def old_form_of_exceptions(node: Node, random: Random) -> None:
    value = policy_value(node, 0)
    value["ExceptionList"] = value.pop("Settings")["Exceptions"]


@fault("cni.provider-address", may=overlay)
def conf_of_another_node(node: Node, random: Random) -> None:
    policy_value(node, 2)["Settings"]["ProviderAddress"] = "192.168.251.9"


@fault("flannel.net-conf-name")
def flannel_calls_it_otherwise(node: Node, random: Random) -> None:
    node.files[NET_CONF]["Backend"]["Name"] = "pods"


@fault("flannel.net-conf-backend", "flannel.net-conf-name", "flannel.net-conf-vxlan")
def another_backend(node: Node, random: Random) -> None:
    node.files[NET_CONF]["Backend"]["Type"] = "vxlan" if node.mode == "l2bridge" else "host-gw"


@fault("flannel.net-conf-vxlan", "flannel.net-conf-name", "hns.network-vni", may=overlay)
def defaults_of_linux(node: Node, random: Random) -> None:
    key, value = random.choice([("VNI", 1), ("Port", 8472), ("DirectRouting", True)])
    node.files[NET_CONF]["Backend"][key] = value


@fault("flannel.net-conf-network")
def of_another_cluster(node: Node, random: Random) -> None:
    node.files[NET_CONF]["Network"] = "10.5.0.0/16"


@fault("flannel.no-subnet-env")
def no_lease(node: Node, random: Random) -> None:
    node.files[SUBNET_ENV] = None


@fault("flannel.subnet-env-invalid", "flannel.subnet-env-stale")
def lease_of_nobody(node: Node, random: Random) -> None:
    node.files[SUBNET_ENV]["FLANNEL_SUBNET"] = random.choice(["", "10.244.1.1", "10.244.1.0.1/24"])


@fault("cni.absent")
def no_conf(node: Node, random: Random) -> None:
    node.files[CNI_CONF] = None


@fault("flannel.subnet-env-stale", "flannel.subnet-env-invalid")
def lease_of_old(node: Node, random: Random) -> None:
    node.files[SUBNET_ENV]["FLANNEL_SUBNET"] = "10.99.5.1/24"


@fault("kube-proxy.network-name", may=overlay)
def proxy_waits(node: Node, random: Random) -> None:
    line = node.arguments("kube-proxy")
    node.set_arguments("kube-proxy", line.replace(f"--network-name={node.network}", "--network-name=cbr0"))


@fault("kube-proxy.network-name", may=bridge)
def proxy_without_network(node: Node, random: Random) -> None:
    found = node.service("kube-proxy")
    wrong = random.choice([[], ["KUBE_NETWORK=vxlan0"]])
    if found["nssm"]:
        found["nssm"]["AppEnvironmentExtra"] = wrong
    else:
        found["environment"] = wrong


@fault(
    "kube-proxy.source-vip",
    "hns.endpoint-without-namespace",
    "hns.endpoint-without-pod",
    "kube-proxy.rule-source-vip",
    may=overlay,
)
def no_source_vip(node: Node, random: Random) -> None:
    line = node.arguments("kube-proxy")
    node.set_arguments("kube-proxy", line.replace(node.vip, "") if random.random() < 0.5 else line.replace(
        f"--source-vip={node.vip}", "--source-vip=10.99.1.2"
    ))  # fmt: skip


@fault("kube-proxy.source-vip-taken", "hns.endpoint-duplicate-address", may=overlay, needs_cluster=True)
def pod_has_it(node: Node, random: Random) -> None:
    thief = copy.deepcopy(node.cluster["pods"][0])
    thief["metadata"]["name"] = "thief"
    thief["status"]["podIP"] = node.vip
    node.cluster["pods"].append(thief)


@fault("kube-proxy.hostname-override")
def proxy_under_another_name(node: Node, random: Random) -> None:
    line = node.arguments("kube-proxy")
    other = random.choice(["", "--hostname-override=EC2AMAZ-77"])
    node.set_arguments("kube-proxy", line.replace(f"--hostname-override={node.name}", other))


@fault("kube-proxy.cluster-cidr")
def proxy_of_another_cluster(node: Node, random: Random) -> None:
    line = node.arguments("kube-proxy")
    node.set_arguments("kube-proxy", line.replace(node.expect["cluster_cidr"], "10.5.0.0/16"))


@fault("flannel.iface")
def flannel_of_another_node(node: Node, random: Random) -> None:
    line = node.arguments("flanneld")
    node.set_arguments("flanneld", line.replace(f"--iface={node.address}", "--iface=192.168.251.7"))
