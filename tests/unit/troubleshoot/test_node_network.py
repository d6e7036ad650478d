"""The node's network: MAC spoofing, files of an earlier life, leases, adapters, endpoints, source VIP, CNI folders."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import file_key, service_key
from ansible_collections.winkube.node.plugins.plugin_utils.network.virtual_machine import VmAdapter

from tests.unit.components.nodes import LAYOUT

from .scene import (
    ADDRESS,
    MAC,
    POD_IP,
    SUBNET_ENV,
    Node,
    broken,
    endpoint,
    healthy,
    listed,
    log,
    pod,
    registry,
)


def hyper_v(spoofing: bool, machine: str = "win1", mac: str = "00155DEB4000") -> VmAdapter:
    return VmAdapter(machine, "Network Adapter", mac, spoofing)


@pytest.mark.row("TS-07", "HP-06")
def test_mac_spoofing_by_what_the_hyper_v_host_says() -> None:
    node = healthy()
    node.parts["registry:bios"] = registry(
        SystemManufacturer="Microsoft Corporation", SystemProductName="Virtual Machine"
    )
    node.more["hyperv"] = (hyper_v(False), hyper_v(True, "other", "00155D000000"))
    broken(
        node,
        "host.mac-spoofing",
        "MAC spoofing is off",
        remedy="Set-VMNetworkAdapter -VMName win1 -MacAddressSpoofing On",
    )
    node.more["hyperv"] = (hyper_v(True), hyper_v(False, "other", "00155D000000"))
    assert node.answer("host.mac-spoofing").verdict == "ok"
    node.parts["adapters"].append({**node.parts["adapters"][0], "name": "Ethernet 2", "mac": "00-15-5D-EB-40-99"})
    node.more["hyperv"] = (hyper_v(True), hyper_v(False, mac="00155DEB4099"))
    broken(node, "host.mac-spoofing", "MAC spoofing is off")


@pytest.mark.parametrize(
    ("maker", "product", "remedy"),
    [
        ("Microsoft Corporation", "Virtual Machine", "Set-VMNetworkAdapter -VMName guest-1 -MacAddressSpoofing On"),
        (
            "VMware, Inc.",
            "VMware7,1",
            "on the port group: promiscuous mode, MAC address changes and forged transmits: Accept",
        ),
        *(
            (maker, product, "Allow MAC spoofing (promiscuous mode, forged transmits) on all its network adapters")
            for maker, product in (
                ("QEMU", "Standard PC"),
                ("Red Hat", "KVM"),
                ("Xen", "HVM domU"),
                ("HVM", "domU"),
                ("Bochs", "Bochs"),
                ("OpenStack Foundation", "OpenStack Nova"),
                ("Google", "Google Compute Engine"),
                ("Amazon EC2", "t3.large"),
                ("innotek GmbH", "VirtualBox"),
            )
        ),
    ],
)
@pytest.mark.row("TS-07", "HP-06")
def test_a_virtual_machine_without_its_host_is_reminded(maker: str, product: str, remedy: str) -> None:
    node = healthy()
    node.parts["registry:bios"] = registry(SystemManufacturer=maker, SystemProductName=product)
    node.parts["registry:guest"] = registry(VirtualMachineName="guest-1")
    answer = node.answer("host.mac-spoofing")
    assert answer.verdict == "cannot_tell"
    assert remedy in answer.remedy
    assert "Get-VMNetworkAdapter -VMName guest-1" in answer.run
    assert MAC.replace("-", "") == hyper_v(True).mac


@pytest.mark.row("TS-07", "HP-06")
def test_where_the_bios_says_nothing_the_adapters_tell() -> None:
    node = healthy()
    node.parts["registry:bios"] = {"exists": False, "values": {}}
    answer = node.answer("host.mac-spoofing")
    assert answer.verdict == "cannot_tell"
    assert "This node is a virtual machine" in answer.why
    assert "its adapters are those of Hyper-V" in answer.seen
    for adapter in node.parts["adapters"]:
        adapter["mac"] = "AC-1F-6B-00-00-01"
    assert "Whether this node is a virtual machine is not known" in node.answer("host.mac-spoofing").why


@pytest.mark.parametrize("overlay", [False, True])
@pytest.mark.row("TS-10")
def test_kube_proxy_has_to_know_the_nodes_name(overlay: bool) -> None:
    node = healthy(overlay)
    node.line("kube-proxy", lambda line: line.replace(" --hostname-override=win1", ""))
    broken(
        node, "kube-proxy.hostname-override", "kube-proxy has no --hostname-override", remedy="--hostname-override=win1"
    )
    node = healthy(overlay)
    node.line("kube-proxy", lambda line: line.replace("--hostname-override=win1", "--hostname-override=winserver"))
    broken(node, "kube-proxy.hostname-override", "has --hostname-override=winserver, but the Node is win1")
    node = healthy(overlay)
    node.line("kube-proxy", lambda line: line.replace("--hostname-override=win1", "--hostname-override=WIN1"))
    assert node.answer("kube-proxy.hostname-override").verdict == "ok"
    node.line("kube-proxy", lambda line: line.replace("--hostname-override=WIN1", r"--config=C:\k\proxy.conf"))
    answer = node.answer("kube-proxy.hostname-override")
    assert (answer.verdict, answer.run) == ("cannot_tell", r"findstr hostnameOverride C:\k\proxy.conf")
    assert answer.remedy == "Look that hostnameOverride there is win1."
    node.service("kube-proxy").update(nssm={"Application": "powershell.exe"}, image_path="nssm.exe")
    assert node.answer("kube-proxy.hostname-override").verdict == "cannot_tell"


@pytest.mark.parametrize("overlay", [False, True])
@pytest.mark.row("TS-10")
def test_hns_check_finds_the_same_of_kube_proxys_name(overlay: bool) -> None:
    node = healthy(overlay)
    assert node.evidence().of("kube-proxy.hostname-override") == []
    node.line("kube-proxy", lambda line: line.replace(" --hostname-override=win1", ""))
    (missing,) = node.evidence().of("kube-proxy.hostname-override")
    assert (missing.id, missing.text) == (
        "kube-proxy.hostname-override",
        "kube-proxy: --hostname-override is missing; wanted win1.",
    )
    node.line("kube-proxy", lambda line: f"{line} --hostname-override=winserver")
    (other,) = node.evidence().of("kube-proxy.hostname-override")
    assert other.text == "kube-proxy: --hostname-override is winserver; wanted win1."


def other_cidr(node: Node) -> None:
    assert node.node is not None
    node.node["spec"]["podCIDR"] = "10.244.9.0/24"


def old_vip(node: Node) -> None:
    node.file(r"C:\k\SourceVip.json", '{"ip4": {"ip": "10.244.8.2/24"}}')


def deleted(node: Node) -> None:
    node.node = None


@pytest.mark.parametrize(
    ("breaks", "piece"),
    [
        (other_cidr, "subnet.env says 10.244.0.0/16, 10.244.3.0/24, not 10.244.9.0/24"),
        (old_vip, "SourceVip.json says 10.244.8.0/24, not 10.244.3.0/24"),
        (deleted, "The cluster has no Node win1, though this machine has been one"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.row("TS-11")
def test_files_of_an_earlier_life(breaks: Callable[[Node], None], piece: str) -> None:
    node = healthy()
    breaks(node)
    remedy = r"C:\k\SourceVip.json and C:\k\SourceVipRequest.json"
    broken(node, "node.earlier-life", piece, remedy=remedy)
    node = healthy()
    node.file(r"C:\k\SourceVip.json", '{"ip4": {"ip": "10.244.3.2/24"}}')
    assert node.answer("node.earlier-life").verdict == "ok"


@pytest.mark.row("TS-11")
def test_a_source_vip_of_an_earlier_life_and_a_machine_that_never_was_a_node() -> None:
    node = healthy(overlay=True)
    node.line("kube-proxy", lambda line: line.replace("10.244.3.2", "10.244.8.2"))
    broken(node, "node.earlier-life", "keeps files of an earlier life", "10.244.8.2", remedy="=rejoin")
    node = healthy()
    node.node = None
    del node.parts[service_key("kubelet")]
    assert node.answer("node.earlier-life").verdict == "cannot_tell", "it has not joined yet"


WAITING = 'I1121 08:00:01 flanneld "Waiting for the Network to be created"\n'


@pytest.mark.row("TS-12")
def test_flanneld_that_waits_by_its_log_and_the_missing_network() -> None:
    node = healthy()
    node.parts[file_key(r"C:\k\flanneld.log")] = log(WAITING)
    assert node.answer("flannel.waits").verdict == "ok", "it had to wait, and the network came"
    node.hns("networks", lambda found: [])
    broken(
        node,
        "flannel.waits",
        "flanneld waits for its network: There is no HNS network cbr0",
        remedy="sc.exe start flanneld",
    )
    node.parts[file_key(r"C:\k\flanneld.log")] = log()
    broken(node, "flannel.waits", "There is no HNS network cbr0. flanneld makes it")
    node = healthy()
    node.hns("networks", lambda found: [one | {"ManagementIP": ""} for one in found])
    broken(node, "flannel.waits", "The HNS network cbr0 has no management address.")


@pytest.mark.row("TS-12")
def test_a_flanneld_that_does_not_know_its_adapter_or_its_node() -> None:
    node = healthy()
    node.line("flanneld", lambda line: line.replace(f"--iface={ADDRESS} ", ""))
    broken(node, "flannel.waits", "flanneld has no --iface")
    node = healthy()
    node.service("flanneld")["nssm"]["AppEnvironmentExtra"] = []
    broken(node, "flannel.waits", "has no NODE_NAME in its environment")
    node.service("flanneld")["nssm"]["AppEnvironment"] = ["node_name=sha256:01"]
    assert node.answer("flannel.waits").verdict == "ok"
    node.service("flanneld")["nssm"]["AppEnvironment"] = []
    node.service("flanneld")["environment"] = ["NODE_NAME=sha256:01"]
    assert node.answer("flannel.waits").verdict == "ok", "under sc it is the service's own environment"
    node.line("flanneld", lambda line: line.replace("--iface=", "-iface="))
    assert node.answer("flannel.waits").verdict == "ok", "Go takes one dash as well"


@pytest.mark.parametrize(
    ("content", "piece"),
    [
        (None, "There is no C:\\run\\flannel\\subnet.env"),
        ("FLANNEL_NETWORK=10.244.0.0/16\n", "there is no FLANNEL_SUBNET"),
        (
            "FLANNEL_NETWORK=10.9.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n",
            "FLANNEL_NETWORK is 10.9.0.0/16, but winkube_cluster_cidr is 10.244.0.0/16",
        ),
        (
            "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\nFLANNEL_MTU=9000\nFLANNEL_IPMASQ=true\n",
            "FLANNEL_MTU",
        ),
        (
            "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.0.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n",
            "FLANNEL_SUBNET 10.244.0.1/24 is the node linux1's podCIDR 10.244.0.0/24",
        ),
    ],
)
@pytest.mark.row("TS-13")
def test_subnet_env_that_is_missing_or_does_not_fit(content: str | None, piece: str) -> None:
    node = healthy()
    assert node.answer("flannel.lease").verdict == "ok"
    node.file(SUBNET_ENV, content)
    broken(node, "flannel.lease", piece, remedy="First restart flanneld")


@pytest.mark.row("TS-15")
def test_no_network_adapter_and_the_names_that_there_are() -> None:
    node = healthy()
    node.hns("networks", lambda found: [])
    node.parts["adapters"] = [
        {
            "name": "LAN 2",
            "mac": MAC,
            "up": True,
            "dhcp": True,
            "mtu": 1500,
            "ipv4": [{"address": ADDRESS, "prefix": 24}],
        }
    ]
    broken(
        node,
        "host.adapter",
        "There is no HNS network cbr0.",
        "There is no adapter vEthernet (Ethernet*",
        "a necessary prerequisite for the kubelet to work",
        remedy="The adapters here are 'LAN 2': set winkube_interface_name",
    )
    node = healthy()
    for adapter in node.parts["adapters"]:
        adapter["name"] = adapter["name"].replace("(Ethernet)", "(Ethernet 2)")
    assert "vEthernet (Ethernet*" not in node.answer("host.adapter").why, "by the beginning of the name"
    node = healthy()
    node.parts["adapters"][1]["ipv4"] = []
    broken(node, "host.adapter", "address")
    node = healthy()
    node.hns("networks", lambda found: [one | {"Name": "CBR0"} for one in found])
    assert node.answer("host.adapter").verdict == "ok", "HNS's names have no case"


@pytest.mark.row("TS-22")
def test_endpoints_against_pods() -> None:
    node = healthy()
    node.hns("endpoints", lambda found: [*found, endpoint("10.244.3.77")])
    broken(node, "hns.endpoints", "HNS endpoints of no pod: 10.244.3.77")
    node = healthy()
    node.hns("endpoints", lambda found: [one for one in found if one["IPAddress"] != POD_IP])
    broken(
        node,
        "hns.endpoints",
        f"Running pods without an HNS endpoint: default/web ({POD_IP})",
        remedy="kube-proxy without --hostname-override",
    )
    node = healthy()
    remote = endpoint("10.244.0.9", Name="Ethernet", IsRemoteEndpoint=True, Namespace=None)
    node.hns("endpoints", lambda found: [*found, remote])
    assert node.answer("hns.endpoints").verdict == "ok", "remote endpoints are no pods of this node"
    node.later = lambda parts: parts["hns"].update(endpoints=listed([endpoint("10.244.3.77")]))
    node.hns("endpoints", lambda found: [*found, endpoint("10.244.3.78")])
    node.pods.append(pod("new", "10.244.3.77"))
    assert node.answer("hns.endpoints").verdict == "ok", "one that is gone at the second look, and one that has come"
    host = pod("agent", ADDRESS)
    host["spec"]["securityContext"] = {"windowsOptions": {"hostProcess": True}}
    node.pods.append(host)
    assert node.answer("hns.endpoints").verdict == "ok", "HostProcess pods have the host's network"
    for node, own in ((healthy(overlay=True), "10.244.3.2"), (healthy(), "10.244.3.3")):
        node.hns("endpoints", lambda found, own=own: [*found, endpoint(own, Name="Calico_ep")])  # type: ignore[misc]
        assert node.answer("hns.endpoints").verdict == "ok", "the source VIP and the host's own endpoints are no pods'"
    node = healthy(overlay=True)
    node.hns("endpoints", lambda found: [*found, endpoint("10.244.3.2")])
    assert node.answer("hns.endpoints").verdict == "ok", "the source VIP is kube-proxy's"


def test_the_source_vip() -> None:
    node = healthy(overlay=True)
    node.line("kube-proxy", lambda line: line.replace(" --source-vip=10.244.3.2", ""))
    broken(node, "kube-proxy.source-vip", "it has no --source-vip")
    node = healthy(overlay=True)
    node.line("kube-proxy", lambda line: line.replace("10.244.3.2", "10.244.8.2"))
    broken(node, "kube-proxy.source-vip", "--source-vip is 10.244.8.2")
    node = healthy(overlay=True)
    node.pods.append(pod("thief", "10.244.3.2"))
    broken(node, "kube-proxy.source-vip", "The pod default/thief has the source VIP 10.244.3.2")


@pytest.mark.parametrize("overlay", [False, True])
def test_folders_of_cni(overlay: bool) -> None:
    node = healthy(overlay)
    config = base64.b64decode(node.parts[file_key(LAYOUT.containerd_config)]["content"]).decode()
    node.file(LAYOUT.containerd_config, config.replace(r"C:\k\cni\config", r"C:\etc\cni\net.d"))
    broken(node, "containerd.cni-folders", r"containerd reads CNI configurations in C:\etc\cni\net.d")
    node.file(LAYOUT.containerd_config, config.replace(r"'C:\k\cni'", r"'C:\opt\cni\bin'"))
    broken(node, "containerd.cni-folders", r"looks for CNI programs in C:\opt\cni\bin")
    node.file(LAYOUT.containerd_config, config)
    node.parts[file_key(r"C:\k\cni\host-local.exe")] = {"exists": False}
    broken(node, "containerd.cni-folders", r"there is no C:\k\cni\host-local.exe")
