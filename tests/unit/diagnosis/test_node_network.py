"""The node's network: MAC spoofing, files of an earlier life, leases, adapters, endpoints, source VIP, CNI folders."""

from __future__ import annotations

import base64
from collections.abc import Callable

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import report_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import file_key
from ansible_collections.winkube.node.plugins.plugin_utils.network.virtual_machine import VmAdapter
from ansible_collections.winkube.node.plugins.plugin_utils.words.cause import WARNING

from tests.unit.components.nodes import LAYOUT

from .nodes import (
    ADDRESS,
    MAC,
    POD_IP,
    SUBNET_ENV,
    Node,
    broken,
    endpoint,
    fine,
    healthy,
    listed,
    log,
    noted,
    pod,
    registry,
)


def hyper_v(spoofing: bool, machine: str = "win1", mac: str = "00155DEB4000") -> VmAdapter:
    return VmAdapter(machine, "Network Adapter", mac, spoofing)


def test_a_revision_of_windows_that_is_known_to_be_bad() -> None:
    node = healthy()
    fine(node, "host.bad-revision")
    node.parts["system"]["os"]["revision"] = 2582
    (found,) = node.find("host.bad-revision")
    assert "Windows Server 2022 (10.0.20348.2582)" in found.text
    assert found.wanted == "10.0.20348.2762 (KB5044281) or later"
    assert any("Windows-Containers/issues/516" in line for line in found.evidence)
    assert found.severity == WARNING


@pytest.mark.row("TS-07", "HP-06")
def test_mac_spoofing_by_what_the_hyper_v_host_says() -> None:
    node = healthy()
    node.parts["registry:bios"] = registry(
        SystemManufacturer="Microsoft Corporation", SystemProductName="Virtual Machine"
    )
    node.adapters = (hyper_v(False), hyper_v(True, "other", "00155D000000"))
    broken(
        node,
        "host.mac-spoofing",
        "win1",
        remedy="Set-VMNetworkAdapter -VMName",
    )
    node.adapters = (hyper_v(True), hyper_v(False, "other", "00155D000000"))
    fine(node, "host.mac-spoofing")
    node.parts["adapters"].append({**node.parts["adapters"][0], "name": "Ethernet 2", "mac": "00-15-5D-EB-40-99"})
    node.adapters = (hyper_v(True), hyper_v(False, mac="00155DEB4099"))
    broken(node, "host.mac-spoofing", "win1")


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
            (maker, product, "Allow MAC spoofing (promiscuous mode, forged transmits) on all its adapters")
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
    noted(node, "host.mac-spoofing-unknown", remedy=remedy)
    noted(node, "host.mac-spoofing-unknown", remedy="Get-VMNetworkAdapter -VMName guest-1")
    assert MAC.replace("-", "") == hyper_v(True).mac


@pytest.mark.row("TS-07", "HP-06")
def test_where_the_bios_says_nothing_the_adapters_tell() -> None:
    node = healthy()
    node.parts["registry:bios"] = {"exists": False, "values": {}}
    noted(node, "host.mac-spoofing-unknown", "this virtual machine: from inside nobody sees")
    assert "its adapters are those of Hyper-V" in node.find("host.mac-spoofing-unknown")[0].evidence
    for adapter in node.parts["adapters"]:
        adapter["mac"] = "AC-1F-6B-00-00-01"
    noted(node, "host.mac-spoofing-unknown", "whether it is a virtual one is not known")


@pytest.mark.parametrize("overlay", [False, True])
@pytest.mark.row("TS-10")
def test_kube_proxy_has_to_know_the_nodes_name(overlay: bool) -> None:
    node = healthy(overlay)
    node.line("kube-proxy", lambda line: line.replace(" --hostname-override=win1", ""))
    broken(node, "kube-proxy.hostname-override", "kube-proxy: --hostname-override is missing; wanted win1.")
    node = healthy(overlay)
    node.line("kube-proxy", lambda line: line.replace("--hostname-override=win1", "--hostname-override=winserver"))
    broken(node, "kube-proxy.hostname-override", "kube-proxy: --hostname-override is winserver; wanted win1.")
    node = healthy(overlay)
    node.line("kube-proxy", lambda line: line.replace("--hostname-override=win1", "--hostname-override=WIN1"))
    fine(node, "kube-proxy.hostname-override")
    node.line("kube-proxy", lambda line: line.replace("--hostname-override=WIN1", r"--config=C:\k\proxy.conf"))
    fine(node, "kube-proxy.hostname-override")
    remedy = r"Look that hostnameOverride there is win1: findstr hostnameOverride C:\k\proxy.conf"
    noted(node, "services.arguments-not-read", remedy=remedy)


