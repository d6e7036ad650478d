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
from ..engine.waiting import Wait
from ..facts import calico as facts
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
    space,
)
from .windows_pods import calico_node, find_difference, kube_proxy, proxy_config

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
    if view.is_of_k0s:
        if options.kube_proxy_image:
            raise Refused(
                "winkube_calico_kube_proxy_image: k0s brings kube-proxy to Windows nodes itself, and takes back what "
                "others change in its objects. Leave it out; spec.images.windows.kubeproxy of k0s.yaml has its image."
            )
        return (*_user_pools(view, options), *_affinity(view))
    if view.by_manifests:
        return (
            *_user_pools(view, options),
            *_affinity(view),
            *_calico_node(view, wanted),
            *_kube_proxy(view, wanted, options),
        )
    return (
        *_endpoint(view, wanted),
        *_installation(view, wanted, options),
        *_user_pools(view, options),
        *_affinity(view),
        *_api_server(view),
        *_kube_proxy(view, wanted, options),
    )


# -- the API server's address ------------------------------------------------------------------------------------------


def _endpoint(view: View, wanted: Wanted) -> Iterator[Change]:
    """A map with an address stays: the operator's pods use it already."""
    ids = {each.id for each in problems(view, wanted)}
    if not ids & {"calico.no-endpoint", "calico.endpoint-address", "calico.endpoint-name"}:
        return
    _need_address(wanted)
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": facts.ENDPOINT_MAP, "namespace": view.operator},
        "data": {facts.HOST_KEY: wanted.host, facts.PORT_KEY: wanted.port},
    }
    there = View(operator=view.operator, endpoint=body)
    if wrong := [each.sentence for each in problems(there, wanted) if each.id.startswith("calico.endpoint-")]:
        raise Refused(*wrong)
    yield from _config_map(view.endpoint, body, f" ({wanted.host}:{wanted.port})")


def _config_map(found: Object | None, body: Object, detail: str = "") -> Iterator[Change]:
    """`body` is created where there is none, else its data is written; `detail` stands in the text of both."""
    home, name = space(body), name_of(body)
    maps, text = f"/api/v1/namespaces/{home}/configmaps", f"the ConfigMap {home}/{name}{detail}"
    if found is None:
        yield Change(f"create {text}", {}, body, partial(_create, maps, body))
        return
    before, after = {"data": dict(part(found, "data"))}, {"data": body["data"]}
    if before != after:
        yield Change(f"change {text}", before, after, partial(_patch, f"{maps}/{name}", after))


def _need_address(wanted: Wanted) -> None:
    if not wanted.host or not wanted.port:
        raise Refused(
            "winkube_api_server: it is empty, and no kubeconfig says where nodes reach the API server; name it, such "
            "as 10.0.0.1:6443."
        )


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
    if not view.by_manifests and (view.installation is None or view.network.get("ipPools")):
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
            wait = Wait(f"calico: waiting for the CRD {STORED.ipam}", cluster.clock)
            wait_for(wait, CRDS_S, lambda: cluster.get(GROUP), late)
        cluster.create(path, body)

    yield Change(f"create the {api.ipam_kind} default with strictAffinity", {}, body, create)


def _api_server(view: View) -> Iterator[Change]:
    """An existing APIServer that does not answer needs no write: its pods say why."""
    if view.api != STORED or view.api_server:
        return
    body = {"apiVersion": "operator.tigera.io/v1", "kind": "APIServer", "metadata": {"name": "default"}, "spec": {}}
    yield Change("create the APIServer default", {}, body, partial(_create, API_SERVERS, body))


# -- the pods for Windows that no operator makes -----------------------------------------------------------------------


def _calico_node(view: View, wanted: Wanted) -> Iterator[Change]:
    _need_address(wanted)
    if not wanted.dns or not wanted.services:
        raise Refused(
            "winkube_dns_service_ip, winkube_service_cidr: Calico's CNI configuration on Windows has both, and neither "
            "the cluster nor a variable says them."
        )
    if view.release is None:
        raise Refused(
            f"DaemonSet {view.home}/{facts.LINUX_SET}: its image is {view.linux_image}, whose tag is no "
            "release of Calico, such as v3.31.2; which images Windows nodes need is not known."
        )
    yield from _daemon_set(view, calico_node(view, wanted, view.release))


def _kube_proxy(view: View, wanted: Wanted, options: Options) -> Iterator[Change]:
    if not options.kube_proxy_image:
        return
    _need_address(wanted)
    config = proxy_config(wanted)
    yield from _config_map(view.proxy, config)
    yield from _daemon_set(view, kube_proxy(options.kube_proxy_image, config))


def _daemon_set(view: View, wanted: dict[str, Any]) -> Iterator[Change]:
    name, home = name_of(wanted), space(wanted)
    collection = f"/apis/apps/v1/namespaces/{home}/daemonsets"
    found = next((each for each in view.daemon_sets if (space(each), name_of(each)) == (home, name)), None)
    if found is None:
        yield Change(f"create the DaemonSet {home}/{name}", {}, wanted, partial(_create, collection, wanted))
        return
    differing = tuple(find_difference(part(found, "spec"), wanted["spec"]))
    if not differing:
        return
    before, after = {"spec": dict(part(found, "spec"))}, {"spec": wanted["spec"]}
    fields = ", ".join(each.removeprefix("template.spec.") for each in differing)
    yield Change(
        f"change {fields} of the DaemonSet {home}/{name}",
        before,
        after,
        partial(_patch, f"{collection}/{name}", after),
    )


def _patch(path: str, body: Object, cluster: Cluster) -> None:
    cluster.patch(path, body)


def _create(collection: str, body: Object, cluster: Cluster) -> None:
    cluster.create(collection, body)
