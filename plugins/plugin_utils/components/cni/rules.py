# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of a CNI configuration: what the plugins refuse, misread or silently ignore, and the effect.

One table serves all: the role flannel checks rendered templates, hns_check, verify and diagnose check the node's file,
and win_k8s_repair repairs it. judge.py applies the rules. Sources: containernetworking/plugins
pkg/hns/netconf_windows.go (policies), CNI specification (name, cniVersion, type).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...facts import cni
from ..networks import parse_ranges

ERROR, WARNING = "error", "warning"


@dataclass(frozen=True, slots=True)
class Subject:
    """What to judge a file by. `file` is its name; the other fields describe the node and are empty or None if unknown.

    `plugins_version` is the release of the CNI plugins, `programs` the names in the plugins' folder, `networks` the
    names of HNS's networks, `mode` the type of the pods' network, `subnets` the host's own IPv4 networks, `addresses`
    its addresses; `dsr`: kube-proxy uses direct server return; `flannel`: the file should be flannel's.
    """

    file: str
    network_name: str = ""
    runtime: str = "containerd"
    plugins_version: str = ""
    cluster_cidr: str = ""
    service_cidr: str = ""
    subnets: tuple[str, ...] = ()
    management_ip: str = ""
    programs: tuple[str, ...] | None = None
    networks: tuple[str, ...] | None = None
    mode: str = ""
    addresses: tuple[str, ...] | None = None
    dsr: bool = False
    flannel: bool = False

    def list_needed(self, kind: str) -> tuple[str, ...]:
        """The IPv4 networks that pods must reach with their own address on an HNS network of type `kind`."""
        own = () if kind in cni.TRANSLATES_NODES else self.subnets
        found = parse_ranges(",".join((self.cluster_cidr, self.service_cidr, *own)))
        return tuple(str(each) for each in found if each.version == 4)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule, and what to say of a fault besides what was seen.

    `severity` applies to a node: `error` if it breaks pods, else `warning`. `refused`: the role refuses to write such a
    file. `mended`: mend.py can repair it if the right value is known. `issue` is `<owner>/<repository>#<number>`.
    """

    severity: str
    title: str
    cause: str
    remedy: str
    issue: str = ""
    mended: bool = False
    refused_too: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether the role refuses the file for this; other faults are warnings."""
        return self.severity == ERROR or self.refused_too


@dataclass(frozen=True, slots=True)
class Fault:
    """One violation of a rule. `where` is the place in the file, empty for the file itself; `seen` and `wanted` are
    its value and the right one."""

    id: str
    file: str
    where: str
    seen: str
    wanted: str

    @property
    def rule(self) -> Rule:
        """The violated rule."""
        return RULES[self.id]

    @property
    def subject(self) -> str:
        """The place, as findings print it."""
        return f"{self.file}, {self.where}" if self.where else self.file

    @property
    def sentence(self) -> str:
        """What is wrong, why, and how to fix it."""
        return f"{self.subject}: {self.seen}; wanted {self.wanted}. {self.rule.cause} {self.rule.remedy}"


