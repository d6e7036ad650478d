# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Joining as a component: first the files that a node needs anyway, then the join, then what the cluster says about
the node."""

from __future__ import annotations

from collections.abc import Collection, Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from ...cluster.client import Cluster
from ...cluster.endpoint import bootstrap_token
from ...engine import windows_path
from ...engine.clock import Clock
from ...engine.resource import Notice
from ...engine.resources.file import File
from ...engine.secret import Secret
from ..declaration import Component
from ..kubelet.places import cert_dir
from ..kubernetes_fit import check_node_name
from ..shared_arguments import kubernetes_version, source_of
from ..stage import After, Given, Probe, Resources, Stage
from . import join, joining, material, node_object
from .after_join import Joined, look_after
from .identities import Identities, Identity, identities
from .joining import LATER, Joining, fill_pod_cidr
from .options import INTERFACE, JoinOptions

CHECK_TOKEN = Secret("000000.0000000000000000")  # stands for the token in check mode, which makes none
ASKS_NOBODY = Notice("the cluster", "skip asking the cluster about this node (winkube_cluster.kubeconfig is empty)")


def look(given: Given[JoinOptions]) -> None:
    """Decide whether the machine must and may join, and find the identities of flanneld and kube-proxy."""
    if given.shared.golden_image:
        return
    check_node_name(given.options.node_name)
    if joins(given):
        material.check_possible(given.cluster(shared=True), given.options, given.layout, given.reading)
    _identities(given)


def joins(given: Given[JoinOptions]) -> bool:
    """Whether the machine had not joined when the task began, or joins again."""
    options = given.options

    def has_joined() -> bool:
        cluster = _cluster(given)
        return not join.has_joined(
            join.Situation(
                layout=given.layout,
                way=options.join,
                node_name=options.node_name,
                reading=given.reading,
                node=cluster.node(options.node_name) if cluster else None,
                asked=cluster is not None,
                rejoin=options.state == "rejoined",
            )
        )

    return bool(given.shared.golden_image) or given.asks.once("joins", has_joined)


def files(given: Given[JoinOptions]) -> Resources:
    """Folders and kubeconfigs, and kubeadm.exe before a join. An image has no identities and gets only kubeadm.exe."""
    options, layout = given.options, given.layout
    made: Resources = (
        *join.folders(layout),
        *(resource for item in _identities(given).found for resource in _build_kubeconfig(given, item)),
        *_identities(given).unknown,
    )
    if not joins(given):
        return (*made, *material.build_own_kubeconfig(options, layout, given.reading, given.mark))
    if options.join != "kubeadm":
        return made
    wanted = source_of(given, join.KUBEADM, str(kubernetes_version(given.options.version)))
    return (*join.kubeadm(layout, wanted, given.mark), *made)


def _build_kubeconfig(given: Given[JoinOptions], item: Identity) -> Resources:
    """The kubeconfig of a program, and its service if that runs."""
    kubeconfig = File(item.path, item.content, given.layout.backup(given.mark))
    return (kubeconfig, *join.build_reader(item.service, item.binary, item.path, given.reading))


def _identities(given: Given[JoinOptions]) -> Identities:
    """The programs' kubeconfigs."""
    if given.shared.golden_image:
        return Identities()

    def make_identities() -> Identities:
        return identities(
            _cluster(given), given.options, given.layout, joins=joins(given), check=given.check, clock=Clock()
        )

    return given.asks.once("identities", make_identities)


def make_room(given: Given[JoinOptions]) -> Sequence[str]:
    """Steps to remove the old Node of a machine that joins again."""
    if given.options.state != "rejoined":
        return ()
    cluster, name = _cluster(given), given.options.node_name
    return given.asks.once("room", lambda: material.delete_node(cluster, name, check=given.check))


def build_join(given: Given[JoinOptions]) -> Resources:
    """The join, with a token that is deleted afterwards."""
    found = given.asks.hold("material", lambda: _material(given))
    return (replace(found, mark=given.mark), *(() if _cluster(given) else (ASKS_NOBODY,)))


def log_end(given: Given[JoinOptions], probe: Probe) -> str:
    """The end of the kubelet's log. A failed join is mostly a kubelet that ends at once, and only its log says why."""
    query = joining.log_query(given.layout, given.reading)
    return joining.log_end(query, probe((query,))).strip() if query else ""


@contextmanager
def _material(given: Given[JoinOptions]) -> Generator[Joining]:
    with ExitStack() as stack:

        def token(cluster: Cluster) -> Secret[str]:
            if given.check:
                return CHECK_TOKEN
            return stack.enter_context(bootstrap_token(cluster, f"join of {given.options.node_name}"))

        yield material.material(
            _cluster(given),
            given.options,
            given.shared.cluster.kubeconfig,
            given.layout,
            kubernetes_version(given.options.version),
            token,
        )


def _cluster(given: Given[JoinOptions]) -> Cluster | None:
    return given.cluster()


def see(given: Given[JoinOptions], _acted: Collection[str], _changed: bool) -> After:
    """Report what the cluster now says about the node."""
    options = given.options
    if given.shared.golden_image:
        return After(result={"joined": False, "pod_cidr": ""})
    joined = joins(given)
    steps = [*_identities(given).steps, *(make_room(given) if joined else ())]
    cluster = _cluster(given)
    node = None
    if cluster is not None and not (given.check and joined):
        found = Joined.of(options, given.layout, given.reading, just_now=joined)
        report = look_after(cluster, found, Clock(), check=given.check)
        for sentence in report.warnings:
            given.asks.warn(sentence)
        steps += report.steps
        node = report.node
    pod_cidr = node_object.pod_cidr(node or {}) or ""
    if given.check:
        later = LATER if joined else ""
        return After(tuple(steps), {"joined": joined, "pod_cidr": pod_cidr or later})
    return After(tuple(steps), {"joined": joined, "pod_cidr": pod_cidr}, lambda text: fill_pod_cidr(text, pod_cidr))


def _deadline(_given: Given[JoinOptions]) -> int:
    return 1800


COMPONENT = Component(
    name=join.NAME,
    role="join",
    reads=join.reads,
    expected=lambda expected: expected.kubernetes,
    interface=INTERFACE,
    files=join.list_made,
    bound=lambda layout: (*join.list_made(layout), cert_dir(layout)),
    tools=lambda layout: (layout.kubeadm_binary,),
    runs=(join.KUBEADM_RUN,),
    folders=lambda layout: (windows_path.join(layout.kubernetes_dir, "pki"),),
    stages=(
        Stage("files", files, before=look, deadline=_deadline),
        Stage(
            "material",
            build_join,
            wanted=lambda given: joins(given) and not given.shared.golden_image,
            before=make_room,
            deadline=_deadline,
            failed=log_end,
        ),
    ),
    after=see,
)
