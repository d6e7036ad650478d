# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The writes that make Calico run on Windows nodes with VXLAN: planned from the present objects, then done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..cluster.change import Change
from ..cluster.client import Cluster, wait_for
from ..engine.resource import Refused
from ..facts import calico as facts
from ..facts.node_labels import OS_LABEL
from ..words.cause import ERROR
from .judge import problems, rule_of
from .view import (
    API_SERVERS,
    GROUP,
    INSTALLATIONS,
    STORED,
    Object,
    View,
    Wanted,
    folders,
    is_same_folder,
    name_of,
    part,
    pools_of,
)

CRDS_S = 300
"""Seconds that the operator may take to make the CRDs of a newly installed Calico."""


@dataclass(frozen=True, slots=True)
class Options:
    """`adopt`: BGP and pools of a running Calico may be changed. `kube_proxy_image`: the image of the DaemonSet that
    runs kube-proxy on Windows nodes; empty if something else runs it."""

    adopt: bool = False
    kube_proxy_image: str = ""


def plan(view: View, wanted: Wanted, options: Options) -> tuple[Change, ...]:
    """The changes, in the order of execution. Refused for a problem that no write of ours repairs."""
    hindering = [
        each.sentence
        for each in problems(view, wanted)
        # The consequences of a faulty Installation do not justify keeping it.
        if each.severity == ERROR and rule_of(each).before and not rule_of(each).written
    ]
    if hindering:
        raise Refused(*hindering)
    return (
        *_endpoint(view, wanted),
        *_installation(view, wanted, options),
        *_user_pools(view, options),
        *_affinity(view),
        *_api_server(view),
        *_kube_proxy(view, options),
    )


# -- the API server's address ------------------------------------------------------------------------------------------


def _endpoint(view: View, wanted: Wanted) -> Iterator[Change]:
    """A map with an address stays: the operator's pods use it already."""
    ids = {each.id for each in problems(view, wanted)}
    if not ids & {"calico.no-endpoint", "calico.endpoint-address", "calico.endpoint-name"}:
        return
    if not wanted.host or not wanted.port:
        raise Refused(
            "winkube_api_server: it is empty, and no kubeconfig says where nodes reach the API server; name it, such "
            "as 10.0.0.1:6443."
        )
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": facts.ENDPOINT_MAP, "namespace": view.operator},
        "data": {facts.HOST_KEY: wanted.host, facts.PORT_KEY: wanted.port},
    }
    there = View(operator=view.operator, endpoint=body)
    if wrong := [each.sentence for each in problems(there, wanted) if each.id.startswith("calico.endpoint-")]:
        raise Refused(*wrong)
    maps = f"/api/v1/namespaces/{view.operator}/configmaps"
    text = f"the ConfigMap {view.operator}/{facts.ENDPOINT_MAP} ({wanted.host}:{wanted.port})"
    if view.endpoint is None:
        yield Change(f"create {text}", {}, body, partial(_create, maps, body))
    else:
        before = {"data": dict(part(view.endpoint, "data"))}
        after = {"data": body["data"]}
        path = f"{maps}/{facts.ENDPOINT_MAP}"
        yield Change(f"change {text}", before, after, partial(_patch, path, after))


# -- the Installation --------------------------------------------------------------------------------------------------


def _installation(view: View, wanted: Wanted, options: Options) -> Iterator[Change]:
    if view.installation is None:
        body = installation(wanted)
        yield Change(
            "create the Installation default",
            {},
            body,
            partial(_create, INSTALLATIONS, body),
        )
        return
    patch, risky = _differs(view, wanted)
    if not patch:
        return
    if risky and view.release is not None and not options.adopt:
        raise Refused(
            f"Calico runs already, and {' and '.join(risky)} would change for its Linux nodes too; their pods lose the "
            "network meanwhile. winkube_calico_adopt: true allows it."
        )
    before = {"spec": {key: view.spec.get(key) for key in patch}}
    yield Change(
        f"change {', '.join(_names(patch))} of the Installation default",
        before,
        {
            "spec": {
                key: {**part(view.spec, key), **value} if isinstance(value, dict) else value
                for key, value in patch.items()
            }
        },
        partial(_patch, f"{INSTALLATIONS}/default", {"spec": patch}),
    )


