# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The remedies that several checks share. tests/integration/test_remedies.py breaks a node and runs each of them."""

from __future__ import annotations

from collections.abc import Collection

from .remedy import Action, Ends, Remedy

_NO_NETWORK = "Pods of this node have no network until flanneld and kube-proxy are up again."
_RULES = "New connections to Services fail on this node for some seconds."
_ALL_PODS = "All pods of this node end; drain it first."
_CUTS = frozenset({Ends.CONNECTIONS})
_EMPTIES = frozenset({Ends.PODS, Ends.CONNECTIONS})


def advice(plain: str, *ends: Ends, variables: tuple[str, ...] = ()) -> Remedy:
    """What a person has to do or to decide."""
    return Remedy(plain, ends=frozenset(ends), variables=variables)


def converge(
    *roles: str, text: str, cuts_off: str = "", ends: Collection[Ends] = (), variables: tuple[str, ...] = ()
) -> Remedy:
    """site.yml with the tags of these roles, all of it without any."""
    return Remedy(text, Action.CONVERGE, roles, cuts_off=cuts_off, ends=frozenset(ends), variables=variables)


def playbook(plain: str, *names: str, ends: Collection[Ends] = (), variables: tuple[str, ...] = ()) -> Remedy:
    """Other playbooks of the collection."""
    return Remedy(plain, Action.PLAYBOOK, names, ends=frozenset(ends), variables=variables)


def restart(plain: str, *services: str, cuts_off: str = "", ends: Collection[Ends] = ()) -> Remedy:
    """repair.yml starts these services, again if they run."""
    return Remedy(plain, Action.RESTART, services, cuts_off=cuts_off, ends=frozenset(ends))


def acknowledge(plain: str, batch: str = "ID") -> Remedy:
    """repair.yml acknowledges a batch that could not be rolled back."""
    return Remedy(plain, Action.ACKNOWLEDGE, (batch,))


FLANNEL_FILES = converge(
    "flannel",
    text="Write net-conf.json, cni.conf and flanneld's arguments again, and restart flanneld.",
    cuts_off=_NO_NETWORK,
    ends=_CUTS,
)
CNI = converge("cni", text="Put the CNI plugins into containerd's bin_dir again.")
KUBE_PROXY = converge("kube_proxy", text="Set kube-proxy's arguments again, and restart it.", cuts_off=_RULES)
MEND_CNI_CONF = Remedy(
    "Mend the lines of cni.conf that have to change; pods that run keep what they were given, so delete them after it.",
    Action.CNI_CONF,
)
# What runs goes on by the rules that HNS has: kube-proxy takes them over when it starts. Source: kubernetes
# pkg/proxy/winkernel/proxier.go, queriedLoadBalancers.
RESTART_KUBE_PROXY = restart("Restart-Service kube-proxy: it recreates its rules.", "kube_proxy", cuts_off=_RULES)
RESTART_FLANNELD = restart(
    "Restart-Service flanneld: it writes subnet.env and recreates the host's endpoint.",
    "flannel",
    cuts_off=_NO_NETWORK,
    ends=_CUTS,
)
START_HNS = restart(
    "Start-Service hns, then Restart-Service flanneld, kube-proxy; delete the pods whose endpoints are gone.",
    "hns",
    "flannel",
    "kube_proxy",
    cuts_off=_NO_NETWORK,
    ends=_EMPTIES,
)
AFTER_HNS = restart(
    "Restart-Service flanneld, kube-proxy: they recreate their endpoints and rules; delete the pods whose endpoints "
    "are gone.",
    "flannel",
    "kube_proxy",
    cuts_off=_NO_NETWORK,
    ends=_EMPTIES,
)
START_VMCOMPUTE = restart("sc.exe config vmcompute start= demand, then Start-Service vmcompute.", "vmcompute")
LAUNCH_FLANNELD = Remedy(
    "Restart-Service flanneld until its network is there; if it does not come, flanneld's log says why.",
    Action.NETWORK,
    cuts_off=_NO_NETWORK,
    ends=_CUTS,
)
REMOVE_ENDPOINTS = Remedy(
    "Remove the endpoints of dead pods that keep addresses from others: hnsdiag delete endpoints ID.",
    Action.NETWORK,
    ends=_CUTS,
)
POLICY_LISTS = Remedy(
    "Stop kube-proxy, remove HNS's policy lists (Get-HnsPolicyList | Remove-HnsPolicyList), start kube-proxy: it "
    "recreates its rules.",
    Action.NETWORK,
    options=(("winkube_repair_policy_lists", True),),
    cuts_off=_RULES,
    ends=_CUTS,
)
REJOIN = Remedy(
    "With the node drained: kubeadm reset on it, kubectl delete node NAME, then join it again.",
    Action.REJOIN,
    cuts_off=_ALL_PODS,
    ends=frozenset({Ends.PODS, Ends.MEMBERSHIP}),
)
SWITCH_MODE = Remedy(
    "With the node drained: stop flanneld, remove the network of the other type (Get-HnsNetwork, Remove-HnsNetwork), "
    "start flanneld.",
    Action.SWITCH,
    cuts_off=_ALL_PODS,
    ends=_EMPTIES,
)
