"""CNI configurations and HNS listings that people posted, each with the expected findings: mostly none.

The shapes are those of the threads named; addresses and names are made up.
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.networks import HNS
from ansible_collections.winkube.node.plugins.plugin_utils.components.node import Node
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.scene import scene_of
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import HNS_CHECK, diagnose
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.words.finding import Finding

from tests.unit.components.nodes import LAYOUT


@dataclass(frozen=True)
class Input:
    """A file of CNI, or what HNS listed by kind, and the ids that have to be found."""

    source: str
    found: frozenset[str] = frozenset()
    conf: str = ""
    name: str = "cni.conf"
    networks: str = ""
    endpoints: str = ""
    cluster_cidr: str = ""


def outbound(*exceptions: str, old: bool = False) -> dict[str, object]:
    kind: dict[str, object] = {"Type": "OutBoundNAT"}
    more = {"ExceptionList": list(exceptions)} if old else {"Settings": {"Exceptions": list(exceptions)}}
    return {"Name": "EndpointPolicy", "Value": kind | more}


def azure(*policies: dict[str, object]) -> str:
    plugin = {
        "type": "azure-vnet",
        "mode": "bridge",
        "bridge": "azure0",
        "capabilities": {"portMappings": True, "dns": True},
        "ipam": {"type": "azure-cns", "mode": "overlay"},
        "dns": {"Nameservers": ["10.0.0.10", "168.63.129.16"], "Search": ["svc.cluster.local"]},
        "AdditionalArgs": list(policies),
        "windowsSettings": {"hnsTimeoutDurationInSeconds": 120, "enableLoopbackDSR": True},
    }
    return json.dumps({"cniVersion": "0.3.0", "name": "azure", "adapterName": "", "plugins": [plugin]}, indent=4)


def sdnbridge(*policies: dict[str, object], **more: object) -> str:
    delegate = {"type": "sdnbridge", "AdditionalArgs": list(policies), **more}
    capabilities = {"portMappings": True, "dns": True}
    whole = {"cniVersion": "0.2.0", "name": "cbr0", "type": "flannel", "capabilities": capabilities}
    return json.dumps(whole | {"delegate": delegate})


def route(prefix: str) -> dict[str, object]:
    settings = {"DestinationPrefix": prefix, "NeedEncap": True}
    return {"Name": "EndpointPolicy", "Value": {"Type": "SDNROUTE", "Settings": settings}}


BLOCK: dict[str, object] = {
    "Name": "EndpointPolicy",
    "Value": {
        "Type": "ACL",
        "Action": "Block",
        "Direction": "Out",
        "Priority": 200,
        "Protocols": "6",
        "RemoteAddresses": "168.63.129.16/32",
        "RemotePorts": "80",
        "RuleType": "Switch",
    },
}
CALICO = {
    "name": "Calico",
    "windows_use_single_network": True,
    "cniVersion": "0.3.1",
    "type": "calico",
    "mode": "vxlan",
    "vxlan_mac_prefix": "0E-2A",
    "vxlan_vni": 4096,
    "policy": {"type": "k8s"},
    "windows_loopback_DSR": True,
    "capabilities": {"dns": True},
    "DNS": {"Nameservers": ["10.96.0.10"], "Search": ["svc.cluster.local"]},
    "nodename_file": "C:\\CalicoWindows\\libs\\calico\\..\\..\\nodename",
    "datastore_type": "kubernetes",
    "etcd_endpoints": "",
    "etcd_key_file": "",
    "kubernetes": {"kubeconfig": "C:\\CalicoWindows\\calico-kube-config"},
    "ipam": {"type": "calico-ipam", "subnet": "usePodCidr"},
    "policies": [
        {"Name": "EndpointPolicy", "Value": {"Type": "OutBoundNAT", "ExceptionList": ["10.96.0.0/12"]}},
        {
            "Name": "EndpointPolicy",
            "Value": {"Type": "SDNROUTE", "DestinationPrefix": "10.96.0.0/12", "NeedEncap": True},
        },
    ],
}
WIN_BRIDGE = """{
"name": "mynet",
"type": "win-bridge",
"apiVersion": 2,
"ipam": {"type": "host-local", "subnet": "10.10.0.0/16"},
"policies": [],
"HcnPolicyArgs": [
{"Type": "SDNRoute"%s "Settings": {"DestinationPrefix": "11.0.0.0/8", "NeedEncap": true}}
],
"loopbackDSR": true,
"capabilities": {"dns": true, "portMappings": true}
}"""
WIN_OVERLAY = """{
  "name": "vxlan0", "cniVersion": "0.3.0", "type": "win-overlay", "apiVersion": 2,
  "dns": {"nameservers": ["11.0.0.10"], "search": ["svc.cluster.local"]},
  "additionalArgs": [{"name": "EndpointPolicy", "value": {"Type": "OutBoundNAT",
    "Settings": {"Exceptions": ["10.244.0.0/16"]}}}]
}"""
EKS = {
    "cniVersion": "0.4.0",
    "name": "vpc",
    "type": "vpc-bridge",
    "capabilities": {"io.kubernetes.cri.pod-annotations": True, "portMappings": True},
    "eniMACAddress": "0a:1b:2c:3d:4e:5f",
    "eniIPAddresses": ["192.168.22.31/19"],
    "gatewayIPAddress": "192.168.0.1",
    "vpcCIDRs": ["192.168.0.0/16"],
    "serviceCIDR": "10.100.0.0/16",
    "dns": {"nameservers": ["10.100.0.10"], "search": ["{%namespace%}.svc.cluster.local", "svc.cluster.local"]},
}
ANTREA = {
    "cniVersion": "0.3.0",
    "name": "antrea",
    "plugins": [
        {"type": "antrea", "ipam": {"type": "host-local"}, "capabilities": {"dns": True}},
    ],
}

LISTED = """
PS C:\\Users\\Administrator> Get-HnsNetwork


