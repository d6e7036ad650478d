# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a node joins its cluster: its requirements, the meaning of `joined`, and the steps of the join.

Three ways: `kubeadm` runs kubeadm.exe, which writes the kubelet's files and starts it; `bootstrap_kubeconfig` writes
`bootstrap-kubelet.conf`, with which the kubelet gets its own certificate; `kubeconfig` writes a kubeconfig of the
user's. Each of them starts the kubelet for the first time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from ...engine import windows_path
from ...engine.reading import Query, Reading, file_key, file_query, services_query
from ...engine.resource import Refused, Resource
from ...engine.resources.directory import guard
from ...engine.resources.file import READ_LIMIT, private_query
from ...engine.resources.programs import Programs, Source
from ...engine.resources.service import ACTIVE, Service
from ...engine.services.existing import AsFound
from ...engine.tools import WINDOWS_PATH
from ..declaration import Started
from ..kubelet.places import bootstrap_file, ca_file, cert_dir, config_file, env_file, instance_file
from ..layout import Layout
from . import node_object

NAME = "join"
KUBEADM = "kubeadm"
Way = Literal["kubeadm", "bootstrap_kubeconfig", "kubeconfig"]

KUBEADM_DIRS = (r"C:\etc\kubernetes", r"C:\var\lib\kubelet")
"""Where kubeadm writes, on its working drive. Source: kubernetes cmd/kubeadm/app/constants/constants.go,
KubernetesDir and KubeletRunDirectory."""
_COMMON_NAME = re.compile(r"(?:^|,\s*)CN\s*=\s*\"?([^,\"]+)")
REJOIN = "playbooks/repair.yml -e winkube_repair=rejoin"


class Broken(Refused):
    """The machine has joined but cannot be a node in its present state; joining again repairs it."""


def client_certificate(layout: Layout) -> str:
    """The kubelet's present client certificate."""
    return windows_path.join(cert_dir(layout), "kubelet-client-current.pem")


def certificate_key(layout: Layout) -> str:
    """The key of the client certificate in a reading."""
    return f"certificate:{windows_path.key(client_certificate(layout))}"


def list_made(layout: Layout) -> tuple[str, ...]:
    """The files that a join writes beside the kubelet's certificates.

    Source: kubernetes cmd/kubeadm/app/cmd/phases/join/kubelet.go (instance-config.yaml: NodeLocalCRISocket).
    """
    return (
        layout.kubelet_kubeconfig,
        bootstrap_file(layout),
        ca_file(layout),
        config_file(layout),
        env_file(layout),
        instance_file(layout),
    )


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that a join reads, in any of the three ways."""
    return (
        *(file_query(path) for path in list_made(layout)),
        file_query(config_file(layout), content_limit=READ_LIMIT),
        private_query(layout.kubelet_kubeconfig),
        private_query(layout.flanneld_kubeconfig),
        private_query(layout.kube_proxy_kubeconfig),
        file_query(cert_dir(layout), entries=True, sddl=True),
        Query(certificate_key(layout), "certificate", (("path", client_certificate(layout)),)),
        *(query for folder in folders(layout) for query in folder.reads()),
        *(query for resource in kubeadm(layout, Source("", None, ""), "") for query in resource.reads()),
        services_query((layout.kubelet_service, layout.flanneld_service, layout.kube_proxy_service)),
    )


def folders(layout: Layout) -> tuple[Resource, ...]:
    """The folders of kubeconfigs that need no kubelet."""
    return guard(
        *(windows_path.parent(path) for path in (layout.flanneld_kubeconfig, layout.kube_proxy_kubeconfig)),
        *((windows_path.parent(layout.kubelet_kubeconfig),) if _is_own(layout) else ()),
    )


def _is_own(layout: Layout) -> bool:
    """Whether the kubelet's kubeconfig lies outside Kubernetes' own folder, which the role kubelet guards."""
    return not windows_path.is_same(windows_path.parent(layout.kubelet_kubeconfig), layout.kubernetes_dir)


def kubeadm(layout: Layout, source: Source, mark: str) -> tuple[Resource, ...]:
    """kubeadm.exe in its folder."""
    return (
        *guard(windows_path.parent(layout.kubeadm_binary)),
        Programs(KUBEADM, source, (("", layout.kubeadm_binary),), layout.state_dir, mark[:8]),
    )


def build_reader(service: str, program: str, path: str, reading: Reading) -> tuple[Service, ...]:
    """The running `service`, restarted if its kubeconfig at `path` changes; nothing for one that does not run. One that
    never had this file and does not name it reads another; its own role changes that."""
    found = reading.service(service)
    if found is None or found.get("state") not in ACTIVE:
        return ()
    told = f"{found.get('image_path')} {(found.get('nssm') or {}).get('AppParameters')}"
    if not reading.file(path).get("exists") and path.casefold() not in told.replace("/", "\\").casefold():
        return ()
    # A service that crashes and waits for its restart rests; only a new kubeconfig starts it.
    return (Service(service, AsFound(found, program), frozenset({file_key(path)}), retries=True, rests=True),)


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides whether a node has joined. `node` is its Node object; without `asked` the cluster could not be
    asked for it."""

    layout: Layout
    way: Way
    node_name: str
    reading: Reading = field(repr=False)
    node: Mapping[str, Any] | None
    asked: bool
    rejoin: bool = False


