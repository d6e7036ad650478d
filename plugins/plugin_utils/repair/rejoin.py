# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node that was deleted and joins again: how to recognise it, and what of its past is in the way.

"Whenever a previously deleted node is being re-joined to the cluster, flannelD tries to assign a new pod subnet to the
node. Users should remove" SourceVip.json and SourceVipRequest.json. Source: kubernetes/website, Windows
troubleshooting, "With flannel, my nodes are having issues after rejoining a cluster".
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass, replace
from typing import Any

from ..components import networks, registry
from ..components.containerd import crictl as beside_containerd
from ..components.flannel import flannel, subnet_env
from ..components.join import join
from ..components.kube_proxy import source_vip
from ..components.layout import Layout
from ..engine import windows_path
from ..engine.batch import Op, as_base64, flatten
from ..engine.reading import Query, Reading, file_key, file_query, merge_queries, service_key, services_query
from ..engine.resource import Change, Refused
from ..engine.resources.file import READ_LIMIT
from ..engine.resources.service import STOPPED
from ..engine.tools import run
from ..network.model import Hns, Network
from . import hns, stopping

LIMIT = 64 * 1024
_PREFIX = re.compile(r"\d+\.\d+\.\d+\.\d+/\d+")


@dataclass(frozen=True, slots=True)
class Past:
    """The remains of a node's former membership. `why`: the reason to join again, empty for none. `stale`: files
    with another range than the node's `pod_cidr` (empty: unknown yet), each with its range. `networks`: the HNS
    networks of such a range, by name."""

    why: str = ""
    pod_cidr: str = ""
    stale: tuple[tuple[str, str], ...] = ()
    networks: tuple[str, ...] = ()

    @property
    def was_deleted(self) -> bool:
        """Whether this is a previously deleted node."""
        return bool(self.why or self.stale or self.networks)


def files(layout: Layout) -> tuple[str, ...]:
    """The files that hold a node's old range: two of register-svc.ps1 (microsoft/SDN), and flanneld's own."""
    return (
        source_vip.source_vip_json(layout),
        source_vip.request_json(layout),
        subnet_env.path(layout),
    )


def reads(layout: Layout) -> tuple[Query, ...]:
    """What is read besides the components' own queries."""
    return merge_queries(
        (
            *(file_query(path, sha256=True, content_limit=LIMIT) for path in files(layout)),
            file_query(flannel.conf_path(layout), sha256=True, content_limit=READ_LIMIT),
            *(file_query(path) for path in crictl_places(layout)),
            *hns.QUERIES,
            hns.record_query(layout),
            services_query(stopping.names(layout)),
        )
    )


def runner_reads(layout: Layout) -> tuple[Query, ...]:
    """The node's runner, to know whether to send it again."""
    return (file_query(layout.runner, sha256=True),)


def past(situation: join.Situation, ours: hns.Ours, *, always: bool = False) -> Past:
    """Whether this is a previously deleted node, and what remains of it (`always`: it joins again in any case).

    A joined node counts as deleted if the cluster has no Node of its name, if its certificate is unusable, or if its
    files name another range than its Node's podCIDR. Refused as in `join.has_joined`.
    """
    layout, reading = situation.layout, situation.reading
    why = reason(replace(situation, rejoin=False))
    if not why and always:
        why = "it is to join again (winkube_rejoin_always)"
    spec = (situation.node or {}).get("spec") or {}
    cidr = "" if why else str(spec.get("podCIDR") or "")
    if not why and not cidr:
        return Past()  # nothing to compare with: a new Node, or a cluster that assigns no ranges
    stale = stale_files(layout, cidr, reading, all_of_them=bool(why))
    found = hns.hns(reading)
    going = tuple(each.name for each in _find_old_networks(found, ours, cidr))
    return Past(why, cidr, stale, going)


def stale_files(
    layout: Layout, cidr: str, reading: Reading, *, all_of_them: bool = False
) -> tuple[tuple[str, str], ...]:
    """Files with another range than `cidr`, each with its range; none without `cidr`, except with `all_of_them`."""
    if not cidr and not all_of_them:
        return ()
    return tuple(
        (path, said)
        for path in files(layout)
        if _is_there(path, reading) and (said := _find_other_range(path, cidr, reading))
    )


def reason(situation: join.Situation) -> str:
    """Why a joined machine must join again; empty if it need not, or has never joined."""
    try:
        join.has_joined(situation)
    except join.Broken as broken:
        return " ".join(broken.sentences)
    layout, reading = situation.layout, situation.reading
    if situation.asked and situation.node is None and any(_is_there(path, reading) for path in files(layout)):
        named = ", ".join(path for path in files(layout) if _is_there(path, reading))
        return f"the cluster has no Node {situation.node_name}, but {named} of an earlier one is there"
    return ""


def _find_old_networks(found: Hns, ours: hns.Ours, cidr: str) -> tuple[Network, ...]:
    """Our networks with another range than `cidr`; without one, all of them. The placeholder's range belongs to
    nobody."""
    wanted = ipaddress.IPv4Network(cidr) if cidr else None
    named = {name.casefold() for name in ours.names}
    return tuple(
        each
        for each in found.networks
        if each.name.casefold() in named and ours.owns(each) and (wanted is None or wanted not in each.prefixes)
    )


def _find_other_range(path: str, cidr: str, reading: Reading) -> str:
    """The file's range if it differs from `cidr`; a file without a range is just as stale."""
    text = reading.text(path) or ""
    found = [ipaddress.ip_interface(each).network for each in _PREFIX.findall(text) if _is_prefix(each)]
    own = ipaddress.IPv4Network(cidr) if cidr else None
    if own is not None and any(isinstance(each, ipaddress.IPv4Network) and each.subnet_of(own) for each in found):
        return ""
    return ", ".join(dict.fromkeys(str(each) for each in found)) or "no range"


