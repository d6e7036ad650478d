"""Pods in the lab: the scheduler, a kubelet that makes sandboxes, Services, endpoints, and what reaches what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.cluster.api import Request
from tests.lab.cluster.flows import Place, SilenceError
from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.pod_programs import messages, run, run_on_linux
from tests.lab.machine.builds import build
from tests.lab.machine.pods import starts
from tests.unit.lab import kube_machine
from tests.unit.lab.kube_machine import CNI_CONF, CONFIG, KUBECONFIG, KUBELET_CONFIG, Kube

PROXY = "C:\\k\\kube-proxy.conf"
LINUX = Place("linux", "control-plane", "192.168.122.10")
WINDOWS = Place("windows", "win1", "192.168.122.220")
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def kube(tmp_path: Path) -> Iterator[Kube]:
    """One machine that is a Ready Node with an HNS network for its pods; no kube-proxy."""
    made = kube_machine.make(tmp_path)
    made.cluster._machines = lambda: [made]
    made.write(KUBECONFIG, made.cluster.kubeconfig_for("system:node:win1", "system:nodes"))
    made.sc("start", "hns")
    made.wait(5)
    made.node.faults.blip_s = 1.0
    made.add_cni()
    made.write(CONFIG, KUBELET_CONFIG + "clusterDNS: [10.96.0.10]\nclusterDomain: cluster.local\n")
    made.start("kubelet", f"--config={CONFIG}", f"--kubeconfig={KUBECONFIG}", "--hostname-override=win1")
    made.wait_for(lambda: made.cluster.nodes.get("win1", {}).get("spec", {}).get("podCIDR"))
    network = {"Name": "cbr0", "Type": "L2Bridge"}
    subnets = [{"AddressPrefix": "10.244.1.0/24", "GatewayAddress": "10.244.1.2"}]
    made.node.hns.create_network({**network, "Subnets": subnets})
    made.wait_for(lambda: made.ready() == "True")
    try:
        yield made
    finally:
        made.cluster.stop()


def web(name: str = "web", image: str = "registry/core:ltsc2022", replicas: int = 1) -> dict[str, Any]:
    command = ["powershell.exe", "-command", "$$listener.Prefixes.Add('http://*:80/')"]
    pod = {"containers": [{"name": "web", "image": image, "command": command}]}
    template = {"metadata": {"labels": {"app": name}}, "spec": {**pod, "nodeSelector": {"kubernetes.io/os": "windows"}}}
    return {
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def deploy(kube: Kube, **settings: Any) -> None:
    kube.cluster.request("POST", "/apis/apps/v1/namespaces/default/deployments", web(**settings))
    settle(kube)


def settle(kube: Kube) -> None:
    for _ in range(8):
        kube.cluster.advance(5)


def pods(kube: Kube) -> list[dict[str, Any]]:
    return list(kube.cluster.request("GET", PODS)["items"])


def test_a_kubelet_gives_a_pod_a_sandbox_an_endpoint_and_an_address_of_its_range(kube: Kube) -> None:
    deploy(kube)
    (pod,) = pods(kube)
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("win1", "Running")
    address = pod["status"]["podIP"]
    assert address.startswith("10.244.1.")
    (sandbox,) = kube.node.pods.sandboxes.values()
    (endpoint,) = [item for item in kube.node.hns.endpoints if item["IPAddress"] == address]
    assert (sandbox.endpoint, endpoint["Namespace"]["ID"]) == (endpoint["ID"], sandbox.hns_namespace)
    assert kube.cluster.flows.ask(LINUX, address, 80).text.startswith("<html>")
    assert shown(kube) == [(sandbox.identity, pod["metadata"]["name"])]

    kube.cluster.request("DELETE", "/apis/apps/v1/namespaces/default/deployments/web")
    settle(kube)
    assert pods(kube) == []
    assert not kube.node.pods.sandboxes
    assert all(item["IPAddress"] != address for item in kube.node.hns.endpoints)
    assert kube.node.hns.namespaces == []
    assert shown(kube) == []


def test_a_subpath_takes_a_kubelet_that_finds_powershell(kube: Kube) -> None:
    """In the Path that it was started with. Source: kubernetes subpath_windows.go."""
    made = web()
    (container,) = made["spec"]["template"]["spec"]["containers"]
    container["volumeMounts"] = [{"name": "site", "mountPath": "C:/site", "subPath": "a"}]
    kube.cluster.request("POST", "/apis/apps/v1/namespaces/default/deployments", made)
    settle(kube)
    assert [pod["status"]["phase"] for pod in pods(kube)] == ["Running"]
    (kubelet,) = [one for one in kube.node.processes.all() if one.path.endswith("kubelet.exe")]
    kube.node.processes.kill(kubelet.pid)
    arguments = (f"--config={CONFIG}", f"--kubeconfig={KUBECONFIG}", "--hostname-override=win1")
    kube.start("kubelet", *arguments, Path="C:\\k;C:\\Windows\\System32")
    settle(kube)
    (state,) = [item["state"]["waiting"] for item in pods(kube)[0]["status"]["containerStatuses"]]
    assert state["reason"] == "CreateContainerConfigError"
    assert state["message"] == 'failed to create subPath directory for volumeMount "site" of container "web"'
    assert 'exec: "powershell": executable file not found in %PATH%' in kube.log[-1]


def shown(kube: Kube) -> list[tuple[str, str]]:
    """The sandboxes that crictl lists: id and pod."""
    kube.write("C:\\k\\crictl.exe", build("crictl", "1.30.0"))
    items = json.loads(kube.run("crictl", "pods", "-o", "json").stdout)["items"]
    return [(item["id"], item["labels"]["io.kubernetes.pod.name"]) for item in items]


def test_an_image_of_another_build_does_not_start(kube: Kube) -> None:
    deploy(kube, image="registry/core:ltsc2019")
    (state,) = [item["state"]["waiting"] for item in pods(kube)[0]["status"]["containerStatuses"]]
    assert "does not match the host operating system" in state["message"]
    assert not kube.node.pods.sandboxes


@pytest.mark.parametrize(
    ("host", "image", "runtime", "runs"),
    [
        (17763, 17763, "2.3.4", True),
        (20348, 17763, "2.3.4", False),
        (20348, 20348, "2.3.4", True),
        (20348, 26100, "2.3.4", False),
        (25398, 20348, "2.3.4", True),
        (26100, 17763, "2.3.4", False),
        (26100, 20348, "2.3.4", True),
        (26100, 25398, "2.3.4", True),
        (26100, 20348, "2.0.0", True),
        (26100, 20348, "1.7.6", True),
        (26100, 20348, "1.7.5", False),
        (26100, 20348, "1.6.23", True),
        (26100, 20348, "1.6.22", False),
        (26100, 26100, "1.6.22", True),
    ],
)
def test_from_windows_server_2022_on_a_host_runs_the_ltsc_before_it(
    host: int, image: int, runtime: str, runs: bool
) -> None:
    """The lab wanted equal builds everywhere."""
    assert starts(host, image, runtime) == runs


@pytest.mark.parametrize(("kind", "runs"), [("TierAcl", True), ("NetworkACL", False), ("VSID", False)])
def test_a_policy_that_no_endpoint_has_keeps_pods_from_starting(kube: Kube, kind: str, runs: bool) -> None:
    """The lab made every pod's endpoint, whatever cni.conf says."""
    value = {"Type": kind, "Settings": {}}
    policies = [{"Name": "EndpointPolicy", "Value": value}]
    conf = {"name": "cbr0", "cniVersion": "1.0.0", "type": "win-bridge", "apiVersion": 2, "policies": policies}
    kube.write(f"{CNI_CONF}\\cni.conf", json.dumps(conf))
    deploy(kube)
    (container,) = pods(kube)[0]["status"]["containerStatuses"]
    assert ("running" in container["state"]) == runs, container
    if not runs:
        assert "The policy is invalid" in container["state"]["waiting"]["message"]