ActivityId             : 77AE6632-1154-44AD-BCDF-484581ABF0A2
AdditionalParams       :
CurrentEndpointCount   : 0
DrMacAddress           : 00-15-5D-FB-CB-0D
Extensions             : {@{Id=E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A; IsEnabled=False; Name=Microsoft Windows-Filterplattform}, @{Id=F74F241B-440F-4433-BB28-00F89EAD20D8;
                         IsEnabled=True; Name=Microsoft Azure VFP Switch Extension}}
Health                 : @{LastErrorCode=0; LastUpdateTime=133577259133831825}
ID                     : CC63922A-97A9-4B98-8855-651046AAC04E
ManagementIP           : 192.168.79.40
Name                   : flannel.4096
NetworkAdapterName     : Ethernet
Policies               : {@{Type=HostRoute}, @{DestinationPrefix=10.244.0.0/24; IsolationId=4096; ProviderAddress=192.168.79.39;
                         Type=RemoteSubnetRoute}}
Subnets                : {@{AdditionalParams=; AddressPrefix=10.244.1.0/24; GatewayAddress=10.244.1.1; Health=; ID=8989068C-581F-4B05-8D93-D1A9E8D5CFF8;
                         Policies=System.Object[]; State=0}}
Type                   : Overlay
State                  : 1