def _is_prefix(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return True


def _is_there(path: str, reading: Reading) -> bool:
    return bool(reading.parts.get(file_key(path), {}).get("exists"))


# -- the clean-up ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leftovers:
    """Remove what is in the way of a former membership, and stop kube-proxy, kubelet and flanneld: the roles that
    follow start them again, in their order.

    With `conf` cni.conf goes too: it makes the kubelet report Ready, and without its network pods fail. The role
    flannel writes it again after its network.
    """

    layout: Layout
    past: Past
    ours: hns.Ours
    conf: bool = False
    label: str = "rejoin"

    def reads(self) -> tuple[Query, ...]:
        """The files, HNS, the services."""
        return reads(self.layout)

    def change(self, reading: Reading) -> Change | None:
        """Stop and remove. Refused if a network that is in the way has endpoints that must stay."""
        past = self.past
        if not past.was_deleted:
            return None
        found = hns.hns(reading)
        going = [each for each in found.networks if each.name in past.networks]
        pods = evict(self.layout, found, going, reading)
        order = stopping.names(self.layout)
        stopped = stopping.list_active(order, reading)
        stale = [path for path, _said in past.stale]
        conf = flannel.conf_path(self.layout)
        if self.conf and _is_there(conf, reading):
            stale.append(conf)
        if not stopped and not stale and not going:
            return None
        return Change(
            text=self._text(stopped, stale),
            before="".join(f"{path}: {said}\n" for path, said in past.stale)
            + "".join(f"HNS network {each.name}: {', '.join(one.prefix for one in each.subnets)}\n" for each in going),
            after=f"podCIDR {past.pod_cidr}\n" if past.pod_cidr else "joined again\n",
            commit=(
                *stopping.stop(order[:2], reading),
                *pods,
                *stopping.stop(order[2:], reading, after=order[:2]),
                *flatten(self._remove(path, reading) for path in stale),
                *hns.remove(found, going, networks.adapters(reading)),
            ),
            predicted={
                **{file_key(path): {"exists": False} for path in stale},
                **{service_key(name): {**(reading.service(name) or {}), "state": STOPPED} for name in stopped},
            },
            state=(*reads(self.layout), services_query((*order, *(reading.parts.get("services") or ())))),
        )

    def _text(self, stopped: tuple[str, ...], stale: list[str]) -> str:
        gone = (*stale, *(f"the HNS network {name}" for name in self.past.networks))
        if not gone:
            return f"stop {', '.join(stopped)}"
        return f"remove {', '.join(gone)}" + (f", with {', '.join(stopped)} stopped" if stopped else "")

    def _remove(self, path: str, reading: Reading) -> tuple[Op, ...]:
        """Remove a file; the undo writes it again."""
        text = reading.text(path)
        if text is None:
            raise Refused(
                f"{path} should be removed, but it is not a small text file, so it is not what it seems. Look at it "
                "and remove it yourself."
            )
        back = Op("write", {"path": path, "content": as_base64(text.encode())})
        return (Op("remove", {"path": path}).with_undo(back),)


def crictl_places(layout: Layout) -> tuple[str, ...]:
    """Possible places of crictl.exe: beside containerd, or among the node's programs."""
    return (beside_containerd.path(layout), windows_path.join(layout.root, beside_containerd.MEMBER))


def crictl(layout: Layout, reading: Reading) -> str:
    """The existing crictl.exe; empty if there is none, or if containerd does not run."""
    runs = (reading.service(layout.containerd_service) or {}).get("state") == "running"
    return next((path for path in crictl_places(layout) if runs and _is_there(path, reading)), "")


def remove_pods(layout: Layout, program: str) -> Op:
    """Stop and remove every pod in containerd. Source: kubernetes-sigs/cri-tools cmd/crictl/sandbox.go, rmp."""
    pipe = f"npipe:////./pipe/{layout.containerd_pipe}"
    return run(program, "--runtime-endpoint", pipe, "rmp", "--all", "--force", timeout_s=300, encoding="utf-8")


def evict(layout: Layout, found: Hns, going: list[Network], reading: Reading) -> tuple[Op, ...]:
    """Remove pods from networks that will go, with crictl. Refused without it, or if anything but pods uses the
    networks."""
    using = [(network, each) for network in going for each in hns.guests(found, network)]
    if not using:
        return ()
    program = crictl(layout, reading)
    if program:
        return (remove_pods(layout, program),)
    raise Refused(
        *(
            f"The HNS network {network.name} must be removed, but {each.label} on it is in use. Empty the node "
            f"(kubectl drain), or put crictl.exe, which removes its pods, into {layout.containerd_bin_dir}, and run "
            "again."
            for network, each in using
        )
    )


def roles(layout: Layout, reading: Reading) -> tuple[str, ...]:
    """The roles to run next: join, then those that start what was stopped, in the order of a first join."""
    there = [
        each.role
        for each in registry.COMPONENTS
        if each.daemon and each.daemon.of_cluster and reading.service(each.daemon.service(layout)) is not None
    ]
    return ("join", *there)


def as_data(found: Past, following: tuple[str, ...]) -> dict[str, Any]:
    """For a task's result; `following` are the `roles`."""
    past = {
        "why": found.why,
        "pod_cidr": found.pod_cidr,
        "stale": [{"path": path, "says": said} for path, said in found.stale],
        "networks": list(found.networks),
    }
    return {"rejoin": bool(found.why), "past": past, "roles": list(following)}