def test_the_plugins_first_api_makes_no_endpoint_for_a_namespace(kube: Kube) -> None:
    """The lab made one. win-bridge and win-overlay look for an endpoint that is there already: it was dockershim's."""
    kube.write(f"{CNI_CONF}\\cni.conf", json.dumps({"name": "cbr0", "cniVersion": "1.0.0", "type": "win-bridge"}))
    deploy(kube)
    (state,) = [item["state"]["waiting"] for item in pods(kube)[0]["status"]["containerStatuses"]]
    assert "failed to setup network for sandbox" in state["message"]
    assert kube.node.hns.namespaces == []


def test_a_network_of_another_name_is_not_taken(kube: Kube) -> None:
    """The lab took the one with the node's range."""
    conf = {"name": "vxlan0", "cniVersion": "1.0.0", "type": "win-bridge", "apiVersion": 2}
    kube.write(f"{CNI_CONF}\\cni.conf", json.dumps(conf))
    deploy(kube)
    (state,) = [item["state"]["waiting"] for item in pods(kube)[0]["status"]["containerStatuses"]]
    assert "no network" in state["message"]


def test_a_registry_that_the_machine_does_not_reach(kube: Kube) -> None:
    kube.node.pods.unpullable.add("registry")
    deploy(kube)
    (state,) = [item["state"]["waiting"] for item in pods(kube)[0]["status"]["containerStatuses"]]
    assert state["reason"] == "ImagePullBackOff"