"""  # noqa: E501
NAT = """ActivityId             : C4D8511F-6959-4162-A30F-F12EC759A942
CurrentEndpointCount   : 1
Extensions             : {@{Id=E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A; IsEnabled=False; Name=Microsoft Windows 篩選平台}}
Health                 : @{LastErrorCode=0; LastUpdateTime=133508076463076342}
ID                     : 55FEDB88-4B11-4DA4-8CD1-59970718A804
Name                   : nat
NatName                : NATF7437238-4A6F-4E71-8718-78A394A7F770
Policies               : {@{Type=VLAN; VLAN=1}}
State                  : 1
Subnets                : {@{AdditionalParams=; AddressPrefix=172.29.144.0/20; Flags=0; GatewayAddress=172.29.144.1}}
Type                   : nat
"""
AKS_ENDPOINTS = json.dumps(
    [
        {
            "DNSServerList": "10.0.0.10",
            "EncapOverhead": 50,
            "Health": {"LastErrorCode": 0},
            "ID": "2462B2D1-C402-4024-9C86-5A6903AF7759",
            "IPAddress": "10.240.0.11",
            "IsRemoteEndpoint": True,
            "MacAddress": "02-11-0a-f0-00-0b",
            "Name": "Ethernet",
            "Namespace": {"ID": "00000000-0000-0000-0000-000000000000"},
            "Policies": [{"Type": "L2Driver"}],
            "PrefixLength": 16,
            "VirtualNetworkName": "azure",
            "Resources": {"AdditionalParams": {}, "Allocators": []},
        },
        {
            "DNSServerList": "10.0.0.10,168.63.129.16",
            "DNSSuffix": "svc.cluster.local",
            "ID": "2462B2D1-C402-4024-9C86-5A6903AF7760",
            "IPAddress": "10.240.0.70",
            "MacAddress": "00-15-5D-8B-3C-11",
            "Name": "bfa1e19d-eth0",
            "Policies": [
                {"Type": "OutBoundNAT", "ExceptionList": ["10.240.0.0/16", "10.0.0.0/8"]},
                {"Type": "ROUTE", "DestinationPrefix": "10.0.0.0/16", "NeedEncap": True},
                {"Type": "L2Driver"},
            ],
            "SharedContainers": ["9e6f"],
            "VirtualNetworkName": "azure",
        },
    ]
)

INPUTS = (
    Input(
        "Azure/azure-container-networking#2281",
        conf=azure(outbound("10.244.0.0/16", old=True)),
        name="10-azure.conflist",
    ),
    Input(
        "Azure/azure-container-networking#2143",
        conf=azure(outbound("10.244.0.0/16", old=True), outbound("fd9a:2e13:4857::/64", old=True), BLOCK),
        name="10-azure.conflist",
    ),
    Input(
        "Azure/AgentBaker#3049",
        frozenset({"cni.exception-wrong"}),
        azure(outbound("10.244.0.0/16", "fd12:3456::/64", old=True)),
        "10-azure.conflist",
    ),
    Input("containernetworking/plugins#1004", conf=json.dumps(CALICO, indent=2), name="10-calico.conf"),
    Input("cni.dev, win-bridge v0.8", frozenset({"cni.unreadable"}), WIN_BRIDGE % ""),
    # plugins before 0.9 read HcnPolicyArgs, so nothing is said of it
    Input("cni.dev, win-bridge", conf=WIN_BRIDGE % ","),
    Input("containernetworking/plugins#193", frozenset({"cni.policies-key"}), WIN_OVERLAY),
    Input(
        "kubernetes-sigs/sig-windows-tools#112",
        frozenset({"cni.value-unfilled"}),
        sdnbridge(outbound("10.244.0.0/16", "10.96.0.0/12"), route("")),
    ),
    Input(
        "microsoft/windows-container-networking, example/flannel_l2bridge.conf",
        conf=sdnbridge(
            outbound("10.244.0.0/16", "10.96.0.0/12"),
            route("10.96.0.0/12"),
            optionalFlags={"forceBridgeGateway": True},
        ),
    ),
    Input("aws/amazon-vpc-cni-plugins#93", conf=json.dumps(EKS), name="vpc-bridge.conf"),
    Input("antrea-io/antrea#706", conf=json.dumps(ANTREA), name="10-antrea.conflist"),
    Input("flannel-io/flannel#1944", networks=LISTED),
    Input("projectcalico/calico#8465", networks=NAT),
    Input("Azure/AKS#1367", endpoints=AKS_ENDPOINTS),
    Input("a dump that was cut", frozenset({"hns.unreadable"}), endpoints=AKS_ENDPOINTS[: len(AKS_ENDPOINTS) - 200]),
)


def findings(given: Input) -> tuple[Finding, ...]:
    """As hns_check does with `dump`."""
    parts: dict[str, Any] = {}
    answers = {kind: text for kind, text in (("networks", given.networks), ("endpoints", given.endpoints)) if text}
    if answers:
        parts[HNS] = {"available": True, **answers}
    if given.conf:
        folder = LAYOUT.cni_conf_dir
        parts[file_key(folder)] = {"exists": True, "kind": "directory", "entries": [given.name]}
        content = base64.b64encode(given.conf.encode()).decode()
        parts[file_key(rf"{folder}\{given.name}")] = {"exists": True, "kind": "file", "content": content}
    scene = scene_of(Reading(parts=parts), Node.unknown(LAYOUT, cluster_cidr=given.cluster_cidr))
    return diagnose(scene, HNS_CHECK).findings


@pytest.mark.parametrize("given", INPUTS, ids=lambda given: str(given.source))
def test_what_was_posted_is_judged_rightly(given: Input) -> None:
    found = findings(given)
    assert {each.id for each in found} == given.found, [each.text for each in found]
