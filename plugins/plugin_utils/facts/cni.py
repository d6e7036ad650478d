# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The CNI plugins that one meets on Windows nodes: members of the archives, which cniVersion each release of the win-*
plugins takes, and how each plugin wants its policies."""

from __future__ import annotations

from dataclasses import dataclass

from .version import Version

MEMBERS = ("host-local.exe", "win-bridge.exe", "win-overlay.exe")
"""Members of cni-plugins-windows-amd64-v<version>.tgz that flannel needs, at its top.

Source: containernetworking/plugins scripts/release.sh (tar -C bin .; a .sha256 beside each archive).
"""

FLANNEL_MEMBER = "flannel-amd64.exe"
"""The plugin in cni-plugin-flannel-windows-amd64-v<version>.tgz; called flannel.exe where it is installed.

Source: flannel-io/cni-plugin scripts/package.sh (a .sha256 beside each archive).
"""

FLANNEL_PLUGIN = "flannel.exe"


@dataclass(frozen=True, slots=True)
class CniVersions:
    """From release `since` on, win-bridge and win-overlay take these values of `cniVersion`, oldest first."""

    since: Version
    versions: tuple[str, ...]
    source: str
    unverified: bool = False


CNI_VERSIONS: tuple[CniVersions, ...] = (
    CniVersions(
        Version.parse("0.8.0"),
        ("0.1.0", "0.2.0", "0.3.0"),
        "containernetworking/plugins 2b68088 win-bridge_windows.go: PluginSupports(0.1.0, 0.2.0, 0.3.0); what "
        "win-overlay of v0.8.6 and v1.0.0 answers to VERSION",
    ),
    CniVersions(
        Version.parse("1.0.1"),
        ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0"),
        "containernetworking/plugins#652 (version.All, asked for v1.0.1), #668 (what v1.0.1 answers to VERSION)",
    ),
    CniVersions(
        Version.parse("1.6.0"),
        ("0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"),
        "containernetworking/plugins v1.5.1 (without) and v1.6.0: what win-overlay answers to VERSION",
    ),
)

SDN_PLUGINS = ("nat", "sdnbridge", "sdnoverlay")
SDN_VERSIONS = ("0.2.0", "0.3.0", "0.4.0", "1.0.0")
"""What the plugins of microsoft/windows-container-networking take, 1.0.0 from v0.3.1 on. Source: its cni/cni.go,
VersionsSupported (0.2.0 to 0.4.0 in v0.3.0; 1.0.0 with pull request #101)."""

PREFERRED = "1.0.0"
"""What flannel's CNI configuration says where the plugins take it; below 1.1.0, from which on a runtime may let
host-local 1.10 and later free what no sandbox has, the source VIP too. Sources: rancher/rke2 pkg/windows/flannel.go;
containernetworking/plugins v1.10.0 plugins/ipam/host-local/main.go, cmdGC (v1.9.0 has none)."""

DEFAULT_CNI_VERSION = "0.2.0"
"""Taken by every release. Source: the cni.conf of kubernetes.io, v1.22 (microsoft/SDN Kubernetes/flannel)."""


def cni_versions(plugins: Version) -> tuple[str, ...]:
    """The values of `cniVersion` that this release takes, oldest first; none for releases older than all known."""
    known = [entry for entry in CNI_VERSIONS if entry.since <= plugins]
    return known[-1].versions if known else ()


def default_cni_version(plugins: Version) -> str:
    """`cniVersion` where no one says one."""
    return PREFERRED if PREFERRED in cni_versions(plugins) else DEFAULT_CNI_VERSION


@dataclass(frozen=True, slots=True)
class CniPlugin:
    """`needs` is the type of HNS network that it works with, empty for one that makes or asks for none. `policies` is
    the key that it reads endpoint policies from; with `forms` it tells apiVersion 1 and 2 apart."""

    name: str
    needs: str
    policies: str
    forms: bool
    source: str
    unverified: bool = False


_WIN = "containernetworking/plugins plugins/main/windows, pkg/hns/netconf_windows.go"
_SDN = "microsoft/windows-container-networking README and cni/cni.go"

PLUGINS: tuple[CniPlugin, ...] = (
    CniPlugin("flannel", "", "", False, "flannel-io/cni-plugin README (delegates)"),
    CniPlugin("win-bridge", "l2bridge", "policies", True, _WIN),
    CniPlugin("win-overlay", "overlay", "policies", True, _WIN),
    CniPlugin("host-local", "", "", False, "containernetworking/plugins plugins/ipam/host-local"),
    CniPlugin("dhcp", "", "", False, "containernetworking/plugins plugins/ipam/dhcp"),
    CniPlugin("static", "", "", False, "containernetworking/plugins plugins/ipam/static"),
    CniPlugin("nat", "nat", "AdditionalArgs", False, _SDN),
    CniPlugin("sdnbridge", "l2bridge", "AdditionalArgs", False, _SDN),
    CniPlugin("sdnoverlay", "overlay", "AdditionalArgs", False, _SDN),
    CniPlugin("calico", "", "", False, "projectcalico/calico node/windows-packaging, cni.conf.template"),
    CniPlugin("calico-ipam", "", "", False, "projectcalico/calico node/windows-packaging, cni.conf.template"),
    CniPlugin("azure-vnet", "", "", False, "Azure/azure-container-networking docs/cni.md"),
    CniPlugin("azure-vnet-ipam", "", "", False, "Azure/azure-container-networking docs/ipam.md"),
    CniPlugin("antrea", "", "", False, "antrea-io/antrea docs/windows.md"),
    CniPlugin("vpc-bridge", "", "", False, "aws/amazon-vpc-cni-plugins plugins/vpc-bridge"),
    CniPlugin("vpc-shared-eni", "", "", False, "aws/amazon-vpc-cni-plugins plugins/vpc-shared-eni"),
)
"""By the name of the program without `.exe`."""

TRANSLATES_NODES = frozenset({"overlay"})
"""Types of networks whose pods reach nodes with the node's address: no one outside an overlay can answer a pod's own.
So the exceptions of OutBoundNAT are pods and services there, and the node's network as well elsewhere. Source:
microsoft/SDN Kubernetes/windows/helper.psm1 (Update-CNIConfig) and start.ps1, rancher/rke2 pkg/windows."""

BUILT_IN_IPAM = ("azure-cns",)
"""Types of ipam that the plugin itself does, without a program. Source: Azure/azure-container-networking cni/network
invoker_cns.go."""

BY_NAME = {each.name: each for each in PLUGINS}

NOT_BUILT = {"l2bridge": "sdnbridge", "overlay": "sdnoverlay", "l2tunnel": "azure-vnet"}
"""Names of drivers that are taken for names of plugins, and what is meant.

Source: microsoft/windows-container-networking example/l2bridge.conf, whose type is not a program that is built there.
"""

IGNORED_KEYS = {
    "dnscapabilities": "containerd passes dns only to 'capabilities': {'dns': true}",
}
"""Keys that no one reads, in lower case. Source: containerd internal/cri/server/sandbox_run.go (capabilities that are
passed), microsoft/windows-container-networking example/."""

ENDPOINT_POLICIES = (
    "PortMapping",
    "ACL",
    "QOS",
    "L2Driver",
    "OutBoundNAT",
    "SDNRoute",
    "L4Proxy",
    "L4WFPPROXY",
    "PortName",
    "EncapOverhead",
    "Iov",
    "ProviderAddress",
    "InterfaceConstraint",
    "TierAcl",
)
"""What an endpoint may have under apiVersion 2, the only level of a CNI configuration. Source: hcsshim
v0.15.0-rc.4 hcn/hcnpolicy.go, EndpointPolicyType."""

NETWORK_POLICIES = (
    "SourceMacAddress",
    "NetAdapterName",
    "VSwitchExtension",
    "DrMacAddress",
    "AutomaticDNS",
    "InterfaceConstraint",
    "ProviderAddress",
    "RemoteSubnetRoute",
    "VxlanPort",
    "HostRoute",
    "SetPolicy",
    "L4Proxy",
    "LayerConstraint",
    "NetworkACL",
)
"""What a network may have. Source: the same file, NetworkPolicyType."""

SUBNET_POLICIES = ("VLAN", "VSID")
"""What a subnet of a network may have. Source: the same file, SubnetPolicyType."""

POLICY_LEVELS = {"endpoint": ENDPOINT_POLICIES, "network": NETWORK_POLICIES, "subnet": SUBNET_POLICIES}
"""The types of policies by what has them."""

OLD_POLICY_TYPES = ("OutBoundNAT", "ROUTE", "PA", "NAT", "ACL", "QOS", "VLAN", "VSID", "L2Driver", "PROXY")
"""The same without apiVersion. Source: hcsshim internal/hns/hnspolicy.go PolicyType."""

SEVERAL_SUFFIXES = frozenset({"vpc-bridge", "vpc-shared-eni"})
"""Plugins whose own configuration has several DNS suffixes: EKS writes it so. Source: awslabs/amazon-eks-ami,
EKS-StartupTask.ps1, vpc-bridge.conf."""
OWN_TEMPLATE = "{%namespace%}"
"""What vpc-bridge fills in by itself for each pod. Source: the same."""