def test_a_pod_that_fits_no_node_stays_pending(kube: Kube) -> None:
    kube.cluster.request("PATCH", "/api/v1/nodes/win1", {"spec": {"taints": [{"key": "os", "effect": "NoSchedule"}]}})
    deploy(kube)
    (pod,) = pods(kube)
    assert "nodeName" not in pod["spec"]
    assert pod["status"]["conditions"][0]["reason"] == "Unschedulable"


def test_a_services_address_works_in_pods_of_a_machine_only_with_its_kube_proxy(kube: Kube) -> None:
    deploy(kube, replicas=2)
    spec = {"type": "NodePort", "selector": {"app": "web"}, "ports": [{"port": 80}]}
    service = kube.cluster.request(
        "POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "web"}, "spec": spec}
    )
    settle(kube)
    address, node_port = service["spec"]["clusterIP"], service["spec"]["ports"][0]["nodePort"]
    flows = kube.cluster.flows
    inside = flows.place_of("default", pods(kube)[0]["metadata"]["name"])
    host = next(item["address"] for item in kube.cluster.nodes["win1"]["status"]["addresses"])
    for place, where, port in ((inside, address, 80), (LINUX, host, node_port)):
        with pytest.raises(SilenceError):
            flows.ask(place, where, port)

    start_proxy(kube)
    for place, where, port in ((inside, address, 80), (LINUX, host, node_port)):
        assert flows.ask(place, where, port).status == 200
    # The known limits: a Windows host reaches neither a Service's address nor its own NodePort.
    for where, port in ((address, 80), (host, node_port)):
        with pytest.raises(SilenceError):
            flows.ask(WINDOWS, where, port)


@pytest.mark.parametrize("loopback", [False, True])
def test_with_direct_server_return_a_pod_reaches_itself_only_by_loopback_dsr(kube: Kube, loopback: bool) -> None:
    conf = {"name": "cbr0", "cniVersion": "0.2.0", "type": "win-bridge", "apiVersion": 2, "loopbackDSR": loopback}
    kube.write(f"{CNI_CONF}\\cni.conf", json.dumps(conf))
    deploy(kube)
    spec = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    service = kube.cluster.request(
        "POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "web"}, "spec": spec}
    )
    kube.write(PROXY, kube.cluster.kubeconfig_for("system:kube-proxy"))
    dsr = ("--enable-dsr=true", "--feature-gates=WinDSR=true")
    kube.start("kube-proxy", f"--kubeconfig={PROXY}", "--proxy-mode=kernelspace", "--network-name=cbr0", *dsr)
    settle(kube)
    flows, address = kube.cluster.flows, service["spec"]["clusterIP"]
    itself = flows.place_of("default", pods(kube)[0]["metadata"]["name"])
    if loopback:
        assert flows.ask(itself, address, 80).status == 200
    else:
        with pytest.raises(SilenceError):
            flows.ask(itself, address, 80)


def start_proxy(kube: Kube) -> None:
    kube.write(PROXY, kube.cluster.kubeconfig_for("system:kube-proxy"))
    kube.start("kube-proxy", f"--kubeconfig={PROXY}", "--proxy-mode=kernelspace", "--network-name=cbr0")
    settle(kube)