RULES: Mapping[str, Rule] = {
    "cni.unreadable": Rule(
        ERROR,
        "The CNI configuration cannot be read",
        "Go's decoder takes strict JSON in UTF-8: no comments, no byte order mark.",
        "Remove comments and trailing commas; save it as UTF-8.",
    ),
    "cni.key-twice": Rule(
        ERROR,
        "A key stands twice in the CNI configuration",
        "The plugins ignore the case of keys: the last one counts.",
        "Remove one of the two.",
    ),
    "cni.ending": Rule(
        ERROR,
        "The CNI configuration's ending does not fit what it holds",
        "A file with the ending .conflist holds 'plugins', one with .conf a single plugin.",
        "Give the file the ending that fits.",
        "microsoft/windows-container-networking#70",
    ),
    "cni.network-name": Rule(
        ERROR,
        "The CNI configuration names another network",
        "net-conf.json, the CNI configuration and HNS have to use one name: pods fail with 'network not found'.",
        "Write the HNS network's name.",
        "kubernetes-sigs/sig-windows-tools#89",
        mended=True,
    ),
    "cni.version": Rule(
        ERROR,
        "A plugin does not know the configuration's cniVersion",
        "A plugin refuses a cniVersion that it does not know.",
        "Take one that the plugins know.",
        mended=True,
    ),
    "cni.plugin-missing": Rule(
        ERROR,
        "A program that the CNI configuration names is not there",
        "A type is the name of a program: it is misspelt, or containerd and the plugins have different folders.",
        "Bring the program in, or write the right type.",
        "microsoft/windows-container-networking#70",
    ),
    "cni.dockershim-form": Rule(
        ERROR,
        "cni.conf is of dockershim's form, the runtime is containerd",
        "With containerd only apiVersion 2 makes endpoints in the pod's namespace.",
        "Set apiVersion to 2.",
        mended=True,
    ),
    "cni.old-form": Rule(
        ERROR,
        "A policy has the form that containerd's plugins ignore",
        "Under apiVersion 2 the policy is read without these keys: all of the pods' traffic is translated, and "
        "no error says so.",
        "Write the settings below 'Settings'.",
        "projectcalico/node#954",
        mended=True,
    ),
    "cni.new-form": Rule(
        ERROR,
        "A policy has a form that dockershim's plugins do not know",
        "Without apiVersion 2 the plugin does not know 'Settings'.",
        "Set apiVersion to 2 (containerd).",
    ),
    "cni.policy-without-settings": Rule(
        ERROR,
        "A policy's settings are dropped",
        "Under apiVersion 2 a policy is its Type and its Settings: anything beside them is silently dropped, even a "
        "block rule.",
        "Write it below 'Settings'.",
        mended=True,
    ),
    "cni.value-unfilled": Rule(
        ERROR,
        "A value in the CNI configuration was never filled in",
        "A template's value was not known when the file was written.",
        "Write the value.",
        "containerd/containerd#5729",
    ),
    "cni.value-type": Rule(
        ERROR,
        "A value in the CNI configuration is a text where a list belongs",
        "Go's decoder, or HNS behind it, refuses a text in this place: no pod starts.",
        "Write it in brackets.",
    ),
    "cni.policy-skipped": Rule(
        ERROR,
        "A policy is ignored",
        "The plugin ignores it silently.",
        'Write {"Name": "EndpointPolicy", "Value": {"Type": ..}}.',
    ),
    "cni.policy-case": Rule(
        ERROR,
        "A policy is not found because of its spelling",
        "The plugin searches the policy as text: in another spelling it is not merged with the plugin's own.",
        "Write it as shown.",
        mended=True,
    ),
    "cni.policy-unknown": Rule(
        WARNING,
        "A policy has a type that HNS does not know",
        "HNS refuses a policy that it does not know (0x803b000d): no pod starts.",
        "Look for a typo.",
        "projectcalico/calico#8465",
    ),
    "cni.policy-level": Rule(
        ERROR,
        "A policy has a type that endpoints do not have",
        "A CNI plugin gives its policies to the pods' endpoints, and an endpoint cannot have one of this type.",
        "Remove it; it belongs to the HNS network or its subnet, which gets it when the network is made.",
    ),
    "cni.policies-key": Rule(
        ERROR,
        "The plugin reads its policies from another key",
        "The plugin reads its policies from another key; these are silently ignored.",
        "Move them below the key that it reads.",
        mended=True,
    ),
    "cni.exceptions": Rule(
        ERROR,
        "Traffic inside the cluster is translated",
        "Traffic from pods to a network that is not an exception leaves with the node's address, which Kubernetes "
        "does not allow inside the cluster.",
        "Add them to the exceptions of OutBoundNAT.",
        "projectcalico/node#954",
        mended=True,
    ),
    "cni.exception-wrong": Rule(
        ERROR,
        "An exception is not a network",
        "HNS refuses the policy: no pod starts.",
        "Write networks such as 10.244.0.0/16, those of IPv4 and of IPv6 in a policy each.",
    ),
    "cni.exception-all": Rule(
        WARNING,
        "An exception covers everything",
        "Traffic that leaves the cluster keeps the pod's address too, and no answer finds its way back.",
        "Name the cluster's networks only.",
    ),
    "cni.no-provider-address": Rule(
        WARNING,
        "The plugin is not told the node's address",
        "sdnoverlay needs the node's address as the tunnel's end; win-overlay finds it by itself.",
        "Add a policy of type ProviderAddress.",
        "microsoft/windows-container-networking#38",
        mended=True,
    ),
    "cni.ignored-key": Rule(
        WARNING, "Nothing reads a key of the CNI configuration", "Nothing reads it.", "Remove it.", mended=True
    ),
    "cni.loopback-dsr": Rule(
        ERROR,
        "Pods do not reach themselves by their Service",
        "kube-proxy uses direct server return: what a pod sends to its own Service comes back to it with its own "
        "address, and is dropped.",
        "Write 'loopbackDSR': true beside the policies, or turn winkube_kube_proxy_dsr off.",
    ),
    "cni.dns-search": Rule(
        WARNING,
        "The CNI configuration has more than one DNS suffix",
        "Windows pods use one DNS suffix.",
        "Keep svc.<cluster domain> and remove the others.",
        refused_too=True,
    ),
    "cni.ipam": Rule(
        ERROR,
        "The CNI configuration names another cloud's IPAM plugin",
        "That IPAM plugin works only with Azure's own plugin.",
        "Leave 'ipam' out: flannel sets host-local.",
    ),
    "cni.ipam-by-hns": Rule(
        WARNING,
        "HNS hands out the pods' addresses, not flannel",
        "An 'ipam' without a type leaves addresses to HNS; without 'ipam' flannel's plugin sets host-local.",
        "Leave 'ipam' out.",
    ),
    "cni.flannel-plugin": Rule(
        ERROR,
        "flannel's plugin does not get what it needs",
        "flannel's plugin starts the one in 'delegate'; without it that is win-bridge in dockershim's form.",
        "Write a 'delegate' with its type and apiVersion in an object of the type flannel.",
    ),
    "cni.plugin-type": Rule(
        ERROR,
        "The CNI configuration's plugin is for another type of network",
        "The node was switched between l2bridge and overlay, or the type is another network's.",
        "Write the plugin of this type of network.",
    ),
    "cni.provider-address": Rule(
        ERROR,
        "The CNI configuration has an address that is not the host's",
        "The host's address has changed, or the file comes from another node.",
        "Write the host's own address.",
    ),
    "cni.plugin-rare": Rule(
        WARNING,
        "The CNI configuration names a program that is not known here",
        "The type is the name of a program in the folder of the CNI plugins, and this is none that is known here.",
        "Check that it exists under this name.",
    ),
}
"""By finding id, the likely causes of others first."""
