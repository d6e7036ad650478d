# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The smoke test's API objects.

The web server is from the Kubernetes documentation: win-webserver-*.yaml beside this file are copies, the command line
byte by byte. `$$` in a container's `command` is Kubernetes' escape for `$`. Source: kubernetes.io, Guide for scheduling
Windows containers in Kubernetes.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ...cluster import run_namespace
from ...engine.resource import Refused
from ...facts.node_labels import BUILD_LABEL, HOSTNAME_LABEL, OS_LABEL
from ...facts.taint import Taint
from ...facts.windows import image_names
from .model import SmokeOptions

Object = dict[str, Any]

WEB, PEER, PEER_NAMES = "win-webserver", "winkube-peer", "winkube-peers"
"""The Services: the one of Kubernetes' guide, one for UDP, and a headless one that gives the peer a name."""
LABEL = "winkube.node/smoke"
"""Marks the Namespace of a run as the smoke test's."""
PULL_SECRET = "winkube-smoke-pull"
PEER_PORT = 8081
REPOSITORY = "mcr.microsoft.com/windows/servercore"

_BOTH_FAMILIES = {"ipFamilyPolicy": "PreferDualStack"}
"""An address of each family if the cluster has two. Source: kubernetes.io, IPv4/IPv6 dual-stack."""

ECHO = (
    "$$ErrorActionPreference = 'Continue' ; $$server = New-Object System.Net.Sockets.UdpClient 8081 ; "
    "$$from = New-Object System.Net.IPEndPoint([System.Net.IPAddress]::Any, 0) ; while ($$true) { try { "
    "$$data = $$server.Receive([ref]$$from) ; $$null = $$server.Send($$data, $$data.Length, $$from) } catch { } }"
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What to deploy. `builds`: Windows build -> number of its nodes; `taints`: the tolerated `key=value:effect`;
    `until`: when the namespace becomes a leftover."""

    how: SmokeOptions
    until: str
    builds: Mapping[int, int]
    taints: Sequence[str]
    run: str


def image(wish: Wish, build: int) -> str:
    """The newest image that nodes of this build can run. Refused."""
    tag = wish.how.image_tags.get(str(build))
    names = image_names(build)
    if not tag and names is None:
        raise Refused(
            f"No image is known for Windows build {build}; winkube_smoke_image_tags names one, such as "
            f'{{"{build}": "ltsc2022"}}.'
        )
    return f"{wish.how.image_repo}:{tag or (names.servercore if names else '')}"


def objects(wish: Wish) -> list[tuple[str, Object]]:
    """(API collection, object) in order of creation. Refused."""
    base = f"/api/v1/namespaces/{wish.how.namespace}"
    apps = f"/apis/apps/v1/namespaces/{wish.how.namespace}/deployments"
    web_service, web = _document("service"), _document("deployment")
    found: list[tuple[str, Object]] = [
        (f"{base}/services", {**web_service, "spec": {**web_service["spec"], **_BOTH_FAMILIES}}),
        (f"{base}/services", _peer_service(PEER, {"type": "NodePort"})),
        (f"{base}/services", _peer_service(PEER_NAMES, {"clusterIP": "None"})),
    ]
    for build, nodes in sorted(wish.builds.items()):
        found.append((apps, _web(wish, web, build, nodes)))
    if wish.builds:
        found.append((apps, _peer(wish, min(wish.builds))))
    return [(path, {**item, "metadata": {**item["metadata"], "namespace": wish.how.namespace}}) for path, item in found]


def namespace(wish: Wish) -> Object:
    """The Namespace of one run."""
    return run_namespace.body(LABEL, wish.how.namespace, wish.until, wish.run)


def _document(kind: str) -> Object:
    text = Path(__file__).with_name(f"win-webserver-{kind}.yaml").read_text(encoding="utf-8")
    return dict(yaml.safe_load(text))


def _web(wish: Wish, documents: Object, build: int, nodes: int) -> Object:
    """The guide's Deployment with the build's image; one pod per node, at least two."""
    made = copy.deepcopy(documents)
    several = len(wish.builds) > 1
    if several:
        made["metadata"]["name"] = f"{WEB}-{build}"
        for labels in (made["spec"]["selector"]["matchLabels"], made["spec"]["template"]["metadata"]["labels"]):
            labels["winkube.node/build"] = str(build)
    made["spec"]["replicas"] = max(nodes, 1 if several else 2)
    pod = made["spec"]["template"]["spec"]
    pod["containers"][0]["image"] = image(wish, build)
    pod.update(_where(wish, build))
    term = {"labelSelector": {"matchLabels": {"app": WEB}}, "topologyKey": HOSTNAME_LABEL}
    preferred = [{"weight": 100, "podAffinityTerm": term}]
    pod["affinity"] = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}
    return made


def _peer(wish: Wish, build: int) -> Object:
    """The pod that answers UDP, as a user without administrator rights."""
    labels = {"app": PEER}
    container = {
        "name": "echo",
        "image": image(wish, build),
        "command": ["powershell.exe", "-command", ECHO],
        "ports": [{"containerPort": PEER_PORT, "protocol": "UDP"}],
        "resources": {"requests": {"cpu": "100m", "memory": "300Mi"}, "limits": {"memory": "300Mi"}},
    }
    pod = {
        "hostname": PEER,
        "subdomain": PEER_NAMES,
        "securityContext": {"windowsOptions": {"runAsUserName": "ContainerUser"}},
        "containers": [container],
        **_where(wish, build),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": PEER, "labels": labels},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _peer_service(name: str, more: Object) -> Object:
    port = {"name": "echo", "port": PEER_PORT, "targetPort": PEER_PORT, "protocol": "UDP"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": {"app": PEER}},
        "spec": {"selector": {"app": PEER}, "ports": [port], **more},
    }


def _where(wish: Wish, build: int) -> Object:
    selector = {OS_LABEL: "windows"}
    if len(wish.builds) > 1:
        selector[BUILD_LABEL] = f"10.0.{build}"
    found: Object = {
        "os": {"name": "windows"},
        "nodeSelector": selector,
        "tolerations": [Taint.parse(taint).toleration() for taint in wish.taints],
    }
    return {**found, "imagePullSecrets": [{"name": PULL_SECRET}]} if wish.how.pull_secret else found