def has_joined(situation: Situation) -> bool:
    """Whether nothing remains to be done. Refused if a person must decide first.

    Joined means: the kubelet's kubeconfig exists, so does a client certificate that is valid and this node's, and so
    does the Node object.
    """
    if role := node_object.control_plane_role(situation.node or {}):
        raise Refused(
            f"The Node {situation.node_name} has the role of a control plane ({role}), which runs on Linux only: "
            "winkube_node_name names the wrong node, or someone labelled a Windows node."
        )
    if situation.rejoin:
        return False
    layout, reading = situation.layout, situation.reading
    if not reading.file(layout.kubelet_kubeconfig).get("exists"):
        _refuse_if_taken(situation)
        return False
    if situation.way != "kubeconfig":
        _check_certificate(situation)
    if situation.asked and situation.node is None:
        raise Broken(
            f"This machine has joined a cluster ({layout.kubelet_kubeconfig} is there), but the cluster has no Node "
            f"{situation.node_name}: it was deleted, or this is another cluster. The kubelet does not create it again; "
            f"join again with {REJOIN}."
        )
    return True


def _refuse_if_taken(situation: Situation) -> None:
    if situation.node is not None and node_object.is_ready(situation.node):
        info = (situation.node.get("status") or {}).get("nodeInfo") or {}
        raise Refused(
            f"The cluster has a Node {situation.node_name} that is Ready ({info.get('osImage') or 'system unknown'}), "
            "and this machine has not joined: another machine has this name. Change winkube_node_name, or delete that "
            "Node."
        )


def _check_certificate(situation: Situation) -> None:
    found = situation.reading.parts[certificate_key(situation.layout)]
    path = client_certificate(situation.layout)
    if not found.get("exists"):
        raise Broken(
            f"{situation.layout.kubelet_kubeconfig} is there, but the kubelet's client certificate {path} is not: the "
            f"join is incomplete. Join again with {REJOIN}."
        )
    common_name = _COMMON_NAME.search(str(found.get("subject") or ""))
    wanted = f"system:node:{situation.node_name}"
    if common_name and common_name[1].strip() != wanted:
        raise Broken(
            f"This machine has joined as {common_name[1].strip()} ({path}), but winkube_node_name says {wanted}: set "
            f"the old name, or join under the new one with {REJOIN}."
        )
    clock = situation.reading.parts["system"].get("clock")
    if clock and found.get("not_after") and _time(str(found["not_after"])) <= _time(str(clock)):
        raise Broken(
            f"The kubelet's client certificate {path} expired at {found['not_after']} (the node's clock says {clock}), "
            f"so the kubelet cannot renew it. Put the clock right if it is wrong, else join again with {REJOIN}."
        )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def check_places(layout: Layout, way: Way, reading: Reading) -> None:
    """Refused if a join cannot work: there is no kubelet service, or kubeadm does not know the folders."""
    if reading.service(layout.kubelet_service) is None:
        raise Refused(
            lacking={
                "kubelet": f"There is no service {layout.kubelet_service} on this machine, and a join ends by starting "
                "it: run the role kubelet (winkube.node.win_kubelet) first."
            }
        )
    found = (layout.kubernetes_dir, layout.kubelet_dir)
    wrong = [place for place, known in zip(found, KUBEADM_DIRS, strict=True) if not windows_path.is_same(place, known)]
    if way == "kubeadm" and wrong:
        raise Refused(
            f"kubeadm writes only to {' and '.join(KUBEADM_DIRS)}, but this node has {' and '.join(wrong)}"
            ": leave winkube_kubernetes_dir and winkube_kubelet_dir as they are, or set winkube_join: "
            "bootstrap_kubeconfig."
        )
    conf = windows_path.join(layout.kubernetes_dir, "kubelet.conf")
    if way == "kubeadm" and not windows_path.is_same(layout.kubelet_kubeconfig, conf):
        raise Refused(
            f"kubeadm makes the kubelet write {conf}, but node.kubelet_kubeconfig is {layout.kubelet_kubeconfig}: "
            "leave "
            "winkube_kubelet_kubeconfig as it is."
        )


def certificate_files(layout: Layout, reading: Reading) -> tuple[str, ...]:
    """The kubelet's certificates that exist."""
    folder = cert_dir(layout)
    return tuple(windows_path.join(folder, entry) for entry in reading.file(folder).get("entries") or ())


KUBEADM_RUN = Started(
    program=lambda layout: layout.kubeadm_binary,
    path=lambda layout: (windows_path.parent(layout.kubelet_binary), *WINDOWS_PATH),
)
"""kubeadm starts `kubelet` and `powershell` by name before it joins. The kubelet's folder comes first in Path, so
that it finds ours. Sources: kubernetes cmd/kubeadm/app/preflight/utils.go, GetKubeletVersion;
kubernetes/system-validators validators/types_windows.go."""
