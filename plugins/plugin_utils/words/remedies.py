# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The remedies that several checks share. tests/integration/test_remedies.py breaks a node and runs each of them."""

from __future__ import annotations

from .remedy import Action, Remedy

_NO_NETWORK = "Pods of this node have no network until flanneld and kube-proxy are up again."
_RULES = "New connections to Services fail on this node for some seconds."
_ALL_PODS = "All pods of this node end; drain it first."


def advice(text: str) -> Remedy:
    """What a person has to do or to decide."""
    return Remedy(text)


def converge(*roles: str, text: str, cuts_off: str = "") -> Remedy:
    """site.yml with the tags of these roles."""
    return Remedy(text, Action.CONVERGE, roles, cuts_off=cuts_off)


FLANNEL_FILES = converge(
    "flannel", text="Write flannel's files and arguments again and start flanneld.", cuts_off=_NO_NETWORK
)
CNI = converge("cni", text="Install the CNI plugins again.")
KUBE_PROXY = converge("kube_proxy", text="Set kube-proxy's arguments again and restart it.", cuts_off=_RULES)
MEND_CNI_CONF = Remedy(
    "Mend the lines of the file that have to change; pods that run keep what they were given, so delete them after it.",
    Action.CNI_CONF,
)
RESTART_KUBE_PROXY = Remedy("Restart kube-proxy: it recreates its rules.", Action.RESTART, ("kube_proxy",), (), _RULES)
RESTART_FLANNELD = Remedy(
    "Restart flanneld: it writes subnet.env and recreates the host's endpoint.",
    Action.RESTART,
    ("flannel",),
    (),
    _NO_NETWORK,
)
START_HNS = Remedy(
    "Start the service hns, then flanneld and kube-proxy again; delete the pods whose endpoints are gone.",
    Action.RESTART,
    ("hns", "flannel", "kube_proxy"),
    (),
    _NO_NETWORK,
)
AFTER_HNS = Remedy(
    "Restart flanneld and kube-proxy, which recreate their endpoints and rules; delete the pods whose endpoints are "
    "gone.",
    Action.RESTART,
    ("flannel", "kube_proxy"),
    (),
    _NO_NETWORK,
)
START_VMCOMPUTE = Remedy("Set the service vmcompute to start on demand, and start it.", Action.RESTART, ("vmcompute",))
LAUNCH_FLANNELD = Remedy(
    "Launch flanneld until its network is there; if it does not come, flanneld's log says why.",
    Action.NETWORK,
    cuts_off=_NO_NETWORK,
)
REMOVE_ENDPOINTS = Remedy(
    "Remove the endpoints of dead pods that keep addresses from others.", Action.NETWORK, cuts_off=""
)
POLICY_LISTS = Remedy(
    "Remove HNS's policy lists with kube-proxy stopped, and start it again: it recreates its rules.",
    Action.NETWORK,
    options=(("winkube_repair_policy_lists", True),),
    cuts_off=_RULES,
)
REJOIN = Remedy(
    "Remove what is left of the node's earlier life and let it join again.", Action.REJOIN, cuts_off=_ALL_PODS
)
SWITCH_MODE = Remedy(
    "Remove the networks of the other mode and make those of winkube_network_mode.",
    Action.SWITCH,
    cuts_off=_ALL_PODS,
)
