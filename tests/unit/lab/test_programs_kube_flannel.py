"""flanneld.exe, host-local.exe and the CNI programs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab.machine.builds import build, release_archive
from tests.lab.machine.hns_errors import NO_MEMORY
from tests.lab.machine.program import Completed
from tests.lab.twin.ops_transfer import read_archive
from tests.unit.lab import kube_machine
from tests.unit.lab.kube_machine import CNI_BIN, SC, K, Kube

Make = Callable[..., Kube]
CONF = "C:\\k\\flanneld.conf"
NET_CONF = "C:\\etc\\kube-flannel\\net-conf.json"
ENV = "C:\\run\\flannel\\subnet.env"
HOST_GW = {"Network": "10.244.0.0/16", "Backend": {"Type": "host-gw"}}
VXLAN = {"Network": "10.244.0.0/16", "Backend": {"Type": "vxlan", "VNI": 4096, "Port": 4789}}
BASE = (f"--kubeconfig-file={CONF}", "--ip-masq=1", "--kube-subnet-mgr=1")


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Kube] = []

    def one(conf: dict[str, Any] | None = None, *, node: bool = True, cidr: bool = True) -> Kube:
        kube = kube_machine.make(tmp_path / str(len(made)))
        made.append(kube)
        kube.write(NET_CONF, json.dumps(conf or HOST_GW))
        kube.cluster.request(
            "POST", "/api/v1/namespaces/kube-flannel/serviceaccounts", {"metadata": {"name": "flannel"}}
        )
        annotations = {"kubernetes.io/service-account.name": "flannel"}
        secret = {"metadata": {"name": "t", "annotations": annotations}, "type": "kubernetes.io/service-account-token"}
        kube.cluster.request("POST", "/api/v1/namespaces/kube-flannel/secrets", secret)
        subject = {"kind": "ServiceAccount", "name": "flannel", "namespace": "kube-flannel"}
        binding = {"metadata": {"name": "flannel"}, "subjects": [subject]}
        binding["roleRef"] = {"kind": "ClusterRole", "name": "flannel", "apiGroup": "rbac.authorization.k8s.io"}
        kube.cluster.request("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)
        kube.cluster.advance(2)
        from tests.lab.cluster.access import plain

        found = kube.cluster.request("GET", "/api/v1/namespaces/kube-flannel/secrets/t")
        kube.write(CONF, kube.cluster.kubeconfig_for("flannel", token=plain(found, "token")))
        if node:
            spec = {"podCIDR": "10.244.3.0/24", "podCIDRs": ["10.244.3.0/24"]} if cidr else {}
            if not cidr:
                kube.cluster.controllers.cidr_after_s = None
            kube.cluster.request("POST", "/api/v1/nodes", {"metadata": {"name": "win1"}, "spec": spec})
        kube.sc("start", "hns")
        kube.wait(5)
        kube.node.faults.blip_s = 3.0
        kube.node.faults.management_ip_s = 1.0
        return kube

    yield one
    for kube in made:
        kube.cluster.stop()


def fail(kube: Kube, *arguments: str, **environment: str) -> str:
    process, result = kube.start("flanneld", *(arguments or BASE), **environment)
    kube.wait_for(lambda: not process.alive, 900)
    assert result[0].exit_code != 0
    return result[0].stderr.decode()


def noted(kube: Kube) -> dict[str, str]:
    found = kube.cluster.nodes["win1"]["metadata"]["annotations"]
    return {key.removeprefix("flannel.alpha.coreos.com/"): value for key, value in found.items()}


def test_host_gw(make: Make) -> None:
    kube = make()
    kube.start("flanneld", *BASE, NODE_NAME="win1")
    kube.wait_for(lambda: kube.node.drive.is_file(ENV))
    assert kube.read(ENV).splitlines() == [
        "FLANNEL_NETWORK=10.244.0.0/16",
        "FLANNEL_SUBNET=10.244.3.1/24",
        "FLANNEL_MTU=1500",
        "FLANNEL_IPMASQ=true",
    ]
    network = kube.node.hns.network("cbr0")
    assert network is not None
    assert (network["Type"], network["Subnets"][0]["AddressPrefix"], network["Flags"]) == (
        "L2Bridge",
        "10.244.3.0/24",
        0,
    )
    endpoint = kube.node.hns.endpoint("cbr0_ep")
    assert endpoint is not None and endpoint["IPAddress"] == "10.244.3.2"
    assert kube.node.adapters.named("vEthernet (cbr0_ep)") is not None
    assert noted(kube) == {
        "backend-data": "null",
        "backend-type": "host-gw",
        "public-ip": kube.node.nic.address,
        "kube-subnet-manager": "true",
    }
    assert kube.cluster.refusals == []


def test_host_gw_needs_powershell_in_the_path_that_flanneld_is_given(make: Make) -> None:
    kube = make()
    _, result = kube.start("flanneld", *BASE, NODE_NAME="win1", Path=f"{K};C:\\Windows\\System32")
    kube.wait_for(lambda: result, 120)
    assert result[0].exit_code == 1
    assert 'exec: "powershell.exe": executable file not found in %PATH%' in result[0].stderr.decode()


def test_vxlan(make: Make) -> None:
    kube = make(VXLAN)
    kube.start("flanneld", *BASE, NODE_NAME="win1")
    kube.wait_for(lambda: kube.node.drive.is_file(ENV))
    network = kube.node.hns.network("flannel.4096")
    assert network is not None
    assert (network["Type"], network["Flags"]) == ("Overlay", 8)
    assert "FLANNEL_MTU=1450" in kube.read(ENV)
    data = json.loads(noted(kube)["backend-data"])
    assert data == {"VNI": 4096, "VtepMAC": network["DrMacAddress"].lower().replace("-", ":")}


def test_the_network_s_name_comes_from_net_conf(make: Make) -> None:
    kube = make({"Network": "10.244.0.0/16", "Backend": {**VXLAN["Backend"], "Name": "vxlan0"}})  # type: ignore[dict-item]
    kube.start("flanneld", *BASE, NODE_NAME="win1")
    kube.wait_for(lambda: kube.node.drive.is_file(ENV))
    assert [item["Name"] for item in kube.node.hns.networks] == ["vxlan0"]


def test_a_second_start_finds_the_network_and_another_range_makes_it_anew(make: Make) -> None:
    kube = make()
    process, _ = kube.start("flanneld", *BASE, NODE_NAME="win1")
    kube.wait_for(lambda: kube.node.drive.is_file(ENV))
    before = kube.node.hns.networks[0]["ID"]
    kube.node.processes.kill(process.pid)
    process, _ = kube.start("flanneld", *BASE, NODE_NAME="win1")
    kube.wait(20)
    assert kube.node.hns.networks[0]["ID"] == before
    kube.node.processes.kill(process.pid)
    spec = {"spec": {"podCIDR": "10.244.9.0/24", "podCIDRs": ["10.244.9.0/24"]}}
    kube.cluster.request("PATCH", "/api/v1/nodes/win1", spec)
    kube.start("flanneld", *BASE, NODE_NAME="win1")
    kube.wait(60)
    network = kube.node.hns.network("cbr0")
    assert network is not None and network["Subnets"][0]["AddressPrefix"] == "10.244.9.0/24"
    endpoint = kube.node.hns.endpoint("cbr0_ep")
    assert endpoint is not None and endpoint["IPAddress"] == "10.244.9.2"
    assert "FLANNEL_SUBNET=10.244.9.1/24" in kube.read(ENV)


def test_what_it_needs(make: Make) -> None:
    kube = make()
    assert "env variables POD_NAME and POD_NAMESPACE must be set" in fail(kube)
    kube.node.drive.delete(NET_CONF)
    assert f"failed to read net conf: open {NET_CONF}" in fail(kube, NODE_NAME="win1")
    assert "fail to create kubernetes config" in fail(kube, "--kube-subnet-mgr", "--kubeconfig-file=C:\\none")
    assert "flag provided but not defined: -nonsense" in fail(kube, "--nonsense")
    assert "Failed to find interface to use" in fail(kube, *BASE, "--iface=Other")


def test_a_node_without_pod_cidr_and_no_node(make: Make) -> None:
    assert 'node "win1" pod cidr not assigned' in fail(make(cidr=False), NODE_NAME="win1")
    assert 'node "win1" not found' in fail(make(node=False), NODE_NAME="win1")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"VNI": 1}, "VNI [1] must be greater than or equal to 4096 on Windows"),
        ({"Port": 8472}, "Port [8472] is not supported on Windows. Omit the setting to default to port 4789"),
        ({"DirectRouting": True}, "DirectRouting is not supported on Windows"),
        ({"Type": "wireguard"}, "unknown backend type wireguard"),
    ],
)
def test_backends_that_windows_does_not_have(make: Make, change: dict[str, Any], said: str) -> None:
    kube = make({**VXLAN, "Backend": {**VXLAN["Backend"], **change}})  # type: ignore[dict-item]
    assert said in fail(kube, NODE_NAME="win1")
    assert kube.node.hns.networks == []


def test_an_account_that_may_not_patch_the_status(make: Make) -> None:
    kube = make()
    kube.write(CONF, kube.cluster.kubeconfig_for("system:kube-proxy"))
    assert 'cannot patch resource "nodes/status"' in fail(kube, NODE_NAME="win1")
    assert [(call.user, call.method) for call in kube.cluster.refusals] == [("system:kube-proxy", "PATCH")]


def test_an_error_of_hns_is_told(make: Make) -> None:
    kube = make()
    kube.node.faults.hns_errors["POST /networks/"] = NO_MEMORY
    assert "failed to create HNSNetwork cbr0: Not enough memory" in fail(kube, NODE_NAME="win1")


def test_it_is_no_service_program(make: Make) -> None:
    kube = make()
    assert kube.run("flanneld", "--version").stderr == b"v0.26.1\n"
    kube.sc("create", "flanneld", "binPath=", f"{K}\\flanneld.exe {' '.join(BASE)}")
    assert kube.node.run(SC, ["start", "flanneld"]).exit_code == 1053


# -- host-local and the others -----------------------------------------------------------------------------------------


def plugins(kube: Kube) -> None:
    for member in read_archive("a", release_archive("cni-plugins", "1.5.1")):
        kube.write(f"{CNI_BIN}\\{member.name.removeprefix('./')}", member.data or b"")


def call(kube: Kube, command: str, document: Any, owner: str = "c1", **environment: str) -> Completed:
    named = {"CNI_COMMAND": command, "CNI_CONTAINERID": owner, "CNI_IFNAME": "eth0", "CNI_NETNS": "none"}
    process, result = kube.node.start_program(
        f"{CNI_BIN}\\host-local.exe",
        [],
        stdin=json.dumps(document).encode(),
        environment={**named, "CNI_PATH": CNI_BIN, **environment},
    )
    kube.wait_for(lambda: not process.alive)
    return result[0]


REQUEST = {
    "cniVersion": "0.2.0",
    "name": "vxlan0",
    "ipam": {"type": "host-local", "dataDir": "C:\\cni", "ranges": [[{"subnet": "10.244.3.0/24"}]]},
}


def test_host_local_gives_and_takes_back(make: Make) -> None:
    kube = make()
    plugins(kube)
    found = json.loads(call(kube, "ADD", REQUEST).stdout)
    assert found["ip4"]["ip"] == "10.244.3.2/24"
    assert kube.read("C:\\cni\\vxlan0\\10.244.3.2") == "c1\r\neth0"
    assert kube.read("C:\\cni\\vxlan0\\last_reserved_ip.0") == "10.244.3.2"
    assert call(kube, "CHECK", REQUEST).exit_code == 0
    again = call(kube, "ADD", REQUEST)
    assert (again.exit_code, "duplicate allocation is not allowed" in json.loads(again.stdout)["msg"]) == (1, True)
    assert json.loads(call(kube, "ADD", REQUEST, "c2").stdout)["ip4"]["ip"] == "10.244.3.3/24"
    assert call(kube, "DEL", REQUEST).exit_code == 0
    assert call(kube, "DEL", REQUEST).exit_code == 0
    assert not kube.node.drive.exists("C:\\cni\\vxlan0\\10.244.3.2")
    assert call(kube, "CHECK", REQUEST).exit_code == 1
    assert json.loads(call(kube, "ADD", REQUEST).stdout)["ip4"]["ip"] == "10.244.3.4/24", "the next one, not the first"


def test_host_local_answers_in_the_version_asked_for(make: Make) -> None:
    kube = make()
    plugins(kube)
    found = json.loads(call(kube, "ADD", {**REQUEST, "cniVersion": "1.0.0"}).stdout)
    assert found["ips"] == [{"address": "10.244.3.2/24", "gateway": "10.244.3.1"}]
    refused = call(kube, "ADD", {**REQUEST, "cniVersion": "9.0.0"})
    assert (refused.exit_code, json.loads(refused.stdout)["code"]) == (1, 1)


def test_host_local_s_errors(make: Make) -> None:
    kube = make()
    plugins(kube)
    small = {**REQUEST, "ipam": {**REQUEST["ipam"], "ranges": [[{"subnet": "10.1.0.0/30"}]]}}  # type: ignore[dict-item]
    assert call(kube, "ADD", small).exit_code == 0
    assert "no IP addresses available in range set" in json.loads(call(kube, "ADD", small, "c2").stdout)["msg"]
    missing = call(kube, "ADD", REQUEST, CNI_PATH="")
    assert json.loads(missing.stdout)["msg"] == "required env variables [CNI_PATH] missing"
    assert json.loads(call(kube, "ADD", {"cniVersion": "0.2.0"}).stdout)["msg"].startswith("IPAM config missing")


def test_host_local_on_a_full_disk_holds_nothing(make: Make) -> None:
    kube = make()
    plugins(kube)
    kube.node.faults.disk_full_after = 3
    full = call(kube, "ADD", REQUEST)
    assert full.exit_code == 1
    assert "There is not enough space on the disk" in json.loads(full.stdout)["msg"]
    kube.node.faults.disk_full_after = None
    assert json.loads(call(kube, "ADD", REQUEST).stdout)["ip4"]["ip"] == "10.244.3.2/24"


def test_versions_of_the_cni_programs(make: Make) -> None:
    kube = make()
    plugins(kube)
    answer = json.loads(call(kube, "VERSION", {}).stdout)
    assert "1.0.0" in answer["supportedVersions"]
    kube.write(f"{CNI_BIN}\\flannel.exe", build("flannel", "1.2.0-flannel1"))
    said = kube.node.run(f"{CNI_BIN}\\flannel.exe", []).stderr.decode()
    assert said.startswith("CNI flannel plugin v1.2.0-flannel1 (simulated)")
    assert kube.node.run(f"{CNI_BIN}\\win-overlay.exe", []).exit_code == 0
