# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a CNI configuration: what the plugins refuse, misread or silently ignore, and the effect.

One table serves all: the role flannel checks rendered templates, hns_check, verify and diagnose check the node's file,
and win_k8s_repair repairs it. components/cni/judge.py applies the rules. Sources: containernetworking/plugins
pkg/hns/netconf_windows.go (policies), CNI specification (name, cniVersion, type).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .cause import ERROR, WARNING, Cause
from .remedies import CNI, FLANNEL_FILES, MEND_CNI_CONF
from .remedy import Remedy


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the file. `cause`, with its severity, is of a node that has such a file: an error breaks pods.
    `by_hand` says what to do where only the text is at hand. `mended`: components/cni/mend.py can repair it if the
    right value is known. `refused_too`: the role refuses to write such a file, though a node only warns."""

    cause: Cause
    by_hand: str
    mended: bool = False
    refused_too: bool = False

    @property
    def is_refused(self) -> bool:
        """Whether the role refuses the file for this; other faults are warnings."""
        return self.cause.severity == ERROR or self.refused_too


_OF_POLICIES = ("cni.exceptions", "hns.endpoint-*", "hns.policy-refused", "hns.element-not-found", "traffic.*")
"""What follows from a rule, if it does not say otherwise: most are about policies."""


def _rule(
    identity: str,
    severity: str,
    title: str,
    why: str,
    by_hand: str,
    issue: str = "",
    *,
    mended: bool = False,
    refused_too: bool = False,
    on_node: Remedy | None = None,
    explains: tuple[str, ...] = _OF_POLICIES,
) -> Rule:
    """`on_node` mends a node's file, where that is a role rather than the file's own mending."""
    if on_node is None:
        on_node = MEND_CNI_CONF if mended else FLANNEL_FILES
    remedy = on_node.said(by_hand)
    return Rule(Cause(identity, severity, title, why, remedy, issue, explains), by_hand, mended, refused_too)


_RULES: tuple[Rule, ...] = (
    _rule(
        "cni.unreadable",
        ERROR,
        "The CNI configuration cannot be read",
        "Go's decoder takes strict JSON in UTF-8: no comments, no byte order mark.",
        "Remove comments and trailing commas; save it as UTF-8.",
        on_node=FLANNEL_FILES,
        explains=("cni.absent", "node.not-ready", "node.taint", "pod.*"),
    ),
    _rule(
        "cni.key-twice",
        ERROR,
        "A key stands twice in the CNI configuration",
        "The plugins ignore the case of keys: the last one counts.",
        "Remove one of the two.",
    ),
    _rule(
        "cni.ending",
        ERROR,
        "The CNI configuration's ending does not fit what it holds",
        "A file with the ending .conflist holds 'plugins', one with .conf a single plugin.",
        "Give the file the ending that fits.",
        "microsoft/windows-container-networking#70",
    ),
    _rule(
        "cni.network-name",
        ERROR,
        "The CNI configuration names another network",
        "net-conf.json, the CNI configuration and HNS have to use one name: pods fail with 'network not found'.",
        "Write the HNS network's name (hnsdiag list networks) into name of cni.conf.",
        "kubernetes-sigs/sig-windows-tools#89",
        mended=True,
        on_node=FLANNEL_FILES,
        explains=("flannel.net-conf-name", "pod.*"),
    ),
    _rule(
        "cni.version",
        ERROR,
        "A plugin does not know the configuration's cniVersion",
        "A plugin refuses a cniVersion that it does not know.",
        "Write a cniVersion that the plugins know (0.2.0, 0.3.0, 1.0.0).",
        mended=True,
    ),
    _rule(
        "cni.plugin-missing",
        ERROR,
        "A program that the CNI configuration names is not there",
        "A type is the name of a program: it is misspelt, or containerd and the plugins have different folders.",
        "Put the program into containerd's bin_dir, or write the right type.",
        "microsoft/windows-container-networking#70",
        on_node=CNI,
        explains=("pod.*", "node.not-ready"),
    ),
    _rule(
        "cni.dockershim-form",
        ERROR,
        "cni.conf is of dockershim's form, the runtime is containerd",
        "With containerd only apiVersion 2 makes endpoints in the pod's namespace.",
        "Set apiVersion to 2.",
        mended=True,
    ),
    _rule(
        "cni.old-form",
        ERROR,
        "A policy has the form that containerd's plugins ignore",
        "Under apiVersion 2 the policy is read without these keys: all of the pods' traffic is translated, and "
        "no error says so.",
        "Write the settings below 'Settings'.",
        "projectcalico/node#954",
        mended=True,
    ),
    _rule(
        "cni.new-form",
        ERROR,
        "A policy has a form that dockershim's plugins do not know",
        "Without apiVersion 2 the plugin does not know 'Settings'.",
        "Set apiVersion to 2 (containerd).",
    ),
    _rule(
        "cni.policy-without-settings",
        ERROR,
        "A policy's settings are dropped",
        "Under apiVersion 2 a policy is its Type and its Settings: anything beside them is silently dropped, even a "
        "block rule.",
        "Write it below 'Settings'.",
        mended=True,
    ),
    _rule(
        "cni.value-unfilled",
        ERROR,
        "A value in the CNI configuration was never filled in",
        "A template's value was not known when the file was written.",
        "Write the value.",
        "containerd/containerd#5729",
    ),
    _rule(
        "cni.value-type",
        ERROR,
        "A value in the CNI configuration is a text where a list belongs",
        "Go's decoder, or HNS behind it, refuses a text in this place: no pod starts.",
        "Write it in brackets.",
    ),
    _rule(
        "cni.policy-skipped",
        ERROR,
        "A policy is ignored",
        "The plugin ignores it silently.",
        'Write {"Name": "EndpointPolicy", "Value": {"Type": ..}}.',
    ),
    _rule(
        "cni.policy-case",
        ERROR,
        "A policy is not found because of its spelling",
        "The plugin searches the policy as text: in another spelling it is not merged with the plugin's own.",
        "Write it as shown.",
        mended=True,
    ),
    _rule(
        "cni.policy-unknown",
        WARNING,
        "A policy has a type that HNS does not know",
        "HNS refuses a policy that it does not know (0x803b000d): no pod starts.",
        "Look for a typo.",
        "projectcalico/calico#8465",
    ),
    _rule(
        "cni.policy-level",
        ERROR,
        "A policy has a type that endpoints do not have",
        "A CNI plugin gives its policies to the pods' endpoints, and an endpoint cannot have one of this type.",
        "Remove it; it belongs to the HNS network or its subnet, which gets it when the network is made.",
    ),
    _rule(
        "cni.policies-key",
        ERROR,
        "The plugin reads its policies from another key",
        "The plugin reads its policies from another key; these are silently ignored.",
        "Move them below the key that it reads.",
        mended=True,
    ),
    _rule(
        "cni.exceptions",
        ERROR,
        "Traffic inside the cluster is translated",
        "Traffic from pods to a network that is not an exception leaves with the node's address, which Kubernetes "
        "does not allow inside the cluster.",
        "Add them to the exceptions of OutBoundNAT.",
        "projectcalico/node#954",
        mended=True,
        on_node=FLANNEL_FILES,
        explains=("hns.endpoint-translated", "traffic.*"),
    ),
    _rule(
        "cni.exception-wrong",
        ERROR,
        "An exception is not a network",
        "HNS refuses the policy: no pod starts.",
        "Write networks such as 10.244.0.0/16, those of IPv4 and of IPv6 in a policy each.",
    ),
    _rule(
        "cni.exception-all",
        WARNING,
        "An exception covers everything",
        "Traffic that leaves the cluster keeps the pod's address too, and no answer finds its way back.",
        "Name the cluster's networks only.",
    ),
    _rule(
        "cni.no-provider-address",
        WARNING,
        "The plugin is not told the node's address",
        "sdnoverlay needs the node's address as the tunnel's end; win-overlay finds it by itself.",
        "Add a policy of type ProviderAddress.",
        "microsoft/windows-container-networking#38",
        mended=True,
    ),
    _rule(
        "cni.ignored-key",
        WARNING,
        "Nothing reads a key of the CNI configuration",
        "Nothing reads it.",
        "Remove it.",
        mended=True,
    ),
    _rule(
        "cni.loopback-dsr",
        ERROR,
        "Pods do not reach themselves by their Service",
        "kube-proxy uses direct server return: what a pod sends to its own Service comes back to it with its own "
        "address, and is dropped.",
        "Write 'loopbackDSR': true beside the policies, or let kube-proxy run without --enable-dsr.",
    ),
    _rule(
        "cni.dns-search",
        WARNING,
        "The CNI configuration has more than one DNS suffix",
        "Windows pods use one DNS suffix.",
        "Keep svc.DOMAIN and remove the others.",
        refused_too=True,
    ),
    _rule(
        "cni.ipam",
        ERROR,
        "The CNI configuration names another cloud's IPAM plugin",
        "That IPAM plugin works only with Azure's own plugin.",
        "Leave 'ipam' out: flannel sets host-local.",
    ),
    _rule(
        "cni.ipam-by-hns",
        WARNING,
        "HNS hands out the pods' addresses, not flannel",
        "An 'ipam' without a type leaves addresses to HNS; without 'ipam' flannel's plugin sets host-local.",
        "Leave 'ipam' out.",
    ),
    _rule(
        "cni.flannel-plugin",
        ERROR,
        "flannel's plugin does not get what it needs",
        "flannel's plugin starts the one in 'delegate'; without it that is win-bridge in dockershim's form.",
        "Write a 'delegate' with its type and apiVersion in an object of the type flannel.",
    ),
    _rule(
        "cni.plugin-type",
        ERROR,
        "The CNI configuration's plugin is for another type of network",
        "The node was switched between l2bridge and overlay, or the type is another network's.",
        "Write the plugin of this type of network.",
        on_node=FLANNEL_FILES,
        explains=("pod.*",),
    ),
    _rule(
        "cni.provider-address",
        ERROR,
        "The CNI configuration has an address that is not the host's",
        "The host's address has changed, or the file comes from another node.",
        "Write the host's own address.",
        on_node=FLANNEL_FILES,
        explains=("traffic.*", "pod.*"),
    ),
    _rule(
        "cni.plugin-rare",
        WARNING,
        "The CNI configuration names a program that is not known here",
        "The type is the name of a program in the folder of the CNI plugins, and this one is unknown here.",
        "Check that it exists under this name.",
    ),
)

RULES: Mapping[str, Rule] = {each.cause.id: each for each in _RULES}
"""By the id of the cause, the likely causes of others first."""