def installation(wanted: Wanted) -> dict[str, Any]:
    """The Installation for a cluster without one. Field by field: operator api/v1/installation_types.go."""
    pool = {
        "cidr": wanted.pods.split(",")[0],
        "encapsulation": "VXLAN",
        "natOutgoing": "Enabled",
        "nodeSelector": "all()",
    }
    spec: dict[str, Any] = {
        "cni": {"type": "Calico", "ipam": {"type": "Calico"}},
        "serviceCIDRs": list(wanted.services),
        "calicoNetwork": {"bgp": "Disabled", "windowsDataplane": "HNS", "ipPools": [pool]},
    }
    if own := _windows_nodes(View(), wanted):
        spec["windowsNodes"] = own
    return {
        "apiVersion": "operator.tigera.io/v1",
        "kind": "Installation",
        "metadata": {"name": "default"},
        "spec": spec,
    }


def _differs(view: View, wanted: Wanted) -> tuple[dict[str, Any], list[str]]:
    """The merge patch of its spec, and which parts affect running Linux nodes."""
    network: dict[str, Any] = {}
    risky = []
    if not view.is_enabled:
        network["windowsDataplane"] = "HNS"
    if view.network.get("bgp") != "Disabled":
        network["bgp"] = "Disabled"
        risky.append("BGP")
    if any(pool.get("encapsulation") != "VXLAN" for pool in pools_of(view)):
        own = pools_of(view)
        network["ipPools"] = [
            {**pool, "encapsulation": "VXLAN"} if pool in own else pool for pool in view.network.get("ipPools") or ()
        ]
        risky.append("the encapsulation of its pools")
    patch: dict[str, Any] = {"calicoNetwork": network} if network else {}
    if wanted.services and set(view.spec.get("serviceCIDRs") or ()) != set(wanted.services):
        patch["serviceCIDRs"] = list(wanted.services)
    if own_folders := _windows_nodes(view, wanted):
        patch["windowsNodes"] = own_folders
    return patch, risky


def _windows_nodes(view: View, wanted: Wanted) -> dict[str, str]:
    keys = ("cniBinDir", "cniConfigDir")
    return {
        key: own.replace("\\", "/")
        for key, there, own in zip(keys, folders(view), (wanted.bin_dir, wanted.conf_dir), strict=True)
        if own and not is_same_folder(there, own)
    }


def _names(patch: Mapping[str, Any]) -> Iterator[str]:
    for key, value in patch.items():
        yield from (f"{key}.{inner}" for inner in value) if isinstance(value, dict) else (key,)


def _user_pools(view: View, options: Options) -> Iterator[Change]:
    """Pools that are in no Installation are patched themselves; the operator would revert its own."""
    if view.installation is None or view.network.get("ipPools"):
        return
    for pool in view.pools:
        spec = part(pool, "spec")
        modes = {"ipipMode": "Never", "vxlanMode": "Always"}
        before = {key: spec.get(key) or "Never" for key in modes}
        if ":" in str(spec.get("cidr") or "") or before == modes:
            continue
        if not options.adopt:
            raise Refused(
                f"The IPPool {name_of(pool)} has {', '.join(f'{key} {value}' for key, value in before.items())}, and "
                "Windows needs Never and Always. Pods on Linux nodes lose their network during that change. "
                "winkube_calico_adopt: true allows it."
            )
        path, after = f"{view.api.path('ippools')}/{name_of(pool)}", {"spec": modes}
        yield Change(
            f"change ipipMode and vxlanMode of the IPPool {name_of(pool)}",
            {"spec": before},
            after,
            partial(_patch, path, after),
        )


# -- what stands beside it ---------------------------------------------------------------------------------------------


