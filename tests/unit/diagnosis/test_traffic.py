"""Where pods' traffic goes: outside, NodePorts, service addresses, names, proxies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.checks_traffic import node_port_list
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.tried import InPod, Said
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret

from .nodes import (
    ADDRESS,
    CNI_CONF,
    COMMANDS,
    POD_IP,
    Node,
    broken,
    conf,
    fine,
    healthy,
    noted,
    service,
    slice_of,
)


@pytest.mark.row("TS-08")
def test_the_exceptions_on_the_disk_against_the_target() -> None:
    node = healthy()
    node.file(CNI_CONF, conf("10.244.0.0/16", "10.96.0.0/12", "192.168.122.0/24", "203.0.113.0/24"))
    broken(node, "traffic.outside", "cover 203.0.113.7", remedy="winkube_exception_list")
    node.look(target="203.0.114.1")
    fine(node, "traffic.outside")


@pytest.mark.parametrize("missing", ["10.244.0.0/16", "10.96.0.0/12", "192.168.122.0/24"])
@pytest.mark.row("TS-08")
def test_an_exception_that_is_missing(missing: str) -> None:
    node = healthy()
    node.file(CNI_CONF, conf(*({"10.244.0.0/16", "10.96.0.0/12", "192.168.122.0/24"} - {missing})))
    broken(node, "cni.exceptions", missing)


@pytest.mark.row("TS-08")
def test_curl_in_a_pod_never_ping() -> None:
    node = healthy()
    said = dict.fromkeys(COMMANDS, Said(0)) | {"outside": Said(28, "curl: (28) Connection timed out")}
    node.more["in_pod"] = InPod("default/web", "", said)
    broken(node, "traffic.outside", "does not reach http://203.0.113.7/", "28")
    node.more["in_pod"] = InPod(why="no pod with a network of its own runs on this node")
    fine(node, "traffic.outside")
    hand = (
        "kubectl exec -n NAMESPACE POD -- curl.exe --silent --show-error --insecure --output NUL "
        "--max-time 10 http://203.0.113.7/. Do not ping."
    )
    noted(node, "traffic.outside-not-tried", "no pod with a network of its own runs on this node", remedy=hand)
    node.look(target="203.0.114.1")
    noted(node, "traffic.outside-not-tried", remedy=" http://203.0.114.1/")


def node_port(node: Node) -> None:
    node.services.append(service("shop", "default", "10.97.0.9", ports=[{"port": 80, "nodePort": 30080}]))
    node.slices.append(slice_of("shop", "default", POD_IP))


@pytest.mark.row("TS-09")
def test_node_ports_are_tried_from_elsewhere() -> None:
    node = healthy()
    node_port(node)
    node.more["ports"] = {(ADDRESS, 10250): True, (ADDRESS, 30080): True}
    fine(node, "traffic.node-port")
    noted(node, "traffic.node-port-local", "does not reach NodePorts of its own")
    node.more["ports"] = {(ADDRESS, 10250): True, (ADDRESS, 30080): False}
    broken(node, "traffic.node-port", f"service default/shop: {ADDRESS}:30080", remedy="30000-32767")
    node.more["ports"] = {(ADDRESS, 10250): False}
    fine(node, "traffic.node-port")
    noted(node, "traffic.node-port-local", remedy=f"curl http://{ADDRESS}:30080/ on another host")


def test_what_a_load_balancer_asks_is_tried_from_elsewhere() -> None:
    node = healthy()
    local = {"externalTrafficPolicy": "Local", "healthCheckNodePort": 31500, "ports": [{"port": 80}]}
    node.services.append(service("web", "default", "10.97.0.9", **local))
    node.more["ports"] = {(ADDRESS, 10250): True, (ADDRESS, 10256): True, (ADDRESS, 31500): True}
    fine(node, "traffic.health-check")
    node.more["ports"] |= {(ADDRESS, 10256): False}
    broken(node, "traffic.health-check", f"kube-proxy: {ADDRESS}:10256", remedy="winkube_health_check_sources")
    node.more["ports"] |= {(ADDRESS, 10256): True, (ADDRESS, 31500): False}
    broken(node, "traffic.health-check", f"service default/web: {ADDRESS}:31500")
    node.parts["http:http://127.0.0.1:10256/healthz"] = {"error": "refused"}
    fine(node, "traffic.health-check")


@pytest.mark.row("TS-09")
def test_which_node_ports_are_tried() -> None:
    node = healthy()
    specs: list[dict[str, Any]] = [
        {"externalTrafficPolicy": "Local", "ports": [{"port": 80, "nodePort": 30070}]},
        {"ports": [{"port": 53, "nodePort": 30053, "protocol": "UDP"}]},
        *({"ports": [{"port": 80, "nodePort": 30080 + number}]} for number in range(6)),
    ]
    for number, more in enumerate(specs):
        node.services.append(service(f"shop{number}", "default", "10.97.0.9", **more))
        node.slices.append(slice_of(f"shop{number}", "default", POD_IP))
    node.services.insert(0, service("empty", "default", "10.97.0.8", ports=[{"port": 80, "nodePort": 30079}]))
    node.slices.append(slice_of("empty", "default"))
    tried = [(f"default/shop{number + 2}", 30080 + number) for number in range(5)]
    assert node_port_list(node.tried().objects) == tried, "no UDP, nothing local to a node, nobody's, five at most"


@pytest.mark.row("TS-14")
def test_the_host_never_reaches_service_addresses_but_its_pods_have_to() -> None:
    node = healthy()
    fine(node)
    noted(node, "traffic.service-ip-host", "a limitation of Windows' networking. Its pods do")
    said = dict.fromkeys(COMMANDS, Said(0)) | {"service address": Said(7, "curl: (7) Failed to connect")}
    node.more["in_pod"] = InPod("default/web", "", said)
    broken(node, "traffic.service-ip", "pod default/web: it does not reach the service kubernetes (10.96.0.1)")
    node.more["in_pod"] = InPod(why="no pod")
    noted(node, "traffic.service-ip-host", "No pod was asked: no pod", remedy="curl.exe -k https://10.96.0.1/")


@pytest.mark.parametrize(
    ("said", "found", "piece"),
    [
        ({}, "", ""),
        ({"fully qualified name": Said(1, "no")}, "traffic.names", "the fully qualified name kubernetes.default.svc"),
        ({"short name": Said(1, "no")}, "traffic.names", "the short name kubernetes does not resolve"),
        ({"name in between": Said(1, "DNS name does not exist")}, "traffic.names-limits", "one DNS suffix"),
        ({"fully qualified name": Said(None, "no powershell.exe")}, "traffic.names-limits", "no powershell.exe"),
    ],
)
@pytest.mark.row("TS-16")
def test_three_kinds_of_names(said: dict[str, Said], found: str, piece: str) -> None:
    node = healthy()
    node.more["in_pod"] = InPod("default/web", "", dict.fromkeys(COMMANDS, Said(0)) | said)
    every = {one.id: one.text for one in node.looked()[1] if one.id.startswith("traffic.names")}
    assert set(every) == ({found} if found else set())
    assert piece in every.get(found, "")


def other_server(node: Node) -> None:
    node.line("kubelet", lambda line: line.replace("--cluster-dns=10.96.0.10", "--cluster-dns=10.0.0.1"))


def no_dns_service(node: Node) -> None:
    node.services = [one for one in node.services if one["metadata"]["name"] != "kube-dns"]


def nobody_behind(node: Node) -> None:
    node.slices[1] = slice_of("kube-dns", "kube-system", "10.244.0.2", ready=False)


def old_endpoint(node: Node) -> None:
    node.hns("endpoints", lambda found: [one | {"DNSServerList": "8.8.8.8"} for one in found])


@pytest.mark.parametrize(
    ("breaks", "piece"),
    [
        (other_server, "kubelet: it gives pods the DNS server 10.0.0.1; wanted 10.96.0.10"),
        (no_dns_service, "no service has the address 10.96.0.10"),
        (nobody_behind, "service kube-system/kube-dns: it has no endpoints"),
        (old_endpoint, f"endpoint {POD_IP}: it asks 8.8.8.8 for names; wanted 10.96.0.10"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.row("TS-16")
def test_the_settings_of_dns(breaks: Callable[[Node], None], piece: str) -> None:
    node = healthy()
    breaks(node)
    broken(node, "traffic.names", piece)


@pytest.mark.row("TS-16")
def test_several_servers_and_endpoints_of_which_nothing_is_said_are_no_fault() -> None:
    node = healthy()
    node.line("kubelet", lambda line: line.replace("--cluster-dns=10.96.0.10", "--cluster-dns=10.96.0.10,8.8.8.8"))
    del node.slices[1]["endpoints"][0]["conditions"]
    fine(node, "traffic.names")


PROXY = "http://proxy.example.com:80/"


@pytest.mark.row("TS-18")
def test_a_proxy_that_the_machine_does_not_know() -> None:
    node = healthy()
    node.look(http_proxy=Secret(PROXY), https_proxy=Secret("http://user:secret@proxy.example.com:443/"))
    broken(
        node,
        "host.proxy",
        f"HTTP_PROXY: it is not set, though this node is behind {PROXY}",
        remedy="restart the machine",
    )
    assert "secret" not in str(node.find("host.proxy"))
    node.parts["variable:http_proxy"] = {"exists": True, "fingerprint": "HTTP_PROXY=sha256:0000000000000000"}
    broken(
        node,
        "host.proxy",
        f"HTTP_PROXY: it has another value; wanted {PROXY}",
        "HTTPS_PROXY: it is not set",
        "http://***@proxy.example.com:443/",
    )


@pytest.mark.row("TS-18")
def test_a_registry_that_is_not_reached() -> None:
    node = healthy()
    node.more["reached"] = {"https://registry.k8s.io/v2/": Said(1, "The remote name could not be resolved")}
    broken(node, "host.proxy", "does not reach https://registry.k8s.io/v2/", remedy="winkube_node_http_proxy")
    node.more["reached"] = {}
    noted(node, "host.registries-not-asked", remedy="curl.exe -v https://registry.k8s.io/v2/")