def other_cidr(node: Node) -> None:
    assert node.node is not None
    node.node["spec"]["podCIDR"] = "10.244.9.0/24"


def old_vip(node: Node) -> None:
    node.file(r"C:\k\SourceVip.json", '{"ip4": {"ip": "10.244.8.2/24"}}')


def deleted(node: Node) -> None:
    node.node = None


@pytest.mark.parametrize(
    ("breaks", "check", "piece", "remedy"),
    [
        (other_cidr, "hns.network-pod-cidr", "10.244.9.0/24", "join again"),
        (
            old_vip,
            "node.earlier-life",
            r"SourceVip.json: it says 10.244.8.0/24; wanted the node's range 10.244.3.0/24",
            "",
        ),
        (deleted, "node.absent", "Node win1", "joins again"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
@pytest.mark.row("TS-11")
def test_files_of_an_earlier_life(breaks: Callable[[Node], None], check: str, piece: str, remedy: str) -> None:
    node = healthy()
    breaks(node)
    broken(node, check, piece, remedy=remedy)
    node = healthy()
    node.file(r"C:\k\SourceVip.json", '{"ip4": {"ip": "10.244.3.2/24"}}')
    fine(node, "node.earlier-life")


@pytest.mark.row("TS-11")
def test_a_source_vip_of_an_earlier_life() -> None:
    node = healthy(overlay=True)
    node.file(r"C:\k\SourceVip.json", '{"ip4": {"ip": "10.244.8.2/24"}}')
    node.line("kube-proxy", lambda line: line.replace("10.244.3.2", "10.244.8.2"))
    causes = report_of(node.looked()[1]).causes
    assert [each.finding.id for each in causes] == ["node.earlier-life"], causes
    assert "winkube_repair=rejoin" in causes[0].finding.remedy.ours("win1")


WAITING = 'I1121 08:00:01 flanneld "Waiting for the Network to be created"\n'


@pytest.mark.row("TS-12")
def test_flanneld_that_waits_by_its_log_and_the_missing_network() -> None:
    node = healthy()
    node.parts[file_key(r"C:\k\flanneld.log")] = log(WAITING)
    fine(node)  # it had to wait, and the network came
    node.hns("networks", lambda found: [])
    broken(node, "hns.no-network", "cbr0", remedy="winkube_repair=network")
    node = healthy()
    node.hns("networks", lambda found: [one | {"ManagementIP": ""} for one in found])
    broken(node, "hns.no-management-address", "cbr0")


@pytest.mark.row("TS-12")
def test_a_flanneld_that_does_not_know_its_adapter_or_its_node() -> None:
    node = healthy()
    node.line("flanneld", lambda line: line.replace(f"--iface={ADDRESS} ", ""))
    broken(node, "flannel.no-iface", "it has no --iface", remedy="--tags flannel")
    node = healthy()
    node.service("flanneld")["nssm"]["AppEnvironmentExtra"] = []
    broken(node, "flannel.no-node-name", "it has no NODE_NAME in its environment")
    node.service("flanneld")["nssm"]["AppEnvironment"] = ["node_name=sha256:01"]
    fine(node)
    node.service("flanneld")["nssm"]["AppEnvironment"] = []
    node.service("flanneld")["environment"] = ["NODE_NAME=sha256:01"]
    fine(node)  # under sc it is the service's own environment
    node.line("flanneld", lambda line: line.replace("--iface=", "-iface="))
    fine(node, "flannel.no-iface")  # Go takes one dash as well


OF_SUBNET_ENV = "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.3.1/24\nFLANNEL_MTU=1500\nFLANNEL_IPMASQ=true\n"


@pytest.mark.parametrize(
    ("content", "check", "piece"),
    [
        (None, "flannel.no-subnet-env", "there is no C:\\run\\flannel\\subnet.env"),
        ("FLANNEL_NETWORK=10.244.0.0/16\n", "flannel.subnet-env-invalid", "there is no FLANNEL_SUBNET"),
        (
            OF_SUBNET_ENV.replace("10.244.0.0", "10.9.0.0"),
            "flannel.subnet-env-invalid",
            "FLANNEL_NETWORK is 10.9.0.0/16; wanted 10.244.0.0/16",
        ),
        (OF_SUBNET_ENV.replace("1500", "9000"), "flannel.mtu", "FLANNEL_MTU"),
        (
            OF_SUBNET_ENV.replace("10.244.3.1", "10.244.0.1"),
            "flannel.lease-taken",
            "FLANNEL_SUBNET 10.244.0.1/24 is the node linux1's podCIDR 10.244.0.0/24",
        ),
    ],
)
@pytest.mark.row("TS-13")
def test_subnet_env_that_is_missing_or_does_not_fit(content: str | None, check: str, piece: str) -> None:
    node = healthy()
    fine(node, check)
    node.file(SUBNET_ENV, content)
    broken(node, check, piece)


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
    broken(node, "hns.no-network", "network cbr0: it is not there")
    broken(node, "host.no-adapter", "LAN 2", remedy="Set winkube_interface_name")
    node = healthy()
    node.parts["adapters"][1]["ipv4"] = []
    broken(node, "host.address-lost")
    node = healthy()
    node.hns("networks", lambda found: [one | {"Name": "CBR0"} for one in found])
    fine(node, "hns.no-network", "host.no-adapter")  # HNS has no case in names


@pytest.mark.row("TS-22")
def test_endpoints_against_pods() -> None:
    node = healthy()
    node.hns("endpoints", lambda found: [*found, endpoint("10.244.3.77")])
    broken(node, "hns.endpoint-without-pod", "10.244.3.77")
    node = healthy()
    node.hns("endpoints", lambda found: [one for one in found if one["IPAddress"] != POD_IP])
    broken(node, "hns.pod-without-endpoint", "default/web", POD_IP)
    both = ("hns.endpoint-without-pod", "hns.pod-without-endpoint")
    node = healthy()
    remote = endpoint("10.244.0.9", Name="Ethernet", IsRemoteEndpoint=True, Namespace=None)
    node.hns("endpoints", lambda found: [*found, remote])
    fine(node, *both)  # remote endpoints are not pods of this node
    node.later = lambda parts: parts["hns"].update(endpoints=listed([endpoint("10.244.3.77")]))
    node.hns("endpoints", lambda found: [*found, endpoint("10.244.3.78")])
    node.pods = [pod("new", "10.244.3.77")]
    fine(node, *both)  # one that is gone at the second look, and one that has come
    host = pod("agent", ADDRESS)
    host["spec"]["securityContext"] = {"windowsOptions": {"hostProcess": True}}
    node.pods.append(host)
    fine(node, *both)  # HostProcess pods have the host's network
    for node, own in ((healthy(overlay=True), "10.244.3.2"), (healthy(), "10.244.3.3")):
        node.hns("endpoints", lambda found, own=own: [*found, endpoint(own, Name="Calico_ep")])  # type: ignore[misc]
        fine(node, *both)  # the source VIP and the host's own endpoints are not pods'


def test_the_source_vip() -> None:
    node = healthy(overlay=True)
    node.line("kube-proxy", lambda line: line.replace(" --source-vip=10.244.3.2", ""))
    broken(node, "kube-proxy.source-vip", "it has no --source-vip")
    node = healthy(overlay=True)
    node.line("kube-proxy", lambda line: line.replace("10.244.3.2", "10.244.8.2"))
    broken(node, "kube-proxy.source-vip", "--source-vip is 10.244.8.2")
    node = healthy(overlay=True)
    node.pods.append(pod("thief", "10.244.3.2"))
    broken(node, "kube-proxy.source-vip-taken", "10.244.3.2 is the address of pod default/thief")


@pytest.mark.parametrize("overlay", [False, True])
def test_folders_of_cni(overlay: bool) -> None:
    node = healthy(overlay)
    config = base64.b64decode(node.parts[file_key(LAYOUT.containerd_config)]["content"]).decode()
    node.file(LAYOUT.containerd_config, config.replace(r"C:\k\cni\config", r"C:\etc\cni\net.d"))
    broken(node, "containerd.cni-folders", r"containerd: it reads CNI configurations in C:\etc\cni\net.d")
    node.file(LAYOUT.containerd_config, config.replace(r"'C:\k\cni'", r"'C:\opt\cni\bin'"))
    broken(node, "containerd.cni-folders", r"looks for CNI programs in C:\opt\cni\bin")
    node.file(LAYOUT.containerd_config, config)
    node.parts[file_key(r"C:\k\cni\host-local.exe")] = {"exists": False}
    broken(node, "containerd.cni-folders", r"there is no C:\k\cni\host-local.exe")