def _affinity(view: View) -> Iterator[Change]:
    api, spec = view.api, {"strictAffinity": True}
    if part(view.ipam, "spec").get("strictAffinity") is True:
        return
    path = api.path(api.ipam)
    if view.ipam is not None:
        before = {"spec": {"strictAffinity": part(view.ipam, "spec").get("strictAffinity", False)}}
        yield Change(
            f"set strictAffinity of the {api.ipam_kind} default",
            before,
            {"spec": spec},
            partial(_patch, f"{path}/default", {"spec": spec}),
        )
        return
    body = {
        "apiVersion": api.group_version,
        "kind": api.ipam_kind,
        "metadata": {"name": "default"},
        "spec": {**spec, "autoAllocateBlocks": True},
    }

    def create(cluster: Cluster) -> None:
        if api == STORED and not view.stored:
            late = f"The operator has not made the CRD {STORED.ipam} within {CRDS_S} s; look at its log."
            wait_for(cluster.clock, CRDS_S, lambda: cluster.get(GROUP), late)
        cluster.create(path, body)

    yield Change(f"create the {api.ipam_kind} default with strictAffinity", {}, body, create)


def _api_server(view: View) -> Iterator[Change]:
    """An existing APIServer that does not answer needs no write: its pods say why."""
    if view.api != STORED or view.api_server:
        return
    body = {"apiVersion": "operator.tigera.io/v1", "kind": "APIServer", "metadata": {"name": "default"}, "spec": {}}
    yield Change("create the APIServer default", {}, body, partial(_create, API_SERVERS, body))


KUBE_PROXY = "kube-proxy-windows"
_SETS = "/apis/apps/v1/namespaces/kube-system/daemonsets"


def _kube_proxy(view: View, options: Options) -> Iterator[Change]:
    if not options.kube_proxy_image:
        return
    body = kube_proxy(options.kube_proxy_image)
    found = next((each for each in view.daemon_sets if name_of(each) == KUBE_PROXY), None)
    if found is None:
        yield Change(
            f"create the DaemonSet kube-system/{KUBE_PROXY}",
            {},
            body,
            partial(_create, _SETS, body),
        )
        return
    containers = part(part(part(found, "spec"), "template"), "spec").get("containers") or ()
    images = {str(each.get("name")): str(each.get("image")) for each in containers}
    if images.get("kube-proxy") == options.kube_proxy_image:
        return
    after = {"containers": [{"name": "kube-proxy", "image": options.kube_proxy_image}]}
    patch = {"spec": {"template": {"spec": after}}}
    yield Change(
        f"change the image of the DaemonSet kube-system/{KUBE_PROXY}",
        {"containers": [{"name": name, "image": image} for name, image in images.items()]},
        after,
        partial(_patch, f"{_SETS}/{KUBE_PROXY}", patch, kind="strategic"),
    )


def kube_proxy(image: str) -> dict[str, Any]:
    """kube-proxy in HostProcess pods; its image waits for Calico's network and takes the source VIP from its endpoint.

    Source: kubernetes-sigs/sig-windows-tools hostprocess/calico/kube-proxy (kube-proxy.yml, start.ps1): the account and
    the ConfigMap kube-proxy are kubeadm's.
    """
    labels = {"k8s-app": KUBE_PROXY}
    of_node = {"name": "NODENAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    of_pod = {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}
    folder = "$env:CONTAINER_SANDBOX_MOUNT_POINT/kube-proxy/"
    container = {
        "name": "kube-proxy",
        "image": image,
        "args": [f"{folder}start.ps1"],
        "workingDir": folder,
        "env": [of_node, of_pod],
        "volumeMounts": [{"name": "kube-proxy", "mountPath": "/var/lib/kube-proxy"}],
    }
    pod = {
        "serviceAccountName": "kube-proxy",
        "hostNetwork": True,
        "securityContext": {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\system"}},
        "nodeSelector": {OS_LABEL: "windows"},
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "system-node-critical",
        "containers": [container],
        "volumes": [{"name": "kube-proxy", "configMap": {"name": "kube-proxy"}}],
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": KUBE_PROXY, "namespace": "kube-system", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _patch(path: str, body: Object, cluster: Cluster, kind: str = "merge") -> None:
    cluster.patch(path, body, kind)


def _create(collection: str, body: Object, cluster: Cluster) -> None:
    cluster.create(collection, body)