def test_a_pod_asks_the_server_that_its_kubelet_names_by_way_of_its_nodes_policies(kube: Kube) -> None:
    deploy(kube)
    flows, store = kube.cluster.flows, kube.cluster.store
    inside = flows.place_of("default", pods(kube)[0]["metadata"]["name"])
    assert flows.dns_of(inside) == "10.96.0.10"
    with pytest.raises(SilenceError):
        flows.resolve(inside, "kubernetes")  # nothing has made HNS a policy yet
    start_proxy(kube)
    assert flows.resolve(inside, "kubernetes") == "10.96.0.1"
    shown = kube.cluster.api.proxied["win1", "configz"]
    assert isinstance(shown, dict)
    for wrong in ("10.96.0.1", "10.96.0.11", "169.254.25.10"):
        shown["kubeletconfig"]["clusterDNS"] = [wrong]
        with pytest.raises(SilenceError):
            flows.resolve(inside, "kubernetes")
    del shown["kubeletconfig"]["clusterDNS"]
    assert flows.dns_of(inside) == kube.node.nic.dns[0], "without clusterDNS a pod gets its machine's"
    with pytest.raises(LookupError):
        flows.resolve(inside, "kubernetes")
    shown["kubeletconfig"] |= {"clusterDNS": ["10.96.0.10"], "clusterDomain": "cluster.example"}
    with pytest.raises(LookupError):
        flows.resolve(inside, "kubernetes")
    assert flows.resolve(inside, "kubernetes.default.svc.cluster.local") == "10.96.0.1"
    for item in store.list(BY_NAME["EndpointSlice"], "kube-system"):
        store.delete(BY_NAME["EndpointSlice"], "kube-system", str(item["metadata"]["name"]))
    with pytest.raises(SilenceError):
        flows.resolve(inside, "kubernetes.default.svc.cluster.local")


def test_names_as_windows_resolves_them(kube: Kube) -> None:
    deploy(kube)
    flows = kube.cluster.flows
    inside = flows.place_of("default", pods(kube)[0]["metadata"]["name"])
    start_proxy(kube)
    assert flows.resolve(inside, "kubernetes") == "10.96.0.1"
    assert flows.resolve(inside, "kubernetes.default.svc.cluster.local") == "10.96.0.1"
    assert flows.resolve(inside, "10-244-1-9.default.pod.cluster.local") == "10.244.1.9"
    for name in ("kubernetes.default", "nobody", "nobody.default.svc.cluster.local"):
        with pytest.raises(LookupError):
            flows.resolve(inside, name)
    code, stdout, stderr = run(flows, inside, ["curl.exe", "http://kubernetes.default/"])
    assert (code, stdout, "Could not resolve host" in stderr) == (6, "", True)


def test_icmp_stays_inside(kube: Kube) -> None:
    deploy(kube)
    inside = kube.cluster.flows.place_of("default", pods(kube)[0]["metadata"]["name"])
    assert run(kube.cluster.flows, inside, ["ping.exe", "-n", "1", "192.168.122.10"])[0] == 0
    assert run(kube.cluster.flows, inside, ["ping.exe", "-n", "1", "1.1.1.1"])[0] == 1
    assert run(kube.cluster.flows, inside, ["curl.exe", "http://1.1.1.1/"])[0] == 0


def test_what_is_not_known_is_refused_by_name(kube: Kube) -> None:
    flows = kube.cluster.flows
    deploy(kube)
    said = json.loads(messages(flows, "default", pods(kube)[0]["metadata"]["name"], ["bash", "-c", "ls"]))
    assert said["code"] is None and 'executing command in container: "bash"' in said["why"]
    code, _out, why = run_on_linux(flows, LINUX, "/bin/sh -c 'rm -rf x'")
    assert code == 127 and why.startswith("rm: the lab's Linux host knows")


def test_a_namespace_that_is_deleted_takes_everything_with_it(kube: Kube) -> None:
    kube.cluster.request("POST", "/api/v1/namespaces", {"metadata": {"name": "gone"}})
    path = "/apis/apps/v1/namespaces/gone/deployments"
    assert kube.cluster.request("POST", path, web())["metadata"]["namespace"] == "gone"
    settle(kube)
    assert len(kube.node.pods.sandboxes) == 1
    kube.cluster.request("DELETE", "/api/v1/namespaces/gone")
    refused = kube.cluster.request("POST", path, web("other"))
    assert "it is being terminated" in refused["message"]
    settle(kube)
    assert kube.cluster.request("GET", "/api/v1/namespaces/gone")["code"] == 404
    assert kube.cluster.request("GET", "/api/v1/pods")["items"] == []
    assert not kube.node.pods.sandboxes


def test_after_a_restart_of_the_machine_the_pod_gets_a_new_sandbox(kube: Kube) -> None:
    deploy(kube)
    before = next(iter(kube.node.pods.sandboxes.values()))
    kube.node.restart()
    assert not kube.node.pods.sandboxes
    assert before.address


def test_allocatable_is_capacity_less_what_is_kept_back(kube: Kube) -> None:
    from tests.lab.programs.kubelet_node import allocatable

    size = {"cpu": "2", "memory": "8388148Ki", "pods": "110"}
    config = {"systemReserved": {"memory": "2Gi", "cpu": "100m"}, "evictionHard": {"memory.available": "10%"}}
    left = 8388148 - 2 * 1024 * 1024 - 838815
    assert allocatable(size, config) == {"cpu": "1900m", "memory": f"{left}Ki", "pods": "110"}
    assert allocatable(size, {}) == size
    shown = kube.cluster.request("GET", "/api/v1/nodes/win1/proxy/configz")
    assert shown["kubeletconfig"]["kind"] == "KubeletConfiguration"


def let_in(kube: Kube, protocol: str, port: int, remote: str) -> None:
    rule = ("dir=in", "action=allow", f"protocol={protocol}", f"localport={port}", f"remoteip={remote}")
    netsh = "C:\\Windows\\System32\\netsh.exe"
    added = kube.node.run(netsh, ["advfirewall", "firewall", "add", "rule", f"name=port-{port}", *rule])
    assert added.exit_code == 0


def test_without_a_rule_of_the_firewall_nobody_reaches_the_kubelet(kube: Kube) -> None:
    deploy(kube)
    (pod,) = pods(kube)
    control = kube.cluster.settings.address
    node = kube.cluster.nodes["win1"]["status"]["addresses"][0]["address"]
    log = Request("GET", f"{PODS}/{pod['metadata']['name']}/log", token="")
    said = f"error dialing backend: dial tcp {node}:10250: i/o timeout"
    refused = kube.cluster._kubelet_unreached(log.path)
    assert refused is not None and (refused.status, refused.json["message"]) == (500, said)
    with pytest.raises(SilenceError):
        kube.cluster.flows.ask(LINUX, node, 10250)
    let_in(kube, "TCP", 10250, f"{control}/24")
    unknown = kube.cluster._kubelet_unreached(log.path)
    credentials = "the server has asked for the client to provide credentials"
    assert unknown is not None and unknown.json["message"] == credentials  # this kubelet knows no CA of its callers
    kube.cluster.api.trust["win1"] = (kube.cluster.ca.pem, b"")
    assert kube.cluster._kubelet_unreached(log.path) is None
    assert kube.cluster.flows.ask(LINUX, node, 10250).status == 401
    with pytest.raises(SilenceError):
        kube.cluster.flows.ask(Place("linux", "far", "203.0.113.9"), node, 10250)
    let_in(kube, "TCP", 10250, "any")
    assert kube.cluster.flows.ask(Place("linux", "far", "203.0.113.9"), node, 10250).status == 401


def test_a_kubelet_that_is_not_told_takes_the_newest_adapters_address(kube: Kube) -> None:
    hns = kube.node.hns
    network = hns.network("cbr0")
    assert network is not None
    settle(kube)
    assert kube.cluster.nodes["win1"]["status"]["addresses"][0]["address"] == kube.node.nic.address
    hns.attach_endpoint(hns.create_endpoint({"Name": "cbr0_ep", "VirtualNetwork": network["ID"]})["ID"])
    settle(kube)
    assert kube.cluster.nodes["win1"]["status"]["addresses"][0]["address"].startswith("10.244.1.")
